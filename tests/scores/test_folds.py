"""Rows are judged by networks that have not seen them: which those are follows from the rows' content."""

import numpy as np
import pytest

from centrality.scores.folds import FOLDS, Folds, Split, dealt, folds_of, hashes, to_be_split

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(2000, 6))
EMPTY = to_be_split(FOLDS, (0, 1, 2, 3, 4), Z)


def test_every_fold_gets_its_share_of_the_rows():
    sizes = np.bincount(folds_of(hashes(Z, EMPTY.grain), FOLDS))
    assert (np.abs(sizes - 400) < 5 * np.sqrt(2000 * 0.2 * 0.8)).all()  # five deviations of a binomial


def test_a_rows_fold_does_not_depend_on_its_company_nor_on_how_it_is_stored():
    whole = hashes(Z, EMPTY.grain)
    np.testing.assert_array_equal(hashes(Z[::-1], EMPTY.grain)[::-1], whole)
    single = hashes(Z.astype(np.float32).astype(float), EMPTY.grain)
    # A number moves by up to 6e-8 of itself, and changes its step of 2.4e-4 with a chance of about 5e-4 at most.
    assert np.mean(single != whole) < 6 * 5e-4


def test_equal_numbers_in_other_columns_make_another_row():
    assert len(np.unique(hashes(np.eye(50), 2.0**-12))) == 50


def test_rows_that_are_much_smaller_than_one_are_told_apart_too():
    tiny = to_be_split(FOLDS, (0,), 1e-9 * Z)
    assert len(np.unique(hashes(1e-9 * Z, tiny.grain))) == 2000


def test_copies_are_dealt_out_to_one_fold_after_another():
    own = dealt(hashes(np.repeat(Z[:3], 10, axis=0), EMPTY.grain), FOLDS)
    for copies in own.reshape(3, 10):
        assert np.bincount(copies, minlength=FOLDS).tolist() == [2] * FOLDS


def test_members_let_those_speak_that_have_not_seen_a_row():
    split = Split.of([Z[:100], Z[100:]], EMPTY)
    assert split is not None
    assert split.judged().tolist() == list(range(2000))
    outputs = np.tile(np.arange(5.0)[:, None, None], (1, 2000, 3))  # each member says its own number
    found, folds = split.folds.recognised(hashes(Z, EMPTY.grain))
    assert len(found) == 2000
    split.folds.honest(outputs, found, folds)
    np.testing.assert_array_equal(outputs, np.broadcast_to(folds[None, :, None], outputs.shape))


def test_new_rows_are_not_taken_for_training_rows():
    split = Split.of([Z], EMPTY)
    assert split is not None
    new = RNG.normal(size=(20_000, 6))
    found, _ = split.folds.recognised(hashes(new, EMPTY.grain))
    assert len(found) <= 2  # 2,000 of 2³² values are taken: .01 rows are expected


def test_one_network_alone_leaves_rows_out_and_remembers_none():
    split = Split.of([Z], to_be_split(10, (0,), Z))
    assert split is not None
    assert len(split.folds.known) == 0
    assert 120 < len(split.judged()) < 280  # a tenth of 2,000, give or take six deviations
    assert len(split.folds.recognised(hashes(Z, EMPTY.grain))[0]) == 0


@pytest.mark.parametrize("n", [3, 4])
def test_rows_too_few_to_leave_any_out_are_all_learned_from(n):
    assert Split.of([Z[:n]], EMPTY) is None


def test_folds_that_learn_on_know_earlier_rows_still():
    first = Split.of([Z[:1000]], EMPTY)
    assert first is not None
    more = first.folds.knowing(hashes(Z[1000:], EMPTY.grain))
    assert isinstance(more, Folds)
    assert len(more.recognised(hashes(Z, EMPTY.grain))[0]) == 2000
