"""Frames in, frames out: when `set_output` asks for it, and never otherwise."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from centrality import FUSE, Chain, load
from centrality.representations import Series, Table

NAMES = [f"flower {k}" for k in range(200)]


@pytest.fixture(scope="module")
def frame():
    X = np.random.default_rng(0).normal(size=(200, 2))
    return pd.DataFrame(X, index=NAMES, columns=["length", "width"])


@pytest.fixture
def model(frame):
    return FUSE(random_state=0, max_steps=20, holdout=0.5).fit(frame)


def test_without_asking_everything_is_an_array_even_for_frames(model, frame):
    for result in (model.centrality(frame), model.heads(frame), model.p_values(frame), model.explain(frame)):
        assert type(result) is np.ndarray


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options", "names"),
    [
        ("heads", {}, ["global", "local"]),
        ("raw", {}, ["global", "local"]),
        ("explain", {}, ["length", "width"]),
        ("centrality", {"t": [0, 0.5]}, ["centrality_t0", "centrality"]),
        ("p_values", {"t": [0, 1]}, ["p_value_t0", "p_value_t100"]),
        ("transform", {}, ["global", "local"]),
    ],
)
def test_tables_keep_the_index_and_name_their_columns(model, frame, method, options, names):
    plain = np.asarray(getattr(model, method)(frame, **options))
    result = getattr(model.set_output(transform="pandas"), method)(frame, **options)
    assert list(result.columns) == names
    assert list(result.index) == NAMES
    np.testing.assert_array_equal(result.to_numpy(), plain)
    in_polars = getattr(model.set_output(transform="polars"), method)(frame, **options)
    assert isinstance(in_polars, pl.DataFrame)
    assert in_polars.columns == names


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("centrality", "centrality"),
        ("score_samples", "score"),
        ("p_values", "p_value"),
        ("standard_error", "standard_error"),
        ("kind", "kind"),
    ],
)
def test_one_number_a_row_is_a_series_with_the_rows_labels(model, frame, method, name):
    if method == "standard_error":
        model = FUSE(random_state=0, max_steps=20, ensemble=2).fit(frame)
    plain = getattr(model, method)(frame)
    result = getattr(model.set_output(transform="pandas"), method)(frame)
    assert result.name == name
    assert list(result.index) == NAMES
    assert result.tolist() == plain.tolist()
    assert isinstance(getattr(model.set_output(transform="polars"), method)(frame), pl.Series)


def test_scikit_learns_words_still_fit_together(model, frame):
    model.set_output(transform="pandas")
    decided = model.decision_function(frame)
    assert list(decided.index) == NAMES
    assert (model.predict(frame) == np.where(decided < 0, -1, 1)).all()
    assert model.detect(frame, contamination=0.1).sum() == 20
    assert model.calibrate(frame + 1e-9).drift(frame).rows == 200


def test_arrays_in_come_back_with_plain_numbers_as_labels(frame):
    model = FUSE(random_state=0, max_steps=9).fit(frame.to_numpy()).set_output(transform="pandas")
    assert list(model.centrality(frame.to_numpy()).index) == list(range(200))


def test_a_chain_does_the_same_and_reasons_keep_the_rows_labels(frame):
    mixed = frame.assign(kind=["a", "b"] * 100)
    chain = Chain(Table(), FUSE(random_state=0, max_steps=20)).fit(mixed)
    reasons = chain.reasons(mixed.iloc[[3, 5]])
    assert reasons.labels == ["flower 3", "flower 5"]
    assert "flower 5" in str(reasons)
    assert "flower 5" in reasons._repr_html_()
    assert list(chain.set_output(transform="pandas").explain(mixed).columns) == ["length", "width", "kind"]


def test_notebooks_show_what_a_model_was_fitted_on_and_its_histograms(model, frame):
    shown = model._repr_html_()
    assert "100 rows of 2 columns" in shown  # half of them are held aside
    assert shown.count("<svg role='img'") == 2
    assert "fitted on" not in FUSE()._repr_html_()
    assert "calibration rows" in model._repr_mimebundle_()["text/html"]


def test_a_drift_and_its_report_are_shown_in_notebooks(model, frame):
    assert "no change that matters" in model.drift(frame)._repr_html_()
    report = model.drift_report(frame, window=50)
    assert len(report.windows) == 4
    assert report._repr_html_().count("<rect") == 4


def test_the_report_of_a_chain_speaks_of_the_tables_own_columns(frame, tmp_path):
    mixed = frame.assign(kind=["a", "b", "c", "d"] * 50)
    chain = Chain(Table(), FUSE(random_state=0, max_steps=20)).fit(mixed)
    for head, shares in chain.report().influence.items():
        assert set(shares) == {"length", "width", "kind"}, head
        assert sum(shares.values()) == pytest.approx(1)  # six numbers are all shown
    chain.save(tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").report().influence == chain.report().influence


def test_reasons_of_a_long_series_call_a_window_by_the_label_of_its_first_row():
    days = pd.date_range("2024-01-01", periods=200, freq="D")
    series = pd.DataFrame({"flow": np.sin(np.arange(200) / 5)}, index=days)
    model = Chain(Series(window=40, step=20), FUSE(random_state=0, max_steps=5)).fit(series)
    reasons = model.reasons(series)
    assert reasons.labels == list(days[::20][:9])  # the last window begins on day 160
    assert len(str(reasons).splitlines()) == 9
