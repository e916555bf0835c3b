"""FUSE(given=...): a row is typical or odd among rows of its kind."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from centrality import FUSE, Chain, PaperFUSE, load
from centrality._internal.checks import InputError
from centrality.fuse.data import SyntheticRows, TrainingData
from centrality.model.reader import reader_of
from centrality.network.context import Context
from centrality.network.scaling import Scaling
from centrality.representations import Table
from centrality.tables.columns import DataNote
from tests.present import present

made_of_all = SyntheticRows.of  # without saying which columns are learned


def houses(n: int = 900, seed: int = 0) -> pd.DataFrame:
    """Return a price of about 4,000 a square metre in the city, 2,000 elsewhere, a year of no matter, and the kind."""
    rng = np.random.default_rng(seed)
    size, city = rng.uniform(40, 160, n), rng.integers(2, size=n)
    price = size * (2000 + 2000 * city) * np.exp(0.05 * rng.normal(size=n))
    return pd.DataFrame({"price": price, "year": rng.normal(1990, 5, n), "size": size, "city": city.astype(float)})


@pytest.fixture(scope="module")
def model() -> FUSE:
    return FUSE(random_state=0, max_steps=150, given=["size", "city"]).fit(houses())


@pytest.fixture(scope="module")
def odd() -> pd.DataFrame:
    """Return three houses: one as it should be, one at the city's price elsewhere, one very large at its price."""
    return pd.DataFrame(
        {"price": [320e3, 320e3, 600e3], "year": 1990.0, "size": [80.0, 80.0, 150.0], "city": [1.0, 0.0, 1.0]}
    )


def test_a_price_that_is_usual_overall_is_odd_for_its_kind(model, odd):
    usual, wrong, large = model.centrality(odd)
    assert wrong < 0.1 < min(usual, large)
    p = model.p_values(odd)
    assert p[1] < 0.02 < min(p[0], p[2])


def test_contexts_contribute_nothing_and_the_rest_adds_up(model, odd):
    parts = model.explain(odd)
    np.testing.assert_array_equal(parts[:, 2:], 0)
    typical = model.fitted_.mixing.centrality(model.fitted_.origins(reader_of(model).vectors(odd)), model.t)
    np.testing.assert_allclose(parts.sum(1), model.centrality(odd) - typical, atol=1e-3)


def test_reasons_tell_the_range_of_the_kind(model, odd):
    """Elsewhere 80 square metres cost 160,000, give or take 5% and what the model does not know: below 220,000."""
    reason = model.reasons(odd)[1][0]
    assert reason.feature == "price"
    low, high = (float(word.replace(",", "")) for word in str(reason.typical).split()[0::2][:2])
    assert 110e3 < low < 160e3 < high < 220e3


def test_the_way_to_the_centre_moves_behaviours_only(model, odd):
    way = model.toward_center(odd, steps=5)
    np.testing.assert_allclose(way[:, :, 2:], np.repeat(odd.to_numpy()[:, None, 2:], 6, axis=1), rtol=1e-9)
    np.testing.assert_allclose(way[:, 0], odd.to_numpy(), rtol=1e-6)
    assert 110e3 < way[1, -1, 0] < 220e3


def test_a_file_scores_as_the_model_does(model, odd, tmp_path):
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.heads(odd), model.heads(odd))
    assert again.fitted_.context == model.fitted_.context
    assert again.given == ["size", "city"]


def test_a_kind_that_was_never_seen_is_said(model, odd):
    with pytest.warns(DataNote, match="'size, city': in 1 of 3 rows the value is a context of which no such kind"):
        model.centrality(odd.assign(size=[80.0, 80.0, 900.0]))


def test_another_value_of_a_context_that_was_constant_is_a_new_kind(odd):
    rows = houses(100).assign(city=1.0)
    constant = FUSE(random_state=0, max_steps=5, given=["city"]).fit(rows)
    assert not present(constant.fitted_.context).unseen(rows.to_numpy()).any()
    with pytest.warns(DataNote, match="'city': in 1 of 3 rows"):
        constant.centrality(odd)


def test_without_a_context_nothing_of_it_takes_part(monkeypatch, odd):
    """Not one bit of a model without `given` comes from the code of contexts: where all of that raises, it is equal."""
    rows = houses(200).to_numpy()
    plain = FUSE(random_state=0, max_steps=20).fit(rows)

    def refuse(*_, **__):
        raise AssertionError("There is no context.")

    for name in ("fit", "relative", "absolute", "usual_range", "unseen"):
        monkeypatch.setattr(Context, name, refuse)
    monkeypatch.setattr(
        SyntheticRows, "of", lambda z, rng, learned: made_of_all(z, rng)
    )  # as before there were contexts
    again = FUSE(random_state=0, max_steps=20, given=None).fit(rows)
    assert again.fitted_ == plain.fitted_
    for answer in ("heads", "p_values", "explain", "toward_center"):
        np.testing.assert_array_equal(getattr(again, answer)(odd.to_numpy()), getattr(plain, answer)(odd.to_numpy()))


def test_a_column_that_is_no_context_is_noised_and_learned_as_it_is():
    """The engine multiplies noise and residuals by this: a one changes no bit of a number."""
    X = houses(50).to_numpy()
    rng, none = np.random.default_rng(0), Scaling.none(4)
    np.testing.assert_array_equal(TrainingData(X, none, rng, max_values=1 << 20).learned_columns, 1.0)
    np.testing.assert_array_equal(
        TrainingData(X, none, rng, max_values=1 << 20, context=np.array([1, 3])).learned_columns, [1, 0, 1, 0]
    )


def test_names_and_positions_are_the_same(odd):
    by_name = FUSE(random_state=0, max_steps=20, given="city").fit(houses(200))
    by_place = FUSE(random_state=0, max_steps=20, given=[-1]).fit(houses(200).to_numpy())
    np.testing.assert_array_equal(by_name.heads(odd), by_place.heads(odd.to_numpy()))


def test_a_chain_takes_names_of_raw_columns(odd, tmp_path):
    words = {0.0: "country", 1.0: "city"}
    rows, asked = (frame.assign(city=frame["city"].map(words)) for frame in (houses(), odd))
    chain = Chain(Table(), FUSE(random_state=0, max_steps=150, given=["size", "city"])).fit(rows)
    usual, wrong, _ = chain.centrality(asked)
    assert wrong < 0.1 < usual
    assert chain.reasons(asked)[1][0].feature == "price"
    np.testing.assert_array_equal(chain.explain(asked)[:, 2:], 0)
    chain.save(tmp_path / "chain.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "chain.safetensors").heads(asked), chain.heads(asked))


@pytest.mark.slow
def test_a_model_learns_on_given_its_context(odd):
    model = FUSE(random_state=0, max_steps=100, given=["size", "city"]).fit(houses(500))
    model.partial_fit(houses(200, seed=1))
    assert model.centrality(odd)[1] < 0.1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"given": ["rooms"]}, "Missing column: 'rooms'. There are: "),
        ({"given": [9]}, "given must hold names, or positions from 0 to 3, got 9"),
        ({"given": 1.0}, "given must hold names, or positions from 0 to 3, got 1.0"),
        ({"given": []}, "leave one to be judged"),
        ({"given": ["price", "year", "size", "city"]}, "leave one to be judged"),
        ({"given": ["size"], "metric": "cosine"}, "does not go with metric='cosine'"),
    ],
)
def test_what_cannot_be_given_is_refused_in_words(settings, said):
    with pytest.raises(InputError, match=said):
        FUSE(random_state=0, **settings).fit(houses(50))


def test_the_papers_schedule_knows_no_context():
    with pytest.raises(InputError, match="does not go with epochs"):
        PaperFUSE(random_state=0, epochs=1, given=["size"]).fit(houses(50))


@pytest.fixture(scope="module")
def many_kinds() -> tuple[FUSE, np.ndarray]:
    """Return a model whose context has levels, of which spreads differ too, and rows new and old to it."""
    rng = np.random.default_rng(0)
    group, size = rng.integers(12, size=1800), rng.normal(size=1800)
    shapes = np.stack([rng.normal(size=1800), rng.uniform(-2, 2, 1800), rng.standard_t(2, 1800)])
    x = 3 * group + size + (1 + group % 3) * shapes[group % 3, np.arange(1800)]
    rows = np.column_stack([x, rng.normal(size=1800), size, group])
    return FUSE(random_state=0, max_steps=60, given=[2, 3]).fit(rows), np.vstack(
        [rows[:50], rows[:3] + np.array([0, 0, 9, 0.5])]
    )


def test_scores_are_moved_within_kinds_and_keep_their_order_there(many_kinds):
    model, _ = many_kinds
    x = np.linspace(-6, 6, 200)
    one_kind = np.column_stack([3 * 4 + x, 0 * x, 0 * x, 4 + 0 * x])
    among_all = replace(model.fitted_, context_calibration=None).units(model.fitted_.relative(one_kind))
    within = model.fitted_.units(model.fitted_.relative(one_kind))
    assert np.abs(within - among_all).max() > 0.05
    for head in (0, 1):
        order = np.argsort(among_all[:, head], kind="stable")
        assert (np.diff(within[order, head]) >= 0).all()


def test_ways_to_the_centre_never_fall_within_kinds(many_kinds):
    model, rows = many_kinds
    paths = model.toward_center(rows[:20], steps=5)
    scores = np.column_stack([model.score_samples(paths[:, step]) for step in range(6)])
    assert np.diff(scores, axis=1).min() > -1e-5
    assert (scores[:, -1] > scores[:, 0] + 0.01).any()


def test_contributions_add_up_within_kinds(many_kinds):
    model, rows = many_kinds
    inside = rows[:20]
    origin = model.fitted_.mixing.centrality(model.fitted_.origins(model.fitted_.relative(inside)), model.t)
    np.testing.assert_allclose(model.explain(inside).sum(1), model.centrality(inside) - origin, atol=1e-3)


def test_the_report_says_which_kinds_are_measured_by_their_own_rows(many_kinds):
    model, _ = many_kinds
    counts = model.report().kinds
    assert sum(counts.values()) == 12
    assert counts["own"] == sum(int((own >= 0.5).sum()) for own in model.fitted_.context_calibration.own_weights)
    assert f"{counts['own']} of 12 levels of the context" in str(model.report())


def test_a_torch_module_scores_as_the_model_does(many_kinds):
    torch = pytest.importorskip("torch")
    model, rows = many_kinds
    assert model.fitted_.context.center_effects
    assert model.fitted_.context.spread_effects
    assert model.fitted_.context_calibration.category_effects
    q = torch.from_numpy(rows).requires_grad_()
    with pytest.warns(DataNote):
        expected = model.heads(rows)
    found = model.to_torch().heads(q)
    np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-5)
    found.sum().backward()
    assert q.grad[:, :2].abs().sum() > 0


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_an_onnx_file_scores_as_the_model_does(many_kinds, tmp_path, kind):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("centrality.onnx")
    model, rows = many_kinds
    model.to_onnx(tmp_path / "model.onnx", rows=kind)
    with pytest.warns(DataNote):
        expected = model.heads(rows.astype(kind))
    np.testing.assert_allclose(runtime.Scorer(tmp_path / "model.onnx").heads(rows), expected, atol=1e-5)


@pytest.mark.slow
def test_p_values_hold_in_narrow_and_in_wide_contexts():
    """x given c is N(0, c²). Pooled, P(p <= .1) is .000 where c is small and .3 where it is large."""
    rng = np.random.default_rng(0)

    def draw(n: int) -> np.ndarray:
        c = rng.uniform(0.2, 5, n)
        return np.column_stack([c * rng.normal(size=n), c])

    model, new = FUSE(random_state=0, given=[1], max_steps=150).fit(draw(2500)), draw(20_000)
    p, part = model.p_values(new), np.minimum((new[:, 1] / 1.25).astype(int), 3)
    shares = np.array([(p[part == k] <= 0.1).mean() for k in range(4)])
    assert shares.min() > 0.06
    assert shares.max() < 0.15


@pytest.mark.slow
def test_p_values_hold_in_groups_of_every_size_spread_and_shape():
    """Of 12 groups of 60 to 2,000 rows, each with a middle, a spread and a shape of its own, .1 have p-values to .1.

    One fit knows a group of 60 rows to .04 only, whatever it does: the mean of four fits is judged.
    """
    truth, sizes = np.random.default_rng(5), np.geomspace(60, 2000, 12).astype(int)
    middle, spread, groups = truth.normal(0, 5, 12), np.exp(0.7 * truth.normal(size=12)), np.arange(12)

    def draw(group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        n = len(group)
        shapes = np.stack([rng.normal(size=n), rng.uniform(-1.7, 1.7, n), rng.exponential(size=n)])
        return np.column_stack([middle[group] + spread[group] * shapes[group % 3, np.arange(n)], group])

    shares = []
    for seed in range(4):
        rng, asked = np.random.default_rng(seed), np.repeat(groups, 1000)
        model = FUSE(random_state=seed, given=[1], max_steps=150).fit(draw(np.repeat(groups, sizes), rng))
        p = model.p_values(draw(asked, rng))
        shares.append([(p[asked == each] <= 0.1).mean() for each in groups])
    assert np.abs(np.mean(shares, axis=0) - 0.1).max() < 0.055
    assert np.abs(np.mean(shares, axis=0) - 0.1).mean() < 0.02


@pytest.mark.slow
def test_a_point_between_two_branches_is_odd():
    rng = np.random.default_rng(0)
    c, up = rng.uniform(0, 3, 1500), rng.random(1500) < 0.5
    x = np.where(up, 1 + c, -1 - 0.5 * c) + 0.15 * rng.normal(size=1500)
    model = FUSE(random_state=0, given=[1], max_steps=200).fit(np.column_stack([x, c]))
    on, between = np.column_stack([1 + c, c]), np.column_stack([0.25 * c, c])
    assert (model.centrality(between) < np.quantile(model.centrality(on), 0.1)).mean() > 0.95


@pytest.mark.slow
def test_texts_dates_and_categories_beside_it_do_not_hide_a_wild_number():
    """A text or a date is many columns, a category one of zeros and ones: together they count as one thing each."""
    rng, n = np.random.default_rng(2), 500
    kind = rng.integers(2, size=n)
    frame = pd.DataFrame(
        {
            "kind": np.array(["a", "b"])[kind],
            "level": 10 + 3 * kind + rng.normal(size=n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(300 * 24, size=n), unit="h"),
            "where": rng.choice(["north", "south", "west"], size=n, p=[0.6, 0.3, 0.1]),
            "code": [f"{first}/{second}" for first, second in rng.integers(60, 190, size=(n, 2))],
        }
    )
    frame.loc[7, "level"] = 130.0  # more than a hundred deviations off in either kind
    scores = Chain(Table(), FUSE(given="kind", random_state=0)).fit(frame).centrality(frame)
    assert scores.argmin() == 7
