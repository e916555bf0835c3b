"""Rows are dealt out at random, so that every one is unseen by somebody who can judge it."""

import numpy as np
import pytest

from centrality.network.folds import LEFT_OUT, Split, split, split_few


def parted(n: int, members: int, *, alike: bool = False) -> Split:
    found = split(n, members, np.random.default_rng(0), alike=alike)
    assert found is not None
    return found


def test_each_of_six_networks_leaves_out_half_of_the_rows_and_each_row_is_unseen_by_three():
    found = parted(400, 6)
    unseen = found.unseen(np.arange(400))
    assert unseen.shape == (6, 400)
    assert (unseen.sum(1) == 200).all()
    assert (unseen.sum(0) == 3).all()
    assert found.apart


def test_any_two_rows_of_different_folds_are_unseen_together_by_exactly_one_network():
    """There are six pairs of four folds, and each network leaves out another: no two say the same of all rows."""
    assert sorted(LEFT_OUT) == [(a, b) for a in range(4) for b in range(a + 1, 4)]


def test_networks_come_in_pairs_that_leave_out_opposite_halves():
    """So that two, or four, have left out every row equally often, too."""
    for members in (2, 4):
        assert (parted(100, members).unseen(np.arange(100)).sum(0) == members / 2).all()


def test_folds_differ_in_size_by_one_row_at_most_and_are_dealt_at_random():
    own = parted(1003, 6).own
    assert np.ptp(np.bincount(own)) == 1
    # Of neighbours a quarter belongs to one fold: within five deviations of a binomial.
    assert abs((own[1:] == own[:-1]).mean() - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 1002)


def test_more_networks_than_pairs_of_folds_begin_again():
    left_out = parted(100, 8).left_out
    assert left_out[6:] == left_out[:2]


@pytest.mark.parametrize(
    ("n", "left_out"),
    [
        (4000, 400),  # a tenth
        (200, 30),  # that would be 20: too few to judge by
        (50, 15),  # no more than three tenths, whatever is left to judge by
    ],
)
def test_a_network_alone_leaves_out_a_tenth_or_thirty_rows_but_no_more_than_three_tenths(n, left_out):
    found = parted(n, 1)
    assert len(found.judged()) == left_out
    assert not found.apart


def test_networks_that_share_a_prior_leave_out_the_same_rows():
    found = parted(1000, 3, alike=True)
    unseen = found.unseen(found.judged())
    assert unseen.all()
    assert len(found.judged()) == 100
    assert not found.apart


def test_rows_unseen_by_nobody_are_not_judged():
    found = Split(np.array([0, 1, 2, 1]), ((1,), (1,)))
    assert found.judged().tolist() == [1, 3]


@pytest.mark.parametrize(("n", "members"), [(3, 1), (3, 6), (5, 6)])
def test_rows_too_few_to_leave_any_out_are_all_learned_from(n, members):
    """Three rows must be left to learn from; of five, a half of four folds may be three."""
    assert split(n, members, np.random.default_rng(0), alike=False) is None


def test_eight_rows_are_enough_to_be_halved():
    """Four folds of two: every network learns from four rows and judges four."""
    found = split(8, 6, np.random.default_rng(0), alike=False)
    assert found is not None
    assert (found.unseen(np.arange(8)).sum(1) == 4).all()


@pytest.mark.parametrize("alike", [False, True])
def test_a_fold_takes_one_byte_and_is_dealt_as_a_permutation_of_the_rows_deals_it(alike):
    n, order = 1000, np.random.default_rng(0).permutation(1000)
    found = parted(n, 6, alike=alike)
    expected = np.where(np.isin(np.arange(n), order[: n // 10]), 0, 1) if alike else order % 4
    np.testing.assert_array_equal(found.own, expected)
    assert found.own.nbytes == n


def test_of_very_many_rows_each_is_left_out_by_chance_and_takes_a_byte():
    own = parted(200_000, 1).own
    assert own.dtype == np.int8
    assert set(own.tolist()) == {0, 1}
    assert abs((own == 0).sum() - 20_000) < 5 * np.sqrt(200_000 * 0.1 * 0.9)  # five deviations of a binomial


def test_rows_dealt_one_by_one_belong_to_each_fold_by_its_share():
    n, rng = 100_000, np.random.default_rng(0)
    few, alone = (split_few(n, members, rng, alike=False) for members in (4, 1))
    for fold in range(4):
        assert np.mean(few.own == fold) == pytest.approx(1 / 4, abs=5 * (3 / 16 / n) ** 0.5)
    assert few.left_out == ((0, 1), (2, 3), (0, 2), (1, 3))
    assert np.mean(alone.own == 0) == pytest.approx(0.3, abs=5 * (0.21 / n) ** 0.5)
    assert alone.left_out == ((0,),)
