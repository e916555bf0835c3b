"""Are scores right where the truth is known: off the data, between clusters, along narrow directions, on fresh rows?

    python -m benchmarks.known_truth [--only wild,density,narrow,called,clean] [--fits 4]   about a quarter of an hour

wild     One cell of a fresh row is replaced by 3, 1e3 or 1e6 times the largest value, of either sign: AUC-ROC against
         fresh rows, and the share of such rows that are less central than 95% of the training rows.
density  Spearman correlation of centrality with the density, ten mixtures in two dimensions.
narrow   The same for a Gaussian whose neighbouring columns correlate by .9.
called   Share of fresh rows that `predict` calls, asked for 10%: with `contamination="auto"`, and of training rows.
clean    The same with `novelty=True`, asked for 1%.

Everything is with defaults, on rows that the model has not seen. Each part writes results/known_truth_PART.csv.
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import multivariate_normal, spearmanr
from sklearn.metrics import roc_auc_score

from benchmarks._results import save
from centrality import FUSE

Draw = Callable[[tuple[int, int], np.random.Generator], np.ndarray]  # of a shape
DIAL = (0.0, 0.5, 1.0)
ROWS = 5000  # of a mixture


def with_zeros(share: float, sigma: float) -> Draw:
    """Columns of zeros and amounts."""
    return lambda shape, rng: np.where(rng.random(shape) < share, 0.0, rng.lognormal(0, sigma, shape))


COLUMNS: dict[str, Draw] = {
    "normal": lambda shape, rng: rng.normal(size=shape),
    "uniform": lambda shape, rng: rng.random(shape),
    "exponential": lambda shape, rng: rng.exponential(size=shape),
    "gamma(.3)": lambda shape, rng: rng.gamma(0.3, size=shape),
    "beta(.5, .5)": lambda shape, rng: rng.beta(0.5, 0.5, shape),
    "student(2)": lambda shape, rng: rng.standard_t(2, shape),
    "cauchy": lambda shape, rng: rng.standard_cauchy(shape),
    "pareto(2)": lambda shape, rng: rng.pareto(2, shape),
    "pareto(.5)": lambda shape, rng: rng.pareto(0.5, shape),
    "log-normal, sigma 1": lambda shape, rng: rng.lognormal(0, 1, shape),
    "log-normal, sigma 3": lambda shape, rng: rng.lognormal(0, 3, shape),
    "two groups": lambda shape, rng: rng.normal(size=shape) + 8 * rng.integers(0, 2, shape),
    "50% zeros": with_zeros(0.5, 1),
    "90% zeros": with_zeros(0.9, 1),
    "97% zeros": with_zeros(0.97, 1),
    "binary": lambda shape, rng: rng.integers(0, 2, shape).astype(float),
    "binary, 5% ones": lambda shape, rng: (rng.random(shape) < 0.05).astype(float),
    "ternary": lambda shape, rng: rng.integers(0, 3, shape).astype(float),
    "poisson(1.5)": lambda shape, rng: rng.poisson(1.5, shape).astype(float),
    "years": lambda shape, rng: rng.integers(1990, 2025, shape).astype(float),
}


def wild(fits: int, columns: dict[str, Draw] = COLUMNS, widths: tuple[int, ...] = (1, 2, 5, 20, 50)) -> None:
    rows: list[dict[str, object]] = []
    for name, draw in columns.items():
        for p in widths:
            found = [wild_cells(draw, p, seed) for seed in range(max(1, fits // 4))]
            for times, sign in found[0]:
                auc, below = np.mean([each[times, sign] for each in found], axis=0).T  # (3,), (3,): at t = 0, 1/2, 1
                row: dict[str, object] = {"columns": name, "p": p, "times the largest": sign * times}
                row |= {f"AUC at t = {t:g}": float(value) for t, value in zip(DIAL, auc, strict=True)}
                rows.append(row | {f"below 5% at t = {t:g}": float(v) for t, v in zip(DIAL, below, strict=True)})
            worst = min(float(row["AUC at t = 0.5"]) for row in rows[-6:])  # type: ignore[arg-type]
            print(name, p, f"worst AUC {worst:.3f}", flush=True)
        save("known_truth_wild", rows)


def wild_cells(draw: Draw, p: int, seed: int) -> dict[tuple[float, int], np.ndarray]:
    """Return, by size and sign, the AUC and the share below the training rows' 5% quantile, at each t: (3, 2)."""
    rng = np.random.default_rng([seed, p, 28])
    train, fresh, odd = draw((800, p), rng), draw((1000, p), rng), draw((400, p), rng)
    model = FUSE(random_state=seed).fit(train)
    usual, bounds = model.centrality(fresh, DIAL), np.quantile(model.centrality(train, DIAL), 0.05, axis=0)
    found = {}
    for times, sign in ((times, sign) for times in (3.0, 1e3, 1e6) for sign in (1, -1)):
        rows, at = odd.copy(), rng.integers(p, size=len(odd))
        rows[np.arange(len(odd)), at] = sign * times * np.abs(train).max(0)[at]
        scores = model.centrality(rows, DIAL)
        labels = np.repeat([0, 1], [len(usual), len(scores)])
        auc = [roc_auc_score(labels, -np.concatenate(pair)) for pair in zip(usual.T, scores.T, strict=True)]
        found[times, sign] = np.column_stack([auc, (scores < bounds).mean(0)])
    return found


def ring(radius: float, count: int) -> np.ndarray:
    angle = 2 * np.pi * np.arange(count) / count
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


Mixture = tuple[np.ndarray, list[np.ndarray], np.ndarray]  # centres, covariances, shares


def mixture(centres: np.ndarray | list[list[float]], deviations: object, shares: object = 1.0) -> Mixture:
    places = np.asarray(centres, dtype=float)
    each = np.broadcast_to(np.asarray(deviations, dtype=float), (len(places),))
    weights = np.broadcast_to(np.asarray(shares, dtype=float), (len(places),))
    return places, [s**2 * np.eye(2) for s in each], weights / weights.sum()


CORNERS = [[0.0, 0.0], [8.0, 0.0], [0.0, 8.0], [8.0, 8.0]]
MIXTURES: dict[str, Mixture] = {
    "five of unequal width": mixture([*CORNERS, [4.0, 4.0]], [1.0, 0.5, 0.3, 1.5, 0.2]),
    "four equal": mixture(CORNERS, 1.0),
    "9:1, widths 1 and .2": mixture([[0.0, 0.0], [6.0, 0.0]], [1.0, 0.2], [9, 1]),
    "9:1, equal widths": mixture([[0.0, 0.0], [6.0, 0.0]], 1.0, [9, 1]),
    "a ring of eight": mixture(ring(6.0, 8), 0.7),
    "sixteen on a grid": mixture([[5.0 * i, 5.0 * j] for i in range(4) for j in range(4)], 0.6),
    "one": mixture([[0.0, 0.0]], 1.0),
    "three of unequal share": mixture([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]], 1.0, [6, 3, 1]),
    "wide round narrow": mixture([[0.0, 0.0], [0.0, 0.0]], [3.0, 0.3]),
    "two long ones": (
        np.array([[0.0, 0.0], [0.0, 6.0]]),
        [np.array([[9.0, 2.5], [2.5, 0.9]]), np.array([[9.0, -2.5], [-2.5, 0.9]])],
        np.array([0.5, 0.5]),
    ),
}


def of_mixture(world: Mixture, n: int, rng: np.random.Generator) -> np.ndarray:
    centres, spreads, shares = world
    roots = np.array([np.linalg.cholesky(spread) for spread in spreads])
    group = rng.choice(len(shares), size=n, p=shares)
    return centres[group] + np.einsum("nij,nj->ni", roots[group], rng.normal(size=(n, 2)))


def log_density(world: Mixture, rows: np.ndarray) -> np.ndarray:
    parts = zip(*world, strict=True)
    logs = [np.log(share) + multivariate_normal(centre, spread).logpdf(rows) for centre, spread, share in parts]
    return np.asarray(np.logaddexp.reduce(logs, axis=0))


def density(fits: int) -> None:
    rows: list[dict[str, object]] = []
    for name, world in MIXTURES.items():
        found = []
        for seed in range(fits):
            rng = np.random.default_rng([seed, ROWS, 2])
            model = FUSE(random_state=seed).fit(of_mixture(world, ROWS, rng))
            fresh = of_mixture(world, 3000, rng)
            true = log_density(world, fresh)
            found.append([spearmanr(score, true)[0] for score in model.centrality(fresh, DIAL).T])
        row: dict[str, object] = {"mixture": name, "rows": ROWS, "fits": fits}
        for t, each in zip(DIAL, zip(*found, strict=True), strict=True):
            row |= {f"mean at t = {t:g}": float(np.mean(each)), f"least at t = {t:g}": float(np.min(each))}
        rows.append(row)
        print(row, flush=True)
    save("known_truth_density", rows)


def correlated(n: int, p: int, rng: np.random.Generator, by: float = 0.9) -> np.ndarray:
    """Draw rows whose columns are an autoregression: one correlates with the next by `by`."""
    rows = rng.normal(size=(n, p))
    for j in range(1, p):
        rows[:, j] = by * rows[:, j - 1] + np.sqrt(1 - by**2) * rows[:, j]
    return rows


def narrow(fits: int) -> None:
    rows: list[dict[str, object]] = []
    for p in (10, 50, 100):
        inverse = np.linalg.inv(0.9 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))
        found = []
        for seed in range(fits):
            rng = np.random.default_rng([seed, p, 3])
            model = FUSE(random_state=seed).fit(correlated(1000, p, rng))
            fresh = correlated(3000, p, rng)
            true = -np.einsum("ni,ij,nj->n", fresh, inverse, fresh)
            found.append([spearmanr(score, true)[0] for score in model.centrality(fresh, DIAL).T])
        row: dict[str, object] = {"columns": p, "rows": 1000, "fits": fits}
        row |= {f"t = {t:g}": float(np.mean(each)) for t, each in zip(DIAL, zip(*found, strict=True), strict=True)}
        rows.append(row)
        print(row, flush=True)
    save("known_truth_narrow", rows)


def clusters(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Four round groups, of unequal shares, 6 apart."""
    return rng.normal(size=shape) + 6 * np.minimum(rng.integers(0, 6, shape[0]), 3)[:, None]


CALLED: dict[str, tuple[int, int, Draw]] = {
    "normal, p = 5": (300, 5, COLUMNS["normal"]),
    "normal, p = 30": (200, 30, COLUMNS["normal"]),
    "normal, p = 100": (300, 100, COLUMNS["normal"]),
    "clusters, p = 5": (600, 5, clusters),
    **{
        f"{name}, p = 5": (600, 5, COLUMNS[name])
        for name in ("poisson(1.5)", "ternary", "binary", "90% zeros", "97% zeros")
    },
}


def called(fits: int) -> None:
    rows: list[dict[str, object]] = []
    for name, (n, p, draw) in CALLED.items():
        shares = []
        for seed in range(5 * fits):
            rng = np.random.default_rng([seed, n, p, 5])
            train = draw((n, p), rng)
            model = FUSE(random_state=seed).fit(train)
            fresh = draw((2000, p), rng)
            p_value = model.p_values(fresh)
            shares.append([(model.predict(each) == -1).mean() for each in (fresh, train)])
            shares[-1] += [(p_value <= level).mean() for level in (0.05, 0.1)]
        rows.append(
            {
                "data": name,
                "rows": n,
                "fits": len(shares),
                **_means(shares, ("fresh", "training", "p <= .05", "p <= .1")),
            }
        )
        print(rows[-1], flush=True)
    save("known_truth_called", rows)


def _means(values: list[list[float]], names: tuple[str, ...]) -> dict[str, object]:
    """Return the mean of each column of values and its standard error."""
    row: dict[str, object] = {}
    for name, each in zip(names, zip(*values, strict=True), strict=True):
        row |= {name: float(np.mean(each)), f"{name} se": float(np.std(each, ddof=1) / np.sqrt(len(each)))}
    return row


def clean(fits: int) -> None:
    rows: list[dict[str, object]] = []
    for n, p in ((100, 5), (100, 10), (300, 10), (1000, 10)):
        shares = []
        for seed in range(5 * fits):
            rng = np.random.default_rng([seed, n, p, 6])
            model = FUSE(novelty=True, contamination=0.01, random_state=seed).fit(rng.normal(size=(n, p)))
            shares.append([(model.predict(rng.normal(size=(2000, p))) == -1).mean()])
        row: dict[str, object] = {"rows": n, "columns": p, "asked": 0.01, "fits": len(shares)}
        rows.append(row | _means(shares, ("called",)) | {"most": float(np.max(shares))})
        print(rows[-1], flush=True)
    save("known_truth_clean", rows)


PARTS: dict[str, Callable[[int], None]] = {
    "wild": wild,
    "density": density,
    "narrow": narrow,
    "called": called,
    "clean": clean,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.known_truth", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, by commas")
    parser.add_argument("--fits", type=int, default=4)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # of columns as these: wild cells, far groups, few values
    for part in arguments.only.split(","):
        PARTS[part](arguments.fits)


if __name__ == "__main__":
    main()
