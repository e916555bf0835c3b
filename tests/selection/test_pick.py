"""`centrality.select`: the most typical, the oddest, a few that stand for all, or those to label."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from centrality import Chain, select
from centrality._internal.checks import InputError
from centrality.representations import Table
from centrality.selection.pick import KINDS, SAMPLE, codes_of, interleaved, sample_for, shares_of, spread
from tests.conftest import quick


@pytest.fixture(scope="module")
def X():  # noqa: N802
    """400 points of a Gaussian in the plane; the last three lie far away, each elsewhere."""
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[-3:] = [[60, 0], [0, -60], [-50, 50]]
    return X


@pytest.fixture(scope="module")
def model(X):
    return quick().fit(X)


@pytest.fixture(scope="module")
def frame(X):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": X[:, 0], "colour": rng.choice(["red", "blue", "green"], 400, p=[0.8, 0.15, 0.05])})
    frame.loc[::7, "x"] = np.nan
    frame.index = [f"row {i}" for i in range(400)]
    return frame


@pytest.fixture(scope="module")
def of_tables(frame):
    return Chain(Table(), quick()).fit(frame)


def test_odd_and_typical_rows_are_the_ends_of_the_ranking_by_score(model, X):
    scores = model.score_samples(X)
    odd, typical = select(model, X, 10, "odd"), select(model, X, 10, "typical")
    np.testing.assert_allclose(scores[odd], np.sort(scores)[:10], atol=1e-9)
    np.testing.assert_allclose(scores[typical], np.sort(scores)[::-1][:10], atol=1e-9)
    assert {397, 398, 399} <= set(odd.tolist())


def test_the_dial_chooses_the_ranking(model, X):
    for t in (0.0, 1.0):
        scores = model.centrality(X, t=t)
        assert scores[select(model, X, 1, "typical", t=t)[0]] == pytest.approx(scores.max(), abs=1e-9)


def test_diverse_rows_cover_outliers_and_representative_ones_leave_them_out(model, X):
    outliers = {397, 398, 399}
    assert outliers & set(select(model, X, 40, "diverse").tolist())
    for what in ("representative", "to label"):
        assert not outliers & set(select(model, X, 40, what).tolist())


@pytest.mark.parametrize("what", KINDS)
def test_a_picked_row_comes_once_and_the_same_seed_picks_the_same_rows(model, X, what):
    picked = select(model, X, 25, what)
    assert len(set(picked.tolist())) == 25
    assert picked.min() >= 0
    assert picked.max() < 400
    np.testing.assert_array_equal(picked, select(model, X, 25, what))


@pytest.mark.parametrize("what", KINDS)
def test_the_first_picks_do_not_depend_on_how_many_follow(model, X, what):
    np.testing.assert_array_equal(select(model, X, 30, what)[:8], select(model, X, 8, what))


def test_prefixes_of_rows_to_label_cover_what_rows_drawn_at_random_cover_worse(model, X):
    inliers = X[:-3]
    drawn = np.random.default_rng(0).permutation(397)
    picked = select(model, X, 60, "to label")
    for k in (5, 15, 30, 60):
        ours, random = (
            np.linalg.norm(inliers[:, None] - X[rows[:k]], axis=2).min(1).mean() for rows in (picked, drawn)
        )
        assert ours < random


@pytest.mark.parametrize("what", KINDS)
def test_all_rows_can_be_picked(model, X, what):
    assert sorted(select(model, X[:50], 50, what)) == list(range(50))


def test_groups_have_even_shares_and_take_turns(of_tables, frame):
    picked = select(of_tables, frame, 30, "typical", by="colour")
    colours = frame["colour"].to_numpy()[picked]
    assert [list(colours).count(colour) for colour in ("blue", "green", "red")] == [10, 10, 10]
    assert list(colours[:6]) == ["blue", "green", "red"] * 2
    scores = of_tables.score_samples(frame)
    reds = np.flatnonzero(frame["colour"] == "red")
    assert picked[2] == reds[np.argmax(scores.to_numpy()[reds] if hasattr(scores, "to_numpy") else scores[reds])]


def test_a_small_group_gives_all_it_has(model, X):
    by = np.where(np.arange(400) < 2, "rare", "usual")
    picked = select(model, X, 10, "diverse", by=by)
    assert sorted(picked[picked < 2]) == [0, 1]
    assert len(picked) == 10


def test_frames_with_gaps_and_categories_are_picked_from_alike_whatever_their_kind(of_tables, frame):
    by_pandas = select(of_tables, frame, 12, "diverse")
    by_polars = select(of_tables, pl.from_pandas(frame), 12, "diverse")
    np.testing.assert_array_equal(by_pandas, by_polars)
    assert frame.iloc[by_pandas].index[0] == f"row {by_pandas[0]}"  # positions, whatever the labels of the rows


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"k": 401}, "k must be a whole number of at most 400, got 401"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"what": "nice"}, "what must be one of 'typical', .*, got 'nice'"),
        ({"by": [1, 2]}, "by must hold one value for each of the 400 rows, got 2"),
        ({"t": 2}, "t must lie between"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_wrong_wishes_are_answered_in_a_sentence(model, X, changes, said):
    with pytest.raises(InputError, match=said):
        select(model, X, **({"k": 5, "what": "odd"} | changes))


def cloud(n: int, p: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, p)).astype(np.float32)


def mean_distance(Z: np.ndarray, chosen: np.ndarray) -> float:
    return float(np.linalg.norm(Z[:, None] - Z[chosen], axis=2).min(1).mean())


def plain_greedy(Z: np.ndarray, k: int) -> list[int]:
    """Choose each next row among all rows, as the one that makes the mean distance the smallest."""
    between, chosen = np.linalg.norm(Z[:, None] - Z, axis=2), list[int]()
    for _ in range(k):
        rest = between[:, chosen].min(1, keepdims=True) if chosen else between.max()
        chosen.append(int(np.minimum(between, rest).mean(0).argmin()))
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_of_three_far_clusters_three_rows_are_one_each(seed):
    Z = np.concatenate([cloud(50, 2, seed) + np.float32(centre) for centre in (0, 100, 300)])
    assert sorted(spread(Z, 3, np.random.default_rng(seed)) // 50) == [0, 1, 2]


def test_it_covers_as_well_as_plain_greedy_within_three_per_cent():
    Z = cloud(500, 4)
    ours, plain = spread(Z, 25, np.random.default_rng(0)), plain_greedy(Z, 25)
    assert mean_distance(Z, ours) < 1.03 * mean_distance(Z, plain)


def test_the_first_of_many_are_those_of_few():
    Z = cloud(300, 3)
    for squared in (False, True):
        many, few = (spread(Z, k, np.random.default_rng(1), squared=squared) for k in (40, 9))
        np.testing.assert_array_equal(many[:9], few)


def test_every_row_is_chosen_once_when_all_are_asked_for():
    Z = cloud(40, 2)
    assert sorted(spread(Z, 40, np.random.default_rng(0))) == list(range(40))


def test_rows_that_are_all_the_same_are_chosen_once_each():
    chosen = spread(np.ones((10, 2), dtype=np.float32), 4, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 4


def test_rows_without_weight_come_last():
    Z, weight = cloud(30, 2), np.zeros(30, dtype=np.float32)
    weight[:5] = 1
    chosen = spread(Z, 8, np.random.default_rng(0), weight)
    assert sorted(chosen[:5]) == [0, 1, 2, 3, 4]
    assert (chosen[5:] >= 5).all()


def test_squares_make_a_far_row_count_more():
    """Without one of -1 and 1, 45 rows are 2 away, 90 in all; without 30, one is 29 away: less, but not its square."""
    line = np.concatenate([np.full(45, -1.0), np.full(45, 1.0), [30.0]])[:, None].astype(np.float32)
    assert sorted(line[spread(line, 2, np.random.default_rng(0)), 0]) == [-1, 1]
    assert 30 in line[spread(line, 2, np.random.default_rng(0), squared=True), 0]


def test_very_many_rows_are_stood_for_by_a_sample_of_them():
    rows = np.arange(7, 7 + 3 * SAMPLE)
    sample = sample_for(10, rows, np.random.default_rng(0))
    assert len(sample) == SAMPLE == len(np.unique(sample))
    assert np.isin(sample, rows).all()
    assert len(sample_for(SAMPLE // 5, rows, np.random.default_rng(0))) == 2 * SAMPLE  # ten for each row to choose
    np.testing.assert_array_equal(sample_for(10, rows[:50], np.random.default_rng(0)), rows[:50])


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_a_frame_names_the_groups(kind):
    frame = kind({"class": ["b", "a", "b"], "x": [1.0, 2.0, 3.0]})
    assert codes_of(frame, "class", 3).tolist() == [1, 0, 1]


def test_numbers_stand_in_the_order_of_their_size():
    assert codes_of(None, [10, 9, 10], 3).tolist() == [1, 0, 1]


def test_all_gaps_are_one_group_and_the_last():
    frame = pd.DataFrame({"class": [np.nan, 2.0, np.nan, 1.0], "x": 0.0})
    assert codes_of(frame, "class", 4).tolist() == [2, 1, 2, 0]
    assert codes_of(None, ["b", None, float("nan"), "a"], 4).tolist() == [1, 2, 2, 0]


@pytest.mark.parametrize(
    ("X", "by", "said"),
    [
        (None, [1, 2], "one value for each of the 3 rows, got 2"),
        (np.zeros((3, 2)), "class", "names a column, but the rows are no frame"),
        (None, [1, 2, 3], "its values differ in every row"),
        (pd.DataFrame({"a": [1, 1, 2]}), "b", "'b'"),
    ],
)
def test_what_makes_no_groups_is_told(X, by, said):
    with pytest.raises(InputError, match=said):
        codes_of(X, by, 3)


def test_shares_are_even_and_no_group_gives_more_than_it_has():
    for k, sizes in ((10, [100, 3, 50]), (7, [1, 1, 1, 100]), (3, [5, 5, 5, 5]), (20, [4, 4, 4])):
        shares = shares_of(k, np.array(sizes))
        assert shares.sum() == min(k, sum(sizes))
        assert (shares <= sizes).all()
        free = shares[shares < sizes]  # groups that could give more differ by one row at most
        assert len(free) == 0 or free.max() - free.min() <= 1
        assert len(free) == 0 or shares.max() <= free.max()


def test_groups_take_turns_until_they_have_no_more():
    assert interleaved([np.array([5, 6, 7]), np.array([1]), np.array([8, 9])]).tolist() == [5, 1, 8, 6, 9, 7]
