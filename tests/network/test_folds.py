"""Rows are dealt out at random, so that every one is unseen by somebody who can judge it."""

import numpy as np
import pytest
from scipy import sparse

from centrality.network.folds import LEFT_OUT, Folds, Records, equal_rows, split, split_few, split_off_holdout
from centrality.network.scaling import MANY


def parted(n: int, members: int, *, alike: bool = False) -> Folds:
    found = split(n, members, np.random.default_rng(0), members_differ=not alike)
    assert found is not None
    return found


def test_each_of_six_networks_leaves_out_half_of_the_rows_and_each_row_is_unseen_by_three():
    found = parted(400, 6)
    unseen = found.unseen(np.arange(400))
    assert unseen.shape == (6, 400)
    assert (unseen.sum(1) == 200).all()
    assert (unseen.sum(0) == 3).all()
    assert found.members_differ


def test_any_two_rows_of_different_folds_are_unseen_together_by_exactly_one_network():
    """There are six pairs of four folds, and each network leaves out another: no two say the same of all rows."""
    assert sorted(LEFT_OUT) == [(a, b) for a in range(4) for b in range(a + 1, 4)]


def test_networks_come_in_pairs_that_leave_out_opposite_halves():
    """So that two, or four, have left out every row equally often, too."""
    for members in (2, 4):
        assert (parted(100, members).unseen(np.arange(100)).sum(0) == members / 2).all()


def test_folds_differ_in_size_by_one_row_at_most_and_are_dealt_at_random():
    own = parted(1003, 6).fold_of_row
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
    assert len(found.held_out_rows()) == left_out
    assert not found.members_differ


def test_networks_that_share_a_prior_leave_out_the_same_rows():
    found = parted(1000, 3, alike=True)
    unseen = found.unseen(found.held_out_rows())
    assert unseen.all()
    assert len(found.held_out_rows()) == 100
    assert not found.members_differ


def test_rows_unseen_by_nobody_are_not_judged():
    found = Folds(np.array([0, 1, 2, 1]), ((1,), (1,)))
    assert found.held_out_rows().tolist() == [1, 3]


@pytest.mark.parametrize(("n", "members"), [(3, 1), (3, 6), (5, 6)])
def test_rows_too_few_to_leave_any_out_are_all_learned_from(n, members):
    """Three rows must be left to learn from; of five, a half of four folds may be three."""
    assert split(n, members, np.random.default_rng(0), members_differ=True) is None


def test_eight_rows_are_enough_to_be_halved():
    """Four folds of two: every network learns from four rows and judges four."""
    found = split(8, 6, np.random.default_rng(0), members_differ=True)
    assert found is not None
    assert (found.unseen(np.arange(8)).sum(1) == 4).all()


@pytest.mark.parametrize("alike", [False, True])
def test_a_fold_takes_one_byte_and_is_dealt_as_a_permutation_of_the_rows_deals_it(alike):
    n, order = 1000, np.random.default_rng(0).permutation(1000)
    found = parted(n, 6, alike=alike)
    expected = np.where(np.isin(np.arange(n), order[: n // 10]), 0, 1) if alike else order % 4
    np.testing.assert_array_equal(found.fold_of_row, expected)
    assert found.fold_of_row.nbytes == n


def test_of_very_many_rows_each_is_left_out_by_chance_and_takes_a_byte():
    own = parted(200_000, 1).fold_of_row
    assert own.dtype == np.int8
    assert set(own.tolist()) == {0, 1}
    assert abs((own == 0).sum() - 20_000) < 5 * np.sqrt(200_000 * 0.1 * 0.9)  # five deviations of a binomial


def test_rows_dealt_one_by_one_belong_to_each_fold_by_its_share():
    n, rng = 100_000, np.random.default_rng(0)
    few, alone = (split_few(n, members, rng, members_differ=True) for members in (4, 1))
    for fold in range(4):
        assert np.mean(few.fold_of_row == fold) == pytest.approx(1 / 4, abs=5 * (3 / 16 / n) ** 0.5)
    assert few.left_out == ((0, 1), (2, 3), (0, 2), (1, 3))
    assert np.mean(alone.fold_of_row == 0) == pytest.approx(0.3, abs=5 * (0.21 / n) ** 0.5)
    assert alone.left_out == ((0,),)


RECORDS = np.random.default_rng(1).normal(size=(200, 3))


def test_rows_are_equal_if_all_of_their_values_are_and_not_if_only_their_sums_are():
    rows = np.array([[1e300, 1.0], [1e300, 2.0], [0.0, 5.0], [-0.0, 5.0], [1e300, 1.0]])
    assert equal_rows(rows).tolist() == [0, 1, 2, 2, 0]  # 1e300 swallows what is added to it; 0 and -0 are equal
    assert equal_rows(sparse.csr_array(rows)).tolist() == [0, 1, 2, 2, 0]


@pytest.mark.parametrize("members", [1, 6])
@pytest.mark.parametrize("times", [2, 5])
def test_copies_of_a_record_share_a_fold_and_folds_hold_as_many_records(members, times):
    rows = np.tile(RECORDS, (times, 1))
    found = split(len(rows), members, np.random.default_rng(0), members_differ=True, records=Records.of(rows))
    assert found is not None
    by_copy = found.fold_of_row.reshape(times, -1)
    assert (by_copy == by_copy[0]).all()
    np.testing.assert_array_equal(np.bincount(by_copy[0]), [50] * 4 if members == 6 else [30, 170])


@pytest.mark.parametrize("members", [1, 6])
def test_without_copies_folds_and_holdout_are_drawn_as_if_nobody_had_looked_for_them(members):
    looked = split(200, members, np.random.default_rng(0), members_differ=True, records=Records.of(RECORDS))
    plain = split(200, members, np.random.default_rng(0), members_differ=True)
    assert looked is not None
    assert plain is not None
    np.testing.assert_array_equal(looked.fold_of_row, plain.fold_of_row)
    learned, aside = (RECORDS[rows] for rows in split_off_holdout(0.3, RECORDS, np.random.default_rng(0)))
    order = np.random.default_rng(0).permutation(200)
    np.testing.assert_array_equal(learned, RECORDS[np.sort(order[60:])])
    np.testing.assert_array_equal(aside, RECORDS[np.sort(order[:60])])


def test_copies_of_a_record_are_on_one_side_of_the_holdout_and_calibrate_once():
    thrice = np.repeat(RECORDS, 3, axis=0)
    learned, aside = (thrice[rows] for rows in split_off_holdout(0.3, thrice, np.random.default_rng(0)))
    assert len(learned) == 3 * 140
    assert len(aside) == 60
    both = np.concatenate([learned[::3], aside])
    assert sorted(map(tuple, both)) == sorted(map(tuple, RECORDS))


def test_rows_of_coarse_columns_are_equal_by_chance_and_each_is_its_own_unit():
    """Of 600 rows of 5 coins, each of the 32 rows comes about 19 times, as independent columns expect."""
    coins = np.random.default_rng(0).integers(0, 2, (600, 5)).astype(float)
    records = Records.of(coins)
    assert records.first.all()
    assert records.common.all()
    np.testing.assert_array_equal(records.of_row, np.arange(600))


def test_a_record_beside_coarse_rows_is_told_from_them_by_a_column_that_is_not_coarse():
    rows = np.column_stack([np.repeat(RECORDS[:, :2], 3, axis=0), np.repeat([0.0, 1.0], 300)])
    records = Records.of(rows)
    assert records.count == 200
    assert not records.common.any()


def test_a_row_that_makes_up_more_than_a_twentieth_of_all_is_no_copy_by_accident():
    rows = np.concatenate(
        [RECORDS, np.repeat(RECORDS[:1], 10, axis=0)]
    )  # 11 of 210 rows are equal, a twentieth is 10.5
    records = Records.of(rows)
    assert records.first.all()
    assert np.flatnonzero(records.common).tolist() == [0, *range(200, 210)]
    assert Records.of(rows[:-1]).count == 200  # 10 of 209


def test_of_very_many_rows_each_is_its_own_unit():
    assert Records.of(np.zeros((MANY + 1, 1))).count == MANY + 1
