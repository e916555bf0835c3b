import numpy as np
import pytest

from centrality._internal.arrays import column_quantiles


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_quantiles_are_those_of_numpy(n):
    values = np.random.default_rng(n).normal(size=(n, 3)) * [1e-300, 1, 1e300]
    levels = np.linspace(0, 1, 31)
    np.testing.assert_allclose(column_quantiles(values, levels), np.quantile(values, levels, axis=0), rtol=1e-12)
    assert (np.diff(column_quantiles(values, levels), axis=0) >= 0).all()
    few = values[:, 1:2].astype(np.float32)
    np.testing.assert_allclose(column_quantiles(few, [0.3]), np.quantile(few, [0.3], axis=0), rtol=1e-5)


def test_quantiles_of_copies_are_the_value_itself_and_never_lie_beyond_the_next_one():
    assert (column_quantiles(np.full((9, 1), 0.1), np.linspace(0, 1, 77)) == 0.1).all()
    pair = np.array([[-0.1], [np.nextafter(1.0, 2.0)]])
    found = column_quantiles(pair, np.linspace(0, 1, 1001))
    assert (np.diff(found, axis=0) >= 0).all()
    assert found[[0, -1]].tolist() == pair.tolist()
