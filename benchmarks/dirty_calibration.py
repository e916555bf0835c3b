"""Does `detect(fdr=0.1)` find outliers right after a fit whose training rows hold outliers, and keep its rate?

    python -m benchmarks.dirty_calibration [--fits 6]   about ten minutes of one thread

Gaussian inliers; outliers 6 sd off: in one column ("column"), in every column ("group": one group far away), or in a
random direction, 6 sd beyond the usual distance ("around"). Each model is tried on 50 samples of 200 rows, 20 of them
outliers of the same kind. Writes results/dirty_calibration.csv.
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np

from benchmarks._results import save
from centrality import FUSE

SAMPLES, SHARES = 50, (0.0, 0.01, 0.05)


def column(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(n, p))
    rows[np.arange(n), rng.integers(0, p, n)] = 6 * rng.choice([-1, 1], n)
    return rows


def group(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, p)) + 6


def around(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(n, p))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * (6 + np.sqrt(p))


KINDS: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    "column": column,
    "group": group,
    "around": around,
}


def tried(n: int, p: int, share: float, kind: str, seed: int) -> tuple[float, float]:
    """Return the mean share of what is called that is false, and of the outliers that is called."""
    rng, odd = np.random.default_rng([seed, n, p, round(1000 * share)]), KINDS[kind]
    dirt = round(share * n)
    model = FUSE(random_state=seed).fit(np.concatenate([rng.normal(size=(n - dirt, p)), odd(dirt, p, rng)]))
    false, found = [], []
    for _ in range(SAMPLES):
        called = model.detect(np.concatenate([rng.normal(size=(180, p)), odd(20, p, rng)]), fdr=0.1)
        false.append(called[:180].sum() / max(called.sum(), 1))
        found.append(called[180:].mean())
    return float(np.mean(false)), float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dirty_calibration", description=__doc__)
    parser.add_argument("--fits", type=int, default=6)
    fits = parser.parse_args().fits
    warnings.filterwarnings("ignore", message="No outliers at fdr")  # it happens, and counts as no discovery
    warnings.filterwarnings("ignore", message=".*rows lie far from all others")  # those that were planted
    rows: list[dict[str, object]] = []
    for n in (500, 2000):
        for p in (5, 20):
            for share in SHARES:
                for kind in KINDS:
                    false, found = zip(*(tried(n, p, share, kind, seed) for seed in range(fits)), strict=True)
                    row: dict[str, object] = {"rows": n, "columns": p, "contamination": share, "outliers": kind}
                    row |= {"fdr": 0.1, "fits": fits, "false": float(np.mean(false))}
                    row |= {"se": float(np.std(false, ddof=1) / np.sqrt(fits)), "found": float(np.mean(found))}
                    rows.append(row)
                    print(row, flush=True)
        save("dirty_calibration", rows)


if __name__ == "__main__":
    main()
