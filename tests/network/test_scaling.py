import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from centrality.network import scaling as scaling_module
from centrality.network.scaling import Scaling


@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_standard_scaling_gives_mean_0_and_deviation_1_whatever_the_units(shift, unit):
    X = np.random.default_rng(0).normal(size=(500, 3)) * unit + shift * unit
    z = Scaling.fit(X, "standard").apply(X)
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(z.std(0), 1, rtol=1e-5)


def test_a_constant_column_carries_no_weight_even_if_new_rows_differ_there():
    X = np.column_stack([np.arange(5.0), np.full(5, 0.1)])
    scaling = Scaling.fit(X, "auto")
    np.testing.assert_array_equal(scaling.apply(np.array([[2.0, 99.0]])), [[0.0, 0.0]])


def test_one_wild_cell_hardly_moves_what_the_others_look_like():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    wild = X.copy()
    wild[7, 1] = 1e9
    before, after = (Scaling.fit(rows, "auto").apply(np.delete(rows, 7, axis=0)) for rows in (X, wild))
    np.testing.assert_allclose(after, before, rtol=0.04, atol=0.01)  # standardised, all others would be 0


def test_values_are_bent_like_a_logarithm_beyond_ten_spreads_and_the_way_back_is_exact():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    scaling = Scaling.fit(X, "auto")
    given = np.array([[3.0, 30.0], [-1e4, 0.5]])
    z = scaling.scaled(given)
    u = (given - scaling.center) * scaling.weight
    assert scaling.shrink is not None
    np.testing.assert_allclose(z[[0, 1], [0, 1]], (u * scaling.shrink)[[0, 1], [0, 1]])
    np.testing.assert_allclose(z[0, 1], (10 + np.log1p(u[0, 1] - 10)) * scaling.shrink[1])
    back = scaling.in_users_units(given[:1], np.stack([z[:1], z[1:]], axis=1))
    np.testing.assert_allclose(back[0], given, rtol=1e-9)


def test_a_value_that_hardly_ever_occurs_lies_one_spread_off():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    X[:, 1] = 0.0
    X[:4, 1] = 1.0
    assert Scaling.fit(X, "standard").scaled(X)[0, 1] > 15  # standardised, it is 1 / sqrt(.004) = 16 deviations away
    # Its column's spread is the deviation, times sqrt(1 / .004): about the value itself, and so like that of the other.
    np.testing.assert_allclose(Scaling.fit(X, "auto").scaled(X)[0, 1], 1.0, rtol=0.05)


def test_no_scaling_leaves_rows_as_they_are():
    X = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    np.testing.assert_array_equal(Scaling.fit(X, "none").apply(X), X)


def test_rows_that_are_all_equal_are_refused():
    with pytest.raises(ValueError, match="All 4 rows are equal"):
        Scaling.fit(np.ones((4, 2)), "auto")


def test_an_unknown_scaling_is_refused():
    with pytest.raises(ValueError, match="scaling must be one of auto, standard, none, got 'robust'"):
        Scaling.fit(np.eye(3), "robust")


def test_a_cauchy_column_keeps_its_order_and_weighs_no_more_than_others():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=4000), rng.standard_cauchy(size=4000), rng.uniform(size=4000)])
    z = Scaling.fit(X, "auto").apply(X)
    assert (np.diff(z[X[:, 1].argsort(), 1]) >= 0).all()
    assert z[:, 1].std() < 1.2
    assert np.abs(z[:, 1]).max() < 20  # of thousands of spreads


@pytest.mark.parametrize("kind", ["standard", "none"])
def test_only_auto_bends(kind):
    X = np.random.default_rng(0).standard_cauchy(size=(500, 2))
    assert Scaling.fit(X, kind).shrink is None


def test_moments_found_in_blocks_equal_those_of_the_whole(monkeypatch):
    X = np.random.default_rng(0).normal(size=(1000, 3)) + 50
    monkeypatch.setattr(scaling_module, "BLOCK_VALUES", 1)  # blocks of 256 rows
    scaling = Scaling.fit(X, "standard")
    np.testing.assert_allclose(scaling.center, X.mean(0), rtol=1e-12)
    np.testing.assert_allclose(1 / scaling.weight, X.std(0), rtol=1e-12)


def test_a_column_is_constant_only_if_every_row_says_so(monkeypatch):
    monkeypatch.setattr(scaling_module, "BLOCK_VALUES", 1)  # blocks of 256 rows
    X = np.tile([0.0, 0.1, 1e10, 1e10], (1000, 1))  # the mean of equal numbers is not always that number
    X[:, 0] = np.arange(1000)
    X[700, 3] += 1e-3  # far below a billionth of the mean, and in a later block
    assert (Scaling.fit(X, "standard").weight != 0).tolist() == [True, False, False, True]


def test_an_absurd_value_stays_finite():
    X = np.random.default_rng(0).normal(size=(10, 2))
    absurd = np.array([[1e300, -1e300], [1e12, -1e12]])
    far, nearer = Scaling.fit(X, "auto").apply(absurd)
    assert (far**2).sum() < np.finfo(np.float32).max  # a distance to it can be squared and summed
    assert np.sign(far).tolist() == [1, -1]
    assert (np.abs(far) > np.abs(nearer)).all()


def test_columns_turn_gradually_from_one_unit_for_all_to_one_for_each():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    ratios = []
    for factor in (1, 4, 9.9, 10.1, 25, 1000):
        weight = Scaling.fit(X * [1, factor], "auto").weight
        ratios.append(weight[0] / weight[1])
    assert ratios[:2] == [1.0, 1.0]
    assert 1 < ratios[2] < ratios[3] < 1.1 * ratios[2]
    np.testing.assert_allclose(ratios[4:], [25, 1000], rtol=0.05)


@pytest.mark.slow
def test_wide_sparse_rows_are_scaled_as_dense_ones_without_a_dense_copy_of_them(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix(sparse.random(1000, 4000, density=0.2, random_state=0))
    X.data = rng.standard_t(3, size=X.nnz)
    as_one = Scaling.fit(X.toarray(), "auto")
    monkeypatch.setattr(scaling_module, "BLOCK_VALUES", 1 << 15)
    monkeypatch.setattr(scaling_module, "MOST_VALUES", 1 << 17)
    tracemalloc.start()
    in_parts = Scaling.fit(X, "auto")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * X.shape[0] * X.shape[1] * 8
    np.testing.assert_allclose(in_parts.scaled(X.toarray()), as_one.scaled(X.toarray()), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["auto", "standard"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_columns_of_any_magnitude_count_alike(kind, form):
    """Scaled by powers of two, which change no bit: a column has the same numbers, however small or large it is."""
    X = np.random.default_rng(0).normal(size=(300, 4)) * [1.0, 1e4, 1e-4, 1e2] + [0.0, 3e4, 0.0, 0.0]
    units = 2.0 ** np.array([0, 1000, -1000, -700])
    expected = Scaling.fit(form(X), kind).apply(X)
    found = Scaling.fit(form(X * units), kind).apply(X * units)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert expected.std(0).min() > 0.5


def test_rows_that_are_all_tiny_or_all_huge_keep_their_shape():
    X = np.random.default_rng(0).normal(size=(300, 2)) * [1.0, 3.0]  # alike: one unit for both
    expected = Scaling.fit(X, "auto").apply(X)
    for unit in (2.0**-1000, 2.0**1000):
        np.testing.assert_allclose(Scaling.fit(X * unit, "auto").apply(X * unit), expected, rtol=1e-6)


def test_columns_with_unequally_many_values_are_scaled_as_rows_of_numbers_are():
    X = np.random.default_rng(0).lognormal(size=(500, 4)) * [1.0, 2.0, 3.0, 4.0]
    X[:, 3] = X[:, 3] > 12  # constant between its tails
    rows, columns = Scaling.fit(X, "auto"), Scaling.of_columns(list(X.T))
    for name in ("center", "weight", "shrink"):
        np.testing.assert_allclose(getattr(columns, name), getattr(rows, name), rtol=1e-12)
    fewer = Scaling.of_columns([X[:, 0], X[:300, 1], X[:, 2], X[:, 3]])
    np.testing.assert_array_equal(fewer.center[[0, 2, 3]], rows.center[[0, 2, 3]])
    assert fewer.center[1] == np.median(X[:300, 1])


def test_what_a_representation_has_weighed_is_only_bent():
    Z = np.random.default_rng(0).standard_cauchy(size=(4000, 2))
    measurements = np.array([True, False])
    scaling = Scaling.fit(Z, "auto", measurements)
    assert scaling.shrink is not None
    assert scaling.shrink[0] < 1.0 == scaling.shrink[1]
    near = np.abs(Z).max(1) < 10
    np.testing.assert_allclose(scaling.scaled(Z[near]), Z[near] * scaling.shrink, rtol=1e-12)
    for kind in ("standard", "none"):  # what the user asked for is done to all columns
        np.testing.assert_array_equal(Scaling.fit(Z, kind, measurements).scaled(Z), Scaling.fit(Z, kind).scaled(Z))


def test_one_huge_cell_does_not_decide_what_the_others_look_like():
    large, huge = (np.random.default_rng(0).normal(size=(300, 2)) for _ in range(2))
    large[7, 0], huge[7, 0] = 1e6, 1.7e308
    by_large, by_huge = (Scaling.fit(rows, "auto").apply(rows[8:]) for rows in (large, huge))
    np.testing.assert_allclose(by_huge, by_large, rtol=1e-6)


def test_the_smallest_numbers_that_there_are_give_finite_ones():
    X = np.linspace(0, 1e-320, 50)[:, None]
    z = Scaling.fit(X, "standard").apply(X)
    assert np.isfinite(z).all()
    assert len(np.unique(z)) == 50


def test_a_scaling_is_its_formula_in_any_type_and_order_of_the_rows():
    """Center, weigh, bend beyond the knee, shrink, go on more steeply beyond the ends."""
    rng, p = np.random.default_rng(0), 11
    seen, beyond = np.array([[-1.0], [1.5]]) + np.zeros((2, p)), rng.random((2, p))
    center, weight, shrink = rng.normal(size=p), rng.random(p), 0.5 + rng.random(p) / 2
    scaling = Scaling(center, weight, shrink, seen, beyond)
    for x in (rng.normal(scale=30, size=(50, p)), rng.integers(-40, 40, size=(50, p)), np.zeros((0, p))):
        u = (x - center) * weight
        far = np.abs(u) > scaling_module.KNEE
        u = shrink * np.where(far, np.sign(u) * (10 + np.log1p(np.where(far, np.abs(u) - 10, 0))), u)
        wanted = u + beyond[1] * np.maximum(u - seen[1], 0) - beyond[0] * np.maximum(seen[0] - u, 0)
        np.testing.assert_allclose(scaling.scaled(x), wanted, rtol=1e-13, atol=1e-13)
        np.testing.assert_array_equal(scaling.scaled(np.asfortranarray(x)), scaling.scaled(x))
        np.testing.assert_array_equal(scaling.apply(x), scaling.scaled(x).astype(np.float32))
        short = x.astype(np.float32)
        np.testing.assert_array_equal(scaling.scaled(short), scaling.scaled(short.astype(np.float64)))


def test_an_infinity_is_scaled_to_the_limit():
    scaling = Scaling.fit(np.arange(20.0)[:, None], "auto")
    np.testing.assert_array_equal(scaling.scaled(np.array([[np.inf], [-np.inf]]))[:, 0], [1e15, -1e15])
