"""Rows of pictures, texts, vectors and attributes on the page: shown as they are, odd parts marked, more like this."""

import io
import re

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import Chain
from centrality._internal.checks import InputError
from centrality.apps.explorer.content import column_of
from centrality.apps.explorer.header import Part
from centrality.apps.explorer.parts import MOST_ALIKE
from centrality.apps.explorer.payload import pack, readable_picture
from centrality.apps.explorer.questions import alike, exact_cells, selection_csv
from centrality.apps.explorer.view import explored, view_of
from centrality.representations import Table
from centrality.representations.blocks import REST
from tests.conftest import quick
from tests.explorer.pages import exported, settle, unpacked
from tests.explorer.test_access import AXE, RUN
from tests.explorer.test_payload import fits
from tests.representations.test_table_blocks import NAMES, SWAPPED, WORDS, striped

N = 520
NOISE, WITHOUT = 21, 5  # the row whose picture is like none, and the row that has none


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="module")
def products() -> pa.Table:
    rng = np.random.default_rng(0)
    kinds = rng.integers(2, size=N)
    pictures = [png(striped(kind, rng)) for kind in kinds]
    pictures[NOISE] = png(rng.integers(0, 256, (16, 16, 3), dtype=np.uint8))
    pictures[WITHOUT] = None
    common = ["a", "very", "good", "thing", "to", "have", "and", "to", "give"]
    return pa.table(
        {
            "photo": pa.array(pictures, pa.binary()),
            "words": [" ".join([*rng.permutation(common), *rng.choice(WORDS[kind], 5)]) for kind in kinds],
            "embedding": list(rng.normal(size=(N, 12)) + 3 * kinds[:, None]),
            "name": [NAMES[kind if row != SWAPPED else 1 - kind] for row, kind in enumerate(kinds)],
            "price": rng.lognormal(3, 0.3, N),
        }
    )


@pytest.fixture(scope="module")
def model(products) -> Chain:
    return Chain(Table(), quick(max_steps=200)).fit(products)


@pytest.fixture(scope="module")
def view(model, products):
    return explored(model, products, on="pca", title="Products")


@pytest.fixture(scope="module")
def address(view, serve) -> str:
    return serve(view)


def test_each_part_of_a_row_is_as_odd_as_blocks_says(view, model, products):
    blocks = model.blocks(products)
    assert [part.name for part in view.parts] == blocks.column_names[1:]
    assert [part.kind for part in view.parts[:5]] == ["picture", "text", "vector", "rest", "pair"]
    for part in view.parts:
        np.testing.assert_allclose(part.severity, blocks[part.name].to_numpy(), rtol=1e-6)  # of float32
    assert np.isnan(view.parts[0].severity[WITHOUT])


def test_the_header_says_where_the_parts_are(view):
    header, found = unpacked(pack(view, pictures=True, reasons=True))
    assert fits(header["parts"], list[Part])
    for stored, part in zip(header["parts"], view.parts, strict=True):
        np.testing.assert_array_equal(found["get"](stored["severity"]), part.severity)


def test_rows_of_one_part_have_none(mixed):
    model, table = mixed
    shown = view_of(model, table, on="pca")
    assert shown.parts == ()
    assert 7 not in alike(shown, 7, "")
    assert len(alike(shown, 7, "")) == MOST_ALIKE


def test_the_rows_most_like_one_are_those_that_like_names(view, model, products):
    one = products.slice(SWAPPED, 1)
    for part in ("photo", "words", "embedding", ""):
        wanted = model.like(one, products, top=MOST_ALIKE, block=part or None)[0]
        got = alike(view, SWAPPED, part)
        assert set(got) <= set(wanted) | {SWAPPED}
        assert len(set(wanted) - set(got)) <= 1  # in single precision the row itself may take a place


def test_like_by_something_that_is_no_part_says_which_there_are(view):
    with pytest.raises(InputError, match=r"one of photo, words, embedding, got 'price'"):
        alike(view, 0, "price")


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float32(), 12), pa.string()])
def test_a_vector_is_never_printed_as_numbers(kind):
    vectors = [[0.5] * 12, None, [0.25] * 12]
    written = [None if vector is None else str(vector) for vector in vectors]
    column = column_of("embedding", pa.array(written if pa.types.is_string(kind) else vectors, kind))
    assert column.levels == ("vector of 12 numbers",)
    assert column.values.tolist() == [1, 0, 1]


def test_a_vector_of_another_length_is_seen_and_a_place_of_two_numbers_is_read():
    assert column_of("v", pa.array([[0.5] * 12, [0.5] * 11])).levels == ("vector of 11 numbers", "vector of 12 numbers")
    assert column_of("place", pa.array([[1.0, 2.0], [3.0, 4.0]])).levels == ("[1.0, 2.0]", "[3.0, 4.0]")


def test_bytes_are_called_what_they_are(products):
    assert column_of("photo", products["photo"]).levels == ("picture",)
    assert column_of("code", pa.array([b"\x00\x01", None])).levels == ("bytes",)
    of_hugging_face = pa.array([{"bytes": products["photo"][0].as_py(), "path": None}, None])
    assert column_of("image", of_hugging_face).levels == ("picture",)


def test_a_page_in_a_file_does_not_hold_vectors_written_out(view):
    assert "embedding" not in {column.name for column in exact_cells(view, in_file=True)}
    assert "price" not in {column.name for column in exact_cells(view, in_file=True)}


def test_a_selection_as_csv_has_vectors_whole_and_pictures_by_name(view, products):
    text = selection_csv(view, {"rows": [0], "t": 0.5})
    assert text.splitlines()[1].split(",")[4] == '"picture"'
    assert str(products["embedding"][0].as_py()[0]) in text


def test_nobody_is_told_to_type_another_picture_or_vector(view):
    assert set(view.live.columns) == {"words", "name", "price"}


def test_the_picture_of_a_row_is_its_own_and_a_missing_one_is_none(view, products):
    full = readable_picture(view, 3, full=True)
    with Image.open(io.BytesIO(full)) as shown, Image.open(io.BytesIO(products["photo"][3].as_py())) as own:
        assert np.array_equal(np.asarray(shown), np.asarray(own))
    assert readable_picture(view, WITHOUT) is None


@pytest.mark.browser
def test_a_row_is_its_picture_its_words_and_its_cells_and_what_is_odd_is_marked(open_page, address):
    tab = open_page(f"{address}#row={SWAPPED}")
    tab.locator(".gallery .card").first.wait_for()
    card = tab.locator(".gallery li", has=tab.locator("span.hidden", has_text=re.compile(rf"^row {SWAPPED} $")))
    assert card.locator("img").count() == 1
    assert "odd as a combination: " in card.locator(".oddness").inner_text()
    assert "name" in card.locator(".cells").inner_text()
    assert "thing" in card.locator(".text").inner_text()
    fixed = tab.locator(".detail.fixed")
    parts = fixed.locator(".by-part li > span:first-child").all_inner_texts()
    assert parts[:4] == ["photo", "words", "embedding", REST]
    assert fixed.locator(".by-part li.odd").count() >= 1
    assert "vector of 12 numbers" in fixed.locator("dl").inner_text()


@pytest.mark.browser
def test_the_gallery_is_sorted_by_the_part_that_is_chosen_and_a_click_shows_the_row(open_page, address, view):
    tab = open_page(address)
    tab.get_by_label("In which order").select_option("oddest by photo")
    first = tab.locator(".gallery .card").first
    first.locator("img.odd").wait_for()
    oddest = int(np.nanargmax(view.parts[0].severity))
    assert first.locator(".hidden").inner_text() == f"row {oddest}"
    assert "odd as a picture (1 in " in first.inner_text()
    first.click()
    tab.locator(".detail.fixed", has_text=f"Row {oddest}").wait_for()


@pytest.mark.browser
def test_more_like_this_shows_rows_that_look_alike_and_selects_them(open_page, address, view):
    tab = open_page(f"{address}#row={SWAPPED}")
    tab.locator(".others").get_by_role("button", name="photo").click()
    cards = tab.locator("ol.alike .card")
    cards.first.wait_for()
    told = [int(re.search(r"row (\d+)", text).group(1)) for text in cards.locator(".foot").all_inner_texts()]
    assert told == alike(view, SWAPPED, "photo")
    tab.get_by_role("button", name="Select them").click()
    settle(tab)
    tab.locator(".drawer .said", has_text=str(len(told))).wait_for()
    tab.locator("ol.alike .card").first.click()
    tab.locator(".detail.fixed", has_text=f"Row {told[0]}").wait_for()


@pytest.mark.browser
def test_a_page_in_a_file_shows_parts_and_the_nearest_rows_without_a_host(open_page, view, tmp_path):
    tab = open_page(f"{exported(view, tmp_path)}#row={NOISE}&panel=review")
    tab.locator(".review .by-part li.odd").first.wait_for()
    assert "odd as a picture" in tab.locator(".review .oddness").inner_text()
    tab.locator(".review .others").get_by_role("button", name="as a whole").click()
    assert tab.locator("ol.alike img").count() == 5


@pytest.mark.browser
def test_a_row_without_a_picture_says_so(open_page, address):
    tab = open_page(f"{address}#row={WITHOUT}&panel=review")
    tab.locator(".review .by-part").wait_for()
    assert "no photo" in tab.locator(".review .oddness").inner_text()
    assert "missing" in tab.locator(".review .by-part li").first.inner_text()
    tab.problems.clear()  # the browser tells of a picture that is not there


@pytest.mark.browser
@pytest.mark.parametrize("colours", ["light", "dark", "forced"])
def test_axe_finds_nothing_in_parts_gallery_and_rows_alike(open_page, address, colours):
    if not AXE.exists():
        pytest.skip("There is no axe-core: run npm ci in web/.")
    how = {"forced_colors": "active"} if colours == "forced" else {"color_scheme": colours}
    tab = open_page(f"{address}#row={SWAPPED}", bypass_csp=True, reduced_motion="reduce", **how)
    tab.add_script_tag(path=AXE)
    tab.locator(".others").get_by_role("button", name="words").click()
    tab.locator("ol.alike .card").first.wait_for()
    settle(tab)
    assert tab.evaluate(RUN) == []
    tab.problems.clear()  # one of the rows has no picture
