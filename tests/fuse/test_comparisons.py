from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from centrality.fuse.comparisons import METRICS, Comparison, Metric, check_metric, compare, preference
from centrality.fuse.data import TrainingData
from centrality.network.scaling import Scaling


def rows_of(X: np.ndarray, scaling: str = "none") -> TrainingData:
    return TrainingData(X, Scaling.fit(X, scaling), np.random.default_rng(0), max_values=1 << 20)


def asked(comparison: Comparison, first: Any, second: Any, anchors: Any) -> np.ndarray:
    """π̂ of one member's pairs, each of one opponent."""
    candidates = np.concatenate([first, second])[None]
    return preference(comparison, candidates, np.asarray(anchors)[None])[0, 0]


def share_nearer(D: np.ndarray, i: int, j: int, anchors: np.ndarray) -> float:
    """π̂ by its definition: ties do not vote."""
    near, far = D[i, anchors], D[j, anchors]
    votes = (near != far).sum()
    return (near < far).sum() / votes if votes else 0.5


@pytest.fixture
def cloud() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(40, 5)) + 1.0


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("own", [False, True], ids=["shared anchors", "own anchors"])
def test_preference_is_the_share_of_anchors_nearer_to_the_first(cloud, metric, own):
    D = pairwise_distances(cloud, metric=metric)
    rng = np.random.default_rng(0)
    first, second = rng.permutation(40)[:20], rng.permutation(40)[:20]
    anchors = rng.integers(40, size=(20, 16) if own else 16)
    found = asked(compare(rows_of(cloud), metric, None), first, second, anchors)
    expected = [
        share_nearer(D, i, j, anchors[k] if own else anchors)
        for k, (i, j) in enumerate(zip(first, second, strict=True))
    ]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_matrix_a_function_of_rows_and_a_function_of_batches_compare_like_the_metric(cloud):
    D = pairwise_distances(cloud)
    rows, rng = rows_of(cloud), np.random.default_rng(0)
    first, second, anchors = np.arange(0, 20), np.arange(20, 40), rng.permutation(40)[:11]
    expected = asked(compare(rows, "euclidean", None), first, second, anchors)
    for comparison in (
        compare(rows, "euclidean", D),
        compare(rows, "euclidean", lambda i, j: D[i, j]),
        compare(rows, "euclidean", lambda i, j: float(np.linalg.norm(cloud[i] - cloud[j]))),
        compare(rows, pairwise_distances, None),
    ):
        np.testing.assert_allclose(asked(comparison, first, second, anchors), expected, atol=1e-6)


def test_exact_ties_do_not_vote_and_no_vote_is_one_half():
    X = np.array([[0.0], [2.0], [1.0], [1.0], [0.0]])
    comparison = compare(rows_of(X), "euclidean", None)
    one, other = np.array([0]), np.array([1])
    assert asked(comparison, one, other, np.array([2, 3])) == 0.5  # the anchors sit midway
    assert asked(comparison, one, other, np.array([2, 4])) == 1.0  # one is midway, one decides
    assert asked(comparison, one, np.array([4]), np.array([1, 2])) == 0.5  # equal rows


def test_read_literally_a_tie_counts_against_the_first():
    X = np.array([[0.0], [2.0], [1.0], [0.9], [1.1]])  # anchors in the middle, nearer to the first, to the second
    candidates, anchors = np.array([[0, 1]]), np.array([[2, 3, 4]])
    comparison = compare(rows_of(X), "euclidean", None)
    assert preference(comparison, candidates, anchors).item() == 1 / 2  # one of two votes
    literal = preference(comparison, candidates, anchors, literal=True).item()
    assert literal == pytest.approx(1 / 3)  # δ(x₁, a) < δ(x₂, a) for one of three


def test_discrete_data_far_from_the_origin_still_ties():
    X = np.array([[1000.1], [1000.3], [1000.2]])
    comparison = compare(rows_of(X, "auto"), "euclidean", None)
    assert asked(comparison, np.array([1]), np.array([0]), np.array([2])) == 0.5


def test_unscaled_data_far_from_the_origin_still_has_preferences():
    X = np.random.default_rng(0).normal(size=(60, 3)) + 1000
    D = pairwise_distances(X)
    first, second, anchors = np.arange(20), np.arange(20, 40), np.arange(40, 60)
    found = asked(compare(rows_of(X), "euclidean", None), first, second, anchors)
    expected = [share_nearer(D, i, j, anchors) for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, expected, atol=0.06)  # one vote in twenty may fall to rounding


def test_a_function_on_row_numbers_is_asked_about_each_row_and_fixed_anchor_only_once():
    questions: Counter[tuple[int, int]] = Counter()

    def gap(i: int, j: int) -> float:
        if isinstance(i, np.ndarray):
            raise TypeError("plain numbers only")
        questions[i, j] += 1
        return abs(i - j)

    comparison = compare(rows_of(np.arange(30.0)[:, None]), "euclidean", gap)
    questions.clear()
    anchors = comparison.fixed_anchors(8, np.random.default_rng(0))
    for _ in range(3):
        asked(comparison, np.arange(15), np.arange(15, 30), anchors)
    assert len(questions) == 30 * 8
    assert set(questions.values()) == {1}


def test_what_a_function_said_is_forgotten_once_other_rows_are_held_and_anchors_are_others(monkeypatch):
    monkeypatch.setattr("centrality.fuse.data.FEWEST_ROWS", 1)
    X = np.random.default_rng(0).normal(size=(60, 2))
    D = pairwise_distances(X)
    rows = TrainingData(X, Scaling.fit(X, "none"), np.random.default_rng(0), max_values=2 * 40)  # 40 of 60 rows
    comparison = compare(rows, "euclidean", lambda i, j: D[i, j])
    anchors = comparison.fixed_anchors(9, np.random.default_rng(0))
    for _ in range(3):
        found = asked(comparison, np.arange(20), np.arange(20, 40), anchors)
        first, second = rows.row_numbers[:20], rows.row_numbers[20:]
        expected = [share_nearer(D, i, j, rows.row_numbers[anchors]) for i, j in zip(first, second, strict=True)]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        rows.redraw()
        comparison.reload()


def test_the_cosine_and_a_users_function_see_rows_as_they_were_given(cloud):
    seen = []

    def metric(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        seen.append(a)
        return pairwise_distances(a, b, metric="cosine")

    scaled = rows_of(cloud, "auto")
    first, second, anchors = np.arange(10), np.arange(10, 20), np.arange(20, 40)
    given_function = asked(compare(scaled, metric, None), first, second, anchors)
    np.testing.assert_array_equal(seen[1], cloud[:10])  # the first call only tried the function out
    named = asked(compare(scaled, "cosine", None), first, second, anchors)
    np.testing.assert_allclose(named, given_function, atol=1e-6)


def test_for_later_opponents_seconds_move_up_by_one(cloud):
    comparison = compare(rows_of(cloud), "euclidean", None)
    first, second, anchors = np.arange(5), np.arange(5, 10), np.arange(10, 40)
    candidates = np.concatenate([first, second])[None]
    found = preference(comparison, candidates, anchors[None], opponents=3)[0]
    for shift in range(3):
        np.testing.assert_allclose(found[shift], asked(comparison, first, np.roll(second, -shift), anchors))


def test_members_are_compared_apart(cloud):
    comparison = compare(rows_of(cloud), "manhattan", None)
    candidates = np.array([[0, 1, 2, 3], [4, 5, 6, 7]])
    anchors = np.array([[8, 9, 10], [11, 12, 13]])
    together = preference(comparison, candidates, anchors)
    for member in range(2):
        alone = preference(comparison, candidates[[member]], anchors[[member]])
        np.testing.assert_array_equal(together[[member]], alone)


def test_all_anchors_in_blocks_count_like_all_at_once(cloud, monkeypatch):
    comparison = compare(rows_of(cloud), "euclidean", None)
    arguments = np.arange(10), np.arange(10, 20), np.arange(20, 40)
    whole = asked(comparison, *arguments)
    monkeypatch.setattr("centrality.fuse.comparisons.ANCHORS_AT_ONCE", 3)
    np.testing.assert_allclose(asked(comparison, *arguments), whole)


@pytest.mark.parametrize(
    ("D", "message"),
    [
        (np.zeros((40, 39)), r"square matrix with one row and column for each of the 40 rows.*got shape \(40, 39\)"),
        (np.full((40, 40), np.nan), "finite numbers that are not negative"),
        (-np.ones((40, 40)), "finite numbers that are not negative"),
        (np.triu(np.ones((40, 40))), r"symmetric, but the entry \(0, 1\) is 1.0 and \(1, 0\) is 0.0"),
        (lambda i, j: np.nan + 0 * i, "finite numbers, got nan for rows"),
    ],
    ids=["not square", "NaN", "negative", "asymmetric", "function giving NaN"],
)
def test_a_dissimilarity_that_is_none_says_why(cloud, D, message):
    with pytest.raises(ValueError, match=message):
        asked(compare(rows_of(cloud), "euclidean", D), np.array([0]), np.array([1]), np.array([2]))


def test_an_unknown_metric_names_those_that_exist(cloud):
    with pytest.raises(ValueError, match=r"one of euclidean, manhattan, cosine, or a function.* got 'euclid'"):
        check_metric("euclid")


def test_a_metric_of_the_wrong_shape_says_which_was_wanted(cloud):
    with pytest.raises(ValueError, match=r"a \(2, 3\) array of dissimilarities .* got shape \(2,\)"):
        compare(rows_of(cloud), lambda a, b: np.zeros(2), None)


def test_a_metric_is_an_entry_in_the_table(cloud, monkeypatch):
    longest = Metric(lambda x, a: cdist(x, a, "chebyshev"), size=lambda rows: np.abs(rows).max(1), kernel="chebyshev")
    monkeypatch.setitem(METRICS, "chebyshev", longest)
    D = pairwise_distances(cloud, metric="chebyshev")
    first, second, anchors = np.arange(10), np.arange(10, 20), np.arange(20, 40)
    found = asked(compare(rows_of(cloud), "chebyshev", None), first, second, anchors)
    expected = [share_nearer(D, i, j, anchors) for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize(("ties", "expected"), [(0.6, 0.5), (1.5, 1.0)], ids=["below", "above"])
def test_a_difference_of_a_millionth_of_what_is_compared_is_a_tie(metric, ties, expected):
    """Rows at ±4 and 0 along an axis. Seen from 0, one at 4 + δ is farther than one at 4 by δ; in half squares, by 4δ.

    On average the rows are 8/3 long, their squares 32/3: by either measure δ ties up to 8/3 millionths. In float32 the
    numbers compared lie 4.8e-7 apart (at 4) and 9.5e-7 (at 8, where 4δ is compared), well below what is told apart.
    """
    X = np.zeros((6, 2))
    X[:, 0] = 4, 4 + ties * 8 / 3 * 1e-6, 0, -4, -4, 0
    assert asked(compare(rows_of(X), metric, None), np.array([0]), np.array([1]), np.array([2])) == expected


@pytest.mark.parametrize("shift", [[3000.0, 0.0], [3000.0, -3000.0]])  # whose squares float32 knows to a unit only
def test_columns_far_from_the_origin_do_not_drown_what_tells_rows_apart(shift):
    X = np.random.default_rng(0).normal(size=(60, 2)) * 0.3 + shift
    D = pairwise_distances(X - shift)
    first, second, anchors = np.arange(20), np.arange(20, 40), np.arange(40, 60)
    found = asked(compare(rows_of(X), "euclidean", None), first, second, anchors)
    expected = [share_nearer(D, i, j, anchors) for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, expected, atol=0.06)  # one vote in twenty may fall to rounding


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("shift", [0, 5])
def test_comparing_rows_leaves_them_as_the_network_sees_them(metric, shift):
    rows = rows_of(np.random.default_rng(0).normal(size=(20, 3)) + shift)
    before = rows.z.copy()
    compare(rows, metric, None)
    np.testing.assert_array_equal(rows.z, before)


def test_rows_meet_once_unless_told_otherwise():
    comparison = compare(rows_of(np.random.default_rng(0).normal(size=(9, 2))), "euclidean", None)
    candidates, anchors = np.arange(6)[None], np.arange(6, 9)[None]
    assert preference(comparison, candidates, anchors).shape == (1, 1, 3)


def test_a_pairs_own_anchors_in_blocks_count_like_all_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    comparison = compare(rows_of(rng.normal(size=(40, 3))), "euclidean", None)
    arguments = np.arange(4), np.arange(4, 8), rng.integers(8, 40, size=(4, 11))
    whole = asked(comparison, *arguments)
    monkeypatch.setattr("centrality.fuse.comparisons.ANCHORS_AT_ONCE", 3)
    np.testing.assert_allclose(asked(comparison, *arguments), whole)
