import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centrality.training.schemes import SCHEMES, Partition, Scheme


@given(st.integers(3, 60), st.sampled_from([1, 2, 3]), st.integers(0, 5))
def test_split_schemes_keep_anchors_and_candidates_apart(n, scheme, seed):
    partition = Partition(n, SCHEMES[scheme], np.random.default_rng(seed))
    parts = [set(part.tolist()) for part in (partition.anchors, partition.first, partition.second)]
    assert set.union(*parts) == set(range(n))
    assert sum(map(len, parts)) == n
    assert len(parts[1]) == len(parts[2]) == n // 3


def pairs_of(scheme: int, n: int, batch_size: int = 7) -> list[tuple[int, int]]:
    partition = Partition(n, SCHEMES[scheme], np.random.default_rng(0))
    return [pair for i, j in partition.pairs(batch_size) for pair in zip(i.tolist(), j.tolist(), strict=True)]


@pytest.mark.parametrize("scheme", [1, 2, 3, 4])
def test_whole_batches_hold_the_same_pairs_but_for_what_is_left_of_each_matching(scheme):
    partition = Partition(30, SCHEMES[scheme], np.random.default_rng(0))
    batches = [batch for matching in partition.matchings(5) for batch in matching]
    pairs = [pair for batch in batches for pair in zip(batch[:5].tolist(), batch[5:].tolist(), strict=True)]
    assert len(pairs) == len(set(pairs))
    assert set(pairs) == set(pairs_of(scheme, 30))  # 5 divides every matching of 30 rows: nothing is left


def test_scheme_1_matches_each_candidate_once():
    pairs = pairs_of(1, 31)
    assert len(pairs) == 10
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == 10


@pytest.mark.parametrize("scheme", [2, 3])
def test_schemes_2_and_3_compare_every_candidate_with_every_other(scheme):
    pairs = pairs_of(scheme, 31)
    assert len(pairs) == len(set(pairs)) == 10 * 10


def test_scheme_4_compares_every_row_with_every_other_row():
    pairs = pairs_of(4, 12)
    assert set(pairs) == {(i, j) for i in range(12) for j in range(12) if i != j}
    assert len(pairs) == 12 * 11


@pytest.mark.parametrize(("scheme", "shape"), [(1, (5, 8)), (2, (5, 8)), (3, (5, 20)), (4, (5, 60))])
def test_schemes_1_and_2_draw_anchors_for_each_pair_and_3_and_4_use_them_all(scheme, shape):
    partition = Partition(60, SCHEMES[scheme], np.random.default_rng(0))
    anchors = partition.draw_anchors(8, 5)
    assert anchors.shape == shape
    for drawn in np.atleast_2d(anchors):
        assert len(set(drawn.tolist())) == len(drawn)  # a subset: none is drawn twice
        assert set(drawn.tolist()) <= set(partition.anchors.tolist())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_scheme_knows_how_many_pairs_it_makes(scheme):
    assert SCHEMES[scheme].pairs(31) == len(pairs_of(scheme, 31))


def test_unsplit_rows_that_meet_only_their_match_never_meet_themselves():
    """No scheme of the Supplement, but one that an entry in the table could be."""
    scheme = Scheme(split=False, all_pairs=False, all_anchors=True)
    partition = Partition(12, scheme, np.random.default_rng(0))
    pairs = [pair for i, j in partition.pairs(5) for pair in zip(i.tolist(), j.tolist(), strict=True)]
    assert len(pairs) == scheme.pairs(12) == 12
    assert sorted(i for i, _ in pairs) == sorted(j for _, j in pairs) == list(range(12))
    assert all(i != j for i, j in pairs)


@pytest.mark.parametrize("scheme", [1, 2, 4])
def test_each_matching_shifts_the_second_candidates_by_one_more(scheme):
    partition = Partition(12, SCHEMES[scheme], np.random.default_rng(0))
    first, second = partition.first, partition.second
    shifts = {1: range(1), 2: range(4), 4: range(1, 12)}[scheme]  # of 4 candidates or 12; nobody meets itself
    expected = [(first.tolist(), np.roll(second, -shift).tolist()) for shift in shifts]
    size = len(first)
    assert [(i.tolist(), j.tolist()) for i, j in partition.pairs(size)] == expected
    assert [(b[0, :size].tolist(), b[0, size:].tolist()) for b in partition.matchings(size)] == expected


def test_of_a_matching_that_whole_batches_do_not_fill_the_rest_is_left():
    partition = Partition(33, SCHEMES[2], np.random.default_rng(0))  # 11 candidates: two batches of 4 and 3 left
    matchings = list(partition.matchings(4))
    assert len(matchings) == 11
    for shift, batches in enumerate(matchings):
        assert batches.shape == (2, 8)
        np.testing.assert_array_equal(batches[:, :4].ravel(), partition.first[:8])
        np.testing.assert_array_equal(batches[:, 4:].ravel(), np.roll(partition.second, -shift)[:8])
