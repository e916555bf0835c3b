"""Rows made for comparisons: cells beyond their columns' ranges, or cells of two rows."""

import numpy as np

from centrality.training.off_support import FAR, FEW, MADE, MadeRows, moved_off, usual_range


def rows_of(n: int, p: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, p)).astype(np.float32)


def test_each_row_has_a_cell_beyond_the_range_and_constant_columns_stay():
    rng = np.random.default_rng(0)
    z = np.column_stack([rng.normal(size=(500, 3)), np.full(500, 2.0)]).astype(np.float32)
    rows = moved_off(z, z, rng)
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
    rows = moved_off(z, z, rng)
    low, high = usual_range(z)
    below, above = ((rows < low) & (rows != z)).sum(), ((rows > high) & (rows != z)).sum()
    assert abs(below - above) < 5 * np.sqrt(below + above)  # five deviations of a coin


def test_many_rows_have_none_crossed_and_every_cell_that_stays_is_its_parents():
    z = rows_of(10 * FEW, 3)
    made = MadeRows.of(z, np.random.default_rng(0))
    assert made.z.shape == (MADE, 3)
    np.testing.assert_array_equal(made.parents[:, 0], made.parents[:, 1])
    low, high = usual_range(z)
    inside = (made.z >= low) & (made.z <= high)
    np.testing.assert_array_equal(made.z[inside], z[made.parents[:, 0]][inside])


def test_of_few_rows_three_in_four_are_crossed_from_two_parents():
    z = rows_of(FEW, 8)
    made = MadeRows.of(z, np.random.default_rng(0))
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
