"""Numbers that name a row are told from numbers that measure something."""

import numpy as np
import pytest

from centrality.representations._identifiers import identifiers


def found(columns: dict[str, np.ndarray]) -> list[str]:
    rows = len(next(iter(columns.values())))
    return identifiers(list(columns), rows, lambda name, step: columns[name][::step])


rng = np.random.default_rng(0)
N = 300
AGE = rng.normal(40, 10, N)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (rng.permutation(N) + 1000.0, True),  # dense
        (rng.choice(90_000_000, N, replace=False) + 10_000_000.0, True),  # of fixed length
        (np.argsort(np.argsort(AGE)) + 1.0, True),  # it goes with another column, but counts the rows
        (np.round(10_000 + 400 * AGE + np.arange(N) / 1e3), False),  # it goes with another column
        (rng.permutation(N) + 0.5, False),  # no whole numbers
        (rng.integers(0, 50, N).astype(float), False),  # not all different
        (np.append(rng.permutation(N - 1) + 1000.0, np.nan), False),  # some row has none
        (np.round(10 ** rng.uniform(2, 9, N)), False),  # neither dense nor of one length
    ],
    ids=["dense", "fixed length", "counting", "ordered", "fractions", "repeated", "with a gap", "sparse"],
)
def test_an_identifier_is_whole_all_different_dense_or_of_one_length_and_in_no_order(column, expected):
    assert found({"column": column, "age": AGE}) == (["column"] if expected else [])


def test_few_rows_are_never_called_so():
    assert found({"id": np.arange(19.0)}) == []
    assert found({"id": np.arange(20.0)}) == ["id"]


def test_order_in_a_part_of_very_many_rows_is_order():
    many = rng.permutation(50_000).astype(float)
    assert found({"id": many, "other": rng.normal(size=50_000)}) == ["id"]
    assert found({"id": many + (many > 9), "other": many**3}) == []  # a number is left out: they do not count rows
