"""How much scores change from fit to fit: standard errors, ties, and intervals of p-values for another seed."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import FUSE, Chain
from centrality._internal.checks import InputError
from centrality.analysis.stability import Stability
from centrality.representations import Table
from tests.present import present


def stability(refits, own=None, p=None, refit_p=None, m=0):
    refits = np.array(refits, dtype=float)
    return Stability(refits.mean(0) if own is None else np.array(own), refits, p, refit_p, m)


def test_the_standard_error_is_the_deviation_over_the_refits():
    assert stability([[0.1, 0.5], [0.3, 0.5]]).standard_error.tolist() == pytest.approx([np.sqrt(0.02), 0])


def test_rows_whose_order_changes_from_fit_to_fit_tie():
    """Rows 0 and 1 take turns at being the oddest; row 2 is always behind both, and row 3 last."""
    found = stability([[0.1, 0.2, 0.5, 0.9], [0.2, 0.1, 0.5, 0.9], [0.1, 0.2, 0.5, 0.9]])
    assert found.places(np.arange(4)).tolist() == [[1, 2], [1, 2], [3, 3], [4, 4]]
    assert "Row 0 is the oddest. Row 0 ties with 1 others." in str(found)


def test_a_common_shift_of_all_rows_makes_no_ties():
    found = stability([[0.1, 0.2], [0.5, 0.6], [0.3, 0.4]])
    assert found.places(np.arange(2)).tolist() == [[1, 1], [2, 2]]


def test_intervals_are_those_of_the_calibration_rows_where_refits_agree_and_wider_where_they_do_not():
    p = np.array([0.1, 0.1])
    refit_p = np.array([[0.1, 0.05], [0.1, 0.2], [0.1, 0.1]])
    (low, high), (lower, higher) = present(stability(np.zeros((3, 2)), p=p, refit_p=refit_p, m=999).p_value_intervals())
    assert (low, high) == pytest.approx((0.0822, 0.1203), abs=1e-3)  # Clopper and Pearson's for 99 of 999
    assert lower < 0.05 < 0.2 < higher
    assert stability(np.zeros((3, 2))).p_value_intervals() is None


def test_an_odd_row_keeps_its_place_and_another_seeds_p_value_lies_within_the_interval():
    X = np.random.default_rng(0).normal(size=(800, 2))
    X[7] = 9.0
    model = FUSE(random_state=0, max_steps=150, ensemble=1).fit(X)
    found = model.stability(X)
    assert found.places(np.array([7])).tolist() == [[1, 1]]
    low, high = present(found.p_value_intervals()).T
    other = FUSE(random_state=1, max_steps=150, ensemble=1).fit(X).p_values(X)
    assert ((low <= other) & (other <= high)).mean() > 0.9  # 95% are asked; rows share the two fits


def test_tables_are_trained_again_as_vectors_and_models_with_a_context_say_what_to_do():
    rng = np.random.default_rng(0)
    table = pa.table({"kind": rng.integers(3, size=200).astype(str), "size": rng.normal(size=200)})
    chain = Chain(Table(), FUSE(random_state=0, max_steps=50)).fit(table)
    assert chain.stability(table, table.slice(0, 5)).standard_error.shape == (5,)
    given = FUSE(random_state=0, max_steps=50, given=0).fit(rng.normal(size=(200, 2)))
    with pytest.raises(InputError, match="its standard_error tells how stable it is"):
        given.stability(rng.normal(size=(200, 2)))
