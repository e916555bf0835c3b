"""How scores are made to mean the same in every kind, on scores whose distribution is known."""

import numpy as np
import pytest

from centrality.network.context import CONTEXT_SCALE, LARGEST_SHIFT, ContextCalibration

GIVEN, THINGS = np.array([1]), [np.array([0])]


def rows_of(group: np.ndarray) -> np.ndarray:
    """Return rows relative to their kinds: a behaviour that nobody looks at, and the group for context."""
    return np.column_stack([np.zeros(len(group)), CONTEXT_SCALE * group])


def shifted(sizes: list[int], shift: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return groups, and scores of both heads that are lower by a shift of the group."""
    rng, group = np.random.default_rng(seed), np.repeat(np.arange(len(sizes)), sizes)
    return group, -np.abs(rng.normal(size=(len(group), 2))) - shift[group][:, None]


def shares_below(units: np.ndarray, group: np.ndarray, level: float = 0.1) -> np.ndarray:
    """Return for each group and head the share of rows below the quantile of all rows."""
    low = units <= np.quantile(units, level, axis=0)
    return np.array([low[group == each].mean(0) for each in np.unique(group)])


@pytest.mark.slow
def test_large_kinds_have_the_same_share_below_a_value_whatever_their_scores_were():
    group, units = shifted([1500] * 4, np.array([0.0, 0.4, 0.0, 0.4]))
    kinds, _ = ContextCalibration.fit(rows_of(group), units, GIVEN, THINGS, seed=0)
    new, of_new = shifted([20_000] * 4, np.array([0.0, 0.4, 0.0, 0.4]), seed=1)
    before, after = (shares_below(each, new) for each in (of_new, kinds(of_new, rows_of(new))))
    assert np.abs(before - 0.1).min() > 0.03
    assert np.abs(after - 0.1).max() < 0.03
    assert kinds.count_categories() == {"own": 4, "shared": 0}


def test_a_kind_of_few_rows_is_measured_by_the_rows_of_all():
    group, units = shifted([1500, 1500, 1500, 3], np.array([0.0, 0.4, 0.2, 0.0]))
    kinds, _ = ContextCalibration.fit(rows_of(group), units, GIVEN, THINGS, seed=0)
    assert kinds.own_weights[0][3] < 0.5 < kinds.own_weights[0][0]
    assert kinds.count_categories() == {"own": 3, "shared": 1}


def test_kinds_that_do_not_differ_are_left_where_they_are():
    group, units = shifted([700] * 5, np.zeros(5))
    kinds, moved = ContextCalibration.fit(rows_of(group), units, GIVEN, THINGS, seed=0)
    assert np.abs(moved - units).mean() < 0.03
    assert kinds.count_categories()["own"] == 0


def test_a_row_counts_for_nothing_in_how_it_is_moved_itself():
    """Of rows that told it, as many are below a value as of new ones."""
    group, units = shifted([40] * 30, np.linspace(0, 0.8, 30))
    kinds, moved = ContextCalibration.fit(rows_of(group), units, GIVEN, THINGS, seed=0)
    new, of_new = shifted([1000] * 30, np.linspace(0, 0.8, 30), seed=1)
    bound = np.quantile(moved, 0.1, axis=0)
    assert np.abs((kinds(of_new, rows_of(new)) <= bound).mean(0) - 0.1).max() < 0.025


@pytest.mark.parametrize("far", [-1e6, -30.0, 30.0])
def test_no_score_moves_far_and_none_passes_another_of_its_kind(far):
    group, units = shifted([800, 800, 800], np.array([0.0, 5.0, 0.0]))
    kinds, _ = ContextCalibration.fit(rows_of(group), units, GIVEN, THINGS, seed=0)
    scores = np.sort(np.append(np.linspace(-8, 2, 300), far))
    for each in range(3):
        moved = kinds(np.column_stack([scores, scores]), rows_of(np.full(len(scores), each)))
        assert (np.diff(moved, axis=0) > 0).all()
        assert np.abs(moved - scores[:, None]).max() <= LARGEST_SHIFT + 0.5
