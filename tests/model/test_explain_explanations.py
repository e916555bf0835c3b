"""Why a row is peripheral: contributions that add up, and a way back that only rises."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from torch import nn

from centrality import FUSE, Chain, load
from centrality.model.explain import ScoreField, centre_of, low_heads, sum_by_feature
from centrality.network.calibration import blend
from centrality.representations import Series, Table
from tests.conftest import quick

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4)) @ np.diag([1.0, 2.0, 30.0, 0.01]) + [0, 5, -100, 0]
HEAVY = np.column_stack([X, RNG.standard_t(1.5, size=400) * 40, np.full(400, 7.0)])  # a heavy tail, and a constant
FAR = np.concatenate([X[:60] + np.array([0.01, 0, 0, 0]), 10 * X[:20], 1e3 * X[:10], 1e9 * X[:5], X[:1] - 1e14])

SETTINGS = {
    "the ladder": {},
    "one noise scale": {"noise_scale": 0.5},
    "an ensemble": {"ensemble": 2},
    "a trunk for each head": {"shared_encoder": False},
    "one layer": {"hidden": (16,)},
    "an encoder of one's own": {"encoder": nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 6))},
    "clipped": {"calibration": "clip"},
    "clipped, one noise scale": {"calibration": "clip", "noise_scale": 0.5},
    "raw features": {"scaling": "none"},
    "standardised": {"scaling": "standard"},
}


@pytest.fixture(scope="module", params=SETTINGS)
def model(request) -> FUSE:
    return quick(**SETTINGS[request.param]).fit(X)


@pytest.fixture(scope="module")
def plain() -> FUSE:
    return quick(max_steps=300).fit(pd.DataFrame(X, columns=["a", "b", "c", "d"]))


@pytest.fixture(scope="module")
def bent() -> FUSE:
    """A model whose scaling bends a column and ignores another."""
    made = quick(max_steps=200, novelty=True).fit(HEAVY)
    assert np.asarray(made.fitted_.scaling.shrink)[4] < 1
    return made


def drop(model: FUSE, Q: np.ndarray, t: float) -> np.ndarray:
    return model.centrality(Q, t) - model.centrality(model.center_[None], t)


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_contributions_sum_to_the_difference_from_the_centre(model, t):
    parts = model.explain(FAR, t)
    assert parts.shape == FAR.shape
    np.testing.assert_allclose(parts.sum(1), drop(model, FAR, t), atol=1e-3)


def test_contributions_sum_up_under_a_bent_scale_and_a_constant_column_has_none(bent):
    Q = np.concatenate([HEAVY[:100], 1e6 * HEAVY[:10]])
    parts = bent.explain(Q)
    np.testing.assert_allclose(parts.sum(1), drop(bent, Q, 0.5), atol=1e-3)
    assert (parts[:, 5] == 0).all()


def test_no_column_contributes_more_to_a_unit_than_the_unit_changes_by(plain):
    parts = plain.fitted_.contributions(FAR)
    change = plain.fitted_.units(FAR) - plain.fitted_.origins(FAR)
    assert (parts * np.sign(change)[:, :, None] >= 0).all()
    np.testing.assert_allclose(parts.sum(2), change, rtol=1e-9)


@pytest.fixture(scope="module")
def paired() -> FUSE:
    """A model of two columns that follow each other, and of a third one."""
    rng = np.random.default_rng(1)
    first, third = rng.normal(size=1000), rng.normal(size=1000)
    return quick(max_steps=300).fit(np.column_stack([first, first + 0.05 * rng.normal(size=1000), third]))


def test_two_columns_that_follow_each_other_share_the_blame_for_a_broken_pair(paired):
    """Both have the same residual given the other; along a straight way they would cancel, far beyond what f loses."""
    parts = paired.explain([[1.5, -1.5, 0.0]])[0]
    total = parts.sum()
    assert total < -0.3
    assert (parts[:2] / total > 0.25).all()
    assert (parts[:2] / total).sum() > 0.9


def test_the_numbers_of_one_feature_are_tried_together(paired):
    """Either number alone breaks the pair when it moves; the two of them together raise the score most of the way."""
    scale, field, owner = paired.fitted_.scaling, paired.fitted_._field(), np.array([0, 0, 1])
    row, point = scale.scaled(np.array([[2.5, 2.5, 0.0]])), scale.scaled(paired.center_[None])
    together = field._gains(row, point, owner)[0, 1, 0]
    alone = field._gains(row, point, np.arange(3))[0, 1, :2]
    assert together > 2 * alone.max()


def test_a_row_and_its_baseline_exchanged_give_the_opposite(plain):
    fitted = plain.fitted_
    there = fitted.contributions(X[3:4], X[8:9])
    np.testing.assert_allclose(fitted.contributions(X[8:9], X[3:4]), -there, atol=1e-5)


def test_a_column_that_is_as_in_the_baseline_contributes_nothing(plain):
    row, other = X[:1] * 5, X[1:2].copy()
    other[0, 2] = row[0, 2]
    parts = plain.explain(frame(row), baseline=frame(other))[0]
    assert parts[2] == 0
    assert parts.any()


def test_of_many_columns_the_ones_that_the_slope_promises_most_of_are_tried():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(600, 40))
    model = quick(max_steps=300).fit(rows)
    odd = 0.3 * rows[:30]
    guilty = rng.integers(40, size=30)
    odd[np.arange(30), guilty] = 8.0
    assert (model.explain(odd).argmin(1) == guilty).all()


def test_rows_that_networks_know_by_heart_are_explained_as_the_rows_beside_them():
    rows = RNG.normal(size=(60, 8))
    model = quick(max_steps=300, ensemble=6).fit(rows)
    np.testing.assert_allclose(model.explain(rows), model.explain(rows + 1e-6), atol=1e-4)


TS = (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.mark.slow
def test_contributions_at_every_t_follow_from_the_pair_and_add_up_to_a_millionth(model):
    fitted, mixing = model.fitted_, model.fitted_.mixing
    parts, units = fitted.contributions(FAR), fitted.units(FAR)
    origin = fitted.origins(FAR)
    # The pair itself adds up: a row's contributions to each unit to the difference of units, whatever its size.
    scale = 1 + np.abs(parts).sum(2)
    moved = np.abs(parts).sum(2) > 0
    np.testing.assert_allclose((parts.sum(2) / scale)[moved], ((units - origin) / scale)[moved], atol=1e-5)
    for t in TS:
        expected = mixing.contributions(parts, units, origin, t)
        np.testing.assert_array_equal(model.explain(FAR, t), expected)
        change = mixing.centrality(units, t) - mixing.centrality(origin, t)
        weights = mixing.weights(units, t)
        stuck = np.abs(weights[:, :1] * parts[:, 0] + weights[:, 1:] * parts[:, 1]).sum(1) == 0  # nothing has moved
        np.testing.assert_allclose(expected.sum(1)[~stuck], change[~stuck], atol=1e-6)


def test_without_a_t_the_models_own_is_taken():
    model = quick(t=0.9).fit(X)
    np.testing.assert_array_equal(model.explain(X[:5]), model.explain(X[:5], 0.9))


@pytest.mark.slow
def test_a_feature_made_odd_is_blamed_first():
    rows = RNG.normal(size=(1500, 6)) * [1, 10, 0.1, 5, 2, 1]
    model = quick(max_steps=300, hidden=(32, 32)).fit(rows[:1000])
    odd, guilty = rows[1000:].copy(), RNG.integers(6, size=500)
    odd[np.arange(500), guilty] = 8 * rows.std(0)[guilty] * RNG.choice([-1, 1], size=500)
    for t in (0.0, 0.5, 1.0):
        assert (model.explain(odd, t).argmin(1) == guilty).mean() >= 0.95
    moved = np.ptp(model.toward_center(odd)[:, [0, -1]], axis=1) / rows.std(0)
    assert (moved.argmax(1) == guilty).mean() >= 0.95


def test_another_baseline_takes_the_place_of_the_centre(plain):
    new = X[:30] + 1e-3 * X.std(0)
    expected = plain.centrality(frame(new), 0.5) - plain.centrality(frame(new[7:8]), 0.5)
    for baseline in (frame(new[7:8]), new[7], new[7:8]):
        parts = plain.explain(frame(new), 0.5, baseline=baseline)
        np.testing.assert_allclose(parts.sum(1), expected, atol=1e-3)
        assert (parts[7] == 0).all()


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        (np.zeros(3), r"baseline must be one row of 4 numbers, got shape \(1, 3\)"),
        (np.zeros((2, 4)), r"one row of 4 numbers, got shape \(2, 4\)"),
        ([0, 1, np.nan, 2], "contains NaN"),
    ],
)
def test_a_baseline_that_is_no_row_is_refused(plain, baseline, said):
    with pytest.raises(ValueError, match=said):
        plain.explain(frame(X[:2]), baseline=baseline)


@pytest.mark.parametrize(("t", "said"), [([0, 1], "one t at a time"), (2, "between 0"), ("x", "between 0")])
def test_one_t_between_0_and_1_is_wanted(plain, t, said):
    with pytest.raises(ValueError, match=said):
        plain.explain(frame(X[:2]), t)


def test_sparse_rows_are_explained_as_dense_ones():
    rows = np.where(RNG.random((200, 5)) < 0.5, RNG.normal(size=(200, 5)), 0)
    model = quick().fit(sparse.csr_matrix(rows))
    np.testing.assert_array_equal(model.explain(sparse.csr_matrix(rows[:20])), model.explain(rows[:20]))


def test_a_rows_contributions_do_not_depend_on_its_company(plain):
    many = np.tile(X, (3, 1))  # more than one block
    np.testing.assert_allclose(plain.explain(frame(many))[:400], plain.explain(frame(X)), atol=1e-5)


def test_the_centre_is_the_mean_of_the_deepest_row_and_those_around_it(plain):
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [100.0], [101.0]])
    scaling = quick().fit(rows).fitted_.scaling
    np.testing.assert_allclose(centre_of(rows, np.array([0, 9, 0, 0, 1, 0]), scaling), [1.0])  # of 0, 1 and 2
    assert plain.centrality(frame(plain.center_[None]))[0] >= np.quantile(plain.centrality(frame(X)), 0.99)
    assert not (plain.center_ == X).all(1).any()  # a file with it holds no training row
    assert (plain.explain(frame(plain.center_[None])) == 0).all()


def test_after_new_rows_the_centre_is_that_of_all_that_is_remembered():
    model = quick().fit(X[:200])
    model.partial_fit(X[200:] + np.array([50, 0, 0, 0]))
    rows = model.fitted_.remembered.rows
    assert len(rows) == 400
    np.testing.assert_array_equal(model.center_, centre_of(rows, model.centrality(rows), model.fitted_.scaling))
    np.testing.assert_allclose(model.explain(X[:20]).sum(1), drop(model, X[:20], 0.5), atol=1e-3)


def test_a_loaded_model_explains_as_it_did(bent, tmp_path):
    bent.save(tmp_path / "m.safetensors")
    back = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(back.explain(HEAVY[:20]), bent.explain(HEAVY[:20]))
    np.testing.assert_array_equal(back.toward_center(HEAVY[:5]), bent.toward_center(HEAVY[:5]))


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_the_way_to_the_centre_starts_at_the_row_and_never_falls(model, t):
    ways = model.toward_center(FAR, steps=8, t=t)
    assert ways.shape == (len(FAR), 9, 4)
    assert np.isfinite(ways).all()
    np.testing.assert_array_equal(ways[:, 0], FAR)
    f = model.centrality(ways.reshape(-1, 4), t).reshape(len(FAR), 9)
    assert np.diff(f, axis=1).min() > -1e-5  # float32 of another order of summation
    assert (f[:, -1] > f[:, 0]).mean() > 0.9


def test_outliers_end_as_central_as_the_typical_row(plain):
    odd = np.concatenate([X[:50] * [9, 1, 1, 1], X[:50] * 1e4])
    ends = plain.toward_center(frame(odd))[:, -1]
    assert (plain.centrality(frame(ends)) >= np.median(plain.centrality(frame(X)))).mean() >= 0.95


def test_bent_columns_come_back_in_the_users_units_and_constant_ones_stay(bent):
    Q = HEAVY[:30].copy()
    Q[:, 4] = 1e5
    Q[:, 5] = 8.0
    ways = bent.toward_center(Q)
    assert (ways[:, :, 5] == 8.0).all()
    assert (np.abs(ways[:, -1, 4]) < np.abs(HEAVY[:, 4]).max()).all()
    assert np.isfinite(bent.toward_center(Q + np.array([1e14, 0, 0, 0, 1e14, 0]))).all()
    f = bent.centrality(ways.reshape(-1, 6)).reshape(30, 21)
    assert np.diff(f, axis=1).min() > -1e-4


@pytest.mark.parametrize("steps", [0, -1, 2.5])
def test_steps_must_be_a_whole_number(plain, steps):
    with pytest.raises((ValueError, TypeError), match="steps must be"):
        plain.toward_center(frame(X[:2]), steps)


def test_a_profile_is_the_centrality_along_t(plain):
    heads = plain.heads(frame(X))
    np.testing.assert_allclose(plain.centrality(frame(X), [0, 0.5, 1]), blend(heads, [0, 0.5, 1]))


def test_kinds_say_which_head_is_low():
    heads = np.array([[0.5, 0.5], [0.1, 0.5], [0.5, 0.1], [0.1, 0.1], [np.nan, np.nan]])
    assert low_heads(heads, np.array([0.2, 0.2])).tolist() == ["typical", "global", "local", "both", ""]


def test_an_empty_middle_is_odd_locally_and_a_remote_group_globally():
    rng = np.random.default_rng(0)
    corners = np.array([[4.0, 4], [4, -4], [-4, 4], [-4, -4]])
    rows = np.concatenate(
        [corners[rng.integers(4, size=1500)] + rng.normal(size=(1500, 2)) * 0.7, rng.normal(size=(30, 2)) * 0.3 + 14]
    )
    model = FUSE(random_state=0, hidden=(64, 64), noise_scale=0.15, max_steps=600).fit(rows)
    assert model.kind([[0.0, 0.0]]).tolist() == ["local"]
    assert model.kind([[-30.0, 30.0]]).tolist() == ["both"]
    assert model.kind(corners).tolist() == ["typical"] * 4
    remote = model.kind(np.full((1, 2), 14.0))
    assert remote.tolist() in (["global"], ["both"])
    odd = model.kind(rows) != "typical"
    # Each head finds a twentieth of rows like its training rows low; of 1530, a tenth has a deviation of .008.
    assert 0.04 <= odd.mean() <= 0.1 + 2 * 0.008


def test_fresh_inliers_say_what_is_low_where_there_are_any():
    model = quick().fit(X)
    before = model.kind(X, low=0.5)
    inlier = X[:1] + 1e-9
    model.calibrate(inlier)  # one inlier: low is what lies below it
    below = model.heads(X) < model.heads(inlier)
    assert ((model.kind(X, low=0.5) == "both") == below.all(1)).all()
    assert (before != model.kind(X, low=0.5)).any()
    with pytest.raises(ValueError, match="low must be a share"):
        model.kind(X, low=0)


@pytest.mark.slow
def test_a_table_is_explained_by_its_own_columns():
    people = pd.DataFrame(
        {
            "height": RNG.normal(170, 8, size=300),
            "job": RNG.choice(["nurse", "smith", "clerk"], size=300),
            "born": pd.Timestamp("1980-01-01") + pd.to_timedelta(RNG.integers(0, 9000, size=300), unit="D"),
            "empty": [None] * 300,
        }
    )
    people.loc[0, "height"] = 280.0
    people.loc[1:20, "height"] = None
    chain = Chain(Table(), quick(max_steps=300)).fit(people)
    parts = chain.explain(people, 0.5)
    assert parts.shape == (300, 3)  # "empty" carries nothing
    # Each explanation starts from the typical point of the region next to its row.
    starts = chain.model_.centrality(chain.model_.fitted_.typical, 0.5)
    left = chain.centrality(people, 0.5) - parts.sum(1)
    assert np.abs(left[:, None] - starts).min(1).max() < 1e-3
    assert parts[0].argmin() == 0
    (first, *_) = chain.reasons(people)[0]
    assert (first.feature, first.value) == ("height", 280.0)
    assert isinstance(first.typical, float)
    assert 140 < first.typical < 200
    jobs = [r.typical for row in chain.reasons(people, top=3) for r in row if r.feature == "job"]
    assert set(jobs) <= {"nurse", "smith", "clerk"}
    Z = chain.representation_.transform(people)
    np.testing.assert_array_equal(chain.toward_center(people[:3], steps=4), chain.model_.toward_center(Z[:3], steps=4))
    assert (chain.explain(people[:5], baseline=people[3:4])[3] == 0).all()
    np.testing.assert_array_equal(chain.centrality(people, [0, 1]), chain.heads(people))
    np.testing.assert_array_equal(chain.kind(people), chain.model_.kind(Z))
    assert chain.kind(people)[0] == "both"


def test_numbers_that_stand_for_the_same_column_are_summed():
    parts = np.array([[1.0, 2, 4, 8], [0, 1, 0, np.nan]])
    np.testing.assert_array_equal(sum_by_feature(parts, np.array([0, 1, 0, 2]), 3), [[5, 2, 8], [0, 1, np.nan]])


def test_a_series_is_explained_by_its_features():
    waves = np.sin(np.linspace(0, 20, 60) + RNG.normal(size=(40, 1)) * 3) + 0.1 * RNG.normal(size=(40, 60))
    chain = Chain(Series(), quick()).fit(waves)
    np.testing.assert_allclose(
        chain.explain(waves), chain.model_.explain(chain.representation_.transform(waves)), atol=1e-6
    )
    reasons = chain.reasons(waves)
    named = {reason.feature for row in reasons for reason in row}
    assert named <= set(chain.representation_.get_feature_names_out())


def test_a_field_without_slope_leads_nowhere():
    """Columns that cannot move leave the row where it is."""
    model = quick().fit(X)
    field = ScoreField(model.fitted_.scorer, model.fitted_.calibration, 1.0)
    rows = model.fitted_.scaling.scaled(X[:3])
    ways = field.ascend(rows, rows[:1], 3, np.zeros(4, dtype=bool), 0.5)
    np.testing.assert_array_equal(ways, np.repeat(rows[:, None], 4, axis=1))


def frame(rows: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["a", "b", "c", "d"])
