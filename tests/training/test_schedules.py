from inspect import signature

import numpy as np
import pytest
import torch
from torch import nn

from centrality import FUSE, PaperFUSE
from centrality.training.plan import OURS, Plan, members_for
from centrality.training.rows import Rows
from centrality.training.schedules import empty_history, falling, record_stretches, require_finite
from tests.conftest import quick
from tests.training.test_batches import PLAN


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


def test_data_larger_than_the_room_is_sampled_anew_while_training(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    monkeypatch.setattr("centrality.fuse.settings.HELD_VALUES", 6000)
    renewed = []
    renew = Rows.renew
    monkeypatch.setattr(Rows, "renew", lambda rows: (renewed.append(len(rows)), renew(rows)))
    model = FUSE(random_state=0, max_steps=100).fit(X)
    assert set(renewed) == {2000}
    a_step = 2 * 16 + 65  # candidates of both kinds, a quarter of the batch each, and five equal parts of noised rows
    assert len(renewed) >= 100 * a_step // (2 * 2000)  # a sample serves until it was passed over once, or nearly twice
    assert model.centrality(np.zeros((1, 3))) > model.centrality(np.full((1, 3), 4.0))


@pytest.mark.filterwarnings("ignore:The global head has collapsed")  # a few of the paper's steps teach it little
def test_the_budget_of_steps_does_not_grow_with_the_rows(blob):
    for n in (30, 600):
        assert quick(max_steps=40).fit(blob[:n]).history_["step"][-1] == 40
    assert FUSE.as_in_paper("synthetic", max_steps=11).fit(blob).history_["step"][-1] == 11


def test_clean_data_has_a_larger_budget_and_a_network_of_several_a_smaller_one(blob, monkeypatch):
    for name, steps in {"STEPS": 20, "STEPS_OF_EACH": 15, "STEPS_WHEN_CLEAN": 40}.items():
        monkeypatch.setattr(f"centrality.training.plan.{name}", steps)
    kinds: tuple[dict[str, int], ...] = ({"ensemble": 1}, {}, {"novelty": True})
    assert [quick(max_steps=None, **kind).fit(blob).history_["step"][-1] for kind in kinds] == [20, 15, 40]


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


def test_few_rows_have_four_networks_and_six_given_a_context():
    settings = FUSE()._settings()
    assert [members_for(settings, n, 5) for n in (2999, 3000)] == [4, 1]
    assert [members_for(settings, n, 200) for n in (5999, 6000)] == [4, 1]
    assert members_for(settings | {"given": [0]}, 2999, 5) == 6


def test_the_learning_rate_is_constant_for_half_the_steps_and_then_falls_to_zero():
    rates = falling(0.4, 100)
    assert (rates[:51] == 0.4).all()
    assert (np.diff(rates)[50:] < 0).all()
    assert float(rates[75]) == pytest.approx(0.4 / 4)  # half of the way down a parabola
    assert float(rates[99]) == pytest.approx(0.4 * 0.02**2, rel=1e-5)


def test_the_papers_schedule_takes_one_pass_of_pairs_then_eight_noise_passes_each_epoch(blob):
    model = FUSE.as_in_paper("synthetic", epochs=3, random_state=0).fit(blob)
    each = int(np.ceil(200 / 128)) + 8 * int(np.ceil(600 / 128))  # n // 3 pairs, then n rows eight times
    assert model.history_["step"] == [each, 2 * each, 3 * each]


@pytest.mark.parametrize(("scheme", "pairs"), [(1, 10), (2, 100), (3, 100), (4, 30 * 29)])
def test_each_scheme_compares_as_many_pairs_an_epoch_as_the_supplement_says(scheme, pairs):
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = quick(scheme=scheme, epochs=1, max_steps=None, resamples=1, batch_size=2).fit(X)
    assert model.history_["step"] == [pairs // 2 + 30 // 2]


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


@pytest.mark.filterwarnings("ignore:The global head has collapsed")  # one step teaches it little
def test_the_papers_first_step_is_one_of_adam_at_its_rate(blob):
    still, moved = (
        FUSE.as_in_paper("real", max_steps=1, random_state=0, **rate).fit(blob).fitted_.network.weights
        for rate in ({"learning_rate": 1e-30}, {})
    )
    change = [np.abs(still[name] - moved[name]).max() for name in still if name.startswith("trunks")]
    # Whatever the gradient, but for its sign; a comparison has none for the last bias, which both candidates share.
    assert change == pytest.approx([1e-3] * 5 + [0], rel=1e-3)


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
    own = {
        name: word.default for name, word in signature(PaperFUSE).parameters.items() if name not in FUSE().get_params()
    }
    assert own == OURS
    plain, paper = (kind(max_steps=30, random_state=0).fit(blob) for kind in (FUSE, PaperFUSE))
    np.testing.assert_array_equal(paper.heads(blob), plain.heads(blob))


def test_a_preset_of_the_paper_can_be_changed_and_an_unknown_one_is_named(blob):
    assert FUSE.as_in_paper("outlier", noise_scale=0.5, epochs=1).fit(blob).noise_scale_ == (0.5,)
    with pytest.raises(ValueError, match="one of synthetic, real, outlier, got 'table 3'"):
        FUSE.as_in_paper("table 3")


def test_the_history_is_the_first_step_then_means_over_stretches_that_cover_all_steps():
    losses = np.stack([np.arange(100.0), 2 * np.arange(100.0)], 1)
    history = empty_history()
    record_stretches(history, losses)
    assert history["step"] == [1, *range(2, 101, 2)]  # 50 stretches of two steps
    assert history["global"] == [0.0, *(k + 0.5 for k in range(0, 100, 2))]
    assert history["local"] == [2 * loss for loss in history["global"]]


def test_a_single_step_is_a_single_line():
    history = empty_history()
    record_stretches(history, np.array([[0.5, 2.0]]))
    assert history == {"step": [1], "global": [0.5], "local": [2.0]}


@pytest.mark.parametrize(
    ("losses", "said"),
    [([[1.0, 1.0], [1.0, np.inf]], "local loss is inf"), ([[np.nan, 1.0]], "global loss is nan")],
)
def test_a_loss_that_is_no_number_says_whose_it_is_and_what_to_do(losses, said):
    with pytest.raises(FloatingPointError, match=rf"the {said} after 9 steps. A smaller learning_rate than 0.001"):
        require_finite(np.array(losses), 9, PLAN)
    require_finite(np.ones((3, 2)), 9, PLAN)
