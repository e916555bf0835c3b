"""Do marks give `detect(fdr=0.1)` back what outliers among the training rows take from it?

    python -m benchmarks.marks_error_rates [--fits 6]    about two minutes of one thread

The inliers and the three kinds of outliers of benchmarks/dirty_calibration.py; 500 rows of 5 columns, none or 5% of
them outliers. A reviewer who knows the truth marks 50 rows in the order of `model.review`, five at a time. Each model
is tried on 50 samples of 200 rows, 20 of them outliers of the same kind. Writes results/marks_error_rates.csv: the
share of what is called that is false, its standard error over fits, and the share of the outliers that is called.
"""

import argparse
import warnings

import numpy as np

from benchmarks._results import save
from benchmarks.dirty_calibration import KINDS, SAMPLES
from centrality import FUSE

ROWS, COLUMNS, SHARE, MARKS, AT_A_TIME, FDR = 500, 5, 0.05, 50, 5, 0.1


def reviewed(model: FUSE, X: np.ndarray, odd: np.ndarray) -> FUSE:
    """Return the model that has learned the marks of a reviewer who knows which rows are odd."""
    marks: list[str | None] = [None] * len(X)
    for _ in range(MARKS // AT_A_TIME):
        for row in model.review(X, marks).order[:AT_A_TIME]:
            marks[row] = "outlier" if odd[row] else "fine"
    return model.learn_marks(X, marks)


def tried(model: FUSE, kind: str, rng: np.random.Generator) -> tuple[float, float]:
    """Return the mean share of what is called that is false, and of the outliers that is called."""
    false, found = [], []
    for _ in range(SAMPLES):
        rows = np.concatenate([rng.normal(size=(180, COLUMNS)), KINDS[kind](20, COLUMNS, rng)])
        called = model.detect(rows, fdr=FDR)
        false.append(called[:180].sum() / max(called.sum(), 1))
        found.append(called[180:].mean())
    return float(np.mean(false)), float(np.mean(found))


def measured(kind: str, seed: int) -> dict[str, tuple[float, float]]:
    """Return what `tried` finds of a model of clean rows, of dirty ones, and of these once 50 are marked."""
    rng = np.random.default_rng([seed, 32])
    clean, dirt = rng.normal(size=(ROWS, COLUMNS)), KINDS[kind](round(SHARE * ROWS), COLUMNS, rng)
    dirty = np.concatenate([clean[len(dirt) :], dirt])
    odd = np.arange(ROWS) >= ROWS - len(dirt)
    model = FUSE(random_state=seed).fit(dirty)
    models = {"clean": FUSE(random_state=seed).fit(clean), "dirty": model, "marked": reviewed(model, dirty, odd)}
    return {name: tried(each, kind, np.random.default_rng([seed, 33])) for name, each in models.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.marks_error_rates", description=__doc__)
    parser.add_argument("--fits", type=int, default=6)
    fits = parser.parse_args().fits
    warnings.filterwarnings("ignore")  # of planted rows, and where nothing is called
    rows: list[dict[str, object]] = []
    for kind in KINDS:
        found = [measured(kind, seed) for seed in range(fits)]
        for name in ("clean", "dirty", "marked"):
            false, power = np.array([each[name] for each in found]).T
            row: dict[str, object] = {"outliers": kind, "training rows": name, "fdr": FDR, "fits": fits}
            row |= {"false": float(false.mean()), "se": float(np.std(false, ddof=min(1, fits - 1)) / np.sqrt(fits))}
            rows.append(row | {"found": float(power.mean())})
            print(rows[-1], flush=True)
    save("marks_error_rates", rows)


if __name__ == "__main__":
    main()
