import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from torch import nn

from centrality import FUSE, PaperFUSE, blend
from centrality._internal.checks import InputError
from centrality.datasets import four_clusters
from tests.conftest import quick
from tests.promise import assert_same_scores


@pytest.mark.parametrize("ensemble", [1, 3])
def test_half_of_the_training_rows_have_a_global_centrality_above_one_half(ensemble):
    X = np.random.default_rng(0).normal(size=(201, 3))
    model = FUSE(random_state=0, max_steps=30, ensemble=ensemble).fit(X)
    judged = model.fitted_.mixing.squeeze(
        model.fitted_.calibration_rows().units
    )  # each row by members that have not seen it
    np.testing.assert_allclose(np.median(judged[:, 0]), 0.5, atol=1e-6)


def test_on_a_round_cloud_both_heads_fall_with_the_distance_to_the_centre(fitted, blob):
    inward = -np.linalg.norm(blob, axis=1)
    for head in fitted.raw(blob).T:
        assert spearmanr(head, inward)[0] > 0.95


@pytest.mark.slow
def test_the_global_head_orders_by_mean_distance_and_the_local_head_by_density():
    mixture = four_clusters()
    X = mixture.sample(3000, random_state=0)
    model = FUSE(noise_scale=0.25, random_state=0).fit(X)
    raw = model.raw(X)
    assert spearmanr(raw[:, 0], -cdist(X, X).mean(1))[0] > 0.97
    smoothed = mixture.log_density(X, noise=0.25 * X.std())
    assert spearmanr(raw[:, 1], smoothed)[0] > 0.88  # .93 to .99 in five seeds: how dense each cluster is takes longest
    middle, mode = model.heads([[0.0, 0.0], [3.0, 3.0]])
    assert middle[0] > mode[0]  # between the clusters: nearest to all
    assert middle[1] < mode[1]  # but nobody lives there


@pytest.mark.slow
def test_a_ladder_of_noise_scales_orders_by_density_too():
    mixture = four_clusters()
    X = mixture.sample(3000, random_state=0)
    raw = FUSE(noise_scale=[0.15, 0.25, 0.4], random_state=0).fit(X).raw(X)
    assert spearmanr(raw[:, 1], mixture.log_density(X, noise=0.25 * X.std()))[0] > 0.85  # .90 to .97 in eight seeds


def test_one_pass_gives_every_t(fitted, blob):
    heads = fitted.heads(blob)
    assert heads.shape == (600, 2)
    np.testing.assert_array_equal(fitted.centrality(blob, t=0), heads[:, 0])
    np.testing.assert_array_equal(fitted.centrality(blob, t=1), heads[:, 1])
    np.testing.assert_allclose(fitted.centrality(blob, t=[0, 0.25, 1]), blend(heads, [0, 0.25, 1]))
    np.testing.assert_allclose(fitted.centrality(blob), blend(heads, 0.5))  # the model's own t is one half
    np.testing.assert_array_equal(fitted.transform(blob), heads)
    paper = quick(calibration="clip").fit(blob)
    np.testing.assert_allclose(paper.centrality(blob), paper.heads(blob).mean(1))  # clipped heads are mixed linearly


@pytest.mark.parametrize("changes", [{}, {"calibration": "clip"}, {"novelty": True}, {"ensemble": 1}])
def test_every_score_agrees_about_which_of_two_rows_is_odder(blob, changes):
    model = quick(**changes).fit(blob)
    Q = np.concatenate([blob[:100], 3 * blob[:100] + 0.01, 100 * blob[:20]])
    for t in (0.0, 0.3, 0.5, 1.0):
        order = np.argsort(model.set_params(t=t).score_samples(Q), kind="stable")
        for scores in (model.centrality(Q, t), model.p_values(Q, t), model.predict(Q)):
            assert (np.diff(scores[order]) >= -1e-12).all()


def test_centrality_lies_in_0_and_1_however_far_a_point_is(fitted):
    far = np.outer([0, 1, 10, 1e3, 1e6, 1e9, 1e300], [1.0, -1.0])
    scores = fitted.centrality(far, t=[0, 0.5, 1])
    assert ((scores > 0) & (scores < 1)).all()
    assert (np.diff(scores[:6], axis=0) < 0).all()  # ever farther, ever less central, and never a tie


def test_clipping_ties_what_soft_calibration_keeps_apart(blob):
    far = np.outer(np.arange(5, 50, 5), [1.0, 1.0])
    soft, clip = (quick(max_steps=400, calibration=kind).fit(blob).centrality(far, t=1) for kind in ("soft", "clip"))
    assert len(set(clip)) == 1
    assert len(set(soft)) == len(far)


def test_a_row_scores_the_same_alone_and_in_company(fitted, blob):
    together = fitted.heads(blob)
    alone = np.vstack([fitted.heads(row[None]) for row in blob[:50]])
    assert_same_scores(alone, together[:50])


@pytest.mark.slow
def test_units_do_not_matter_even_for_one_column(blob):
    plain = FUSE(random_state=0).fit(blob).centrality(blob)
    stretched = FUSE(random_state=0).fit(blob * [1000, 1] + [5, 1e5]).centrality(blob * [1000, 1] + [5, 1e5])
    assert spearmanr(plain, stretched)[0] > 0.99


def test_a_constant_column_changes_nothing(blob):
    plain = quick().fit(blob)
    padded = quick().fit(np.column_stack([blob, np.full(len(blob), 3.0)]))
    new = np.column_stack([blob, np.full(len(blob), 99.0)])
    np.testing.assert_array_equal(padded.heads(new), padded.heads(np.column_stack([blob, np.full(len(blob), 3.0)])))
    assert padded.noise_scale_[0] == pytest.approx(plain.noise_scale_[0] * np.sqrt(2 / 3))


@pytest.mark.parametrize("share", [0.05, 0.25])
def test_contamination_is_the_share_of_training_rows_called_outliers(blob, share):
    model = quick(contamination=share)
    assert (model.fit_predict(blob) == -1).mean() == pytest.approx(share, abs=1 / len(blob))
    np.testing.assert_allclose(model.decision_function(blob), model.score_samples(blob) - model.offset_)
    np.testing.assert_array_equal(model.predict(blob) == -1, model.decision_function(blob) < 0)


def test_auto_contamination_is_a_tenth_or_a_hundredth_of_clean_data(blob):
    fresh = np.random.default_rng(1).normal(size=(2000, 2))
    # Of new rows, by a quantile of 600 rows: four of its deviations, and of the 2000 that are asked.
    within = 4 * np.sqrt(0.1 * 0.9 * (1 / 600 + 1 / 2000))
    assert (quick().fit(blob).predict(fresh) == -1).mean() == pytest.approx(0.1, abs=within)
    clean = quick(novelty=True).fit(blob)  # of the rows set aside; those learned from look more typical
    assert (clean.fitted_.scores(blob, 0.5) < clean.offset_).mean() <= 0.012
    assert (clean.predict(fresh) == -1).mean() == pytest.approx(0.01, abs=0.03)


@pytest.mark.slow
def test_planted_outliers_are_found():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(950, 5)), rng.uniform(-12, 12, size=(50, 5))])
    found = FUSE(contamination=0.05, random_state=0).fit_predict(X) == -1
    assert found[950:].mean() > 0.9


@pytest.mark.slow
def test_a_given_dissimilarity_decides_the_global_head():
    """The same rows on a line: the middle is central by their distances, the ends by the reverse of these."""
    x = np.linspace(-1, 1, 300)
    X = np.column_stack([x, np.zeros_like(x)])
    line = np.abs(x[:, None] - x)
    model = FUSE(random_state=0, max_steps=600).fit(X, dissimilarity=line)
    assert spearmanr(model.raw(X)[:, 0], -np.abs(x))[0] > 0.97
    inside_out = 2 - line  # what was near is far: now the ends are nearest to all
    np.fill_diagonal(inside_out, 0)
    model = FUSE(random_state=0, max_steps=600).fit(X, dissimilarity=inside_out)
    assert spearmanr(model.raw(X)[:, 0], np.abs(x))[0] > 0.97


@pytest.mark.slow
def test_a_function_of_row_numbers_works_like_the_matrix_it_describes():
    x = np.linspace(-1, 1, 200)
    model = PaperFUSE(random_state=0, max_steps=600, anchors=64).fit(
        x[:, None], dissimilarity=lambda i, j: abs(x[i] - x[j])
    )
    assert spearmanr(model.raw(x[:, None])[:, 0], -np.abs(x))[0] > 0.85  # .92 to .995 in eight seeds


@pytest.mark.slow
def test_the_cosine_metric_finds_the_central_direction():
    angle = np.random.default_rng(0).normal(0, 0.5, 500)
    length = np.random.default_rng(1).uniform(1, 9, 500)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) * length[:, None]
    model = FUSE(metric="cosine", random_state=0, max_steps=600).fit(X)
    assert spearmanr(model.raw(X)[:, 0], -np.abs(angle))[0] > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [1, 2, 3, 4])
def test_every_scheme_learns_the_same_order(blob, scheme):
    model = PaperFUSE(scheme=scheme, random_state=0, max_steps=600).fit(blob)
    assert spearmanr(model.raw(blob)[:, 0], -np.linalg.norm(blob, axis=1))[0] > 0.97


@pytest.mark.slow
def test_an_encoder_of_ones_own_learns(blob):
    first = nn.Linear(2, 24)
    encoder = nn.Sequential(first, nn.Tanh(), nn.Linear(24, 12), nn.Tanh())
    before = first.weight.clone()
    model = FUSE(encoder=encoder, noise_scale=0.5, random_state=0).fit(blob)
    assert torch.equal(first.weight, before)
    for head in model.raw(blob).T:
        assert spearmanr(head, -np.linalg.norm(blob, axis=1))[0] > 0.9


def test_losses_fall_and_the_history_says_so(fitted):
    history = fitted.history_
    assert len(history["step"]) == len(history["global"]) == len(history["local"])
    assert history["step"][0] == 1
    assert history["step"][-1] == 200  # of each network, where rows are few
    assert history["global"][0] == pytest.approx(np.log(2), abs=0.1)  # a coin toss, but for rows far off the data
    assert history["global"][-1] < 0.62
    assert np.mean(history["local"][-10:]) < 0.5  # a score of zero, which knows nothing, costs one half


@pytest.mark.slow
def test_six_rows_are_enough():
    X = np.array([[0.0, 0], [0.1, 0], [0, 0.1], [-0.1, 0], [0, -0.1], [9, 9]])
    assert FUSE(random_state=0).fit(X).centrality(X, t=0).argmin() == 5


def test_large_data_is_calibrated_on_a_sample_of_all_of_it():
    n, sample = 60_000, 20_000
    X = np.random.default_rng(0).normal(size=(n, 2))
    X = X[np.argsort(np.linalg.norm(X, axis=1))]  # the outliers come last: to look at the first rows alone would show
    error = abs((quick().fit_predict(X) == -1).mean() - 0.1)
    assert error > 2 / n  # the threshold of all rows would leave out exactly a tenth of them
    assert error < 4 * np.sqrt(0.1 * 0.9 / sample)


def test_a_generator_seeds_a_fit_and_goes_on(blob):
    first, again = (quick(random_state=np.random.default_rng(5)).fit(blob).raw(blob) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    rng = np.random.default_rng(5)
    model = quick(random_state=rng)
    np.testing.assert_array_equal(model.fit(blob).raw(blob), first)
    assert not np.array_equal(model.fit(blob).raw(blob), first)  # its next draw is another seed
    assert not np.array_equal(quick(random_state=rng).fit(blob).raw(blob), first)


def test_fuse_has_the_parameters_that_people_set_and_no_others():
    wanted = "t metric novelty contamination holdout ensemble noise_scale scaling hidden encoder max_steps device"
    assert {*wanted.split(), "random_state", "progress"} == FUSE().get_params().keys() - {"given"}


def test_a_dial_that_is_a_list_is_refused_before_training(blob, monkeypatch):
    monkeypatch.setattr("centrality.fuse.estimator.train", lambda *_: pytest.fail("it trains"))
    with pytest.raises(InputError, match=r"t must be one number here, got \[0, 1\]"):
        quick(t=[0, 1]).fit(blob)
