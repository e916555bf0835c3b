"""Columns of any magnitude are measured in units in which squares are ordinary numbers."""

import numpy as np
import pytest
from scipy import sparse

from centrality._internal.arrays import ORDINARY, divide_by_units, largest, mean_and_deviation, unit_of


def test_ordinary_numbers_have_the_unit_one_and_are_handed_on_as_they_are():
    X = np.array([[1.0, 0.0, 2.0**-ORDINARY], [-3.0, 0.0, 2.0 ** (ORDINARY - 1)]])
    scaled, unit = divide_by_units(X)
    assert scaled is X
    assert unit.tolist() == [1, 1, 1]


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-200, 1e200, 1.7e308])
def test_a_unit_is_a_power_of_two_near_the_largest_magnitude(size):
    unit = float(unit_of(size))
    assert np.frexp(unit)[0] == 0.5
    assert 2.0**-52 <= size / unit <= 2


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_largest_magnitude_may_be_a_negative_number(form):
    X = np.array([[1.0, -5.0, 0.0], [2.0, 3.0, 0.0]]) * 1e-200
    np.testing.assert_array_equal(largest(form(X)), [2e-200, 5e-200, 0])
    scaled, unit = divide_by_units(form(X))
    np.testing.assert_array_equal((scaled.toarray() if sparse.issparse(scaled) else scaled) * unit, X)


@pytest.mark.parametrize("factor", [2.0**-1000, 1.0, 2.0**1000])
def test_mean_and_deviation_scale_with_the_numbers(factor):
    x = np.random.default_rng(0).normal(3, 2, 100)
    mean, deviation = mean_and_deviation(x * factor)
    assert (mean, deviation) == pytest.approx((x.mean() * factor, x.std() * factor), rel=1e-14)
