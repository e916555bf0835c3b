"""What follows from the settings of a fit before it begins."""

import numpy as np
import pytest
from torch import nn

from centrality import FUSE, PaperFUSE
from centrality.fuse.config import HELD_VALUES, Settings


def settings(kind: type[FUSE] = FUSE, **changes: object) -> Settings:
    return Settings(kind(**changes).get_params(deep=False))


def test_only_a_number_of_epochs_makes_a_fit_follow_the_papers_schedule():
    assert not settings().by_paper
    assert not settings(PaperFUSE, anchors=3).by_paper
    assert settings(PaperFUSE, epochs=3).by_paper


def test_training_holds_so_many_values_at_once_and_the_papers_schedule_all_rows():
    assert settings().max_values == HELD_VALUES
    assert settings(PaperFUSE, epochs=3).max_values > 10**15


@pytest.mark.parametrize(("changes", "shared"), [({"ensemble": 1}, True), ({"ensemble": 3}, False)])
def test_unless_told_otherwise_a_network_alone_shares_its_encoder_and_one_of_several_does_not(changes, shared):
    layout = settings(**changes).layout(2, 3, changes["ensemble"])
    assert (layout.shared, layout.width, layout.potentials, layout.members) == (shared, 2, 3, changes["ensemble"])


def test_local_losses_are_weighed_by_the_noise_only_in_our_schedule():
    assert settings().loss_weights((0.5, 2.0), columns=7) == [1.0, 1.0]
    assert settings(PaperFUSE, epochs=3).loss_weights((0.5, 2.0), columns=7) == [4.0, 0.25]
    assert settings(PaperFUSE, epochs=3, literal=True).loss_weights((0.5, 2.0), columns=7) == [28.0, 1.75]


def test_rows_are_left_out_for_judging_except_by_the_papers_schedule():
    X, rng = np.zeros((100, 2)), np.random.default_rng(0)
    found = settings().split(X, rng)
    assert found is not None
    assert settings(PaperFUSE, epochs=3).split(X, rng) is None


def test_few_rows_have_four_networks_and_six_given_a_context():
    assert [settings().members(n, 5) for n in (2999, 3000)] == [4, 1]
    assert [settings().members(n, 200) for n in (5999, 6000)] == [4, 1]
    assert settings(given=[0]).members(2999, 5) == 6


@pytest.mark.parametrize("changes", [{"novelty": True}, {"encoder": nn.Identity()}, {"epochs": 3}])
def test_there_is_one_network_of_clean_rows_of_an_encoder_and_in_the_papers_schedule(changes):
    kind = PaperFUSE if "epochs" in changes else FUSE
    assert settings(kind, **changes).members(100, 5) == 1
    assert settings(kind, **changes, ensemble=3).members(100, 5) == 3
