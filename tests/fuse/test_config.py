"""What a fit decides for its rows before it begins."""

import numpy as np
import pytest
from torch import nn

from centrality import FUSE, PaperFUSE
from centrality.fuse.config import VALUES_IN_MEMORY
from tests.fuse.cases import config_of

PAPER = {"epochs": 3}


def members(n: int, p: int, **parameters: object) -> int:
    return config_of(np.empty((n, p)), **parameters).layout.members


def test_only_a_number_of_epochs_makes_a_fit_follow_the_papers_schedule():
    """That is: all rows are learned, nothing is synthetic, and there is no background."""
    for parameters in ({}, {"anchors": 3}):
        config = config_of(np.zeros((100, 2)), **parameters)
        assert (config.holds_out, config.synthetic_rows, config.background, config.center_logit) == (True,) * 4
    config = config_of(np.zeros((100, 2)), **PAPER)
    assert (config.holds_out, config.synthetic_rows, config.background, config.center_logit) == (False,) * 4


def test_training_holds_so_many_values_at_once_and_the_papers_schedule_all_rows():
    assert config_of(np.zeros((9, 2))).max_values == VALUES_IN_MEMORY
    assert config_of(np.zeros((9, 2)), **PAPER).max_values > 10**15


@pytest.mark.parametrize(("changes", "shared"), [({"ensemble": 1}, True), ({"ensemble": 3}, False)])
def test_unless_told_otherwise_a_network_alone_shares_its_encoder_and_one_of_several_does_not(changes, shared):
    layout = config_of(np.zeros((9, 2)), noise_scale=[0.1, 0.2, 0.3], **changes).layout
    assert (layout.shared, layout.width, layout.potentials, layout.members) == (shared, 2, 3, changes["ensemble"])


def test_local_losses_are_weighed_by_the_noise_only_in_our_schedule():
    def untrained(**parameters: object) -> float:
        config = config_of(np.zeros((9, 7)), noise_scale=[0.5, 2.0], **parameters)
        return PaperFUSE(**parameters)._untrained_local_loss(config)

    assert untrained() == 0.5
    assert untrained(**PAPER) == 0.5 * np.mean([4.0, 0.25])
    assert untrained(**PAPER, literal=True) == 0.5 * np.mean([28.0, 1.75])


def test_few_rows_have_four_networks_and_six_given_a_context():
    assert [members(n, 5) for n in (2999, 3000)] == [4, 1]
    assert [members(n, 200) for n in (5999, 6000)] == [4, 1]
    assert members(2999, 5, given=[0]) == 6


@pytest.mark.parametrize("changes", [{"novelty": True}, {"encoder": nn.Identity()}, PAPER])
def test_there_is_one_network_of_clean_rows_of_an_encoder_and_in_the_papers_schedule(changes):
    assert members(100, 5, **changes) == 1
    assert members(100, 5, **changes, ensemble=3) == 3


def test_fuse_decides_what_its_words_of_the_paper_say_when_left_alone():
    X = np.zeros((100, 2))
    assert FUSE()._config(X, None, 0) == PaperFUSE()._config(X, None, 0)
