"""Rows shown again by a model that is given other columns: each among its kind."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import Chain, load
from centrality._internal.checks import InputError
from centrality.apps.explorer.view import explored, view_of
from centrality.apps.explorer.widget import Widget
from centrality.representations import Table
from tests.conftest import quick
from tests.explorer.pages import settle

OUT_OF_KIND = 3  # a summer's warmth in winter


@pytest.fixture(scope="module")
def weather():
    """600 days, half in winter about 0 degrees and half in summer about 20; one winter's day has 20."""
    rng = np.random.default_rng(0)
    season = np.repeat(["winter", "summer"], 300)
    degrees = rng.normal(size=600) + np.where(season == "winter", 0.0, 20.0)
    degrees[OUT_OF_KIND] = 20.0
    table = pa.table({"season": season, "degrees": degrees, "wind": rng.gamma(4.0, size=600)})
    return table, Chain(Table(), quick(max_steps=300)).fit(table)


def oddest(view) -> int:
    return int(np.argmin(view.centrality(1.0)))


def test_given_its_season_a_warm_winters_day_is_the_oddest(weather):
    table, model = weather
    view = explored(model, table, on="pca", title="Days")
    assert view.given == ()
    assert view.may_be_given == ("season", "degrees", "wind")
    among = view.refit(["season"])
    assert among.given == ("season",)
    assert oddest(among) == OUT_OF_KIND
    assert (among.title, among.keys, among.may_be_given) == (view.title, view.keys, view.may_be_given)
    assert among.refit([]).given == ()


def test_a_model_from_a_file_and_one_of_numbers_can_be_fitted_again(weather, tmp_path):
    table, model = weather
    model.save(tmp_path / "model.safetensors")
    assert explored(load(tmp_path / "model.safetensors"), table, on="pca").refit(["season"]).given == ("season",)
    numbers = table.drop_columns(["season"])
    assert explored(quick().fit(numbers), numbers).refit(["wind"]).given == ("wind",)


def test_what_cannot_be_given_is_refused(weather):
    table, model = weather
    view = explored(model, table, on="pca")
    for wrong in (["colour"], "season", None, [["season"]], {"season": 1}):
        with pytest.raises(InputError, match="Names of columns"):
            view.refit(wrong)
    with pytest.raises(InputError, match="left to be judged"):
        view.refit(["season", "degrees", "wind"])


def test_rows_without_a_table_cannot_be_given_columns():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert explored(quick().fit(X), X, on="pca").refit is None


def test_a_widget_shows_the_rows_again(weather):
    table, model = weather
    widget = Widget(explored(model, table, on="pca"))
    before = widget._bytes
    assert widget._answered({"question": 1, "ask": "given", "row": 0, "given": ["season"]}) == {
        "answer": {"given": ["season"]}
    }
    assert widget.view.given == ("season",)
    assert widget._bytes != before
    wrong = widget._answered({"question": 1, "ask": "given", "row": 0, "given": 5})["wrong"]
    assert "Names of columns" in str(wrong)


@pytest.mark.browser
@pytest.mark.slow
def test_the_dialogue_of_columns_fits_again_and_shows_the_row_among_its_kind(weather, serve, open_page):
    table, model = weather
    tab = open_page(f"{serve(explored(model, table, on='pca'))}#panel=columns&row={OUT_OF_KIND}")
    assert tab.locator(".among").inner_text() == f"Red: row {OUT_OF_KIND}."
    assert tab.locator(".dial b").all_inner_texts() == ["all rows", "rows near it"]
    tab.locator(".given summary").click()
    fit = tab.get_by_role("button", name="Fit again")
    assert fit.is_disabled()  # nothing is given, and nothing was chosen
    tab.get_by_label("season", exact=True).check()
    tab.get_by_role("button", name="Fit again, given season").click()
    tab.locator(".given summary b", has_text="season").wait_for()
    settle(tab)
    assert tab.locator(".among").inner_text() == (
        f"Red: row {OUT_OF_KIND}. Narrow bars: 300 rows of its kind (season: winter), to a scale of their own."
    )
    assert tab.locator(".dial b").all_inner_texts() == ["all of its kind", "rows near it"]
    tab.locator("input.turn").fill("1")
    tab.locator(".detail.fixed .place", has_text="oddest of 600").wait_for()


@pytest.mark.browser
@pytest.mark.slow
def test_an_exported_page_says_what_is_given_and_offers_no_fit(weather, open_page, tmp_path):
    from centrality.apps.explorer import server

    table, model = weather
    server.export(explored(model, table, on="pca").refit(["season"]), tmp_path / "page.html")
    tab = open_page((tmp_path / "page.html").as_uri() + "#panel=columns")
    assert tab.locator(".given summary").inner_text() == "Given season"
    assert tab.locator(".given input").count() == 0
    assert not tab.get_by_role("button", name="Fit again").count()
    server.export(view_of(model, table, on="pca"), tmp_path / "plain.html")
    tab = open_page((tmp_path / "plain.html").as_uri() + "#panel=columns")
    assert tab.locator(".given").is_hidden()
