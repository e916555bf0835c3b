"""Measuring cell by cell, here and in paper/: each result is kept as it comes, so that a run goes on where it stopped.

A cell is any value that says what is to be measured. What lies on disk is either a file for each cell (`Files`) or a
line for each result (`Lines`).
"""

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from centrality._internal import processes as workers
from centrality._internal.files import write_atomically


class Kept(Protocol):
    """What is known of cells, on disk."""

    def knows(self, cell: Any) -> bool: ...

    def keep(self, cell: Any, found: Any) -> None: ...


def measure_unknown(
    cells: Iterable[Any],
    measure: Callable[[Any], Any],
    kept: Kept,
    bar: Any,
    *,
    processes: int = 0,
    words: Callable[[Any], str] = str,
) -> None:
    """Measure the cells that are not known and keep each result as it comes.

    With `processes` they are measured side by side, in processes of one thread each; without, in this one. `bar` is
    tqdm's and shows how far it is, with each cell in `words`.
    """
    unknown = [cell for cell in cells if not kept.knows(cell)]
    spread = _side_by_side(measure, unknown, processes) if processes else _here(measure, unknown, bar, words)
    for cell, found in spread:
        kept.keep(cell, found)
        bar.update()


def _side_by_side(measure: Any, cells: list[Any], processes: int) -> Iterator[tuple[Any, Any]]:
    os.environ["NUMBA_NUM_THREADS"] = "1"  # `workers` tells the other libraries
    yield from workers.run(measure, cells, processes)


def _here(measure: Any, cells: list[Any], bar: Any, words: Callable[[Any], str]) -> Iterator[tuple[Any, Any]]:
    for cell in cells:
        bar.set_description(words(cell))
        yield cell, measure(cell)


@dataclass(frozen=True)
class Files:
    """A folder with an .npz file for each cell, which gives the file its name.

    What was found is {name: number or array}; a name may be a tuple of strings.
    """

    folder: Path

    def path(self, cell: Any) -> Path:
        return self.folder / cell.file

    def knows(self, cell: Any) -> bool:
        return self.path(cell).exists()

    def keep(self, cell: Any, found: dict[Any, Any]) -> None:
        arrays = {"|".join(name) if isinstance(name, tuple) else name: value for name, value in found.items()}
        with write_atomically(self.path(cell)) as beside:
            np.savez_compressed(beside, **arrays)

    def read(self, cell: Any) -> dict[Any, Any]:
        with np.load(self.path(cell)) as archive:
            return {tuple(name.split("|")) if "|" in name else name: archive[name] for name in archive.files}

    def forget(self, cell: Any) -> None:
        self.path(cell).unlink(missing_ok=True)


@dataclass(frozen=True)
class Lines:
    """A CSV file that grows by a line with each result."""

    path: Path
    columns: tuple[str, ...]

    def read(self) -> list[dict[str, str]]:
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            return list(csv.DictReader(file))

    def append(self, *lines: Iterable[Any]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists()
        with self.path.open("a", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([self.columns, *lines] if new else lines)
