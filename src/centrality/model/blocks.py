"""Score many rows block by block, so that only the result takes memory for all of them."""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality._estimator import CheckedRows
from centrality.network.devices import cores, is_cpu
from centrality.network.scaling import Scaling, rows_per_block
from centrality.network.scorer import NetworkScorer, Outputs

Matrix = NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)


def in_blocks(scorer: NetworkScorer, scaling: Scaling, X: CheckedRows, finish: Callable[[Outputs], Matrix]) -> Matrix:
    """Return `finish` of the networks' outputs, (members, n, 1 + k), computed block by block; row i belongs to X[i]."""

    def score(rows: CheckedRows) -> Matrix:
        return _finite(finish(_finite(scorer.of_rows(rows, scaling))))

    return block_by_block(X, rows_per_block(X.shape[1]), score, scorer.device)


def _finite(scores: NDArray[Number]) -> NDArray[Number]:
    """Return the scores; raise if one is not finite, which happens for finite rows only if the model is damaged."""
    if not np.isfinite(scores).all():
        raise InputError(
            "This model gives scores that are no finite numbers: its weights are damaged or out of range. Copy its "
            "file again, or fit it again."
        )
    return scores


def block_by_block(
    X: CheckedRows, size: int, work: Callable[[CheckedRows], NDArray[Number]], device: str
) -> NDArray[Number]:
    """Apply `work` to each block of rows, one block per thread, and join the results along the first dimension."""
    n = X.shape[0]
    starts = range(0, n, size)
    if len(starts) == 1:
        return work(X)
    result: NDArray[Number] | None = None
    threads = cores() if is_cpu(device) else 1
    with ThreadPoolExecutor(threads) as pool:  # it starts none before there is work for them
        try:
            parts = (pool.map if threads > 1 else map)(lambda start: work(X[start : start + size]), starts)
            for start, part in zip(starts, parts, strict=True):
                if result is None:
                    result = np.empty((n, *part.shape[1:]), dtype=part.dtype)
                result[start : start + size] = part
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # so that Ctrl-C does not wait for the blocks not yet begun
            raise
    assert result is not None  # there is at least one block
    return result


def over_vectors(vectors: CheckedRows, work: Callable[[CheckedRows], Matrix]) -> Matrix:
    """Return `work` of these vectors, row by row; the result is NaN for rows without a vector, which are all NaN."""
    if not isinstance(vectors, np.ndarray) or not np.isnan(vectors[:, 0]).any():  # one column tells: quick
        return work(vectors)
    if (there := np.asarray(~np.isnan(vectors).all(1))).all():
        return work(vectors)
    some = vectors[there] if there.any() else np.zeros((1, vectors.shape[1]))  # one row gives the result's shape
    found = work(some)
    result = np.full((len(vectors), *found.shape[1:]), np.nan)
    result[there] = found[: there.sum()]
    return result
