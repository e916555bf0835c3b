import numpy as np
import pytest

from centrality import FUSE
from tests.conftest import quick


def test_the_papers_schedule_takes_one_pass_of_pairs_then_eight_noise_passes_each_epoch(blob):
    model = FUSE.as_in_paper("synthetic", epochs=3, random_state=0).fit(blob)
    each = int(np.ceil(200 / 128)) + 8 * int(np.ceil(600 / 128))  # n // 3 pairs, then n rows eight times
    assert model.history_["step"] == [each, 2 * each, 3 * each]


@pytest.mark.parametrize(("scheme", "pairs"), [(1, 10), (2, 100), (3, 100), (4, 30 * 29)])
def test_each_scheme_compares_as_many_pairs_an_epoch_as_the_supplement_says(scheme, pairs):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = quick(scheme=scheme, epochs=1, max_steps=None, resamples=1, batch_size=2).fit(X)
    assert model.history_["step"] == [pairs // 2 + 30 // 2]


def test_the_papers_presets_are_its_settings():
    for experiment, width in {"synthetic": 32, "real": 64, "outlier": 128}.items():
        model = FUSE.as_in_paper(experiment)
        assert model.hidden == (width, width)
        assert (model.epochs, model.batch_size, model.learning_rate, model.weight_decay) == (30, 128, 1e-3, 0.0)
        assert (model.anchors, model.resamples, model.noise_scale, model.scheme) == (64, 8, 1.0, 1)
        assert (model.scaling, model.calibration, model.shared_encoder) == ("none", "clip", True)
    assert FUSE.as_in_paper("outlier", noise_scale=0.5).noise_scale == 0.5
    with pytest.raises(ValueError, match="one of synthetic, real, outlier, got 'table 3'"):
        FUSE.as_in_paper("table 3")
