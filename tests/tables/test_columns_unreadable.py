"""Cells that could not be read are counted by column and fault, added up, and refused where they are many."""

import pytest

from centrality._internal.checks import InputError
from centrality.tables import TableError
from centrality.tables.columns import NEW_KIND, NEW_VALUE, NO_DATE, CellIssues, DataNote, checked_share


def test_counts_of_two_parts_add_up_column_by_column_and_fault_by_fault():
    first = CellIssues(10, {"day": {NO_DATE: 2}, "fuel": {NEW_VALUE: 1}})
    second = CellIssues(5, {"day": {NO_DATE: 1, NEW_VALUE: 4}})
    together = first + second
    assert together == CellIssues(15, {"day": {NO_DATE: 3, NEW_VALUE: 4}, "fuel": {NEW_VALUE: 1}})
    assert together.count() == 8


def test_nothing_unreadable_is_false_and_says_nothing():
    assert not CellIssues(100)
    assert CellIssues(100).notes() == []


def test_each_column_and_fault_is_one_warning():
    with pytest.warns(DataNote) as caught:
        CellIssues(1000, {"day": {NO_DATE: 2}, "size": {NEW_KIND: 3}}).warn()
    assert [str(one.message).partition(";")[0] for one in caught] == [
        f"Column 'day': in 2 of 1,000 rows the value {NO_DATE}",
        f"Column 'size': in 3 of 1,000 rows the value {NEW_KIND}",
    ]


@pytest.mark.parametrize(("failed", "is_refused"), [(5, False), (6, True)])
def test_more_than_the_share_that_may_fail_is_refused(failed, is_refused):
    counted = CellIssues(100, {"day": {NO_DATE: failed - 1, NEW_VALUE: 1}})
    if is_refused:
        with pytest.raises(TableError, match=r"'day' is not what the model was fitted on: of 100 rows.* At most 5%"):
            counted.require_few(0.05)
    else:
        counted.require_few(0.05)


def test_one_cell_of_few_rows_proves_nothing_and_new_kinds_never_do():
    CellIssues(2, {"day": {NO_DATE: 1}, "size": {NEW_KIND: 2}}).require_few(0)


@pytest.mark.parametrize("most", [-0.1, 1.1, "all", True])
def test_the_share_that_may_fail_is_checked(most):
    with pytest.raises(InputError, match="unreadable must be a share of the rows from 0 to 1, got "):
        checked_share(most)
