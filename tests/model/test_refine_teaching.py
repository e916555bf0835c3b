"""A model that has learned marks: what moves, what stays, and that every way of scoring says the same."""

from copy import copy
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
import torch
from benchmarks.marks_error_rates import measured
from scipy import sparse
from sklearn.exceptions import NotFittedError

from centrality import FUSE, Chain, load
from centrality._internal.checks import InputError
from centrality.onnx import Scorer
from centrality.representations import Table
from tests.conftest import quick
from tests.present import present
from tests.promise import assert_same_scores, assert_same_unbounded

RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 3)) * (1, 10, 0.1)
FRESH = RNG.normal(size=(400, 3)) * (1, 10, 0.1)
NOBODY: list[str | None] = [None] * 500


def marked(model: FUSE, rows: np.ndarray, count: int = 40) -> list[str | None]:
    """Marks of the first rows in the queue, by somebody who finds large values of the first column wrong."""
    marks: list[str | None] = [None] * len(rows)
    for row in model.review(rows, marks).order[:count]:
        marks[row] = "outlier" if rows[row, 0] > 0 else "fine"
    return marks


@pytest.fixture(scope="module")
def model() -> FUSE:
    return quick(max_steps=200).fit(X)


@pytest.fixture(scope="module")
def wiser(model) -> FUSE:
    return model.learn_marks(X, marked(model, X))


def test_no_marks_change_no_bit(model):
    for nothing in (NOBODY, ["later"] * 500, [""] * 500):
        same = model.learn_marks(X, nothing)
        assert same.fitted_ is model.fitted_
        np.testing.assert_array_equal(same.score_samples(FRESH), model.score_samples(FRESH))
    assert str(model.review(X, NOBODY)) == "Nothing is marked yet."
    np.testing.assert_array_equal(model.review(X, NOBODY).order, np.argsort(model.score_samples(X), kind="stable"))


def test_the_model_that_is_taught_stays_as_it_is(model):
    before = {field.name: getattr(model.fitted_, field.name) for field in fields(model.fitted_)}
    model.learn_marks(X, marked(model, X))
    assert all(getattr(model.fitted_, name) is value for name, value in before.items())


def test_new_rows_like_the_marked_ones_move_up_or_down(model, wiser):
    far = np.array([[3.0, 0, 0], [-3.0, 0, 0]])
    right, left = wiser.score_samples(far) - model.score_samples(far)
    assert right < 0 < left
    order = np.argsort(wiser.score_samples(FRESH))[:20]
    assert np.mean(FRESH[order, 0] > 0) > 0.8 > np.mean(FRESH[np.argsort(model.score_samples(FRESH))[:20], 0] > 0)


def test_predict_calls_what_is_likelier_an_outlier_than_not(model, wiser):
    review = model.review(X, marked(model, X))
    # Marked rows are judged by all marks in the one and in the other; chances come from the same moved score.
    np.testing.assert_array_equal(wiser.predict(X) == -1, review.chance > 0.5)
    called = wiser.predict(FRESH) == -1
    assert np.mean(FRESH[called, 0] > 0) > 0.9


def test_the_queue_holds_each_row_that_is_not_marked_once_the_likeliest_outlier_first(model):
    marks = marked(model, X)
    review = model.review(X, marks)
    assert sorted(review.order) == [row for row, mark in enumerate(marks) if mark is None]
    assert (np.diff(review.chance[review.order]) <= 0).all()
    assert review.left.rows == 100
    assert review.left.low <= review.left.about <= review.left.high
    assert str(review) == str(review.left)


def test_while_all_is_fine_every_other_row_is_the_next_by_the_ranking_without_marks(model):
    marks = list(NOBODY)
    plain = model.review(X, marks).order
    for row in plain[:20]:
        marks[row] = "fine"
    order = model.review(X, marks).order
    assert sorted(order) == sorted(plain[20:])
    assert {*plain[20:25]} <= {*order[:10]}
    learned = np.argsort(-model.review(X, marks).chance, kind="stable")
    assert {*learned[~np.isin(learned, plain[:20])][:5]} <= {*order[:10]}


@pytest.mark.slow
def test_of_very_many_marks_some_of_each_kind_teach_the_same():
    """Ten thousand rows are marked in bulk, a sixth of them as outliers: what is learned is that of all marks."""
    rows = np.random.default_rng(1).normal(size=(10_000, 3))
    bulk = quick(max_steps=100).fit(rows)
    odd = rows[:, 0] > 1
    review = bulk.review(rows, np.where(odd, "outlier", "fine"))
    assert review.chance is not None
    assert np.mean((review.chance > 0.5) == odd) > 0.95
    assert review.chance.mean() == pytest.approx(odd.mean(), abs=0.02)  # as frequent as among all marks


def test_when_all_rows_are_marked_that_is_said(model):
    review = model.review(X, ["fine"] * 500)
    assert len(review.order) == 0
    assert str(review) == "All rows are marked."


def test_five_wrong_marks_do_little_harm(model, wiser):
    wrong = marked(model, X)
    for row in RNG.permutation([row for row, mark in enumerate(wrong) if mark])[:5]:
        wrong[row] = "fine" if wrong[row] == "outlier" else "outlier"
    far = FRESH[np.argsort(model.score_samples(FRESH))[:80]]
    odd = far[:, 0] > 0

    def separation(scores: np.ndarray) -> float:
        return float((scores[odd][:, None] < scores[~odd]).mean())

    plain, right, harmed = (separation(each.score_samples(far)) for each in (model, wiser, model.learn_marks(X, wrong)))
    assert right - harmed < 0.3 * (right - plain)


def test_saved_and_loaded_it_is_the_same_model(wiser, tmp_path):
    wiser.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.fitted_ == wiser.fitted_
    np.testing.assert_array_equal(again.score_samples(FRESH), wiser.score_samples(FRESH))
    np.testing.assert_array_equal(again.predict(FRESH), wiser.predict(FRESH))
    np.testing.assert_array_equal(again.p_values(FRESH), wiser.p_values(FRESH))


def test_a_loaded_model_learns_as_the_one_that_was_fitted(model, wiser, tmp_path):
    model.save(tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").learn_marks(X, marked(model, X)).fitted_ == wiser.fitted_


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_contributions_still_add_up(wiser, t):
    rows = np.concatenate([FRESH[:50], 5 * FRESH[:20]])
    parts = wiser.explain(rows, t, baseline=wiser.center_[None])
    difference = wiser.centrality(rows, t) - wiser.centrality(wiser.center_[None], t)
    np.testing.assert_allclose(parts.sum(1), difference, atol=1e-5)


def test_the_columns_that_marks_speak_of_are_named(model, wiser):
    """From a row that the marks find fine: the typical point may lie on either side."""
    row, fine = np.array([[2.5, 0.0, 0.0]]), [-0.5, 0.0, 0.0]
    assert wiser.explain(row, baseline=fine)[0].argmin() == 0
    assert wiser.explain(row, baseline=fine)[0, 0] < model.explain(row, baseline=fine)[0, 0]


def test_torch_and_onnx_say_the_same(wiser, tmp_path):
    rows = np.concatenate([FRESH, 5 * FRESH[:50], X[:1] + 1e4])
    module = wiser.to_torch()
    assert_same_scores(module.heads(torch.tensor(rows)).detach().numpy(), wiser.heads(rows))
    wiser.to_onnx(tmp_path / "m.onnx")
    scorer = Scorer(tmp_path / "m.onnx")
    assert_same_scores(scorer.heads(rows), wiser.heads(rows))
    assert_same_scores(scorer.centrality(rows, [0.0, 0.3, 1.0]), wiser.centrality(rows, [0.0, 0.3, 1.0]))


def test_paths_toward_typical_rows_rise_by_what_was_learned(wiser):
    path = wiser.toward_center(FRESH[:5] * 3)
    scores = np.array([wiser.centrality(steps) for steps in path])
    assert (np.diff(scores) >= -1e-6).all()


def test_at_another_t_ranking_and_p_values_follow_and_predict_refuses(model, wiser):
    for t in (0.0, 1.0):
        moved = wiser.fitted_.scores(FRESH, t) - model.fitted_.scores(FRESH, t)
        np.testing.assert_allclose(moved, wiser.fitted_.shift(FRESH), atol=1e-12)
        order = np.argsort(wiser.centrality(FRESH, t), kind="stable")
        assert (np.diff(wiser.p_values(FRESH, t)[order]) >= 0).all()
    other = copy(wiser).set_params(t=0.0)
    with pytest.raises(InputError, match=r"learned from marks at t=0.5; there is none at t=0. Learn the marks"):
        other.predict(FRESH)


def test_p_values_of_new_rows_stay_uniform_where_nothing_was_wrong(model):
    """All that stand first are fine: calibration rows and new rows move alike."""
    marks = list(NOBODY)
    for row in model.review(X, marks).order[:40]:
        marks[row] = "fine"
    p = model.learn_marks(X, marks).p_values(FRESH)
    for level in (0.05, 0.2, 0.5):
        off = 3.5 * np.sqrt(level * (1 - level) * (1 / 500 + 1 / 400))
        assert np.mean(p <= level) == pytest.approx(level, abs=off)


def test_calibration_rows_marked_as_outliers_are_dropped_and_others_stay(model, wiser):
    marks = marked(model, X)
    before, after = model.fitted_.inliers, wiser.fitted_.inliers
    dropped = [row for row in before.rows if marks[row] == "outlier"]
    assert dropped
    assert len(after.units) == len(before.units) - len(dropped)


def test_a_group_apart_that_people_call_fine_is_calibrated_on_again():
    rng = np.random.default_rng(3)
    rows = np.concatenate([rng.normal(size=(485, 3)), rng.normal(size=(15, 3)) + 30])  # 3%: no group of its own
    apart = FUSE(random_state=0).fit(rows)
    assert len(present(apart.fitted_.inliers).units) == 485
    wiser = apart.learn_marks(rows, [None] * 485 + ["fine"] * 15)
    assert len(present(wiser.fitted_.inliers).units) == 500
    assert (
        np.median(wiser.p_values(rng.normal(size=(50, 3)) + 30)) > 0.01 > np.median(apart.p_values(rows[485:] + 0.01))
    )


def test_with_rows_that_are_not_those_of_the_fit_p_values_wait_for_calibration_rows(model):
    other = model.learn_marks(FRESH, marked(model, FRESH))
    with pytest.raises(InputError, match="p-values need calibration rows"):
        other.p_values(FRESH)
    assert np.isfinite(other.score_samples(FRESH)).all()
    p = other.calibrate(RNG.normal(size=(300, 3)) * (1, 10, 0.1)).p_values(FRESH)
    assert np.mean(p <= 0.2) == pytest.approx(0.2, abs=3.5 * np.sqrt(0.16 * (1 / 300 + 1 / 400)))


def test_a_table_learns_marks_of_its_rows():
    frame = pd.DataFrame({"size": RNG.normal(size=300), "kind": RNG.choice(["a", "b"], 300)})
    chain = Chain(Table(), quick(max_steps=150)).fit(frame)
    marks: list[str | None] = [None] * 300
    for row in chain.review(frame, marks).order[:40]:
        marks[row] = "outlier" if frame["kind"][row] == "a" else "fine"
    wiser = chain.learn_marks(frame, marks)
    asked = pd.DataFrame({"size": [2.0, 2.0], "kind": ["a", "b"]})
    a, b = wiser.score_samples(asked) - chain.score_samples(asked)
    assert a < b
    np.testing.assert_allclose(
        wiser.explain(asked).sum(1),
        wiser.centrality(asked) - wiser.fitted_.centrality(wiser.fitted_.typical_for(vectors(wiser, asked)), wiser.t),
        atol=1e-5,
    )


def vectors(chain: Chain, rows: pd.DataFrame) -> np.ndarray:
    return np.asarray(chain.representation_.transform(rows))


def test_sparse_rows_learn_as_dense_ones_do(model):
    dense = np.where(RNG.random((300, 3)) < 0.5, 0.0, RNG.normal(size=(300, 3)))
    plain = quick(scaling="standard").fit(sparse.csr_matrix(dense))
    marks = ["outlier" if row[0] > 0 else "fine" for row in dense[:30]] + [None] * 270
    by_sparse, by_dense = (plain.learn_marks(rows, marks) for rows in (sparse.csr_matrix(dense), dense))
    assert_same_unbounded(by_sparse.score_samples(dense), by_dense.score_samples(dense))


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ([None] * 3, "marks must say something, or None, of each of the 500 rows, got 3."),
        (["odd"] * 500, "marks must be 'outlier', 'fine' or None for each row, got 'odd'."),
        ([True] * 500, "marks must be 'outlier', 'fine' or None for each row, got True."),
        (["Outlier"] * 500, "got 'Outlier'"),
        (7, "marks must be a list"),
        ("outlier", "marks must be a list"),
    ],
)
def test_marks_that_are_none_are_refused(model, marks, message):
    for method in (model.learn_marks, model.review):
        with pytest.raises(InputError, match=message.replace(".", r"\.")):
            method(X, marks)


def test_marks_may_come_as_a_column_of_a_frame(model, wiser):
    series = pd.Series(marked(model, X))
    assert model.learn_marks(X, series).fitted_ == wiser.fitted_
    gaps = series.astype(object).where(series.notna(), np.nan)  # as pandas reads them from a file
    assert model.learn_marks(X, gaps).fitted_ == wiser.fitted_


def test_marks_are_learned_once_from_the_model_as_it_was_fitted(model, wiser):
    for method in (wiser.learn_marks, wiser.review):
        with pytest.raises(InputError, match="has learned marks already: teach the model as it was fitted"):
            method(X, marked(model, X))
    with pytest.raises(InputError, match="has learned marks, which partial_fit would forget"):
        copy(wiser).partial_fit(FRESH)


def test_models_that_cannot_learn_say_so():
    with pytest.raises(NotFittedError):
        FUSE().learn_marks(X, NOBODY)
    clipped = quick(calibration="clip").fit(X)
    with pytest.raises(InputError, match="fit it with calibration='soft'"):
        clipped.learn_marks(X, ["fine", *NOBODY[1:]])


def test_knots_in_a_file_that_no_lesson_could_have_written_are_refused(wiser, tmp_path):
    knots = wiser.fitted_.refinement.knots[:, ::-1].copy()
    crafted = copy(wiser)
    crafted.fitted_ = replace(wiser.fitted_, refinement=replace(wiser.fitted_.refinement, knots=knots))
    crafted.save(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match=r"refinement\.knots must rise along each column"):
        load(tmp_path / "m.safetensors")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of rows that were planted, and where nothing can be called
def test_fifty_marks_give_detect_the_power_back_that_outliers_among_the_training_rows_take():
    """500 rows, 25 of them 6 sd off in one column: over two fits, at fdr = 0.1."""
    found = [measured("column", seed) for seed in range(2)]
    false, power = ({name: np.array([each[name][k] for each in found]) for name in found[0]} for k in (0, 1))
    assert power["dirty"].mean() < power["marked"].mean()
    assert power["marked"].mean() >= 0.8 * power["clean"].mean()
    assert false["marked"].mean() <= 0.1 + 2 * false["marked"].std(ddof=1) / np.sqrt(2)


def test_with_marks_of_outliers_alone_what_most_rows_have_is_not_to_blame():
    """Thirty misspelt countries, ten of them marked: the right spelling and common amounts gain, not lose."""
    rng = np.random.default_rng(1)
    land = rng.choice(["Deutschland", "Frankreich", "Italien"], 1500, p=[0.7, 0.2, 0.1]).astype(object)
    wrong = rng.choice(1500, 30, replace=False)
    land[wrong] = ["Deutchland", "Frankrich", "Itallien", "Germani", "Italjen"] * 6
    frame = pd.DataFrame({"land": land, "amount": rng.lognormal(3, 0.5, 1500)})
    model = Chain(Table(), FUSE(random_state=0, max_steps=100)).fit(frame)
    marks: list[str | None] = [None] * 1500
    for row in wrong[:10]:
        marks[row] = "outlier"
    refined = model.learn_marks(frame, marks)
    reader = refined._reader()
    by_land, by_amount = reader.by_feature(refined.fitted_.refinement_by_column(reader.vectors(frame))).T
    assert by_land[land == "Deutschland"].mean() > by_land[wrong].mean() + 0.5
    low, high = frame["amount"].quantile([0.25, 0.75])
    common = frame["amount"].between(low, high)
    assert by_amount[common].mean() >= by_amount[~common].mean()
