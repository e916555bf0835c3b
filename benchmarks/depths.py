"""Classical depths against the `data-depth` package, in one run on one thread: 5000 rows, all of them queries.

Ours is the time of fit and score_samples together. Where the package would take minutes to hours it is given fewer of
the queries and its time scaled up, as the note says: it computes one query after the other. Quick calls are
repeated, and the quickest counts, for both. Then, at d = 100, how tight and how stable the default projection depth
is, and what scoring 100,000 queries adds to memory.
"""

import importlib
import tracemalloc
from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._results import save
from centrality.depths import L2, Depth, Halfspace, Mahalanobis, Potential, Projection, Spatial
from centrality.metrics import rank_correlation

N = 5000
DIRECTIONS = 1000
Row = dict[str, object]


def main() -> None:
    package = data_depth()
    with threadpool_limits(1):
        rows = [row for d in (2, 10, 100) for row in speed(package, d)]
        rows += high_dimension(package)
        rows += memory()
    save("depths", rows)


def data_depth() -> Any:
    try:
        return importlib.import_module("depth.model.multivariate")
    except ModuleNotFoundError:
        raise SystemExit("This compares with data-depth: pip install --no-deps data-depth==1.2.1.1") from None


def sample(d: int) -> np.ndarray:
    rng = np.random.default_rng(d)
    return rng.normal(size=(N, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d))


def speed(package: Any, d: int) -> list[Row]:
    X = sample(d)
    random = {"solver": "simplerandom", "NRandom": DIRECTIONS}
    few = 4  # queries for the package's random directions
    bandwidth = N ** (-2 / (d + 4))
    whitened_potential = Potential(beta=1 / (2 * bandwidth), whiten=True)  # the package whitens, and knows no ridge
    # depth, the package's call, how many queries it is given, the factor in time we want, whether values must agree
    cases: list[tuple[Depth, Callable[[np.ndarray], np.ndarray], int, float | str, bool]] = [
        (Mahalanobis(ridge=0), lambda q: package.mahalanobis(q, X, exact=True), N, 10.0, True),
        (Spatial(), lambda q: package.spatial(q, X), 200, 40.0, True),
        (whitened_potential, lambda q: package.potential(q, X, kernel="GKernel"), N, 5.0, False),
        (L2(), lambda q: package.L2(q, X), 500, "", True),
        (Projection(directions=DIRECTIONS), lambda q: package.projection(q, X, **random), few, 500.0, False),
        (Halfspace(directions=DIRECTIONS), lambda q: package.halfspace(q, X, exact=False, **random), few, 500.0, False),
    ]
    if d == 2:
        cases.append((Halfspace(), lambda q: package.halfspace(q, X, exact=True), 1000, 3.0, True))
    return [compare(X, *case) for case in cases]


def compare(
    X: np.ndarray,
    depth: Depth,
    call: Callable[[np.ndarray], np.ndarray],
    count: int,
    wanted: float | str,
    agree: bool,
) -> Row:
    ours, values = quickest(lambda: depth.fit(X).score_samples(X))
    theirs, reference = quickest(lambda: call(X[:count]))
    theirs *= len(X) / count
    note = f"package timed on {count} queries" if count < len(X) else ""
    if agree:
        note += f"; values differ by {np.abs(values[:count] - reference).max():.0e}"
    kind = type(depth).__name__.lower()
    if getattr(depth, "directions", "") == DIRECTIONS:
        kind += f", {DIRECTIONS} directions"
    elif isinstance(depth, Halfspace):
        kind += ", exact"
    return row(f"{kind}: seconds", X.shape[1], ours, theirs, theirs / ours, wanted, note.removeprefix("; "))


def high_dimension(package: Any, d: int = 100, count: int = 20) -> list[Row]:
    """The default projection depth beside the package's searches, which take half a second a query."""
    X = sample(d)
    seconds, first = quickest(lambda: Projection(random_state=0).fit(X).score_samples(X))
    rows = []
    for solver in ("refinedrandom", "neldermead"):
        spent, theirs = quickest(lambda s=solver: package.projection(X[:count], X, solver=s, NRandom=1000))
        spent *= N / count
        ours = float(first[:count].mean())
        note = f"package: {solver}, 1000 steps, timed on {count} queries"
        tight = f"{note}; lower is tighter"
        rows.append(row("projection, default: mean depth", d, ours, float(theirs.mean()), "", "lower", tight))
        rows.append(row("projection, default: seconds", d, seconds, spent, spent / seconds, "", note))
    second = Projection(random_state=1).fit(X).score_samples(X)
    random = [Projection(directions=DIRECTIONS, random_state=seed).fit(X).score_samples(X) for seed in (0, 1)]
    note = f"beside: {DIRECTIONS} random directions of ours"
    stable, unstable = rank_correlation(first, second), rank_correlation(*random)
    return [*rows, row("projection, default: Spearman of two seeds", d, stable, unstable, "", 0.99, note)]


def memory(queries: int = 100_000, d: int = 10) -> list[Row]:
    """MiB that scoring takes beyond the queries themselves, at the most."""
    X, Q = sample(d), np.random.default_rng(0).normal(size=(queries, d))
    rows = []
    for depth in (Spatial(), Potential(), Projection(directions=100), Halfspace(directions=100)):
        depth.fit(X)
        tracemalloc.start()
        depth.score_samples(Q)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        name = type(depth).__name__.lower()
        rows.append(row(f"{name}: MiB for {queries:,} queries", d, peak, "", "", "", f"queries take {Q.nbytes >> 20}"))
    return rows


def quickest(call: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Seconds of the quickest of up to 20 calls in about a second (of one, where it is slow), and the result."""
    spent: list[float] = []
    while sum(spent) < 1 and len(spent) < 20:
        start = perf_counter()
        result = call()
        spent.append(perf_counter() - start)
    return min(spent), result


def row(what: str, d: int, ours: float, package: Any, ratio: Any, wanted: Any, note: str) -> Row:
    return {
        "what": what,
        "d": d,
        "ours": ours,
        f"data-depth {version('data-depth')}": package,
        "ratio": f"{ratio:.1f}" if isinstance(ratio, float) else ratio,
        "wanted": wanted,
        "note": note,
    }


if __name__ == "__main__":
    main()
