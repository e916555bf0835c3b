"""Compare ways to pick rows: `python -m benchmarks.pick [coverage|probe|scale]`.

`coverage` writes results/pick_coverage.csv: the mean distance of all rows to the nearest pick, and seconds, for
`select(what="diverse")`, for plain greedy (each next row is the one of all rows that lowers that mean the most), for
greedy k-centre (each next row is the one farthest from all picks) and for rows drawn at random. `probe` writes
results/pick_probe.csv: the accuracy on unseen rows of a logistic regression that learned from 100 picked rows alone.
`scale` writes results/pick_scale.csv: seconds to pick 1,000 of up to a million rows on one core.
"""

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks._results import data, save
from centrality import FUSE, select
from centrality.selection.copies import likeness_by_model

Rows = NDArray[np.float32]
Picks = NDArray[np.intp]
SPLITS = 5
PICKED = 100
POOL = 1_200  # rows to pick from, and as many to try the probe on


def k_centre(Z: Rows, k: int) -> Picks:
    """Pick greedily the row farthest from all picks, after the one nearest to the mean."""
    chosen = [int(np.argmin(np.square(Z - Z.mean(0)).sum(1)))]
    squares = np.einsum("ij,ij->i", Z, Z)
    apart = np.full(len(Z), np.inf)
    while len(chosen) < k:
        last = chosen[-1]
        np.minimum(apart, squares + squares[last] - 2 * Z @ Z[last], out=apart)
        chosen.append(int(apart.argmax()))
    return np.array(chosen)


def plain_greedy(Z: Rows, k: int) -> Picks:
    """Pick greedily the row of all rows that lowers the mean distance to the nearest pick the most."""
    squares = np.einsum("ij,ij->i", Z, Z)
    between = np.sqrt(np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0))
    apart = np.full(len(Z), between.max())
    chosen: list[int] = []
    for _ in range(k):
        chosen.append(int(np.minimum(between, apart).sum(1).argmin()))
        apart = np.minimum(apart, between[chosen[-1]])
    return np.array(chosen)


def k_means(Z: Rows, k: int, seed: int) -> Picks:
    """Pick the rows nearest to the centres of k-means."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin

    centres = KMeans(k, n_init=1, random_state=seed).fit(Z).cluster_centers_
    return np.unique(pairwise_distances_argmin(centres.astype(Z.dtype), Z))


def at_random(Z: Rows, k: int, seed: int) -> Picks:
    return np.random.default_rng(seed).choice(len(Z), k, replace=False)


def mean_distance(Z: Rows, picks: Picks) -> float:
    from sklearn.metrics import pairwise_distances_argmin_min

    return float(pairwise_distances_argmin_min(Z, Z[picks])[1].mean())


def clusters(n: int, p: int, seed: int) -> Rows:
    """Return rows of ten Gaussian clusters."""
    rng = np.random.default_rng(seed)
    centres = 2 * rng.normal(size=(10, p))
    return (centres[rng.integers(10, size=n)] + rng.normal(size=(n, p))).astype(np.float32)


def coverage() -> None:
    """Measure how well picks cover all rows; the time of ours is without that of the fit."""
    rows: list[dict[str, object]] = []
    for n, p, k in ((2_000, 8, 100), (5_000, 16, 200), (100_000, 64, 1_000)):
        X = clusters(n, p, 0)
        model = FUSE(random_state=0, max_steps=200).fit(X)
        Z = likeness_by_model(model, X)
        ways: dict[str, Callable[[], Picks]] = {
            "select, diverse": lambda m=model, X=X, k=k: select(m, X, k, "diverse"),  # type: ignore[misc]
            "plain greedy": lambda Z=Z, k=k: plain_greedy(Z, k),  # type: ignore[misc]
            "k-centre": lambda Z=Z, k=k: k_centre(Z, k),  # type: ignore[misc]
            "random": lambda Z=Z, k=k: at_random(Z, k, 0),  # type: ignore[misc]
        }
        for way, pick in ways.items():
            if way == "plain greedy" and n > 10_000:
                continue  # its matrix of distances would not fit into memory
            began = time.process_time()
            picks = pick()
            seconds = time.process_time() - began
            rows.append(
                {
                    "rows": n,
                    "columns": p,
                    "picked": k,
                    "way": way,
                    "distance": mean_distance(Z, picks),
                    "cpu_s": seconds,
                }
            )
        save("pick_coverage", rows)  # one after the other: a run may be stopped


def labelled() -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.intp]]]:
    """Yield name, vectors and classes of each set."""
    import pandas as pd
    from sklearn.datasets import load_digits

    from centrality.representations import Table

    X, y = load_digits(return_X_y=True)
    yield "digits", X, y
    adult = pd.read_parquet(data("extra", "adult_train.parquet")).sample(2 * POOL, random_state=0)
    income = pd.factorize(adult.pop("income"))[0]
    yield "adult", np.asarray(Table().fit_transform(adult), dtype=np.float64), income
    for name, path in {
        "tweets, MiniLM": ("paper", "tweeteval_minilm.npz"),
        "CIFAR-10, EfficientNet": ("paper", "cifar10_effnetlite0.npz"),
        "CIFAR10_4, ResNet18": ("embeddings_dev", "ResNet18_CIFAR10_4.npz"),
        "MVTec pill, ResNet18": ("embeddings_dev", "ResNet18_mvtec_pill.npz"),
    }.items():
        with np.load(data(*path)) as file:
            vectors = np.asarray(file["E" if "E" in file else "X"], dtype=np.float64)
            yield name, vectors.reshape(len(vectors), -1), file["y"].astype(int)


def ways_to_pick(model: FUSE, X: NDArray[np.float64], Z: Rows, seed: int) -> dict[str, Picks]:
    ours = {what: select(model, X, PICKED, what, random_state=seed) for what in ("to label", "diverse")}
    return ours | {
        "k-means": k_means(Z, PICKED, seed),
        "k-centre": k_centre(Z, PICKED),
        "random": at_random(Z, PICKED, seed),
    }


def accuracy(Z: Rows, y: NDArray[np.intp], tried: Rows, truth: NDArray[np.intp]) -> float:
    """Return the share of rows that a logistic regression tells right, which learned from these rows alone."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(y)) == 1:
        return float(np.mean(truth == y[0]))
    return float(LogisticRegression(C=0.1, max_iter=2000).fit(Z, y).score(tried, truth))


def probe() -> None:
    rows: list[dict[str, object]] = []
    for name, X, y in labelled():
        found: dict[str, list[float]] = {}
        for seed in range(SPLITS):
            order = np.random.default_rng(seed).permutation(len(X))
            half = min(len(X) // 2, POOL)
            pool, rest = order[:half], order[half : 2 * half]
            model = FUSE(random_state=seed, max_steps=200).fit(X[pool])
            Z, tried = likeness_by_model(model, X[pool]), likeness_by_model(model, X[rest])
            for way, picks in ways_to_pick(model, X[pool], Z, seed).items():
                found.setdefault(way, []).append(accuracy(Z[picks], y[pool][picks], tried, y[rest]))
        for way, values in found.items():
            behind = np.subtract(found["to label"], values)
            rows.append(
                {"set": name, "way": way, "accuracy": float(np.mean(values)), "ahead of it": float(behind.mean()),
                 "s.e.": float(behind.std(ddof=1) / np.sqrt(SPLITS))}
            )  # fmt: skip
        save("pick_probe", rows)  # set by set: a run may be stopped


def scale() -> None:
    rows: list[dict[str, object]] = []
    for n in (1_000_000, 100_000):
        X = clusters(n, 64, 0)
        model = FUSE(random_state=0, max_steps=200).fit(X[:10_000])
        for what in ("diverse", "to label", "typical"):
            began, cpu = time.perf_counter(), time.process_time()
            select(model, X, 1_000, what)
            row = {"rows": n, "columns": 64, "picked": 1_000, "what": what, "seconds": time.perf_counter() - began}
            rows.append(row | {"cpu_s": time.process_time() - cpu})
            save("pick_scale", rows)


if __name__ == "__main__":
    for part in sys.argv[1:] or ["coverage", "probe", "scale"]:
        {"coverage": coverage, "probe": probe, "scale": scale}[part]()
