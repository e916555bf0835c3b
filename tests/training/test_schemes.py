"""In which order candidates meet, and which of them are left over."""

import numpy as np
import pytest

from centrality.training.schemes import SCHEMES, Partition


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
