"""A potential shaped like the rows counts where rows left out call for it, and is the same by every door."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from centrality import FUSE
from centrality.network.shape import DIRECTIONS, _padded, potential
from tests.conftest import quick
from tests.promise import assert_kept

RNG = np.random.default_rng(0)


def correlated(n: int, p: int, by: float = 0.95) -> np.ndarray:
    rows = RNG.normal(size=(n, p))
    for j in range(1, p):
        rows[:, j] = by * rows[:, j - 1] + np.sqrt(1 - by**2) * rows[:, j]
    return rows


@pytest.fixture(scope="module")
def narrow() -> FUSE:
    return quick(ensemble="auto").fit(correlated(400, 30))


def test_columns_that_vary_in_a_row_or_two_have_no_shape():
    X = np.zeros((300, 2))
    X[7] = 1, 2  # networks that have not seen it know no variance at all
    with pytest.warns(UserWarning, match="collapsed"):
        assert not quick(ensemble="auto").fit(X).fitted_.network.shape


def test_rows_in_groups_have_no_shape():
    X = RNG.normal(size=(600, 3)) + 8 * RNG.integers(3, size=(600, 1))
    assert not quick(ensemble="auto").fit(X).fitted_.network.shape


def test_correlated_rows_are_ranked_more_like_their_density_by_the_shape(narrow):
    fresh = correlated(1000, 30)
    inverse = np.linalg.inv(0.95 ** np.abs(np.subtract.outer(np.arange(30), np.arange(30))))
    truth = -np.einsum("ni,ij,nj->n", fresh, inverse, fresh)
    network = narrow.fitted_.network
    assert network.shape
    shape = {name: part[0] for name, part in network.shape.items()}
    of_shape = potential(shape, narrow.fitted_.scaling.apply(fresh))
    assert spearmanr(of_shape, truth)[0] > 0.9  # of 200 rows for 30 columns: Mahalanobis has about .95
    assert spearmanr(narrow.centrality(fresh, 1.0), truth)[0] > 0.8


def with_a_pair(n: int, by: float = 0.99, p: int = 8) -> np.ndarray:
    """Independent columns, but for the first two, which correlate."""
    rows = RNG.normal(size=(n, p))
    rows[:, 1] = by * rows[:, 0] + np.sqrt(1 - by**2) * rows[:, 1]
    return rows


def with_a_sum(n: int) -> np.ndarray:
    rows = RNG.normal(size=(n, 6))
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    return rows


@pytest.mark.parametrize(
    ("rows", "broken"),
    [
        (with_a_pair(3000), {0: 1.2, 1: -1.2}),  # off by 2.4, at a deviation of sqrt(2 (1 - .99)) = .14: by 17 of them
        (with_a_pair(300), {0: 1.2, 1: -1.2}),
        (with_a_sum(1000), {0: 1.0, 1: 0.8, 2: -1.0}),
    ],
    ids=["3000 rows", "300 rows", "a sum of two"],
)
def test_a_row_that_breaks_what_ties_columns_is_among_the_ten_oddest(rows, broken):
    """Each of its cells is ordinary: within 1.2 deviations."""
    for column in range(rows.shape[1]):
        rows[0, column] = broken.get(column, 0.0)
    scores = quick(hidden=(128, 128), max_steps=400).fit(rows).centrality(rows)
    assert (scores < scores[0]).sum() < 10


@pytest.mark.parametrize(
    "kind",
    [
        lambda n: RNG.standard_t(2, size=(n, 8)),
        lambda n: RNG.poisson(1.5, size=(n, 8)).astype(float),
        lambda n: (
            (lambda a: np.column_stack([np.cos(a), np.sin(a)]))(2 * np.pi * RNG.random(n))
            + 0.05 * RNG.normal(size=(n, 2))
        ),
        lambda n: (lambda a: np.column_stack([a, np.square(a)]))(RNG.normal(size=n)) + 0.1 * RNG.normal(size=(n, 2)),
    ],
    ids=["heavy tails", "counts", "a ring", "a curve"],
)
def test_rows_without_narrow_directions_have_no_shape(kind):
    assert not quick().fit(kind(1000)).fitted_.network.shape


def test_a_pair_of_a_like_ratio_has_no_shape():
    """The steps across it are as wide as the row is large: a large step is a large row, not an odd one."""
    rows = RNG.normal(size=(3000, 8))
    rows[:, 0] = np.exp(rows[:, 0])
    rows[:, 1] = rows[:, 0] * np.exp(0.1 * rows[:, 1])
    assert not quick().fit(rows).fitted_.network.shape


@pytest.mark.numbers
def test_scores_with_narrow_directions_are_as_exact_as_promised():
    rows = with_a_pair(400)
    model = quick(ensemble="auto").fit(rows)
    assert model.fitted_.network.shape["map"].shape[1] == 1
    assert_kept(model, np.concatenate([rows[:50], 100 * rows[50:60]]))


def test_networks_with_and_without_a_narrow_direction_have_maps_of_one_length():
    one, none = (np.ones((count, 3), dtype=np.float32) for count in (1, 0))
    maps = [shape["map"] for shape in _padded([{"map": one}, {"map": none}])]
    np.testing.assert_array_equal(maps, [one, np.zeros((1, 3))])


@pytest.mark.numbers
def test_scores_with_a_shape_are_as_exact_as_promised(narrow, tmp_path):
    rows = np.concatenate([correlated(50, 30), 100 * RNG.normal(size=(20, 30))])
    assert_kept(narrow, rows)
    narrow.save(tmp_path / "model")
    from centrality import load

    np.testing.assert_array_equal(load(tmp_path / "model").heads(rows), narrow.heads(rows))


def test_contributions_with_a_shape_add_up(narrow):
    rows = correlated(20, 30)
    gap = narrow.centrality(rows) - narrow.fitted_.calibration.mixing.centrality(
        narrow.fitted_.origins(rows, None), narrow.t
    )
    np.testing.assert_allclose(narrow.explain(rows).sum(1), gap, atol=1e-3)


@pytest.mark.slow
def test_of_very_many_columns_the_widest_directions_are_kept():
    model = quick(ensemble="auto", max_steps=20).fit(correlated(150, DIRECTIONS + 50))
    shape = model.fitted_.network.shape
    assert shape["map"].shape[1] == DIRECTIONS
    assert (shape["rest"] > 0).all()
    assert_kept(model, correlated(20, DIRECTIONS + 50))
