"""A context at every door: the command line, HTTP, files in bulk, the page."""

import json

import numpy as np
import pandas as pd
import pytest

import centrality
from centrality import FUSE, Chain
from centrality.apps import cli
from centrality.apps.explorer.view import view_of
from centrality.bulk.adapter import Adapter
from centrality.model.reader import reader_of
from centrality.representations import Table
from centrality.representations.base import as_arrow
from centrality.tables.columns import NEW_KIND, DataNote
from tests.properties.test_given import houses
from tests.service.test_service import app as app  # the fixture
from tests.service.test_service import score

CONTEXT = "size,city"
NAMES = "size, city"


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Return houses, the first of which, outside the city, has the price of one within."""
    found = houses(400)
    found.loc[0, ["price", "size", "city"]] = [320e3, 80.0, 0.0]
    return found


@pytest.fixture(scope="module")
def model(rows) -> FUSE:
    return FUSE(random_state=0, max_steps=100, given=["size", "city"]).fit(rows)


@pytest.fixture(scope="module")
def folder(rows, model, tmp_path_factory):
    """Return a folder with the rows, a model of them, and three rows of which one is of no kind that was seen."""
    folder = tmp_path_factory.mktemp("given")
    rows.to_csv(folder / "rows.csv", index=False)
    model.save(folder / "model.safetensors")
    rows[:3].assign(size=[80.0, 80.0, 900.0]).to_csv(folder / "new.csv", index=False)
    return folder


def run(capsys, *arguments: object) -> dict:
    assert cli.main([str(argument) for argument in arguments] + ["--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["rank", "detect", "explain"])
def test_commands_that_fit_by_themselves_take_a_context(folder, capsys, command):
    more = ["--false-positives", 4] if command == "detect" else ["--top", 3]
    found = run(capsys, command, folder / "rows.csv", "--given", CONTEXT, *more)
    odd = {"rank": "peripheral", "detect": "found", "explain": "rows"}[command]
    assert found[odd][0]["row"] == 0
    assert {reason["feature"] for row in found[odd] for reason in row["reasons"]} <= {"price", "year"}


@pytest.mark.slow
@pytest.mark.parametrize("command", [["rank", "--top", 1], ["pick", "--typical", 2]])
def test_groups_may_be_the_context(folder, capsys, command):
    """The column of the groups is left out of what is learned, unless it says of which kind a row is."""
    name, *options = command
    found = run(capsys, name, folder / "rows.csv", *options, "--given", CONTEXT, "--by", "city")
    chosen = [row for group in found["groups"] for row in group["central"]] if name == "rank" else found["picked"]
    assert {float(row["holds"]["city"]) for row in chosen} == {0, 1}


def test_a_model_that_knows_its_context_is_given_none(folder, capsys):
    assert cli.main(["rank", str(folder / "model.safetensors"), str(folder / "rows.csv"), "--given", "size"]) == 2
    assert "--given is for DATA without a model" in capsys.readouterr().err


@pytest.mark.slow
def test_drift_of_two_files_is_that_of_behaviours_given_the_context(folder, rows, capsys):
    """Only large houses, at the price of large houses: prices changed, and given the size they did not."""
    large = houses(2000, seed=1).query("size > 110")[["price", "size", "city"]]
    houses(2000)[["price", "size", "city"]].to_csv(folder / "old.csv", index=False)
    large.to_csv(folder / "large.csv", index=False)
    pooled = run(capsys, "drift", folder / "old.csv", folder / "large.csv")
    given = run(capsys, "drift", folder / "old.csv", folder / "large.csv", "--given", CONTEXT)
    assert any(change.startswith("price") for change in pooled["changes"])
    assert not any(change.startswith("price") for change in given["changes"])


def test_inspect_says_what_is_given(folder, capsys):
    assert cli.main(["inspect", str(folder / "model.safetensors")]) == 0
    assert "given  size, city" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["score", "rank", "explain"])
def test_a_new_kind_is_said_in_one_line(folder, tmp_path, capsys, command):
    output = ["-o", str(tmp_path / "scores.csv")] if command == "score" else []
    assert cli.main([command, str(folder / "model.safetensors"), str(folder / "new.csv"), *output]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "no such kind was seen" in line]
    assert len(said) == 1
    assert "1 of 3 rows" in said[0]


@pytest.mark.slow
def test_the_ranking_of_a_frame_takes_a_context(rows):
    found = centrality.rank(rows, given=["size", "city"], top=3)
    assert found["row"].iloc[0] == 0
    assert "typically" in found["reasons"].iloc[0]
    by_city = centrality.rank(rows, given=["size", "city"], by="city", top=1)
    assert set(by_city["city"]) == {0, 1}
    assert 0 in set(by_city["row"])


def test_blocks_of_rows_count_new_kinds_together(model, rows):
    adapter, table = Adapter(model, list(rows)), as_arrow(rows)
    far = rows.assign(size=900.0)
    for block in (far[:2], far[2:5]):
        adapter.vectors(as_arrow(block))
    adapter.vectors(table)
    assert adapter.unreadable.cells == {NAMES: {NEW_KIND: 5}}
    adapter.require_readable()  # many new kinds are no reason to stop


@pytest.mark.slow
def test_a_service_scores_as_the_model_does_and_says_what_is_new(app, model, rows):
    asked = rows[:3].assign(size=[80.0, 80.0, 900.0])
    found = score(app(model), rows=asked.to_dict("records"))
    with pytest.warns(UserWarning, match="no such kind was seen"):
        np.testing.assert_allclose(found["centrality"], model.centrality(asked), atol=1e-6)
    assert found["unreadable"] == {NAMES: {NEW_KIND: 1}}
    explained = score(app(model), rows=asked[:1].to_dict("records"), explain=True)
    parts = [explained[f"contribution_{name}"][0] for name in rows]
    np.testing.assert_allclose(parts, model.explain(asked[:1])[0], atol=1e-6)


@pytest.mark.parametrize("named", [True, False])
def test_a_page_tries_other_cells_among_the_kind_of_the_row(rows, named):
    held = rows if named else rows.to_numpy()
    model = FUSE(random_state=0, max_steps=50, given=[2, 3]).fit(held)
    view, changed = view_of(model, held, on="pca"), rows[:1].assign(price=rows["price"].to_numpy()[1])
    assert view.live is not None
    units = view.live.borrowed(0, 1, [model.fitted_.features[0]])[0]
    expected = model.fitted_.units(reader_of(model).vectors(changed if named else changed.to_numpy()))[0]
    np.testing.assert_allclose(units, expected, atol=1e-4)


def test_a_table_with_a_context_says_new_kinds_beside_cells(rows):
    words = rows.assign(city=rows["city"].map({0.0: "country", 1.0: "city"}))
    chain = Chain(Table(), FUSE(random_state=0, max_steps=20, given=["size", "city"])).fit(words)
    adapter = Adapter(chain, list(words))
    new = words[:30].copy()
    new.loc[3, "city"] = "moon"
    adapter.vectors(as_arrow(new))
    assert adapter.unreadable.cells[NAMES] == {NEW_KIND: 1}
    assert adapter.unreadable.rows == 30
    with pytest.warns(DataNote) as said:
        chain.centrality(new)
    assert ["no such kind was seen" in str(each.message) for each in said] == [True]  # once, and nothing counts against
