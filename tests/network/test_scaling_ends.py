"""Past the least and greatest value seen, a column's scale goes on more steeply; within them nothing changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from centrality.network.scaling import (
    OUT_OF_RANGE_DISTANCE,
    RANGE_MARGIN,
    ColumnRange,
    Scaling,
    leave_one_out_range,
    with_column_range,
)

RNG = np.random.default_rng(0)
KINDS = {
    "normal": RNG.normal(size=(400, 3)),
    "log-normal, sigma 3": RNG.lognormal(0, 3, size=(400, 3)),
    "binary": (RNG.random((400, 3)) < 0.05).astype(float),
    "far from 0": 2000 + RNG.integers(25, size=(400, 3)).astype(float),
}


def plain_and_ended(X):
    plain = Scaling.fit(X, "auto")
    return plain, with_column_range(plain, X)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_within_the_ends_are_scaled_as_before_to_the_bit(kind):
    X = KINDS[kind]
    plain, ended = plain_and_ended(X)
    np.testing.assert_array_equal(ended.scaled(X), plain.scaled(X))
    rounded = np.array([[float(f"{x:.6g}") for x in row] for row in X])
    np.testing.assert_array_equal(ended.scaled(rounded), plain.scaled(rounded))


@pytest.mark.parametrize("kind", KINDS)
def test_a_range_beyond_the_range_lies_so_many_units_beyond_it(kind):
    X = KINDS[kind]
    ended = plain_and_ended(X)[1]
    low, high = X.min(0), X.max(0)
    for end, beyond in ((low, low - (high - low)), (high, high + (high - low))):
        gap = np.abs(ended.scaled(beyond[None]) - ended.scaled(end[None]))
        assert (gap >= OUT_OF_RANGE_DISTANCE * (1 - 1e-2)).all()  # the room at the end is no more than that of a range


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_the_scale_never_falls_and_can_be_undone(values):
    X = KINDS["log-normal, sigma 3"][:, :1]
    ended = plain_and_ended(X)[1]
    x = np.sort(np.array(values))[:, None]
    z = ended.scaled(x)
    assert (np.diff(z[:, 0]) >= 0).all()
    np.testing.assert_allclose(ended.unscaled(z), x, rtol=1e-6, atol=1e-6 * np.ptp(X))


def test_a_column_that_is_constant_among_the_rows_that_set_the_ends_keeps_its_scale():
    """The rows left out may differ where those learned from do not; their range of 0 says nothing about the scale."""
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [3.0, 1.0]])
    plain = Scaling.fit(X, "standard")
    ended = with_column_range(
        plain, np.repeat(X[:3], 20, axis=0)
    )  # so many rows that the ends have their full strength
    np.testing.assert_array_equal(ended.scaled(X)[:, 0], plain.scaled(X)[:, 0])
    assert ended.scaled(np.array([[1.0, 5.0]]))[0, 1] > plain.scaled(np.array([[1.0, 5.0]]))[0, 1]


def test_a_range_that_is_as_narrow_as_the_room_beyond_it_is_no_reason_for_a_steeper_scale():
    """Moments around 1.7e9 that differ by a few hours: a value one range beyond them lies at the end of the room."""
    X = 1.7e9 + np.linspace(0, 1.7e9 * RANGE_MARGIN, 400)[:, None]
    plain, ended = plain_and_ended(X)
    width = float(np.ptp(plain.scaled(X)))
    assert ended.beyond is not None
    assert ended.beyond.max() == pytest.approx(max(20.0 / width - 1, 0.0), rel=1e-6)


def test_a_row_that_sets_an_end_is_judged_by_the_ends_that_the_others_set():
    X = KINDS["log-normal, sigma 3"]
    _, ended = plain_and_ended(X)
    others, changed = leave_one_out_range(ended, X)
    assert set(np.flatnonzero(changed)) == {*X.argmax(0), *X.argmin(0)}
    for row in np.flatnonzero(changed):
        without = np.delete(X, row, axis=0)
        seen = replace(ended, seen=None, beyond=None).scaled(
            np.stack([without.min(0) * (1 - RANGE_MARGIN), without.max(0) * (1 + RANGE_MARGIN)])
        )
        np.testing.assert_allclose(
            others.scaled(X[row : row + 1]), replace(ended, seen=seen).scaled(X[row : row + 1]), rtol=1e-9
        )
    np.testing.assert_array_equal(others.scaled(X)[~changed], ended.scaled(X)[~changed])


def test_sparse_rows_have_the_same_ends():
    X = np.where(RNG.random((300, 4)) < 0.9, 0.0, RNG.lognormal(size=(300, 4)))
    of_dense, of_sparse = (plain_and_ended(rows)[1] for rows in (X, sparse.csr_matrix(X)))
    np.testing.assert_allclose(of_sparse.seen, of_dense.seen)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_ends_are_the_least_and_greatest_values_whatever_the_type_and_order_of_the_rows(dtype, order):
    """With no scaling, ends in scaled units are those of the columns, less the room."""
    X = np.asarray(RNG.normal(scale=2, size=(9000, 5)).astype(dtype), order=order)
    seen = with_column_range(Scaling.none(5), X).seen
    low, high = X.min(0).astype(np.float64), X.max(0).astype(np.float64)
    np.testing.assert_array_equal(seen, [low - RANGE_MARGIN * np.abs(low), high + RANGE_MARGIN * np.abs(high)])


def test_ends_move_outward_with_new_rows():
    X = KINDS["normal"]
    ended = plain_and_ended(X)[1]
    wider, same = with_column_range(ended, 2 * X), with_column_range(ended, 0.5 * X)
    np.testing.assert_array_equal(same.seen, ended.seen)
    assert wider.seen is not None
    assert ended.seen is not None
    assert (wider.seen[0] < ended.seen[0]).all()
    assert (wider.seen[1] > ended.seen[1]).all()


def test_where_columns_are_many_for_the_rows_going_beyond_one_says_less():
    """A new row of n like it lies beyond a column's ends with probability 2 / (n + 1)."""
    X = RNG.normal(size=(200, 400))
    few, many = (plain_and_ended(rows)[1].beyond for rows in (X[:, :10], X))
    assert np.median(many) < 0.1 * np.median(few)


def test_only_measurements_go_on_more_steeply_and_only_they_count_as_columns():
    X = RNG.normal(size=(200, 100))
    measurements = np.arange(100) < 10
    few, of_all = with_column_range(Scaling.fit(X[:, :10], "auto"), X[:, :10]), Scaling.fit(X, "auto")
    beyond = with_column_range(of_all, X, None, measurements).beyond
    assert few.beyond is not None
    assert beyond is not None
    assert (beyond[:, ~measurements] == 0).all()
    np.testing.assert_allclose(beyond[:, measurements], few.beyond, rtol=0.1)  # the common unit differs a little


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_the_first_pass_tells_odd_values_and_keeps_the_ends_of_those_very_rows(odd, monkeypatch):
    X, first = np.random.default_rng(0).normal(size=(50, 3)), ColumnRange()
    assert first.all_finite(X)
    wanted = np.stack([X.min(0), X.max(0)])
    np.testing.assert_array_equal(first.ends(X[:20]), [X[:20].min(0), X[:20].max(0)])
    monkeypatch.setattr("centrality.network.scaling._ends", lambda _: pytest.fail("a second pass over the same rows"))
    np.testing.assert_array_equal(first.ends(X), wanted)
    monkeypatch.undo()
    X[7, 1] = odd
    assert not first.all_finite(X)
