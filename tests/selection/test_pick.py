"""`centrality.select`: the most typical, the oddest, a few that stand for all, or those to label."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from centrality import Chain, select
from centrality._internal.checks import InputError
from centrality.representations import Table
from centrality.selection.pick import KINDS
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
