"""The jobs that are disturbed: what each runs, what it writes, and the bytes it writes when nobody disturbs it."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from centrality import FUSE, tables
from centrality.apps.cli import main

ROWS, FILES = 18_000, 6
SCORE = "score {0}/model.safetensors {0}"  # and what is scored into what


@dataclass(frozen=True)
class Job:
    """Names what is run in a folder of its own, and the files there that it writes."""

    name: str
    run: Callable[[Path], int]  # gets the folder, returns the status to exit with
    outputs: tuple[str, ...]
    data: str  # what it reads, to be cut while it does


def prepare(folder: Path) -> None:
    """Write what all jobs read: rows in several formats, and a model."""
    rng = np.random.default_rng(0)
    rows = pa.table({f"c{j}": rng.normal(size=ROWS) for j in range(4)})
    for kind in ("csv", "parquet", "arrow", "jsonl"):
        tables.write(rows if kind != "jsonl" else rows.slice(0, 5000), folder / f"rows.{kind}")
    np.save(folder / "rows.npy", tables.numbers(rows))
    (folder / "in").mkdir()
    for part in range(FILES):
        tables.write(rows.slice(part * 3000, 3000), folder / "in" / f"{part}.parquet")
    FUSE(random_state=0, max_steps=50, hidden=(32, 32)).fit(rows).save(folder / "model.safetensors")
    FUSE(random_state=0, max_steps=5, hidden=(32, 32)).fit(tables.numbers(rows)).save(folder / "bare.safetensors")


def command(text: str, stdin: str | None = None) -> Callable[[Path], int]:
    """Return a job that runs this command line; {0} stands for the folder."""

    def run(folder: Path) -> int:
        if stdin is not None:
            os.dup2(os.open(folder / stdin, os.O_RDONLY), 0)
        return main(text.format(folder).split())

    return run


def on_cluster(folder: Path) -> int:
    """Score a folder on a cluster of this machine."""
    os.environ["PYTHONPATH"] = os.pathsep.join(part for part in sys.path if part)
    return main(f"score {folder}/model.safetensors {folder}/in -o {folder}/out/ --resume --cluster local".split())


SCORES = tuple(f"out/{part}.parquet" for part in range(FILES))
JOBS = [
    Job("fit", command("fit {0}/rows.parquet -o {0}/out.safetensors --max-steps 150 --random-state 0 --device cpu"),
        ("out.safetensors",), "rows.parquet"),
    Job("score csv", command(SCORE + "/rows.csv -o {0}/out.csv --t 0,1"), ("out.csv",), "rows.csv"),
    Job("score csv.gz", command(SCORE + "/rows.csv -o {0}/out.csv.gz"), ("out.csv.gz",), "rows.csv"),
    Job("score arrow", command(SCORE + "/rows.arrow -o {0}/out.parquet"), ("out.parquet",),
        "rows.arrow"),
    Job("score npy", command("score {0}/bare.safetensors {0}/rows.npy -o {0}/out.parquet"), ("out.parquet",),
        "rows.npy"),
    Job("score jsonl", command(SCORE + "/rows.jsonl -o {0}/out.jsonl"), ("out.jsonl",),
        "rows.jsonl"),
    Job("score stream", command(SCORE[:-3] + "- -o {0}/out.csv", stdin="rows.csv"), ("out.csv",), "rows.csv"),
    Job("score folder", command(SCORE + "/in -o {0}/out/ --resume"), SCORES, "in/3.parquet"),
    Job("score folder, workers",
        command(SCORE + "/in -o {0}/out/ --resume --workers 2"), SCORES, "in/3.parquet"),
    Job("explore", command("explore {0}/model.safetensors {0}/rows.parquet --export {0}/out.html --map c0,c1"),
        ("out.html",), "rows.parquet"),
    Job("export", command("export {0}/model.safetensors -o {0}/out.onnx"), ("out.onnx",), "model.safetensors"),
]  # fmt: skip
CLUSTER = Job("score on Ray", on_cluster, SCORES, "in/3.parquet")
