"""What marks teach, as numbers: a shift of the score that is a sum over columns."""

import numpy as np
import pytest

from centrality.network.refinement import KNOTS, LearnedRefinement, Refinement, ScoredRows, learn

RNG = np.random.default_rng(0)
KNOWN = Refinement(np.array([[0.0, 1.0, 3.0], [-1.0, 2.0, 2.0]]), np.array([[0.0, 2.0, 1.0], [0.5, -1.0, -1.0]]))


def rows(n: int = 400, p: int = 4) -> ScoredRows:
    """Gaussian rows, and a score that is lower the farther a row lies from the middle."""
    scaled = RNG.normal(size=(n, p))
    return ScoredRows(scaled, -np.linalg.norm(scaled, axis=1))


def taught(usual: ScoredRows, marked: np.ndarray, outlier: np.ndarray) -> LearnedRefinement:
    return learn(usual, ScoredRows(usual.scaled[marked], usual.scores[marked]), outlier)


def moved(usual: ScoredRows, refined: LearnedRefinement) -> np.ndarray:
    return usual.scores + refined.refinement.shift(usual.scaled)


def separation(scores: np.ndarray, odd: np.ndarray) -> float:
    """The chance that an odd row scores below another one."""
    return float((scores[odd][:, None] < scores[~odd]).mean())


def test_a_shift_is_linear_between_knots_and_flat_beyond_them():
    found = KNOWN.parts(np.array([[0.5, 0.5], [2.0, -9.0], [9.0, 9.0], [1.0, 2.0]]))
    np.testing.assert_allclose(found, [[1.0, -0.25], [1.5, 0.5], [1.0, -1.0], [2.0, -1.0]])
    np.testing.assert_allclose(KNOWN.shift(np.array([[0.5, 0.5]])), [0.75])


def test_the_slope_of_a_shift_is_its_derivative():
    at = RNG.uniform(-3, 5, size=(200, 2))
    step = 1e-7
    numeric = [(KNOWN.parts(at + step) - KNOWN.parts(at - step))[:, j] / (2 * step) for j in range(2)]
    np.testing.assert_allclose(KNOWN.slope(at), np.column_stack(numeric), atol=1e-5)


def test_rows_like_those_marked_as_outliers_move_down_and_those_like_fine_ones_up():
    usual = rows()
    low = np.argsort(usual.scores)[:40]
    refined = taught(usual, low, usual.scaled[low, 0] > 0)  # of the odd ones, those on the right are wrong
    right, left = (refined.refinement.shift(np.array([[x, 0.0, 0.0, 0.0]]))[0] for x in (2.0, -2.0))
    assert right < 0 < left
    others = np.array([refined.refinement.parts(np.array([[0.0, x, x, x]])) for x in (-2.0, 2.0)])[:, 0, 1:]
    assert np.abs(others).max() < 0.5 * (left - right)  # what decided most is told apart from what did not


def test_what_marks_agree_with_is_hardly_reordered():
    usual = rows()
    order = np.argsort(usual.scores)
    marked = np.concatenate([order[:20], order[100:400:15]])
    refined = taught(usual, marked, np.arange(40) < 20)  # exactly what the score says
    ranks = np.argsort(np.argsort(np.column_stack([usual.scores, moved(usual, refined)]), axis=0), axis=0)
    assert np.asarray(np.corrcoef(ranks.T))[0, 1] > 0.9


def test_a_typical_row_keeps_its_score():
    usual = rows()
    low = np.argsort(usual.scores)[:30]
    refined = taught(usual, low, usual.scaled[low, 0] > 0)
    # Half of each column's parts lie on either side of nothing.
    np.testing.assert_allclose(np.median(refined.refinement.parts(usual.scaled), axis=0), 0, atol=1e-12)


def test_a_shift_is_in_the_units_of_the_score():
    usual = rows()
    low = np.argsort(usual.scores)[:30]
    refined = taught(usual, low, usual.scaled[low, 0] > 0)
    larger = taught(ScoredRows(usual.scaled, 10 * usual.scores + 3), low, usual.scaled[low, 0] > 0)
    np.testing.assert_allclose(larger.refinement.values, 10 * refined.refinement.values, rtol=1e-6, atol=1e-9)
    assert larger.threshold == pytest.approx(10 * refined.threshold + 3)
    assert larger.odds == pytest.approx(refined.odds / 10)


def test_the_order_of_marks_does_not_matter():
    usual = rows()
    low = np.argsort(usual.scores)[:30]
    backwards = taught(usual, low[::-1], (usual.scaled[low, 0] > 0)[::-1])
    forwards = taught(usual, low, usual.scaled[low, 0] > 0)
    np.testing.assert_allclose(backwards.refinement.values, forwards.refinement.values, rtol=1e-6, atol=1e-9)


def test_the_threshold_parts_rows_marked_outlier_from_those_marked_fine():
    usual = rows()
    odd = usual.scaled[:, 0] > 1
    marked = np.argsort(usual.scores)[:80]
    refined = taught(usual, marked, odd[marked])
    below = moved(usual, refined)[marked] < refined.threshold
    assert np.mean(below == odd[marked]) > 0.9
    np.testing.assert_array_equal(
        refined.log_odds(moved(usual, refined)) > 0, moved(usual, refined) < refined.threshold
    )


def test_unlearned_is_what_the_other_marks_teach_of_a_row():
    usual = rows()
    marked = np.argsort(usual.scores)[:25]
    outlier = usual.scaled[marked, 0] > 0
    refined, own = taught(usual, marked, outlier), usual.scores[marked]
    without = []
    for k in range(len(marked)):
        others = taught(usual, np.delete(marked, k), np.delete(outlier, k))
        without.append(others.log_odds(own[k : k + 1] + others.refinement.shift(usual.scaled[marked[k : k + 1]]))[0])
    approximate = refined.log_odds(own + refined.leave_one_out)
    own_too = refined.log_odds(moved(usual, refined)[marked])
    off, off_own = (np.abs(found - without).mean() for found in (approximate, own_too))
    assert off < 0.5 * off_own  # by Laplace's approximation it need not be exact
    assert np.corrcoef(approximate, without)[0, 1] > 0.9


def test_five_wrong_marks_among_fifty_do_little_harm():
    harm, gain = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scaled = rng.normal(size=(600, 4))
        usual, odd = ScoredRows(scaled, -np.linalg.norm(scaled, axis=1)), scaled[:, 0] > 1.3
        marked = np.argsort(usual.scores)[:50]
        wrong = odd[marked].copy()
        wrong[rng.permutation(50)[:5]] ^= True
        rest = np.setdiff1d(np.arange(600), marked)
        plain, right, harmed = (
            separation(scores[rest], odd[rest])
            for scores in (
                usual.scores,
                moved(usual, taught(usual, marked, odd[marked])),
                moved(usual, taught(usual, marked, wrong)),
            )
        )
        harm.append(right - harmed)
        gain.append(right - plain)
    assert np.mean(gain) > 0.15
    assert np.mean(harm) < 0.25 * np.mean(gain)


@pytest.mark.parametrize("outlier", [True, False])
def test_marks_of_one_kind_alone_teach_something_finite(outlier):
    usual = rows()
    refined = taught(usual, np.argsort(usual.scores)[:10], np.full(10, outlier))
    assert np.isfinite(refined.refinement.values).all()
    assert np.isfinite([refined.threshold, refined.odds]).all()
    # The first rows of the ranking are what they were called, by what was learned.
    chance = 1 / (1 + np.exp(-refined.log_odds(moved(usual, refined))[np.argsort(usual.scores)[10:15]]))
    assert (chance > 0.5).all() if outlier else (chance < 0.5).all()


def test_a_constant_column_and_one_of_few_values_are_understood():
    scaled = np.column_stack([np.zeros(300), RNG.integers(0, 3, 300), RNG.normal(size=300)])
    usual = ScoredRows(scaled, -np.abs(scaled[:, 2]))
    marked = np.argsort(usual.scores)[:40]
    refined = taught(usual, marked, scaled[marked, 1] == 2)  # of the odd ones, those of the third kind are wrong
    parts = refined.refinement.parts(scaled)
    np.testing.assert_allclose(parts[:, 0], 0, atol=1e-12)
    assert parts[scaled[:, 1] == 2, 1].max() < parts[scaled[:, 1] != 2, 1].min()
    assert refined.refinement.knots.shape == (3, KNOTS)


def test_equal_scores_teach_nothing_but_are_no_error():
    usual = ScoredRows(RNG.normal(size=(50, 2)), np.zeros(50))
    refined = taught(usual, np.arange(4), np.array([True, True, False, False]))
    assert np.isfinite(refined.refinement.values).all()
