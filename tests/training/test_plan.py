from inspect import signature

import numpy as np
import pytest

from centrality import FUSE, PaperFUSE
from centrality.training.plan import OURS, Plan


@pytest.mark.parametrize(
    ("changes", "members", "size"),
    [
        ({}, 4, 64),
        ({"novelty": True}, 1, 64),
        ({"given": np.array([0])}, 4, 128),
        ({"encoder": object(), "novelty": True}, 1, 128),
        ({"epochs": 3}, 1, 128),
        ({"batch_size": 32, "novelty": True}, 4, 32),
    ],
)
def test_batches_are_small_where_that_was_measured_to_be_enough(changes, members, size):
    for width in (2, 32):
        assert Plan.of(FUSE()._settings() | changes, members, width).batch_size == size


def test_one_network_that_learns_rows_with_outliers_takes_small_batches_if_they_are_wide():
    assert [Plan.of(FUSE()._settings(), 1, width).batch_size for width in (31, 32)] == [128, 64]


def test_left_alone_the_words_of_the_paper_mean_what_fuse_does(blob):
    own = {
        name: word.default for name, word in signature(PaperFUSE).parameters.items() if name not in FUSE().get_params()
    }
    assert own == OURS
    plain, paper = (kind(max_steps=30, random_state=0).fit(blob) for kind in (FUSE, PaperFUSE))
    np.testing.assert_array_equal(paper.heads(blob), plain.heads(blob))
