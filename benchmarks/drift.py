"""Does `drift` keep quiet where nothing changed, and speak where something did?

    python -m benchmarks.drift [--fits 20]   about ten minutes of one thread

Each model is compared with 10 samples of 300 new rows. At rest, p <= .05 must come up in at most .05 of them, whatever
the columns hold. Writes results/drift.csv: the share with p <= .05, its standard error over fits, the share `detected`,
and the share in which the change that is named first is the one that was made.
"""

import argparse
from collections.abc import Callable

import numpy as np

from benchmarks._results import save
from centrality import FUSE

SAMPLES, NEW = 10, 300
Sampler = Callable[[int, np.random.Generator], np.ndarray]

AT_REST: dict[str, tuple[int, Sampler]] = {
    "ternary": (5, lambda n, rng: rng.integers(0, 3, size=(n, 5)).astype(float)),
    "binary": (5, lambda n, rng: rng.integers(0, 2, size=(n, 5)).astype(float)),
    "Poisson(1.5)": (5, lambda n, rng: rng.poisson(1.5, size=(n, 5)).astype(float)),
    "90% zeros, else log-normal": (
        5,
        lambda n, rng: np.where(rng.random((n, 5)) < 0.9, 0.0, rng.lognormal(size=(n, 5))),
    ),
    "Gaussian": (20, lambda n, rng: rng.normal(size=(n, 20))),
}


def shifted(rng: np.random.Generator) -> np.ndarray:
    new = rng.normal(size=(NEW, 20))
    new[:, 3] += 1
    return new


def with_group(rng: np.random.Generator) -> np.ndarray:
    new, way = rng.normal(size=(NEW, 20)), rng.normal(size=20)
    new[: NEW // 20] += 6 * way / np.linalg.norm(way)
    return new


def tied(rng: np.random.Generator) -> np.ndarray:
    new = rng.normal(size=(NEW, 20))
    new[:, 1] = 0.9 * new[:, 0] + np.sqrt(1 - 0.81) * new[:, 1]
    return new


CHANGES: dict[str, tuple[Callable[[np.random.Generator], np.ndarray], str]] = {
    "one column +1 sd": (shifted, "x3 is higher"),
    "5% in a new group 6 sd away": (with_group, ""),
    "two columns correlated by .9": (tied, "x0 and x1 correlate"),
}


def at_rest(name: str, n: int, fits: int) -> dict[str, object]:
    p, sampler = AT_REST[name]
    found = []
    for seed in range(fits):
        rng = np.random.default_rng([seed, n, 77])
        model = FUSE(random_state=seed).fit(sampler(n, rng))
        found.append([_seen(model, sampler(NEW, rng), "") for _ in range(SAMPLES)])
    return {"change": "none", "data": name, "rows": n, "columns": p, **_summary(found)}


def changed(n: int, fits: int) -> list[dict[str, object]]:
    found: dict[str, list[list[tuple[bool, bool, bool]]]] = {name: [] for name in CHANGES}
    for seed in range(fits):
        rng = np.random.default_rng([seed, n, 7])
        model = FUSE(random_state=seed).fit(rng.normal(size=(n, 20)))
        for name, (make, words) in CHANGES.items():
            found[name].append([_seen(model, make(rng), words) for _ in range(SAMPLES)])
    return [
        {"change": name, "data": "Gaussian", "rows": n, "columns": 20, **_summary(each)} for name, each in found.items()
    ]


def _seen(model: FUSE, new: np.ndarray, words: str) -> tuple[bool, bool, bool]:
    found = model.drift(new)
    named = [str(change) for change in found.changes()]
    return found.p_value <= 0.05, found.detected(), bool(named) and named[0].startswith(words)


def _summary(found: list[list[tuple[bool, bool, bool]]]) -> dict[str, object]:
    shares = np.mean(found, axis=1)  # (fits, 3): samples of one model hang together
    alarm, detected, named = shares.mean(0).tolist()
    error = float(shares[:, 0].std(ddof=1) / np.sqrt(len(shares)))
    return {"fits": len(shares), "P(p <= .05)": alarm, "se": error, "detected": detected, "named": named}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift", description=__doc__)
    parser.add_argument("--fits", type=int, default=20)
    fits = parser.parse_args().fits
    rows: list[dict[str, object]] = []
    for n in (300, 2000):
        rows += changed(n, fits)
        for name in AT_REST:
            rows.append(at_rest(name, n, fits))
            save("drift", rows)


if __name__ == "__main__":
    main()
