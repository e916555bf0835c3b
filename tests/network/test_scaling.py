import numpy as np
import pytest

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


@pytest.mark.parametrize(("clean", "bent_from"), [(False, 1), (True, 3)])
def test_a_column_with_heavy_tails_is_bent_where_it_lies_far_out(clean, bent_from):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_t(3, size=2000), rng.normal(size=2000)])
    scaling = Scaling.fit(X, "auto", clean=clean)
    assert scaling.heavy.tolist() == [0]
    z = scaling.apply(X)
    np.testing.assert_allclose(z.std(0), 1, rtol=1e-5)
    u = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    bent = np.arcsinh(u / bent_from)
    np.testing.assert_allclose(z[:, 0], (bent - bent.mean()) / bent.std(), atol=1e-5)


def test_no_scaling_leaves_rows_as_they_are():
    X = np.random.default_rng(0).normal(size=(5, 2)).astype(np.float32)
    np.testing.assert_array_equal(Scaling.fit(X, "none").apply(X), X)


def test_rows_that_are_all_equal_are_refused():
    with pytest.raises(ValueError, match="All 4 rows are equal"):
        Scaling.fit(np.ones((4, 2)), "auto")


def test_an_unknown_scaling_is_refused():
    with pytest.raises(ValueError, match="scaling must be one of auto, standard, none, got 'robust'"):
        Scaling.fit(np.eye(3), "robust")


def test_heavy_tails_are_bent_and_others_left_as_they_are():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=4000), rng.standard_cauchy(size=4000), rng.uniform(size=4000)])
    scaling = Scaling.fit(X, "auto")
    assert scaling.heavy.tolist() == [1]
    z = scaling.apply(X)
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(z.std(0), 1, rtol=1e-4)
    np.testing.assert_allclose(z[:, 0], (X[:, 0] - X[:, 0].mean()) / X[:, 0].std(), rtol=1e-4, atol=1e-5)
    assert np.abs(z[:, 1]).max() < np.abs((X[:, 1] - X[:, 1].mean()) / X[:, 1].std()).max()
    order = X[:, 1].argsort()
    assert (np.diff(z[order, 1]) >= 0).all()


@pytest.mark.parametrize("kind", ["standard", "none"])
def test_only_auto_bends(kind):
    X = np.random.default_rng(0).standard_cauchy(size=(500, 2))
    assert len(Scaling.fit(X, kind).heavy) == 0


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


def test_columns_that_share_a_unit_keep_their_proportions_and_others_are_standardised():
    X = np.random.default_rng(0).normal(size=(500, 2))
    alike, unlike = X * [1, 5], X * [1, 1000]
    weight = Scaling.fit(alike, "auto").weight
    assert weight[0] == weight[1] == pytest.approx(1 / np.sqrt(alike.var(0).mean()))
    np.testing.assert_allclose(Scaling.fit(unlike, "auto").weight, 1 / unlike.std(0))
    np.testing.assert_allclose(Scaling.fit(alike, "standard").weight, 1 / alike.std(0))
