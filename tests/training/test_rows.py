import numpy as np
import pytest
from scipy import sparse

from centrality.network.scaling import Scaling
from centrality.training.rows import Rows


def held(X: object, scaling: Scaling, room: int = 1 << 20) -> Rows:
    return Rows(X, scaling, np.random.default_rng(0), room=room)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array])
def test_dense_and_sparse_rows_are_held_alike(make):
    drawn = np.random.default_rng(0).poisson(0.5, size=(50, 4)).astype(float)
    scaling = Scaling.fit(make(drawn), "standard")
    rows = held(make(drawn), scaling)
    np.testing.assert_allclose(rows.z, (drawn - drawn.mean(0)) / drawn.std(0), rtol=1e-5, atol=1e-6)
    index = np.array([7, 3, 3, 49])
    np.testing.assert_array_equal(rows.given(index), drawn[index])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_of_more_rows_than_there_is_room_for_a_random_part_is_held_and_renewed(make, monkeypatch):
    monkeypatch.setattr("centrality.training.rows.FEWEST_ROWS_HELD", 1)
    X = np.arange(6000.0).reshape(3000, 2)
    rows = held(make(X), Scaling.fit(make(X), "none"), room=1000)
    assert len(rows) == 500
    assert not rows.holds_all
    first = rows.numbers
    np.testing.assert_array_equal(rows.z, X[first])
    np.testing.assert_array_equal(rows.as_given(), X[first])
    # a uniform sample of 500 from 3000: its mean is within five standard errors, 3000/√12/√500 = 39 each
    assert abs(first.mean() - 1500) < 5 * 39
    memory = rows.z
    rows.renew()
    assert rows.z is memory  # whoever trains looks for them there
    assert (rows.numbers != first).any()
    np.testing.assert_array_equal(rows.z, X[rows.numbers])
