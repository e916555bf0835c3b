"""Near copies in tables whose rows share days, categories, counts and rounded numbers by chance."""

import pandas as pd
import pytest
from benchmarks._chance_tables import tables_without_copies

from centrality import copies


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 2000])
def test_what_rows_share_by_chance_makes_no_near_copies(n):
    """Of 100 such tables one may hold a false call, at a rate of 1%: here are 19 of each size."""
    called = {name: len(copies(table).to_drop(["near"])) for name, table in tables_without_copies(n, seed=0)}
    assert sum(count > 0 for count in called.values()) <= 1, called


@pytest.mark.parametrize("name", ["stamps and categories", "a census", "counts and a number"])
def test_rows_typed_twice_are_found_beside_what_others_share(name):
    table = dict(tables_without_copies(500, seed=1))[name]
    number = table.select_dtypes("number").columns[-1]
    again = table.iloc[:20].copy()
    again[number] += 1e-4 * table[number].std()
    found = copies(pd.concat([table, again], ignore_index=True))
    pairs = {(row, 500 + row) for row in range(20)}
    assert len(pairs & {group.rows for group in found}) >= 19
    assert len({group.rows for group in found} - pairs) <= 1
