"""A potential shaped like the rows counts where rows left out call for it, and is the same by every door."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from centrality import FUSE
from centrality.network.shape import DIRECTIONS, potential
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
