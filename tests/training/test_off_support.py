"""Rows off the data: each has a cell beyond its column's range."""

import numpy as np

from centrality.training.off_support import FAR, FEWEST, MOST, how_many, moved_off


def test_each_row_has_a_cell_beyond_the_range_and_constant_columns_stay():
    rng = np.random.default_rng(0)
    z = np.column_stack([rng.normal(size=(500, 3)), np.full(500, 2.0)]).astype(np.float32)
    rows = moved_off(z, 1000, rng)
    low, high = z.min(0), z.max(0)
    outside = (rows < low) | (rows > high)
    assert rows.dtype == np.float32
    assert not outside[:, 3].any()
    # The one cell that always moves is in the constant column for a quarter of the rows; half of them move others too.
    assert outside.any(1).mean() > 0.75
    cells = (outside.sum(1) >= 2).mean()
    assert 0.1 < cells < 0.5
    assert (np.where(outside, np.maximum(low - rows, rows - high), 0) < FAR + 1).all()


def test_cells_move_to_either_side_alike():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 2)).astype(np.float32)
    rows = moved_off(z, 4000, rng)
    below, above = (rows < z.min(0)).sum(), (rows > z.max(0)).sum()
    assert abs(below - above) < 5 * np.sqrt(below + above)  # five deviations of a coin


def test_a_cell_that_stays_is_that_of_a_row():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(100, 3)).astype(np.float32)
    rows = moved_off(z, 300, rng)
    inside = (rows >= z.min(0)) & (rows <= z.max(0))
    for column in range(3):
        assert np.isin(rows[inside[:, column], column], z[:, column]).all()


def test_there_is_one_for_four_rows_but_not_too_few_and_not_too_many():
    assert [how_many(n) for n in (10, 4000, 10**6)] == [FEWEST, 1000, MOST]
