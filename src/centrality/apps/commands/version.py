"""centrality version: print the versions of centrality and of the packages it uses."""

import argparse
import platform
from importlib.metadata import PackageNotFoundError, version

from centrality import __version__
from centrality.apps.commands._terminal import Result

HELP = "print the versions of centrality, Python and the libraries that it uses"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyarrow", "narwhals", "safetensors")
OPTIONAL = ("torch", "matplotlib", "pandas", "transformers", "umap-learn", "onnxruntime", "ray", "uvicorn")


def arguments(command: argparse.ArgumentParser) -> None:
    """Add no arguments: the command has none of its own."""


def run(arguments: argparse.Namespace) -> Result:
    versions = {"centrality": __version__, "python": platform.python_version(), "platform": platform.platform()}
    from centrality.engine import engine_name  # here: `--help` should not wait for it

    versions["engine"] = engine_name()
    for name in (*LIBRARIES, *OPTIONAL):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def show(result: Result) -> str:
    width = max(map(len, result))
    return "\n".join(f"{name:<{width}}  {text}" for name, text in result.items())
