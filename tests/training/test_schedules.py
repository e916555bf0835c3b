import numpy as np
import pytest
import torch
from torch import nn

from centrality import PaperFUSE
from tests.conftest import quick


@pytest.mark.parametrize("changes", [{}, {"shared_encoder": False, "noise_scale": [0.3, 1.0]}, {"epochs": 8}])
def test_an_ensemble_is_as_many_networks_that_agree_and_saves_like_one(blob, changes, tmp_path):
    from centrality import load

    model = quick(ensemble=3, max_steps=200, **changes).fit(blob)
    assert model.fitted_.network.members == 3
    error = model.standard_error(blob)
    assert error.shape == (len(blob),)
    assert (error > 0).all()
    assert np.median(error) < 0.2  # of at most .5, had the members nothing in common
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").raw(blob), model.raw(blob))


def test_a_single_network_has_no_standard_error(blob):
    fitted = quick(ensemble=1).fit(blob)
    with pytest.raises(ValueError, match=r"needs an ensemble of at least 2, this model has 1: FUSE\(ensemble=6\)"):
        fitted.standard_error(blob)


@pytest.mark.parametrize("changes", [{}, {"shared_encoder": False}, {"noise_scale": [0.3, 1.0]}, {"epochs": 2}])
def test_the_same_seed_gives_the_same_bits_and_another_seed_others(blob, changes):
    first, again, other = (quick(**({"random_state": s} | changes)).fit(blob).raw(blob) for s in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any(axis=1).all()


def test_no_seed_gives_different_fits(blob):
    first, second = (quick(random_state=None).fit(blob).raw(blob[:1]) for _ in range(2))
    assert (first != second).all()


@pytest.mark.parametrize("encoder", [None, nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.5), nn.Tanh())])
def test_global_generators_are_left_as_they_were(blob, encoder):
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002  the global generator is the point here
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = quick(encoder=encoder).fit(blob).raw(blob)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state()[1] == before[1]).all()  # noqa: NPY002
    torch.manual_seed(6)  # dropout must follow random_state, not this
    np.testing.assert_array_equal(quick(encoder=encoder).fit(blob).raw(blob), first)


@pytest.mark.parametrize("after", [0, 5])
def test_ctrl_c_leaves_the_estimator_as_it_was(blob, after):
    calls = 0

    def metric(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > after:
            raise KeyboardInterrupt
        return np.abs(a[:, None] - b).sum(2)

    fresh = quick(metric=metric)
    untouched = dict(vars(fresh))
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(blob)
    assert vars(fresh) == untouched

    model = quick().fit(blob)
    before = model.centrality(blob)
    calls = 0
    model.set_params(metric=metric)
    with pytest.raises(KeyboardInterrupt):
        model.fit(blob[:100] * 9)
    np.testing.assert_array_equal(model.centrality(blob), before)


def test_divergence_is_an_error_that_names_the_learning_rate(blob):
    with pytest.raises(FloatingPointError, match=r"loss is (nan|inf) after .* smaller learning_rate than 1e\+30"):
        quick(learning_rate=1e30).fit(blob)


def test_progress_is_shown_on_request_only(blob, capfd):
    quick().fit(blob)
    assert capfd.readouterr().err == ""
    quick(progress=True).fit(blob)
    assert "/60 [" in capfd.readouterr().err


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
        ({"t": 2}, r"t must lie between 0 \(global\) and 1 \(local\).* got 2"),
        ({"device": "abacus"}, "device must be auto, cpu, cuda, cuda:<number> or mps, got 'abacus'"),
    ],
)
def test_a_setting_out_of_range_says_what_was_wanted_and_what_came(blob, changes, message):
    with pytest.raises(ValueError, match=message):
        quick(**changes).fit(blob)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(
    "changes",
    [{}, {"ensemble": 3, "noise_scale": [0.3, 1.0], "shared_encoder": False}, {"metric": "cosine"}, {"epochs": 1}],
)
def test_training_on_a_gpu_is_repeatable_and_learns_like_the_cpu(changes):
    X = np.random.default_rng(0).normal(size=(2000, 4)) + 1
    settings = {"random_state": 0, "max_steps": 400} | changes
    first, again = (PaperFUSE(device="cuda", **settings).fit(X).raw(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    on_cpu = PaperFUSE(device="cpu", **settings).fit(X).raw(X)
    for head in range(2):  # the same batches and noise; what rounding differs by grows from step to step
        assert np.corrcoef(first[:, head], on_cpu[:, head])[0, 1] > 0.99


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_scores_like_the_cpu(blob, tmp_path):
    from centrality import load

    model = quick(device="cuda").fit(blob)
    model.save(tmp_path / "model.safetensors")
    on_cpu = load(tmp_path / "model.safetensors", device="cpu")
    np.testing.assert_allclose(on_cpu.heads(blob), model.heads(blob), atol=1e-4)
