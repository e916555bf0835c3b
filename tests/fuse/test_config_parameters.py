"""The plan of a training: what settings mean, and which are refused."""

import numpy as np
import pytest

from centrality._internal.checks import InputError
from tests.conftest import quick
from tests.fuse.cases import config_of


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scheme": 5}, "scheme must be 1, 2, 3 or 4, got 5"),
        ({"anchors": 0}, "anchors must be a whole number of at least 1, got 0"),
        ({"resamples": 0}, "resamples must be a whole number of at least 1, got 0"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"max_steps": 2.5}, "max_steps must be a whole number of at least 1, got 2.5"),
        ({"batch_size": 1}, "batch_size must be a whole number of at least 2, got 1"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0, got 0"),
        ({"weight_decay": -1}, "weight_decay must be a number of at least 0, got -1"),
        ({"noise_scale": -0.5}, "noise_scale must be a number above 0, got -0.5"),
        ({"noise_scale": []}, r"noise_scale must be 'auto', a number or a list, got \[\]"),
        ({"noise_scale": "small"}, "noise_scale must be 'auto', a number or a list, got 'small'"),
        ({"noise_scale": [1.0, float("inf")]}, "noise_scale must be a number above 0, got inf"),
        ({"hidden": ()}, r"hidden must be the widths of one or more layers.* got \(\)"),
        ({"hidden": (8, 0)}, "each width in hidden must be a whole number of at least 1, got 0"),
        ({"hidden": 64}, "hidden must be the widths of one or more layers.* got 64"),
        ({"contamination": 0.7}, r"contamination must be 'auto' or a share of the rows in \(0, 0.5\], got 0.7"),
        ({"contamination": "some"}, "contamination must be 'auto' or a share .* got 'some'"),
        ({"calibration": "hard"}, "calibration must be one of soft, clip, got 'hard'"),
        ({"metric": "l3"}, "metric must be one of euclidean, manhattan, cosine.* got 'l3'"),
        ({"t": [0, 1]}, r"t must be one number here, got \[0, 1\]"),
        ({"scaling": "log"}, "scaling must be one of auto, standard, none, got 'log'"),
        ({"ensemble": 0}, "ensemble must be a whole number of at least 1, got 0"),
        ({"holdout": 2}, "holdout must be a share above 0 and below 1, got 2"),
        ({"given": [7]}, "positions from 0 to 1, got 7"),
        ({"random_state": -1}, "random_state must be None, a whole number"),
        ({"t": 2}, r"t must lie between 0 \(global\) and 1 \(local\).* got 2"),
        ({"device": "abacus"}, "device must be auto, cpu, cuda, cuda:<number> or mps, got 'abacus'"),
    ],
)
def test_a_setting_out_of_range_says_what_was_wanted_and_what_came_before_the_work(blob, monkeypatch, changes, message):
    monkeypatch.setattr("centrality.fuse.train.make_trainer", lambda *_, **__: pytest.fail("it trains"))
    monkeypatch.setattr("centrality.network.scaling.Scaling.fit", lambda *_: pytest.fail("it begins to work"))
    with pytest.raises(InputError, match=message):
        quick(**changes).fit(blob)


def test_clean_data_has_a_larger_budget_and_a_network_of_several_a_smaller_one(blob, monkeypatch):
    for name, steps in {"STEPS": 20, "STEPS_OF_EACH": 15, "STEPS_WHEN_CLEAN": 40}.items():
        monkeypatch.setattr(f"centrality.fuse.config.{name}", steps)
    kinds: tuple[dict[str, int], ...] = ({"ensemble": 1}, {}, {"novelty": True})
    assert [quick(max_steps=None, **kind).fit(blob).history_["step"][-1] for kind in kinds] == [20, 15, 40]


@pytest.mark.parametrize(
    ("changes", "members", "size"),
    [
        ({}, 4, 64),
        ({}, 1, 64),
        ({"novelty": True}, 1, 64),
        ({"given": np.array([0])}, 4, 128),
        ({"encoder": object(), "novelty": True}, 1, 128),
        ({"epochs": 3}, 1, 128),
        ({"batch_size": 32, "novelty": True}, 4, 32),
    ],
)
def test_batches_are_small_where_that_was_measured_to_be_enough(changes, members, size):
    for width in (2, 32):
        assert config_of(np.zeros((5, width)), ensemble=members, **changes).batch_size == size
