"""Whoever lacks an extra is told its name."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from centrality import Chain
from centrality.representations import Table
from tests.conftest import quick

ROOT = Path(__file__).parents[2]
OPTIONAL = [
    *("matplotlib", "pyod", "pandas", "polars", "PIL", "transformers", "timm", "sentence_transformers"),
    *("pycatch22", "ray", "pyspark", "umap", "pooch", "anywidget", "traitlets", "uvicorn", "orjson"),
    *("httptools", "uvloop", "openpyxl", "prometheus_client", "onnx", "onnxruntime", "huggingface_hub", "torch"),
    *("adbc_driver_postgresql", "adbc_driver_manager", "duckdb", "mcp"),
    *("deltalake", "pyiceberg", "mlflow", "mlflow_skinny"),
]
START = """
import numpy as np
from centrality import FUSE, Chain, load, representations, tables
X = np.random.default_rng(0).normal(size=(60, 3))
"""
# name: (extra, what somebody does who lacks it). {folder} holds rows.csv, mixed.csv and a model of each.
USES = {
    "a GPU": ("torch", "FUSE(device='cuda').fit(X)"),
    "contours": ("plots", "from centrality import plots; plots.contours([(X[:, 0], X[:, 1], X[None, :, :1])], (0,))"),
    "FUSEDetector": ("pyod", "from centrality.pyod import FUSEDetector"),
    "a workbook": ("excel", "open('{folder}/rows.xlsx', 'wb').close(); tables.read('{folder}/rows.xlsx')"),
    "Images of clip": ("images", "representations.Images('clip').fit([np.zeros((8, 8, 3), np.uint8)])"),
    "Images of timm": ("timm", "representations.Images('resnet18').fit([np.zeros((8, 8, 3), np.uint8)])"),
    "Text": ("text", "representations.Text('bert').fit(['a', 'b'])"),
    "Text by sentences": ("text", "representations.Text('sentence-transformers/all-MiniLM-L6-v2').fit(['a', 'b'])"),
    "Series": ("series", "representations.Series('catch22').fit(X.T)"),
    "Scorer": ("onnx", "from centrality.onnx import Scorer; Scorer('{folder}/model.onnx')"),
    "to_onnx": ("onnx", "load('{folder}/rows.safetensors').to_onnx('{folder}/model.onnx')"),
    "distributed.score": (
        "cluster",
        "from centrality import distributed\n"
        "distributed.score(load('{folder}/rows.safetensors'), '{folder}/rows.csv', '{folder}/out/')",
    ),
    "a table of PostgreSQL": ("databases", "tables.read('postgresql://localhost/shop#orders')"),
    "a table of DuckDB": ("databases", "tables.write(tables.read('{folder}/rows.csv'), 'duckdb:{folder}/new.db#rows')"),
    "functions in DuckDB": (
        "databases",
        "import centrality.duckdb; centrality.duckdb.register(None, load('{folder}/rows.safetensors'))",
    ),
    "a table of Delta": ("delta", "tables.read('delta:{folder}/orders')"),
    "a table of Iceberg": ("iceberg", "tables.read('iceberg:shop#orders')"),
    "models for MLflow": ("mlflow", "import centrality.mlflow"),
    "spark.score": ("spark", "from centrality import spark; spark.score(load('{folder}/rows.safetensors'), None)"),
    "umap": ("maps", "from centrality import maps; maps.embed(X, method='umap')"),
    "fetch": ("data", "from centrality import datasets; datasets.fetch('breastw')"),
    "explore": ("explore", "load('{folder}/rows.safetensors').explore(X)"),
    "explore a chain": ("explore", "load('{folder}/mixed.safetensors').explore(X)"),
    "a picture in the explorer": ("explore", "from centrality.apps.explorer.content import thumbnail; thumbnail(X)"),
    "tools for agents": ("mcp", "from centrality.apps.mcp import Sources"),
    "service": ("serve", "from centrality.apps.service import App"),
}
# Commands: the extra that each one lacks.
COMMANDS = {
    "plot map rows.safetensors rows.csv -o map.png": "plots",
    "plot history rows.safetensors -o history.png": "plots",
    "demo": "plots",
    "explore rows.safetensors rows.csv --export page.html --map umap": "maps",
    "fit rows.csv -o new.safetensors --represent text:a --encoder bert": "text",
    "fit waves.csv -o new.safetensors --represent series": "series",
    "fit breastw -o new.safetensors": "data",
    "serve rows.safetensors": "serve",
    "export rows.safetensors -o new.onnx": "onnx",
    "mcp --folder .": "mcp",
    "check postgresql://localhost/shop --table orders": "databases",
    "check delta:orders --as-of 3": "delta",
    "check iceberg:shop --table orders": "iceberg",
}
# Packages of an extra beside its first one: the extra, and a use that needs it. Those of a line are hidden together.
SECOND = [
    {
        "prometheus_client": ("serve", "from centrality.apps.service import App"),
    },
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Rows of numbers, rows with words and dates as well, a model of each; and rows that are series."""
    folder = tmp_path_factory.mktemp("extras")
    rng = np.random.default_rng(0)
    rows = pa.table({name: rng.normal(size=60) for name in "abc"})
    days = np.datetime64("2024-01-01", "us") + rng.integers(0, 200, size=60) * np.timedelta64(86_400_000_000, "us")
    mixed = rows.append_column("colour", pa.array(["red", "blue"] * 30)).append_column("day", pa.array(days))
    waves = pa.table({f"x{j}": rng.normal(size=30) for j in range(20)})
    for name, table in (("rows", rows), ("mixed", mixed), ("waves", waves)):
        csv.write_csv(table, folder / f"{name}.csv")
    quick(max_steps=5).fit(rows).save(folder / "rows.safetensors")
    Chain(Table(), quick(max_steps=5)).fit(mixed).save(folder / "mixed.safetensors")
    return folder


def raised(hidden: list[str], cases: dict[str, str], folder: Path) -> dict[str, list[str] | None]:
    """What each piece of code raises where these packages are not installed."""
    variables = {name: value for name, value in os.environ.items() if name != "CENTRALITY_DATA"}
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "tests.without", json.dumps(hidden), json.dumps(cases)],
        env=variables | {"PYTHONPATH": path, "XDG_CACHE_HOME": str(folder), "HF_HUB_OFFLINE": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def said(folder) -> dict[str, list[str] | None]:
    """What each use and each command says where there are no extras at all."""
    uses = {name: START + code.replace("{folder}", str(folder)) for name, (_, code) in USES.items()}
    run = "from centrality.apps.cli import main\nimport contextlib, io\nerr = io.StringIO()\n"
    run += "with contextlib.redirect_stderr(err), contextlib.redirect_stdout(err): code = main({!r}.split())\n"
    run += "raise RuntimeError(f'{{code}} {{err.getvalue()}}')"
    return raised(OPTIONAL, uses | {command: run.format(command) for command in COMMANDS}, folder)


def test_every_extra_is_tried():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras) - {"test", "docs", "dev"} == {extra for extra, _ in USES.values()}


def test_every_package_of_an_extra_is_hidden():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    modules = {"pillow": "PIL", "umap_learn": "umap"}
    packages = {
        modules.get(package, package)
        for extra, lines in extras.items()
        if extra not in ("test", "docs", "dev")
        for package in _names(lines)
    }
    assert packages <= set(OPTIONAL)


def _names(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("centrality["):
            yield re.split(r"[^\w-]", line)[0].replace("-", "_")


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_without_its_extra_a_use_says_which_to_install(said, use):
    assert said[use] is not None, "It should need its extra."
    kind, message = said[use]
    assert kind == "MissingExtraError"
    assert f"pip install '.[{USES[use][0]}]'" in message


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_without_its_extra_a_command_ends_with_2_and_says_which_to_install(said, command):
    _, message = said[command]
    code, _, text = message.partition(" ")
    assert code == "2"
    assert f"pip install '.[{COMMANDS[command]}]'" in text


@pytest.mark.slow
def test_tables_of_any_kind_need_no_extra(folder):
    uses = {
        "a new model": "Chain(representations.Table(), FUSE(max_steps=2)).fit(tables.read('mixed.csv'))",
        "a loaded one": "load('mixed.safetensors').reasons(tables.read('mixed.csv'))",
    }
    assert raised(OPTIONAL, {name: START + use for name, use in uses.items()}, folder) == dict.fromkeys(uses)


@pytest.mark.slow
@pytest.mark.parametrize("packages", SECOND)
def test_every_package_of_an_extra_is_named_with_it(folder, packages):
    found = raised(list(packages), {name: START + use for name, (_, use) in packages.items()}, folder)
    for name, (extra, _) in packages.items():
        raised_here = found[name]
        assert raised_here is not None
        kind, message = raised_here
        assert kind == "MissingExtraError"
        assert name in message
        assert f"pip install '.[{extra}]'" in message
