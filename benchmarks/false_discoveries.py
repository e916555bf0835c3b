"""Does `detect(fdr=...)` keep its word? 500 repetitions, each with calibration and test rows of its own.

One model a distribution; 1,000 calibration rows, 200 test rows of which 20 are outliers. The mean share of false
discoveries must not exceed fdr (theory: it is at most 0.9 fdr, the test rows being nine tenths inliers), and outliers
should be found. A correlated Gaussian with outliers shifted off its axis, and four clusters with outliers uniform
around them.
"""

import warnings
from collections.abc import Callable

import numpy as np

from benchmarks._results import save
from centrality import FUSE, datasets

REPETITIONS, LEVELS, DIAL = 500, (0.05, 0.1, 0.2), (0.0, 0.5, 1.0)
Sampler = Callable[[int, np.random.Generator], np.ndarray]


def gaussian(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=(n, 10)) @ np.linalg.cholesky(0.5 * np.eye(10) + 0.5).T


def shifted(n: int, rng: np.random.Generator) -> np.ndarray:
    return gaussian(n, rng) + 3 * np.sign(np.arange(10) - 4.5)


def clusters(n: int, rng: np.random.Generator) -> np.ndarray:
    return datasets.four_clusters().sample(n, random_state=rng)


def around(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-9, 9, size=(n, 2))


WORLDS: dict[str, tuple[Sampler, Sampler]] = {
    "Gaussian, p = 10": (gaussian, shifted),
    "four clusters": (clusters, around),
}


def main() -> None:
    warnings.filterwarnings("ignore", message="No outliers at fdr")  # it happens, and counts as no discovery
    rows: list[dict[str, object]] = []
    for name, (normal, odd) in WORLDS.items():
        rng = np.random.default_rng(0)
        model = FUSE(random_state=0, novelty=True).fit(normal(5000, rng))
        false = {(t, fdr): [] for t in DIAL for fdr in LEVELS}
        found = {key: [] for key in false}
        for _ in range(REPETITIONS):
            model.calibrate(normal(1000, rng))
            tested = np.concatenate([normal(180, rng), odd(20, rng)])
            for t, fdr in false:
                called = model.detect(tested, fdr=fdr, t=t)
                false[t, fdr].append(called[:180].sum() / max(called.sum(), 1))
                found[t, fdr].append(called[180:].mean())
        for (t, fdr), shares in false.items():
            error = float(np.std(shares, ddof=1) / np.sqrt(REPETITIONS))
            power = float(np.mean(found[t, fdr]))
            rows.append(
                {"data": name, "t": t, "fdr": fdr, "false": float(np.mean(shares)), "se": error, "found": power}
            )
    save("false_discoveries", rows)


if __name__ == "__main__":
    main()
