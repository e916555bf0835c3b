"""PaperFUSE: the presets and the words of the paper; its training is held to the paper in tests/reference."""

import numpy as np
import pytest

from centrality import FUSE, PaperFUSE
from tests.conftest import quick


@pytest.mark.parametrize(("experiment", "width"), [("synthetic", 32), ("real", 64), ("outlier", 128)])
def test_the_papers_presets_train_what_the_paper_describes(blob, experiment, width):
    X = 40 * blob[:150]
    model = FUSE.as_in_paper(experiment, random_state=0).fit(X)
    # One trunk of two layers and a projection, all equally wide, under two heads of one number each.
    layers = [(2, width), (width, width), (width, width), (width, 1), (width, 1)]
    assert sum(weight.size for weight in model.fitted_.network.weights.values()) == sum(
        (rows + 1) * wide for rows, wide in layers
    )
    # 30 epochs: 150 // 3 pairs fit into one batch of 128, the noised rows take two, eight times.
    each = 1 + 8 * 2
    assert model.history_["step"] == [each * epoch for epoch in range(1, 31)]
    assert model.noise_scale_ == (1.0,)
    # Rows as they are: in another unit they are other rows.
    other = FUSE.as_in_paper(experiment, random_state=0).fit(X / 40)
    assert np.abs(other.heads(X / 40) - model.heads(X)).max() > 0.1
    # Clipped at the 1st and 99th percentile: a row or two at either end, and no other, tie.
    local = model.heads(X)[:, 1]
    assert [(local == end).sum() for end in (0.0, 1.0)] == [2, 2]


@pytest.mark.filterwarnings("ignore:The .* has collapsed")  # nothing is learned here
def test_read_literally_the_local_loss_is_the_sum_over_columns_not_their_mean():
    X = np.random.default_rng(1).normal(size=(200, 7))
    # A step so small that it changes nothing: the same network, pairs and noise, seen by both losses.
    plain, literal = (
        FUSE.as_in_paper("synthetic", epochs=1, learning_rate=1e-30, literal=literal, random_state=0).fit(X).history_
        for literal in (False, True)
    )
    assert literal["local"][0] == pytest.approx(7 * plain["local"][0], rel=1e-5)
    assert literal["global"] == plain["global"]  # no two rows of these tie before an anchor


def test_the_literal_reading_is_one_of_algorithm_1():
    with pytest.raises(ValueError, match="literal=True is about the paper's Algorithm 1: give its number of epochs"):
        quick(literal=True).fit(np.eye(5))


def test_left_alone_the_words_of_the_paper_mean_what_fuse_does(blob):
    plain, paper = (kind(max_steps=30, random_state=0).fit(blob) for kind in (FUSE, PaperFUSE))
    np.testing.assert_array_equal(paper.heads(blob), plain.heads(blob))


def test_a_preset_of_the_paper_can_be_changed_and_an_unknown_one_is_named(blob):
    assert FUSE.as_in_paper("outlier", noise_scale=0.5, epochs=1).fit(blob).noise_scale_ == (0.5,)
    with pytest.raises(ValueError, match="one of synthetic, real, outlier, got 'table 3'"):
        FUSE.as_in_paper("table 3")
