"""An item's cells, what is known of them, and the tables made from that. `benchmarks.cells` measures them."""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any

import numpy as np
from benchmarks import provenance
from benchmarks.cells import Files

from centrality._internal.files import write_atomically

COLUMNS = ("item", "dataset", "method", "metric", "settings", "paper", "value", "std")
TIME, COUNT = "seconds of measuring", "cells measured"
Found = dict[Any, Any]  # {(method, metric): number} for the table, {name: array} for the figures
Row = dict[str, str]
Bar = tuple[str, bool, str]  # what was wanted, whether it was reached, what was found


@dataclass(frozen=True)
class Cell:
    """One thing to measure: a model (which may give several methods' scores) on a data set with a seed."""

    dataset: str
    model: str
    settings: str
    seed: int
    measure: Callable[[], Found] = field(compare=False, repr=False)

    @property
    def file(self) -> str:
        name = f"{self.dataset} {self.model} {self.settings} {self.seed}"
        return re.sub(r"[^\w.=-]+", "_", name) + ".npz"


@dataclass(frozen=True)
class Task:
    """An item's cells, those already measured, and how long the others may take."""

    name: str
    item: ModuleType
    cells: list[Cell]
    kept: Files

    def unknown(self) -> list[Cell]:
        return [cell for cell in self.cells if not self.kept.knows(cell)]

    def minutes(self) -> float:
        """What the unknown cells take on one slow core, all cells of an item counting alike."""
        return float(self.item.MINUTES) * len(self.unknown()) / max(len(self.cells), 1)

    def measure(self, cell: Cell) -> None:
        self.kept.keep(cell, measured(cell))

    def found(self) -> dict[Cell, Found]:
        """What is known so far."""
        return {cell: self.kept.read(cell) for cell in self.cells if self.kept.knows(cell)}


def measured(cell: Cell) -> Found:
    """Measure a cell, in whatever process this is; with what was found comes how long it took."""
    start = perf_counter()
    found = cell.measure()
    return found | {"seconds": perf_counter() - start}


def plan(name: str, item: ModuleType, folder: Path, *, quick: bool, only: str | None, again: bool) -> Task:
    """What is to be done for an item; `only` keeps the cells of one setting, `again` forgets what is known of them."""
    kept = Files(folder / "cells" / name)
    kept.folder.mkdir(parents=True, exist_ok=True)
    task = Task(name, item, [cell for cell in item.cells(quick) if only in (None, cell.settings)], kept)
    if again:
        for cell in task.cells:
            kept.forget(cell)
    return task


def save(task: Task, folder: Path) -> list[Row]:
    """results/NAME.csv with the rows of this task's cells made anew; other rows stay as they are."""
    path = folder / "results" / f"{task.name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    order = list(dict.fromkeys(cell.dataset for cell in task.item.cells(False)))
    new = {_where(row): row for row in rows(task)}
    old = {_where(row): row for row in read(path)} if path.exists() else {}
    merged = sorted(
        (old | new).values(),
        key=lambda row: order.index(row["dataset"]) if row["dataset"] in order else len(order),
    )
    with write_atomically(path) as beside, beside.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(merged)
    provenance.note(path)
    return merged


def rows(task: Task) -> list[Row]:
    """Mean and standard deviation over seeds of every number, with what the paper prints or claims beside it.

    For each setting two more: how long its cells took, and how many of all (in the column `paper`) are measured.
    """
    values: dict[tuple[str, ...], list[float]] = defaultdict(list)
    spent: dict[str, list[float]] = defaultdict(list)
    for cell, result in task.found().items():
        spent[cell.settings].append(float(result["seconds"]))
        for key, value in result.items():
            if isinstance(key, tuple):
                values[cell.dataset, *key, cell.settings].append(float(value))
    name, printed = task.name, task.item.PRINTED
    made = [
        _row(name, *key, printed.get(key[:3], ""), float(np.mean(v)), float(np.std(v, ddof=1)) if v[1:] else None)
        for key, v in values.items()
    ]
    for settings, seconds in spent.items():
        total = sum(cell.settings == settings for cell in task.cells)
        made.append(_row(name, "", "", TIME, settings, "", sum(seconds), None))
        made.append(_row(name, "", "", COUNT, settings, total, float(len(seconds)), None))
    return made


def read(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def value_of(rows: Iterable[Row], dataset: str, method: str, metric: str, settings: str) -> float:
    """One number of a table; NaN where it has not been measured."""
    wanted = (dataset, method, metric, settings)
    return next((float(row["value"]) for row in rows if _where(row) == wanted), float("nan"))


def deviation_of(rows: Iterable[Row], dataset: str, method: str, metric: str, settings: str) -> float:
    """One number's deviation over seeds; NaN where there is one seed only."""
    wanted = (dataset, method, metric, settings)
    return next((float(row["std"]) for row in rows if _where(row) == wanted and row["std"]), float("nan"))


def gains(rows: Iterable[Row], keys: Iterable[tuple[str, str, str]]) -> Bar | None:
    """Our schedule against the paper's, in each of these rows; None where nothing is measured with both."""
    both = {key: (value_of(rows, *key, "paper"), value_of(rows, *key, "ours")) for key in keys}
    gained = {key: ours - paper for key, (paper, ours) in both.items() if not np.isnan(ours + paper)}
    if not gained:
        return None
    least = min(gained, key=lambda key: gained[key])
    found = f"{sum(g >= 0 for g in gained.values())} of {len(gained)} rows; the least gain is {gained[least]:+.4f}"
    wanted = "our schedule at the paper's η: at least as good as the paper's schedule in every row"
    return wanted, gained[least] >= 0, f"{found} ({', '.join(least)})"


def speed(rows: Iterable[Row], datasets: Iterable[str]) -> Bar | None:
    """How many times faster our schedule trains."""
    keys = [(name, "FUSE", "train s") for name in datasets]
    both = [(value_of(rows, *key, "paper"), value_of(rows, *key, "ours")) for key in keys]
    faster = [paper / ours for paper, ours in both if not np.isnan(paper + ours)]
    if not faster:
        return None
    least, most = min(faster), max(faster)
    found = f"{least:.1f} times" if len(faster) == 1 else f"{least:.1f} to {most:.1f} times"
    return "our schedule trains 10 times faster than the paper's", least >= 10, found


def gap(rows: Iterable[Row], printed: dict[tuple[str, str, str], float], limit: float, words: str) -> Bar | None:
    """How far the paper's settings are, here, from what is printed."""
    gaps = {key: abs(value_of(rows, *key, "paper") - value) for key, value in printed.items()}
    gaps = {key: value for key, value in gaps.items() if not np.isnan(value)}
    if not gaps:
        return None
    worst = max(gaps, key=lambda key: gaps[key])
    return words, gaps[worst] <= limit, f"the widest gap is {gaps[worst]:.4f} ({', '.join(worst)})"


def _row(item: str, dataset: str, method: str, metric: str, settings: str, paper: Any, value: float, std: Any) -> Row:
    numbers = [f"{x:.5g}" if isinstance(x, float) else str(x) for x in (paper, value, "" if std is None else std)]
    return dict(zip(COLUMNS, [item, dataset, method, metric, settings, *numbers], strict=True))


def _where(row: Row) -> tuple[str, ...]:
    return row["dataset"], row["method"], row["metric"], row["settings"]
