"""What is promised about numbers (internals/details.md), stated once; scores in exact arithmetic to hold it against.

The same row and the same model give the same scores to within these tolerances: in whatever company and order, batch,
thread, process, file format or runtime, on whatever CPU or GPU. By the engine they have the same bits (tests/engine).
By torch, bits are promised only where the same call is repeated in one process, and by one model's copies there.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet
from scipy.special import erf

from centrality import FUSE
from centrality.network.network import Network, Weights

BOUNDED = 1e-5  # of heads, centrality and what else lies in [0, 1]
UNBOUNDED = 3e-5  # times 1 + |value|, of raw scores, score_samples, decision_function: logits move heads by ≤ 1/4
ROOM = 2  # every score lies so many times closer to exact arithmetic than is promised; 2.6e-6 was seen at worst
FAR = 1000.0  # deviations; beyond, an unbounded score may differ by UNBOUNDED times a row's distance: its terms are as
# large as that, whatever is left of them once they cancel

Matrix = NDArray[np.float64]


def assert_same_scores(found: Any, expected: Any, room: float = 1) -> None:
    """Scores in [0, 1] of the same rows by the same model agree as promised, or `room` times better."""
    np.testing.assert_allclose(found, expected, atol=BOUNDED / room, rtol=0)


def assert_same_unbounded(found: Any, expected: Any, room: float = 1) -> None:
    """Raw scores, or those of score_samples or decision_function, agree as promised, or `room` times better."""
    np.testing.assert_allclose(found, expected, atol=UNBOUNDED / ROOM, rtol=UNBOUNDED / ROOM)


def assert_same_files(found: dict[str, bytes], expected: dict[str, bytes]) -> None:
    """Parquet files by their names: the same ones, with the same rows, and scores that agree as promised."""
    assert set(found) == set(expected)
    for name, content in expected.items():
        assert_same_tables(*(parquet.read_table(pa.BufferReader(one)) for one in (found[name], content)))


def assert_same_tables(found: pa.Table, expected: pa.Table) -> None:
    scores = [name for name in expected.column_names if name.startswith("centrality")]
    assert found.column_names == expected.column_names
    assert found.drop_columns(scores).equals(expected.drop_columns(scores))
    for name in scores:
        assert_same_scores(found[name].to_numpy(), expected[name].to_numpy())


def assert_kept(model: FUSE, Q: Matrix, *, company: Matrix | None = None, exact: "Exact | None" = None) -> None:
    """All scores of the rows Q lie `ROOM` times closer to exact ones than promised; if asked, below others' rows."""
    exact = exact or Exact(model, Q)
    rows = Q if company is None else np.concatenate([company, Q])
    assert_same_scores(model.heads(rows)[-len(Q) :], exact.heads, ROOM)
    assert_same_scores(model.centrality(rows)[-len(Q) :], exact.centrality, ROOM)
    for found, expected in ((model.raw(rows), exact.raw.T), (model.score_samples(rows), exact.scores[None])):
        for one, its_expected in zip(found[-len(Q) :].reshape(len(Q), -1).T, expected, strict=True):
            allowed = UNBOUNDED / ROOM * (1 + np.abs(its_expected) + exact.distance)
            np.testing.assert_array_less(np.abs(one - its_expected), allowed)


class Exact:
    """Scores of rows in float64 from the first layer to the last, by a model's weights as they are in float32."""

    def __init__(self, model: FUSE, Q: Matrix) -> None:
        calibration = model.fitted_.calibration
        z = model.fitted_.scaling.apply(np.asarray(Q, dtype=float))
        size = np.abs(z).max(1).astype(float)
        self.distance = np.where(size > FAR, size, 0.0)  # (n,) in deviations, of rows far away
        outputs = exact_outputs(model.fitted_.network, z)
        self.raw = calibration.raw(outputs)
        units, mixing = calibration.units(self.raw), calibration.mixing
        self.heads = mixing.squeeze(units)
        self.centrality = mixing.centrality(units, model.t)
        self.scores = mixing.mixed(units, model.t)


def exact_outputs(network: Network, z: NDArray[np.float32]) -> Matrix:
    """(n, p) rows as the network sees them -> (members, n, 1 + k)"""
    outputs = np.stack([_member(network, member, z.astype(np.float64)) for member in range(network.members)])
    if not network.background:
        return outputs
    fine = z.astype(np.longdouble)
    background = np.stack([_background(network.background, member, fine) for member in range(network.members)])
    bounds = network.background["bounds"][:, None]
    outputs[:, :, 1:] = np.clip(outputs[:, :, 1:], bounds[..., 0], bounds[..., 1]) + background[:, :, :-1]
    return np.concatenate([outputs, background[:, :, -1:]], axis=2)


def _member(network: Network, member: int, z: Matrix) -> Matrix:
    outputs = []
    for head, trunk in (("global_head", 0), ("local_head", network.layout.trunks - 1)):
        names = [f"trunks.{trunk}.{2 * place}" for place in range(len(network.layout.hidden) + 1)]
        weights = [[_numbers(part) for part in network.linear(name, member)] for name in [*names, head]]
        *lower, (projection, bias), (up, up_bias) = weights
        a = z
        for weight, its_bias in lower:
            h = a @ weight.T + its_bias
            a = 0.5 * h * (1 + erf(h / np.sqrt(2)))
        # The head after the projection is one layer of the model, and its weights are in float32 too.
        folded, folded_bias = (part.astype(np.float32) for part in (up @ projection, up @ bias + up_bias))
        outputs.append(a @ folded.T.astype(np.float64) + folded_bias)
    return np.concatenate(outputs, axis=1)


def _background(background: Weights, member: int, z: NDArray[np.longdouble]) -> Matrix:  # (n, levels)
    """A mixture of t-distributions by the sums of its definition."""
    parts = {name: part[member].astype(np.longdouble) for name, part in background.items()}
    off = z - parts["mean"][:, None]  # (C, n, p)
    along = np.einsum("cnp,cdp->cnd", off, parts["axes"])
    beside = np.maximum(np.square(off).sum(2) - np.square(along).sum(2), 0)
    levels, degrees = [], parts["degrees"]
    for precision, rest, level in zip(parts["precision"], parts["rest"], parts["level"], strict=True):
        square = np.einsum("cnd,cd->nc", np.square(along), precision) + beside.T * rest
        depth = 0.5 * (degrees + z.shape[1]) * np.log1p(square / degrees) if degrees else 0.5 * square
        levels.append(np.logaddexp.reduce(level - depth, axis=1))
    return np.stack(levels, axis=1).astype(np.float64)


def _numbers(array: NDArray[np.float32]) -> Matrix:
    return array.astype(np.float64)
