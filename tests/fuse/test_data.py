import numpy as np
import pytest
from scipy import sparse

from centrality.fuse.data import FAR, FEW, SYNTHETIC_ROWS, SyntheticRows, TrainingData, displace_cells, usual_range
from centrality.network.folds import Folds
from centrality.network.scaling import Scaling
from tests.present import present


def held(X: object, scaling: Scaling, max_values: int = 1 << 20) -> TrainingData:
    return TrainingData(X, scaling, np.random.default_rng(0), max_values=max_values)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array])
def test_dense_and_sparse_rows_are_held_alike(make):
    drawn = np.random.default_rng(0).poisson(0.5, size=(50, 4)).astype(float)
    scaling = Scaling.fit(make(drawn), "standard")
    rows = held(make(drawn), scaling)
    np.testing.assert_allclose(rows.z, (drawn - drawn.mean(0)) / drawn.std(0), rtol=1e-5, atol=1e-6)
    index = np.array([7, 3, 3, 49])
    np.testing.assert_array_equal(rows.unscaled(index), drawn[index])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_of_more_rows_than_there_is_room_for_a_random_part_is_held_and_renewed(make, monkeypatch):
    monkeypatch.setattr("centrality.fuse.data.FEWEST_ROWS", 1)
    X = np.arange(6000.0).reshape(3000, 2)
    rows = held(make(X), Scaling.fit(make(X), "none"), max_values=1000)
    assert len(rows) == 500
    assert not rows.holds_all
    first = rows.row_numbers
    np.testing.assert_array_equal(rows.z, X[first])
    np.testing.assert_array_equal(rows.unscaled(), X[first])
    # a uniform sample of 500 from 3000: its mean is within five standard errors, 3000/√12/√500 = 39 each
    assert abs(first.mean() - 1500) < 5 * 39
    memory = rows.z
    rows.redraw()
    assert rows.z is memory  # whoever trains looks for them there
    assert (rows.row_numbers != first).any()
    np.testing.assert_array_equal(rows.z, X[rows.row_numbers])


def test_positions_by_fold_are_those_of_the_rows_held_now(monkeypatch):
    monkeypatch.setattr("centrality.fuse.data.FEWEST_ROWS", 1)
    X, folds = np.arange(6000.0).reshape(3000, 2), Folds((np.arange(3000) % 5).astype(np.int8), ((1, 2), (3,)))
    none = Scaling.fit(X, "none")
    rows = TrainingData(X, none, np.random.default_rng(0), max_values=1000, folds=folds, synthetic=True)
    for _ in range(3):
        fold = folds.fold_of_row[rows.row_numbers]
        allowed = ~np.isin(fold, (1, 2))
        np.testing.assert_array_equal(rows.learned_by(0), np.flatnonzero(allowed))
        parents = present(rows._synthetic).parents[rows.synthetic_for(0) - len(rows)]
        assert allowed[parents].all()
        assert len(rows.learned_by(1)) == (fold != 3).sum()
        rows.redraw()


def rows_of(n: int, p: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, p)).astype(np.float32)


def test_each_row_has_a_cell_beyond_the_range_and_constant_columns_stay():
    rng = np.random.default_rng(0)
    z = np.column_stack([rng.normal(size=(500, 3)), np.full(500, 2.0)]).astype(np.float32)
    rows = displace_cells(z, z, rng)
    low, high = usual_range(z)
    outside = rows != z
    assert ((rows < low) | (rows > high))[outside].all()
    assert rows.dtype == np.float32
    assert not outside[:, 3].any()
    # The one cell that always moves is in the constant column for a quarter of the rows; half of them move others too.
    assert outside.any(1).mean() > 0.75
    assert 0.1 < (outside.sum(1) >= 2).mean() < 0.6
    np.testing.assert_array_equal(rows[~outside], z[~outside])
    # Half of the cells move by an exponential step, of which one in e^36 is larger than FAR.
    assert (np.where(outside, np.maximum(low - rows, rows - high), 0) < FAR + 1e-3).all()


def test_cells_move_to_either_side_alike():
    rng = np.random.default_rng(0)
    z = rows_of(4000, 2)
    rows = displace_cells(z, z, rng)
    low, high = usual_range(z)
    below, above = ((rows < low) & (rows != z)).sum(), ((rows > high) & (rows != z)).sum()
    assert abs(below - above) < 5 * np.sqrt(below + above)  # five deviations of a coin


def test_many_rows_have_none_crossed_and_every_cell_that_stays_is_its_parents():
    z = rows_of(10 * FEW, 3)
    made = SyntheticRows.of(z, np.random.default_rng(0))
    assert made.z.shape == (SYNTHETIC_ROWS, 3)
    np.testing.assert_array_equal(made.parents[:, 0], made.parents[:, 1])
    low, high = usual_range(z)
    inside = (made.z >= low) & (made.z <= high)
    np.testing.assert_array_equal(made.z[inside], z[made.parents[:, 0]][inside])


def test_of_few_rows_three_in_four_are_crossed_from_two_parents():
    z = rows_of(FEW, 8)
    made = SyntheticRows.of(z, np.random.default_rng(0))
    first, second = (z[parent] for parent in made.parents.T)
    crossed = ((made.z == first) | (made.z == second)).all(1)
    assert crossed.mean() == 0.75
    assert 0.4 < (made.z == first)[crossed].mean() < 0.65  # a coin for each cell, and a tenth of the pairs are one row


def test_one_wild_cell_does_not_stretch_a_range_and_a_rare_value_makes_one():
    z = rows_of(300, 2)
    z[7, 0], z[:, 1] = 40.0, 0.0
    z[3, 1] = 1.0
    low, high = usual_range(z)
    assert high[0] < 4
    assert (low[1], high[1]) == (0.0, 1.0)
