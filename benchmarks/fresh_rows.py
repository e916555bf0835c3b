"""Do thresholds and p-values hold on rows that the model has not seen? And are odd cases seen as odd?

    python -m benchmarks.fresh_rows [--only called,region,...]   about a quarter of an hour of one thread; needs data

called       Share of fresh inliers that `predict` calls outliers, asked for 10%, and for 1% with `novelty`.
region       Share of fresh rows inside `central_region(mass=0.9)` of the training rows.
p_values     P(p <= a) on fresh rows, right after `fit`.
discoveries  `detect(fdr=0.1)` right after `fit`: share of false discoveries, and of outliers found.
dirt         Calibration rows of which 5% are outliers, used as they are and with `calibrate(contamination=0.05)`.

The parts of `benchmarks.odd_cases` go with them. Each writes results/fresh_rows_PART.csv.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import IsolationForest

from benchmarks import odd_cases
from benchmarks._results import data, save
from benchmarks.false_discoveries import WORLDS
from centrality import FUSE, regions

FRESH = 2000  # rows of known distributions that a model is tried on
GAUSSIAN = ((200, 30), (300, 5), (300, 100), (1000, 10))
REAL = ("Ionosphere", "Pima", "letter", "cardio")
DRAWS, DRAWS_OF_NOVELTY = 5, 3
FITS = 6  # models of p_values
Halves = Callable[[int], tuple[np.ndarray, np.ndarray]]  # of a seed: rows to learn from, fresh rows


def gaussian(n: int, p: int) -> Halves:
    def halves(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([seed, n, p])
        return rng.normal(size=(n, p)), rng.normal(size=(FRESH, p))

    return halves


def halved(X: np.ndarray) -> Halves:
    def halves(seed: int) -> tuple[np.ndarray, np.ndarray]:
        order = np.random.default_rng(seed).permutation(len(X))
        return X[order[: len(X) // 2]], X[order[len(X) // 2 :]]

    return halves


def inliers(name: str) -> np.ndarray:
    with np.load(data("adbench_dev", f"{name}.npz")) as archive:
        return np.asarray(archive["X"][archive["y"] == 0], dtype=np.float64)


def cases() -> Iterator[tuple[str, float, int, Halves]]:
    """Name, share asked for, number of draws, and rows; a hundredth is asked for with `novelty`."""
    for n, p in GAUSSIAN:
        yield f"Gaussian, n = {n}, p = {p}", 0.1, DRAWS, gaussian(n, p)
    yield "wine", 0.1, DRAWS, halved(load_wine().data)
    cancer = load_breast_cancer()
    yield "breast cancer, benign", 0.1, DRAWS, halved(cancer.data[cancer.target == 1])
    for name in REAL:
        yield name, 0.1, DRAWS, halved(inliers(name))
    for n in (500, 2000):
        yield f"Gaussian, n = {n}, p = 10", 0.01, DRAWS_OF_NOVELTY, gaussian(n, 10)
    yield "cardio", 0.01, DRAWS_OF_NOVELTY, halved(inliers("cardio"))


def called() -> None:
    rows: list[dict[str, object]] = []
    for name, asked, draws, halves in cases():
        ours, theirs = [], []
        for seed in range(draws):
            train, fresh = halves(seed)
            model = FUSE(novelty=asked == 0.01, contamination=asked, random_state=seed).fit(train)
            forest = IsolationForest(contamination=asked, random_state=seed).fit(train)
            ours.append((model.predict(fresh) == -1).mean())
            theirs.append((forest.predict(fresh) == -1).mean())
        rows.append(
            {"data": name, "rows": len(train), "columns": train.shape[1], "asked": asked, "draws": draws}
            | {"called": float(np.mean(ours)), "se": error(ours)}
            | {"IForest": float(np.mean(theirs)), "IForest_se": error(theirs)}
        )
        print(rows[-1], flush=True)
    save("fresh_rows_called", rows)


def error(values: list[float]) -> float:
    """The standard error of a mean of independent values."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def region() -> None:
    inside = []
    for seed in range(5):
        train, fresh = gaussian(200, 20)(seed)
        made = regions.central_region(FUSE(random_state=seed).fit(train), train, mass=0.9)
        inside.append(float(made.contains(fresh).mean()))
    row: dict[str, object] = {"rows": 200, "columns": 20, "fits": 5, "mass": 0.9}
    row |= {"inside": float(np.mean(inside)), "se": error(inside), "least": min(inside), "most": max(inside)}
    save("fresh_rows_region", [row])


def p_values() -> None:
    rows: list[dict[str, object]] = []
    for n, p in ((100, 5), (200, 5), (500, 5), (2000, 5), (300, 30)):
        shares = []
        for seed in range(FITS):
            train, fresh = gaussian(n, p)(seed)
            found = FUSE(random_state=seed).fit(train).p_values(fresh)
            shares.append([float((found <= level).mean()) for level in (0.05, 0.1, 0.2)])
        row: dict[str, object] = {"rows": n, "columns": p, "fits": FITS}
        for level, each in zip((".05", ".1", ".2"), zip(*shares, strict=True), strict=True):
            row |= {f"P(p <= {level})": float(np.mean(each)), f"se {level}": error(list(each))}
        rows.append(row)
        print(row, flush=True)
    save("fresh_rows_p_values", rows)


def discoveries() -> None:
    """1000 rows to learn from; each fit is tried on 100 samples of 200 rows, 20 of them outliers."""
    rows: list[dict[str, object]] = []
    for name, (normal, odd) in WORLDS.items():
        false, found = [], []
        for seed in range(5):
            rng = np.random.default_rng([seed, 18])
            model = FUSE(random_state=seed).fit(normal(1000, rng))
            tried = [discovered(model, normal(180, rng), odd(20, rng)) for _ in range(100)]
            false.append(float(np.mean([each[0] for each in tried])))
            found.append(float(np.mean([each[1] for each in tried])))
        row: dict[str, object] = {"data": name, "fdr": 0.1, "fits": 5, "samples": 100, "false": float(np.mean(false))}
        rows.append(row | {"se": error(false), "found": float(np.mean(found)), "found_se": error(found)})
    save("fresh_rows_discoveries", rows)


def discovered(model: FUSE, normal: np.ndarray, odd: np.ndarray) -> tuple[float, float]:
    """The share of what is called that is false, and the share of the outliers that is called."""
    outlier = model.detect(np.concatenate([normal, odd]), fdr=0.1)
    return outlier[: len(normal)].sum() / max(outlier.sum(), 1), outlier[len(normal) :].mean()


def dirt() -> None:
    """1000 calibration rows, of which none or 50 are outliers; 50 repetitions for each of three models."""
    rows: list[dict[str, object]] = []
    for name, (normal, odd) in WORLDS.items():
        rngs = [np.random.default_rng([seed, 19]) for seed in range(3)]
        models = [FUSE(random_state=seed).fit(normal(1000, rng)) for seed, rng in enumerate(rngs)]
        for outliers, stated in ((0, 0.0), (50, 0.0), (50, 0.05), (0, 0.05)):
            tried = []
            for model, rng in list(zip(models, rngs, strict=True)) * 50:
                held = np.concatenate([normal(1000 - outliers, rng), odd(outliers, rng)])
                model.calibrate(held, contamination=stated)
                tested = normal(180, rng), odd(20, rng)
                tried.append([*discovered(model, *tested), (model.p_values(tested[0]) <= 0.05).mean()])
            false, found, small = np.mean(tried, axis=0).tolist()
            row: dict[str, object] = {"data": name, "outliers among 1000": outliers, "contamination": stated}
            rows.append(row | {"fdr": 0.1, "false": false, "found": found, "inliers with p <= .05": small})
            print(rows[-1], flush=True)
    save("fresh_rows_dirt", rows)


PARTS: dict[str, Callable[[], None]] = {
    "called": called,
    "region": region,
    "p_values": p_values,
    "discoveries": discoveries,
    "dirt": dirt,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fresh_rows", description=__doc__)
    parser.add_argument("--only", help=f"parts, by commas (default: all): {', '.join(PARTS | odd_cases.PARTS)}")
    parser.add_argument(
        "--diamonds", type=Path, help="diamonds.csv, which plotnine's wheel holds; without it no diamonds"
    )
    parser.add_argument(
        "--before", type=Path, help="src/ of another checkout to be compared in speed; without it no time"
    )
    arguments = parser.parse_args()
    parts = PARTS | odd_cases.PARTS | odd_cases.parts_on(arguments.diamonds, arguments.before)
    chosen = arguments.only.split(",") if arguments.only else list(parts)
    if strange := set(chosen) - set(parts):
        parser.error(f"--only: {', '.join(sorted(strange))} is none of {', '.join(parts)}")
    warnings.filterwarnings("ignore", message="No outliers at fdr")  # it happens, and counts as no discovery
    warnings.filterwarnings("ignore", message=".*of the calibration rows")  # that is what `dirt` is about
    for part in chosen:
        parts[part]()


if __name__ == "__main__":
    main()
