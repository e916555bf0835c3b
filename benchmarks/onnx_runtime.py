"""Scoring by ONNX Runtime beside the model itself, turn by turn in one run, one thread each.

Rows of numbers: microseconds a call. Tables with all that reads their columns: rows a second in Python, in ONNX
Runtime and in its build for the web (in Node), and how far the scores are apart. Tables are scored as they are, and
with a tenth of the cells of every column replaced: by gaps, and in columns of texts by values that never occurred or
are of another kind.

python -m benchmarks.onnx_runtime
"""

import json
import shutil
import statistics
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from benchmarks._results import data, save
from centrality import FUSE, Chain
from centrality.datasets import houses
from centrality.onnx import Scorer
from centrality.onnx.inputs import inputs_of
from centrality.representations import Table
from centrality.tables.columns import DataNote

COLUMNS, TURNS = 32, 15
PROMISED = 1e-5  # the largest difference between scores of one row and model (internals/details.md)
MODULES = Path(__file__).parents[1] / "web" / "node_modules"
RUNTIME = Path("onnxruntime-web", "dist", "ort.node.min.mjs")
TYPES = {
    "text": "string",
    "int64": "int64",
    "float64": "float64",
}  # of the file's inputs, as the web's runtime has them
CALLS = {1: 200, 64: 100, 100_000: 1}  # of so many rows


def microseconds(work: Callable[[], object], calls: int) -> float:
    before = time.process_time()
    for _ in range(calls):
        work()
    return (time.process_time() - before) / calls * 1e6


def main() -> None:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", DataNote)
    of_numbers()
    of_tables()


def of_numbers() -> None:
    rng = np.random.default_rng(0)
    model = FUSE(random_state=0).fit(rng.normal(size=(20_000, COLUMNS)))
    with tempfile.TemporaryDirectory() as folder:
        model.to_onnx(Path(folder) / "m.onnx")
        scorer = Scorer(Path(folder) / "m.onnx", threads=1)
    found: list[dict[str, object]] = []
    for rows, calls in CALLS.items():
        Q = rng.normal(size=(rows, COLUMNS))
        worst = float(np.abs(scorer.heads(Q) - model.heads(Q)).max())
        turns = [(microseconds(lambda: scorer.heads(Q), calls), microseconds(lambda: model.heads(Q), calls))  # noqa: B023
                 for _ in range(TURNS)]  # fmt: skip
        own, of_model = (statistics.median(times) for times in zip(*turns, strict=True))
        ratio = statistics.median(b / a for a, b in turns)
        found.append(
            {"rows": rows, "onnx_us": own, "model_us": of_model, "ratio": ratio, "largest_difference": f"{worst:.1e}"}
        )
    save("onnx_runtime", found)


def of_tables() -> None:
    found: list[dict[str, object]] = []
    adult = pd.read_parquet(data("extra", "adult_train.parquet"))
    of_houses = houses().to_pandas()
    money = written(np.random.default_rng(0), 6_000)
    for name, table, train in (("adult", adult, 10_000), ("houses", of_houses, 600), ("as people write", money, 3_000)):
        model = Chain(Table(unreadable=1), FUSE(random_state=0)).fit(table.iloc[:train])
        new = table.iloc[train : train + 10_000]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "m.onnx"
            model.to_onnx(path)
            scorer = Scorer(path, threads=1)
            for cells, rows in (("as they are", new), ("a tenth replaced", spoiled(new))):
                found.append({"table": name, "cells": cells, **compared(model, scorer, path, rows)})
    save("onnx_tables", found)


def compared(model: Chain, scorer: Scorer, path: Path, rows: pd.DataFrame) -> dict[str, object]:
    """Return speed and agreement of a model and its file on these rows."""
    assert scorer.columns is not None
    of_model, of_file = model.centrality(rows), scorer.centrality(rows)
    scored = ~np.isnan(of_file)
    apart = np.abs(of_file - of_model)[scored]
    vectors = torch.from_numpy(np.asarray(model.representation_.transform(rows), dtype=np.float64))
    of_torch = model.to_torch()(vectors, model.t).detach().numpy()
    ranks = np.abs(scorer.p_values(rows) - model.p_values(rows))[scored] * (scorer.calibration_rows + 1)
    severity = np.abs(scorer.severity(rows) / model.severity(rows) - 1)[scored & (model.severity(rows) > 1)]
    turns = [
        [seconds(lambda: model.centrality(rows)), seconds(lambda: scorer.centrality(rows))] for _ in range(TURNS // 3)
    ]
    python, runtime = (len(rows) / statistics.median(times) for times in zip(*turns, strict=True))
    result: dict[str, object] = {
        "rows": len(rows),
        "columns": len(scorer.columns),
        "file_kB": round(path.stat().st_size / 1000),
        "without_a_score": f"{1 - scored.mean():.4f}",
        "largest_difference": f"{apart.max():.1e}",
        "beyond_promise": f"{(apart > PROMISED).mean():.4f}",
        "largest_difference_to_torch": f"{np.abs(of_file - of_torch)[scored].max():.1e}",
        "other_rank": f"{(ranks > 0.5).mean():.4f}",
        "largest_difference_in_rank": round(float(ranks.max())),
        "severity_apart": f"{np.median(severity):.1e}",
        "python_rows_per_s": round(python),
        "onnx_rows_per_s": round(runtime),
        "web_rows_per_s": "",
        "web_largest_difference": "",
    }
    node = shutil.which("node")
    if node is not None and (MODULES / RUNTIME).exists():
        outputs, times = in_node(node, path, rows, turns=TURNS // 3)
        result["web_rows_per_s"] = round(len(rows) / statistics.median(times))
        result["web_largest_difference"] = f"{np.nanmax(np.abs(outputs['centrality'] - of_file)):.1e}"
    return result


def seconds(work: Callable[[], object]) -> float:
    return microseconds(work, 1) / 1e6


def in_node(
    node: str, path: Path, rows: pd.DataFrame, turns: int = 1
) -> tuple[dict[str, NDArray[np.float64]], list[float]]:
    """Return the outputs of a file in the web's runtime, and the processor's seconds of each turn."""
    scorer = Scorer(path)
    assert scorer.columns is not None
    types = {column["input"]: TYPES[column["type"]] for column in scorer.columns}
    inputs = {
        name: {
            "type": types[name],
            "shape": list(array.shape),
            "values": [str(x) if types[name] == "int64" else None if x != x else x for x in array.ravel().tolist()],
        }
        for name, array in inputs_of(rows, scorer.columns).items()
    }
    inputs["t"] = {"type": "float64", "shape": [1], "values": [scorer.t]}
    given, found = (path.parent / f"{name}.json" for name in ("given", "found"))
    given.write_text(json.dumps(inputs))
    script = Path(__file__).with_name("onnx_web.mjs")
    subprocess.run([node, script, MODULES / RUNTIME, path, given, found, str(turns)], check=True)
    result = json.loads(found.read_text())
    outputs = {
        name: np.array([np.nan if x is None else x for x in values], dtype=float)
        for name, values in result["outputs"].items()
    }
    outputs["heads"] = outputs["heads"].reshape(-1, 2)
    return outputs, result["seconds"]


def written(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """A table of numbers and dates as people write them."""
    money = np.round(np.exp(rng.normal(7, 1, rows)), 2)
    moments = pd.to_datetime("2021-01-01") + pd.to_timedelta(rng.integers(0, 10**6, rows), unit="min")
    return pd.DataFrame(
        {
            "rent": [f"€ {x:,.2f}".translate(str.maketrans(",.", ".,")) for x in money],
            "weight": [f"{x:.1f} kg" for x in rng.normal(70, 9, rows)],
            "share": [f"{x:.0f}%" for x in rng.uniform(0, 100, rows)],
            "day": [str(day) for day in np.datetime64("2020-01-01") + rng.integers(0, 1000, rows)],
            "moment": [moment.strftime("%m/%d/%Y %I:%M %p") for moment in moments],
            "in Oslo": moments.tz_localize("UTC").tz_convert("Europe/Oslo"),
            "kind": rng.choice(["a", "b", "c"], rows),
        }
    )


OTHERS = (None, "", "n/a", "never seen", "12", "-1.5", "1.234,50", "2024-02-30", "3 May 2024", "5 lbs", "about 5")


def spoiled(table: pd.DataFrame, share: float = 0.1) -> pd.DataFrame:
    """The table with so large a share of the cells of every column replaced."""
    rng = np.random.default_rng(1)
    table = table.copy()
    for name in table:
        other = rng.random(len(table)) < share
        kind = table[name].dtype
        if pd.api.types.is_numeric_dtype(kind):
            table[name] = table[name].astype(float).where(~other)
        elif pd.api.types.is_datetime64_any_dtype(kind):
            table[name] = table[name].where(~other)
        else:
            cells = table[name].astype(object).to_numpy(copy=True)
            is_date = not isinstance(next(cell for cell in cells if cell is not None), str)
            cells[other] = None if is_date else rng.choice(np.array(OTHERS, dtype=object), other.sum())
            table[name] = pd.Series(cells, index=table.index, dtype=object)
    return table


if __name__ == "__main__":
    main()
