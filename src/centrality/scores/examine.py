"""Measure the numbers of a fit's report, from the training rows and the model's function from rows to heads."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._estimator import CheckedRows, ColumnBlocks
from centrality.scores.magnitudes import in_units
from centrality.scores.report import HEADS, OFF_ZERO, Report

SAMPLE = 10_000  # rows looked at, evenly spaced, where there are more
VALUES = 1 << 22  # of wide rows, so many are looked at at once: 32 MiB
SHOWN = 10  # columns listed for each head, those that move it the most
MOST_COLUMNS = 2000  # with more, how each of them moves the heads is not measured
PROBES = 40_000  # rows scored to find that out, about
TAIL = 0.0025  # beyond this and 1 - this, the global logit is past 6: the sigmoid's ends
NOISE = 3.0  # deviations of a column, of the noise that rows are told apart from
WILD, WILD_CELLS = 0.999, 0.002  # a share of a column's variance that is that of so few cells (or of one)
BEYOND = 100.0  # times the range of nearly all values
FAR = 10.0  # times the median distance from the middle, in scaled units

Scale: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]  # from rows to scaled ones
Score: TypeAlias = Callable[[CheckedRows], NDArray[np.float64]]  # from rows to their heads, (n, 2)


def examine(
    X: CheckedRows,
    score: Score,
    *,
    held_aside: int,
    history: dict[str, list[float]],
    nothing: dict[str, float],
    names: Sequence[str] | None,
    center: NDArray[np.float64] | None = None,
    scaled: Scale | None = None,
    by_heart: float = 0.0,
) -> Report:
    """Report on a model from the rows X that it was trained on, and its function from rows to heads.

    `center` (p,) is what its scaling subtracts from rows, `scaled` the function that scales them.
    """
    rows = X.shape[0]
    X = X if rows <= SAMPLE else X[np.linspace(0, rows - 1, SAMPLE).astype(np.intp)]
    heads, (mean, deviation) = score(X), _moments(X)
    copies = 1 - _distinct_rows(X) / X.shape[0]
    quartiles = np.quantile(heads, [0.25, 0.75], axis=0)
    scores = {head: heads[:, k] for k, head in enumerate(HEADS)}
    return Report(
        rows=rows,
        held_aside=held_aside,
        columns=X.shape[1],
        constant_columns=int((deviation == 0).sum()),
        copies=float(copies),
        losses={head: _ending(history[head], nothing[head]) for head in HEADS},
        told_apart=_told_apart(X, heads, deviation, score),
        spread={head: float(quartiles[1, k] - quartiles[0, k]) for k, head in enumerate(HEADS)},
        distinct={head: len(np.unique(s)) / ((1 - copies) * len(s)) for head, s in scores.items()},
        saturated=float(((scores["global"] < TAIL) | (scores["global"] > 1 - TAIL)).mean()),
        influence=_influence(X, deviation, score, names),
        off_zero={} if center is None else _off_zero(mean - center, deviation, names),
        wild=_wild(X, names),
        far_but_dense=0 if scaled is None else _far_but_dense(X, heads, scaled),
        by_heart=by_heart,
    )


def _ending(losses: list[float], nothing: float) -> dict[str, float]:
    """Return the mean of the last fifth of the losses and its standard error; without losses, of an untrained head."""
    known = np.array([loss for loss in losses if np.isfinite(loss)] or [nothing])
    last = known[-max(3, len(known) // 5) :]
    # The noise is estimated by differences of neighbours, so that a loss which still falls does not count as noise;
    # a single loss says nothing about it, so that a tenth of it is assumed.
    error = np.sqrt(np.square(np.diff(last)).mean() / 2 / len(last)) if len(last) > 1 else 0.1 * last[0]
    return {"start": float(known[0]), "end": float(last.mean()), "error": float(error), "nothing": nothing}


def _told_apart(
    X: CheckedRows, heads: NDArray[np.float64], deviation: NDArray[np.float64], score: Score
) -> dict[str, float]:
    """Return how often a row scores higher than another row with noise of three deviations added in every column."""
    from scipy.stats import rankdata  # takes longer to import than all else that scores rows

    count = int(np.clip((1 << 21) // X.shape[1], 50, 1000))
    rows = _few(X, count)
    noise = np.random.default_rng([3, 141, 59]).normal(size=rows.shape)  # a seed that test data is unlikely to share
    both = np.concatenate([_evenly(heads, count), score(rows + NOISE * deviation * noise)])
    n = len(rows)
    wins = rankdata(both, axis=0)[:n].sum(0) - n * (n + 1) / 2  # ties count half
    return {head: float(wins[k] / n**2) for k, head in enumerate(HEADS)}


def _few(X: Any, count: int) -> NDArray[np.float64]:
    """Return at most `count` rows, evenly spaced, as dense numbers."""
    few = _evenly(X, count)
    return (few.toarray() if sparse.issparse(few) else np.asarray(few)).astype(np.float64)


def _evenly(X: Any, count: int) -> Any:
    """Return at most `count` rows, evenly spaced."""
    return X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], count)).astype(np.intp)]


def _distinct_rows(X: Any) -> int:
    if sparse.issparse(X):
        X = X.sorted_indices()
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        return len({(X.indices[a:b].tobytes(), X.data[a:b].tobytes()) for a, b in ends})
    # Equal rows have equal random weighted sums: where all of these differ, so do the rows, and none need be kept.
    with np.errstate(all="ignore"):
        sums = (X * np.random.default_rng(0).normal(size=X.shape[1])).sum(1)
    return len(X) if len(np.unique(sums)) == len(X) else len({row.tobytes() for row in X})


def _moments(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # (p,), (p,)
    """Return each column's mean and standard deviation; the latter is exactly 0 where the column is constant."""
    X, unit = in_units(X)
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    if sparse.issparse(X):
        X = X.astype(np.float64)
        variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - np.square(mean)
        constant = (X.max(axis=0) - X.min(axis=0)).toarray().ravel() == 0
        return mean * unit, np.where(constant, 0.0, np.sqrt(np.maximum(variance, 0))) * unit
    return mean * unit, np.where((X[:1] == X).all(axis=0), 0.0, X.std(axis=0, dtype=np.float64)) * unit


def _influence(
    X: CheckedRows,
    deviation: NDArray[np.float64],
    score: Score,
    names: Sequence[str] | None,
) -> dict[str, dict[str, float]]:
    """Return how much each head changes, on average, when one column moves by a standard deviation, as shares."""
    p = X.shape[1]
    if p > MOST_COLUMNS:
        return {}
    probes = _few(X, int(np.clip(PROBES // (2 * p), 8, 64)))
    moved = np.zeros((p, len(HEADS)))
    at_once = max(1, (1 << 21) // (2 * probes.size))
    for start in range(0, p, at_once):
        block = np.arange(start, min(p, start + at_once))
        shifted = np.tile(probes, (2, len(block), 1, 1))  # (2, columns, rows, p): half a deviation up, and down
        for sign in (0, 1):
            shifted[sign, np.arange(len(block)), :, block] += (0.5 - sign) * deviation[block, None]
        up, down = score(shifted.reshape(-1, p)).reshape(2, len(block), len(probes), len(HEADS))
        moved[block] = np.abs(up - down).mean(axis=1)
    shares = moved / np.where(moved.sum(0) > 0, moved.sum(0), 1.0)
    labels = _labels(names, p)
    return {
        head: {labels[j]: float(shares[j, k]) for j in np.argsort(-shares[:, k], kind="stable")[:SHOWN]}
        for k, head in enumerate(HEADS)
    }


def _off_zero(
    off: NDArray[np.float64], deviation: NDArray[np.float64], names: Sequence[str] | None
) -> dict[str, float]:
    """Return the columns whose means are off what the scaling subtracts by many deviations, farthest first."""
    away = np.divide(np.abs(off), deviation, out=np.zeros_like(off), where=deviation > 0)
    labels = _labels(names, len(off))
    farthest = [j for j in np.argsort(-away, kind="stable")[:SHOWN] if away[j] > OFF_ZERO]
    return {labels[j]: float(away[j]) for j in farthest}


def _wild(X: CheckedRows, names: Sequence[str] | None) -> dict[str, int]:
    """Return the columns whose variance comes from a few cells, and how many cells those are."""
    columns: list[tuple[int, int]] = []
    for at, few in ColumnBlocks(_evenly(X, 5000), VALUES):
        cells = wild_cells(few)
        columns += [(at.start + j, cells[j]) for j in np.flatnonzero(cells)]
    labels = _labels(names, X.shape[1])
    return {labels[j]: int(cells) for j, cells in columns[:SHOWN]}


def wild_cells(values: NDArray[np.float64]) -> NDArray[np.intp]:  # (n, p) -> (p,)
    """Return the number of cells that make up most of each column's variance; 0 where these are not a few.

    These lie far beyond the range of nearly all others; a column that hardly ever differs has no such range.
    """
    values, _ = in_units(values)
    n, most, found = len(values), max(1, WILD_CELLS * len(values)), np.zeros(values.shape[1], dtype=np.intp)
    # So few cells cannot make up that much of a variance unless the range is wide: few columns' quantiles are needed.
    wide = np.flatnonzero(most * np.square(np.ptp(values, axis=0)) > 0.9 * WILD * n * values.var(0))
    values = values[:, wide]
    low, median, high = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
    off = np.abs(values - median)
    wild = off > BEYOND * (high - low)
    total, theirs, cells = np.square(off).sum(0), np.square(np.where(wild, off, 0.0)).sum(0), wild.sum(0)
    found[wide] = np.where((high > low) & (cells <= most) & (theirs > WILD * total), cells, 0)
    return found


def _far_but_dense(X: CheckedRows, heads: NDArray[np.float64], scaled: Scale) -> int:
    few = _few(X, int(np.clip(VALUES // X.shape[1], 200, 5000)))
    local = heads[np.linspace(0, len(heads) - 1, len(few)).astype(np.intp), 1]
    distance = np.linalg.norm(scaled(few), axis=1)
    return int(((distance > FAR * np.median(distance)) & (local > np.median(local))).sum())


def _labels(names: Sequence[str] | None, p: int) -> list[str]:
    return [str(name) for name in names] if names is not None else [str(j) for j in range(p)]
