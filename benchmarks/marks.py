"""How many more outliers does a reviewer find whose marks teach the model, and is the number left told rightly?

    python -m benchmarks.marks [--sets 8] [--models FOLDER]    ten minutes of one thread; goes on where it stopped

The sets of adbench_dev and macrodata_dev, cut to a random 2,000 rows, that hold at least 20 outliers. Each is fitted
once. A simulated reviewer, who knows the truth, marks five rows at a time, those that stand first, up to 100; what has
been marked then changes the order of the rest. Counted are the outliers among the rows looked at, by:

plain             the model's ranking, which learns nothing
marks             `model.review(X, marks).order`
10% wrong         the same with every tenth mark wrong, at random
random forest     one trained on the marks, once there are both kinds; before, the plain ranking
active discovery  an isolation forest whose leaves have weights that marks change (benchmarks/active_discovery.py)

Writes results/marks_sets.csv, a line for each set and way, and results/marks.csv: means over sets, how many sets are
worse than the plain ranking by more than two rows, and in how many the number of outliers among the next 100 rows lies
in the interval that `review` gives.
"""

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks import provenance
from benchmarks._results import RESULTS, data, save
from benchmarks.active_discovery import ActiveDiscovery
from benchmarks.cells import Lines
from centrality import FUSE
from centrality import load as load_model

ROWS, OUTLIERS, AT_A_TIME = 2000, 20, 5
COUNTS = (10, 20, 50, 100)  # marks
WRONG = 0.1  # of the marks, where some are
NEXT = 100
WAYS = ("plain", "random forest", "active discovery", "marks", "10% wrong")

Marked = tuple[np.ndarray, np.ndarray]  # numbers of rows, and which of them were called outliers
Order = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of marks, all rows that are left, the next one first


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path) as archive:
        X, y = archive["X"].astype(np.float64), archive["y"].ravel() > 0
    kept = np.sort(np.random.default_rng(0).permutation(len(y))[:ROWS])
    return X[kept], y[kept]


def left(scores: np.ndarray, marked: np.ndarray) -> np.ndarray:
    """Return the rows that are not marked, the lowest score first."""
    order = np.argsort(scores, kind="stable")
    return order[~np.isin(order, marked)]


def as_marks(n: int, marked: np.ndarray, outlier: np.ndarray) -> list[str | None]:
    marks: list[str | None] = [None] * n
    for row, odd in zip(marked, outlier, strict=True):
        marks[row] = "outlier" if odd else "fine"
    return marks


def by_forest(X: np.ndarray, scores: np.ndarray, marked: np.ndarray, outlier: np.ndarray) -> np.ndarray:
    if len(set(outlier.tolist())) < 2:
        return left(scores, marked)
    forest = RandomForestClassifier(50, min_samples_leaf=2, random_state=0).fit(X[marked], outlier)
    chance = forest.predict_proba(X)[:, 1]
    rank = scores.argsort().argsort() / len(scores)
    return left(1e-3 * rank - chance, marked)  # of equal chances, the lower score


def by_discovery(peer: ActiveDiscovery, marked: np.ndarray, outlier: np.ndarray) -> np.ndarray:
    if len(marked):
        peer.learn(marked, outlier)
    return left(-peer.scores, marked)


def reviewed(order: Order, y: np.ndarray, wrong: np.ndarray) -> list[Marked]:
    """Let the reviewer mark; return the marks after each of COUNTS."""
    marked, outlier = np.array([], dtype=int), np.array([], dtype=bool)
    seen = []
    while len(marked) < min(COUNTS[-1], len(y)):
        new = order(marked, outlier)[:AT_A_TIME]
        marked, outlier = np.append(marked, new), np.append(outlier, y[new] ^ wrong[new])
        if len(marked) in COUNTS:
            seen.append((marked, outlier))
    return seen


def fitted(path: Path, X: np.ndarray, models: Path | None) -> FUSE:
    """Fit the model of a set, or take the one that is kept from an earlier run."""
    kept = None if models is None else models / f"{path.stem}.safetensors"
    if kept is not None and kept.exists():
        return load_model(kept)
    model = FUSE(random_state=0).fit(X)
    if kept is not None:
        model.save(kept)
    return model


def orders(X: np.ndarray, model: FUSE) -> dict[str, Order]:
    """Return each way to say which rows come next."""
    scores = model.score_samples(X)

    def review(marked: np.ndarray, outlier: np.ndarray) -> np.ndarray:
        return model.review(X, as_marks(len(X), marked, outlier)).order

    return {
        "plain": lambda marked, outlier: left(scores, marked),
        "random forest": partial(by_forest, X, scores),
        "active discovery": partial(by_discovery, ActiveDiscovery(X, seed=0)),
        "marks": review,
        "10% wrong": review,
    }


def measured(path: Path, ways: list[str], models: Path | None) -> list[list[object]]:
    """Return a line for each way: how many outliers were found at each of COUNTS, and whether intervals held."""
    X, y = load(path)
    model = fitted(path, X, models)
    order, lines = orders(X, model), []
    mistaken = np.random.default_rng([len(y), int(y.sum())]).random(len(y)) < WRONG
    for way in ways:
        seen = reviewed(order[way], y, mistaken & (way == "10% wrong"))
        found = [int(y[marked].sum()) for marked, _ in seen]
        ours = way in ("marks", "10% wrong")
        held = [_held(model, X, y, *marks) if ours else "" for marks in seen]
        lines.append([path.stem, len(y), int(y.sum()), way, *found, *held])
    return lines


def _held(model: FUSE, X: np.ndarray, y: np.ndarray, marked: np.ndarray, outlier: np.ndarray) -> int:
    """Say whether the number of outliers among the next rows lies in the interval, as 1 or 0."""
    review = model.review(X, as_marks(len(y), marked, outlier))
    assert review.left is not None
    return int(review.left.low <= y[review.order[:NEXT]].sum() <= review.left.high)


def summary(lines: list[dict[str, str]]) -> list[dict[str, object]]:
    def of(way: str, count: int, what: str) -> np.ndarray:
        cells = [line[f"{what} {count}"] for line in lines if line["way"] == way]
        return np.array([float(cell) for cell in cells if cell])

    rows: list[dict[str, object]] = []
    for way in [way for way in WAYS if any(line["way"] == way for line in lines)]:
        for count in COUNTS:
            found, plain = of(way, count, "found"), of("plain", count, "found")
            held = of(way, count, "held")
            row: dict[str, object] = {"way": way, "marks": count, "sets": len(found), "found": float(found.mean())}
            row |= {"times plain": float(found.sum() / plain.sum()), "sets worse": int((found < plain - 2).sum())}
            row |= {"worst": int((found - plain).min()), "intervals held": float(held.mean()) if len(held) else ""}
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.marks", description=__doc__)
    parser.add_argument("--sets", type=int, help="so many sets only, and nothing is written")
    parser.add_argument("--models", type=Path, help="a folder where fitted models are kept for the next run")
    parser.add_argument("--ways", default=",".join(WAYS), help="some of them, separated by commas")
    asked = parser.parse_args()
    warnings.filterwarnings("ignore")  # what a fit says of its rows
    folders = (data("adbench_dev"), data("macrodata_dev"))
    paths = [path for folder in folders for path in sorted(folder.glob("*.npz"), key=lambda path: path.name.lower())]
    paths = [path for path in paths if load(path)[1].sum() >= OUTLIERS]
    columns = ("set", "rows", "outliers", "way", *(f"found {n}" for n in COUNTS), *(f"held {n}" for n in COUNTS))
    if asked.sets is not None:
        some = paths[:: max(len(paths) // asked.sets, 1)]
        lines = [line for path in some for line in measured(path, asked.ways.split(","), asked.models)]
        print(*summary([dict(zip(columns, map(str, line), strict=True)) for line in lines]), sep="\n")
        return
    kept = Lines(RESULTS / "marks_sets.csv", columns)
    known = {(line["set"], line["way"]) for line in kept.read()}
    for path in paths:
        if unknown := [way for way in asked.ways.split(",") if (path.stem, way) not in known]:
            kept.append(*measured(path, unknown, asked.models))
            print(path.stem, flush=True)
    provenance.note(kept.path)
    save("marks", summary(kept.read()))


if __name__ == "__main__":
    main()
