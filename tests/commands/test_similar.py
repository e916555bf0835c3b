"""centrality similar: rows like a row, a phrase or a picture."""

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import tables
from tests.commands.said import as_json, refused, said

WORDS = (
    ["bright", "bulb", "shade", "light", "warm", "desk", "glow", "switch", "reading", "evening"],
    ["bread", "slot", "crisp", "crumbs", "browning", "kitchen", "breakfast", "lever", "heat", "slices"],
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """520 rows: a lamp has a text about light and a bright picture, a toaster one about bread and a dark picture."""
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    kinds = rng.integers(2, size=520)
    common = ["a", "very", "good", "thing", "to", "have", "and", "give"]
    for i, kind in enumerate(kinds):
        pixels = np.full((8, 8, 3), 30, dtype=np.uint8)
        pixels[2:5] = 220 if kind == 0 else 60
        pixels += rng.integers(0, 9, pixels.shape, dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{i}.png")
    rows = {
        "picture": [f"{i}.png" for i in range(520)],
        "text": [" ".join([*rng.permutation(common), *rng.choice(WORDS[kind], 5)]) for kind in kinds],
        "price": rng.normal(size=520),
        "kind": kinds,
    }
    tables.write(pa.table(rows), folder / "shop.csv")
    return folder / "shop.csv"


@pytest.mark.parametrize(("words", "kind"), [("a bright light", 0), ("crumbs of bread", 1)])
def test_a_phrase_finds_texts_about_it(shop, capsys, words, kind):
    found = as_json(capsys, "similar", shop, "--columns", "text,price", "--phrase", words, "--top", "5")
    assert [row["holds"]["kind"] for row in found["similar"]] == [kind] * 5


@pytest.mark.parametrize("like", [["--row", "3", "--block", "picture"], ["--picture", "3.png"]])
def test_a_picture_finds_pictures_like_it(shop, capsys, like):
    like = [str(shop.parent / word) if word.endswith(".png") else word for word in like]
    found = as_json(capsys, "similar", shop, "--columns", "picture,price", *like, "--top", "5")
    kinds = tables.read(shop)["kind"].to_pylist()
    assert [row["holds"]["kind"] for row in found["similar"]] == [kinds[3]] * 5
    # The row itself is not like itself; the file, which is no row, is like the row that has it.
    assert (found["similar"][0]["row"] == 3) == ("--picture" in like)


def test_the_rows_are_shown_and_written_in_their_order(shop, capsys, tmp_path):
    text = said(capsys, "similar", shop, "--row", "3", "--top", "2", "-o", tmp_path / "like.csv")
    assert text.startswith("Most like row 3, of 520 rows")
    rows = tables.read(tmp_path / "like.csv")["row"].to_pylist()
    assert len(rows) == 2
    assert 3 not in rows
    assert all(f"{row}" in text for row in rows)


def test_vectors_in_a_file_of_their_own_are_compared(capsys, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(60, 12))
    vectors[7] = vectors[40] + 0.01
    np.save(tmp_path / "v.npy", vectors)
    tables.write(pa.table({"id": [f"r{i}" for i in range(60)]}), tmp_path / "rows.csv")
    options = [tmp_path / "v.npy", "--with", tmp_path / "rows.csv", "--row", "7", "--top", "1"]
    assert as_json(capsys, "similar", *options)["similar"][0]["holds"]["id"] == "r40"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--row", "520"], "--row counts from 0 to 519 here, got 520"),
        (["--picture", "none.png"], "--picture wants a file with a picture, there is none at none.png"),
        (["--columns", "price,kind", "--phrase", "light"], "A column of long texts to look for a phrase was wanted"),
        (["--columns", "text,price", "--phrase", "qwxz"], "'qwxz' is like nothing in column 'text': none of its words"),
        (["--columns", "text,price", "--phrase", "x", "--block", "price"], "block must be a column of long texts"),
    ],
)
def test_what_cannot_be_found_is_said(shop, capsys, options, message):
    assert message in refused(capsys, "similar", shop, *options)


def test_a_model_of_plain_numbers_has_no_parts_to_compare(folder, capsys):
    assert "reads rows of numbers as they are: leave it out" in refused(
        capsys, "similar", folder / "m.safetensors", folder / "rows.csv", "--row", "3"
    )
