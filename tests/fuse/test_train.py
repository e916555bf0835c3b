import numpy as np
import pytest
import torch
from torch import nn

from centrality import FUSE, PaperFUSE
from centrality.fuse.data import TrainingData
from centrality.fuse.train import append_mean_losses, decayed_learning_rates, empty_history, require_finite_losses
from tests.conftest import quick
from tests.fuse.cases import config_of


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


def test_a_single_network_is_trained_again_for_a_standard_error_and_from_a_file_cannot_be(blob, tmp_path):
    from centrality import load

    model = quick(ensemble=1).fit(blob)
    error = model.standard_error(blob)
    assert error.shape == (len(blob),)
    assert (error > 0).all()
    assert np.median(error) < 0.2
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match=r"one network and remembers no rows\. Call stability\(X, rows\)"):
        load(tmp_path / "model.safetensors").standard_error(blob)


@pytest.mark.slow
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
    before = torch.get_rng_state(), np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
    first = quick(encoder=encoder).fit(blob).raw(blob)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert (np.random.get_state(legacy=False)["state"]["key"] == before[1]).all()  # noqa: NPY002
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


def test_data_larger_than_the_room_is_sampled_anew_while_training(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    monkeypatch.setattr("centrality.fuse.config.VALUES_IN_MEMORY", 6000)
    redrawn = []
    redraw = TrainingData.redraw

    def redraws(rows: TrainingData) -> None:
        redrawn.append(len(rows))
        redraw(rows)

    monkeypatch.setattr(TrainingData, "redraw", redraws)
    model = FUSE(random_state=0, max_steps=100).fit(X)
    assert set(redrawn) == {2000}
    a_step = 2 * 16 + 65  # candidates of both kinds, a quarter of the batch each, and five equal parts of noised rows
    assert len(redrawn) >= 100 * a_step // (2 * 2000)  # a sample serves until it was passed over once, or nearly twice
    assert model.centrality(np.zeros((1, 3))) > model.centrality(np.full((1, 3), 4.0))


@pytest.mark.filterwarnings("ignore:The global head has collapsed")  # a few of the paper's steps teach it little
def test_the_budget_of_steps_does_not_grow_with_the_rows(blob):
    for n in (30, 600):
        assert quick(max_steps=40).fit(blob[:n]).history_["step"][-1] == 40
    assert FUSE.as_in_paper("synthetic", max_steps=11).fit(blob).history_["step"][-1] == 11


def test_the_learning_rate_is_constant_for_half_the_steps_and_then_falls_to_zero():
    rates = decayed_learning_rates(0.4, 100)
    assert (rates[:51] == 0.4).all()
    assert (np.diff(rates)[50:] < 0).all()
    assert float(rates[75]) == pytest.approx(0.4 / 4)  # half of the way down a parabola
    assert float(rates[99]) == pytest.approx(0.4 * 0.02**2, rel=1e-5)


def test_the_history_is_the_first_step_then_means_over_stretches_that_cover_all_steps():
    losses = np.stack([np.arange(100.0), 2 * np.arange(100.0)], 1)
    history = empty_history()
    append_mean_losses(history, losses)
    assert history["step"] == [1, *range(2, 101, 2)]  # 50 stretches of two steps
    assert history["global"] == [0.0, *(k + 0.5 for k in range(0, 100, 2))]
    assert history["local"] == [2 * loss for loss in history["global"]]


def test_a_single_step_is_a_single_line():
    history = empty_history()
    append_mean_losses(history, np.array([[0.5, 2.0]]))
    assert history == {"step": [1], "global": [0.5], "local": [2.0]}


@pytest.mark.parametrize(
    ("losses", "said"),
    [([[1.0, 1.0], [1.0, np.inf]], "local loss is inf"), ([[np.nan, 1.0]], "global loss is nan")],
)
def test_a_loss_that_is_no_number_says_whose_it_is_and_what_to_do(losses, said):
    config = config_of(np.eye(9), learning_rate=0.001)
    with pytest.raises(FloatingPointError, match=rf"the {said} after 9 steps. Try a smaller learning_rate than 0.001"):
        require_finite_losses(np.array(losses), 9, config)
    require_finite_losses(np.ones((3, 2)), 9, config)
