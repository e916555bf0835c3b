"""centrality inspect: say what is in a model file."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from centrality.apps.commands import _series
from centrality.apps.commands._reading import reading_lines
from centrality.apps.commands._terminal import Result

if TYPE_CHECKING:
    from centrality._internal.model_file import Arrays, Header

HELP = "say what is in a model file"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, metavar="MODEL", help="a model file")


def run(arguments: argparse.Namespace) -> Result:
    from centrality._internal import model_file

    header, arrays = model_file.read(arguments.model)
    try:
        result = _described(header, arrays, arguments.model.stat().st_size)
        show(result)  # now, where the file's name is known
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise model_file.ModelFileError(
            f"{arguments.model}: its header is not that of a model that can be described: {error!r}."
        ) from None
    return result


def _described(header: "Header", arrays: "Arrays", size: int) -> Result:
    """Return the facts of a model file's header, and the file's size."""
    if header["model"] == "Timeline":
        return _series.described(header, arrays, size)
    weights = sum(array.size for name, array in arrays.items() if name.startswith("network."))
    facts = {"weights": int(weights), "bytes": size}
    if header["model"] != "Chain":
        return {**header, **facts}
    described = {"model": "Chain", "format": header["format"], "representation": header["representation"]}
    return {**header["fuse"], **described, **facts}


def show(result: Result) -> str:
    if result["model"] == "Timeline":
        return _series.show_description(result)
    from centrality.analysis.report import Report

    read = result.get("representation", {}).get("columns")  # only a table's numbers have names
    names = list(read or result["feature_names"] or [f"{result['features']} columns without names"])
    steps, losses = result["history"]["step"], (result["history"]["global"], result["history"]["local"])
    lines = {
        "model": f"{result['model']}, format {result['format']}, written by centrality {result['version']}",
        "size": f"{result['bytes']:,} bytes, {result['weights']:,} weights",
        "features": f"{len(read or ()) or result['features']}: {', '.join(names[:8])}{' ...' * (len(names) > 8)}",
        "noise scale": ", ".join(f"{eta:.4g}" for eta in result["noise_scale"]),
        "outliers below": f"{result['offset']:.4f} at t = {result['parameters']['t']:g}",
        "losses": f"global {losses[0][-1]:.4f}, local {losses[1][-1]:.4f} after {steps[-1]} steps",
        "parameters": ", ".join(f"{name}={value!r}" for name, value in result["parameters"].items()),
    }
    if (given := result["parameters"].get("given")) is not None:
        lines["given"] = ", ".join(map(str, given if isinstance(given, list) else [given]))
    how_read: list[str] = []
    if "representation" in result:
        described = result["representation"]
        lines["representation"] = described["kind"]
        how_read = reading_lines(described["columns"], described["state"].get("doubts", {}))
    width = max(15, *map(len, lines))
    page = [f"{name:>{width}}  {text}" for name, text in lines.items()]
    if result.get("report"):
        page.append(str(Report(**result["report"])))
    return "\n".join([*page, *how_read])
