"""Who is learned from and who is scored; one cell of the benchmark; and what is kept of it.

unsupervised: fit on all rows, score all rows.
one-class: fit on a random half of the normal rows, score the other normal rows and all outliers.

Sets of more than 50,000 rows are cut to a random 50,000 of them, new ones for each seed, with the same share of
outliers.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache, partial
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks.cells import Lines, measure_unknown
from benchmarks.detection.methods import METHODS, SEEDLESS, quietly

PROTOCOLS = ("unsupervised", "one-class")
MAX_ROWS = 50_000


@dataclass(frozen=True)
class Cell:
    protocol: str
    data: str
    method: str
    seed: int


@dataclass(frozen=True)
class Result(Cell):
    rows: int  # learned from
    columns: int
    roc: float
    ap: float
    fit_s: float
    score_s: float
    note: str  # why it failed; it then counts as one that knows nothing


@lru_cache(maxsize=1)
def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as archive:
        return archive["X"].astype(np.float64), archive["y"].ravel().astype(int)


def split(protocol: str, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Training rows, rows to score (the very same array if unsupervised) and the labels of the latter."""
    rng = np.random.default_rng(seed)
    if len(y) > MAX_ROWS:
        outliers = max(1, round(MAX_ROWS * y.mean()))
        odd, normal = rng.permutation(np.flatnonzero(y)), rng.permutation(np.flatnonzero(y == 0))
        kept = np.sort(np.concatenate([odd[:outliers], normal[: MAX_ROWS - outliers]]))
        X, y = X[kept], y[kept]
    if protocol == "unsupervised":
        return X, X, y
    normal = rng.permutation(np.flatnonzero(y == 0))
    learned, left = normal[: len(normal) // 2], normal[len(normal) // 2 :]
    scored = np.concatenate([left, np.flatnonzero(y)])
    return X[learned], X[scored], y[scored]


def run(cell: Cell, folder: Path) -> Result:
    train, scored, y = split(cell.protocol, *load(folder / f"{cell.data}.npz"), cell.seed)
    detector = METHODS[cell.method](cell.seed, cell.protocol == "one-class")
    start = perf_counter()
    try:
        quietly(lambda: detector.fit(train))
        fitted = perf_counter()
        odd = quietly(lambda: detector.outlyingness(scored))
        done = perf_counter()
        odd = np.nan_to_num(np.asarray(odd, dtype=np.float64), posinf=1e300, neginf=-1e300)
        quality, note = (float(roc_auc_score(y, odd)), float(average_precision_score(y, odd))), ""
    except Exception as error:  # one cell must not end a night's run: it is written down, counted and shown
        fitted = done = perf_counter()
        quality, note = (0.5, float(y.mean())), f"{type(error).__name__}: {error}"[:200]
    return Result(**asdict(cell), rows=train.shape[0], columns=train.shape[1], roc=quality[0], ap=quality[1],
                  fit_s=fitted - start, score_s=done - fitted, note=note)  # fmt: skip


class Known:
    """The results in a file; one that failed is not known, and a later line for the same cell replaces an earlier."""

    def __init__(self, path: Path) -> None:
        kinds = {field.name: field.type for field in fields(Result)}
        self.lines = Lines(path, tuple(kinds))
        results = [Result(**{name: kinds[name](text) for name, text in line.items()}) for line in self.lines.read()]
        self.results = {Cell(result.protocol, result.data, result.method, result.seed): result for result in results}

    def knows(self, cell: Cell) -> bool:
        return cell in self.results and not self.results[cell].note

    def keep(self, cell: Cell, result: Result) -> None:
        self.results[cell] = result
        values = asdict(result).values()
        self.lines.append([f"{value:.6g}" if isinstance(value, float) else value for value in values])


def complete(cells: Iterable[Cell], folder: Path, path: Path, jobs: int) -> dict[Cell, Result]:
    """Run what `path` does not know in worker processes, so that times compare, and return what it then knows."""
    from tqdm import tqdm

    known = Known(path)
    wanted = [cell for cell in cells if not known.knows(cell)]
    first, again = [cell for cell in wanted if not cell.seed], [cell for cell in wanted if cell.seed]
    measure = partial(run, folder=folder)
    with tqdm(total=len(wanted), unit="cell") as bar:
        measure_unknown(first, measure, known, bar, processes=jobs)
        for cell in again:
            if (twin := seedless(cell, known.results)) is not None:
                known.keep(cell, twin)
                bar.update()
        measure_unknown(again, measure, known, bar, processes=jobs)
    return Known(path).results


def seedless(cell: Cell, known: dict[Cell, Result]) -> Result | None:
    """The first seed's result, where nothing is drawn at random: neither rows nor anything in the method."""
    first = known.get(replace(cell, seed=0))
    if cell.seed == 0 or cell.protocol != "unsupervised" or cell.method not in SEEDLESS:
        return None
    return replace(first, seed=cell.seed) if first and not first.note and first.rows < MAX_ROWS else None
