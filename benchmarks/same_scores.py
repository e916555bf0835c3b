"""Whether fits and scores are still what figures of quality were measured by: one small fit of every kind, in numbers.

    python -m benchmarks.same_scores            compare with same_scores.csv; exit 1 if a number has moved
    python -m benchmarks.same_scores --write    take today's numbers: every figure of quality is old from then on

A figure of quality (how well outliers are found, how many fresh rows are called) does not become old when code is moved
or made faster, only when the scores become others. So it rests on same_scores.csv, not on the files of the code, and
`make benchmarks ARGS=--check` makes sure that the numbers in it are those of the code at hand.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from centrality import FUSE, Chain, PaperFUSE, representations

KNOWN = Path(__file__).with_suffix(".csv")
# Seen with OpenBLAS as on three other CPUs, and the engine of AVX2: no number differs by 1e-6.
TOLERANCE = 1e-3
ROWS, FRESH = 500, 6


def blob(columns: int, rows: int = ROWS) -> np.ndarray:
    """Correlated columns, every eighth of them heavy, in two clusters."""
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(rows + FRESH, columns)) + rng.normal(size=(rows + FRESH, 1))
    X[:, ::8] = np.exp(X[:, ::8])
    X[: rows // 5] += 4
    X[-1] *= 5  # one of the fresh rows is odd
    return X


def of_scores(model: FUSE, X: np.ndarray) -> Iterator[float]:
    """What a model says of rows that it has seen, and of fresh ones."""
    yield from model.centrality(np.concatenate([X[:4], X[-FRESH:]]), t=[0, 0.5, 1]).ravel()
    yield float(model.predict(X).mean())


def of_fit(columns: int, rows: int = ROWS, **parameters: object) -> Iterator[float]:
    X = blob(columns, rows)
    model = FUSE(random_state=0, **parameters).fit(X[:-FRESH])
    yield from of_scores(model, X)
    yield from model.p_values(X[-FRESH:])


def of_pair() -> Iterator[float]:
    """Two columns that are nearly one, among independent ones."""
    X = np.random.default_rng(1).normal(size=(ROWS + FRESH, 8))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    X[-1, :2] = 1, -1  # one of the fresh rows breaks the pair
    yield from of_scores(FUSE(random_state=0).fit(X[:-FRESH]), X)


def of_paper() -> Iterator[float]:
    X = blob(3)
    model = PaperFUSE(random_state=0, epochs=2, scheme=2, noise_scale=1.0, scaling="none", calibration="clip")
    yield from of_scores(model.fit(X[:-FRESH]), X)


def of_dissimilarity() -> Iterator[float]:
    X = blob(3, 200)
    D = np.abs(X[:-FRESH, None, 0] - X[None, :-FRESH, 0])
    yield from of_scores(FUSE(random_state=0).fit(X[:-FRESH], dissimilarity=D), X)


def of_table() -> Iterator[float]:
    import pandas as pd

    X = blob(4)
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["kind"] = np.array(["red", "green", "blue"])[np.argsort(X[:, 3]) % 3]
    frame.loc[::17, "b"] = np.nan
    chain = Chain(representations.Table(), FUSE(random_state=0)).fit(frame[:-FRESH])
    yield from chain.centrality(frame[-FRESH:])
    yield from chain.explain(frame[-FRESH:]).ravel()


def of_what_follows() -> Iterator[float]:
    """Reasons, corrections, drift, marks and further training."""
    X = blob(5)
    model = FUSE(random_state=0, holdout=0.2).fit(X[:-FRESH])
    fresh = X[-FRESH:]
    yield from model.explain(fresh).ravel()
    yield from model.toward_center(fresh, steps=3)[:, -1].ravel()
    yield from model.detect(X, fdr=0.2).astype(float)[-FRESH:]
    marks = [None] * len(X)
    marks[-1], marks[:5] = "outlier", ["fine"] * 5
    yield from model.learn_marks(X, marks).centrality(fresh)
    yield from model.partial_fit(X[:100] + 0.5).centrality(fresh)


CASES: dict[str, Callable[[], Iterator[float]]] = {
    "few rows": lambda: of_fit(5),
    "few rows, two columns": lambda: of_fit(2),
    "few rows, many columns": lambda: of_fit(120, 150),
    "many rows": lambda: of_fit(8, 12_000),
    "many rows, many columns": lambda: of_fit(40, 8_000),
    "clean rows": lambda: of_fit(6, novelty=True),
    "clean rows, many": lambda: of_fit(6, 8_000, novelty=True),
    "a pair of columns": of_pair,
    "given": lambda: of_fit(4, given=[0]),
    "cosine": lambda: of_fit(4, metric="cosine"),
    "manhattan, share of outliers": lambda: of_fit(4, metric="manhattan", contamination=0.05),
    "the paper's": of_paper,
    "dissimilarity": of_dissimilarity,
    "table": of_table,
    "what follows": of_what_follows,
}


def numbers() -> dict[str, list[float]]:
    return {name: [float(value) for value in case()] for name, case in CASES.items()}


def moved() -> list[str]:
    """Return the cases whose numbers are no longer those of the file, with the largest change of each."""
    with KNOWN.open(newline="") as file:
        known = {name: list(map(float, values)) for name, *values in csv.reader(file)}
    found = []
    for name, values in numbers().items():
        if len(known.get(name, ())) != len(values):
            found.append(f"{name}: not in {KNOWN.name} as it is now")
        elif (most := float(np.abs(np.subtract(known[name], values)).max())) > TOLERANCE:
            found.append(f"{name}: by up to {most:.2g}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_scores", description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="take today's numbers as the known ones")
    if parser.parse_args().write:
        with KNOWN.open("w", newline="") as file:
            lines = ([name, *(f"{value:.6f}" for value in values)] for name, values in numbers().items())
            csv.writer(file, lineterminator="\n").writerows(lines)
        return 0
    for line in (found := moved()):
        print(f"Scores have moved. {line}.")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
