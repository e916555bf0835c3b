"""centrality copies: rows that occur twice, wholly or nearly."""

from pathlib import Path

import numpy as np
from PIL import Image

from centrality import tables
from tests.commands.said import as_json, refused, said


def test_copies_are_shown_with_what_differs_and_written_by_group(trees, capsys, tmp_path):
    text = said(capsys, "copies", trees / "rows.csv", "-o", tmp_path / "copies.csv")
    assert "2 rows in 1 group are exact copies" in text
    assert "| 1.25" in text
    written = tables.read(tmp_path / "copies.csv")
    assert written["row"].to_pylist() == [3, 198, 4, 199]
    assert written["group"].to_pylist() == [0, 0, 1, 1]
    assert written["kind"].to_pylist() == ["exact", "exact", "one column", "one column"]


def test_copies_compares_the_columns_that_are_named(trees, capsys):
    result = as_json(capsys, "copies", trees / "rows.csv", "--columns", "length,height")
    assert [(group["kind"], group["rows"]) for group in result["groups"]] == [("exact", [3, 198]), ("exact", [4, 199])]


def test_images_are_shown_by_the_names_of_their_files_and_a_broken_one_may_be_skipped(capsys, tmp_path):
    rng = np.random.default_rng(0)
    for number in range(24):
        pixels = rng.integers(0, 255, (6, 6, 3), dtype=np.uint8)
        Image.fromarray(pixels).resize((64, 64), Image.Resampling.BICUBIC).save(tmp_path / f"{number:02}.png")
    (tmp_path / "twin.png").write_bytes((tmp_path / "07.png").read_bytes())
    Image.new("1", (30_000, 30_000)).save(tmp_path / "bomb.png")
    assert "bomb.png cannot be read as an image" in refused(capsys, "copies", tmp_path)
    text = said(capsys, "copies", tmp_path, "--corrupt", "skip")
    assert "07.png, " in text
    assert "1 image could not be read" in text
    result = as_json(capsys, "copies", tmp_path, "--corrupt", "skip")
    (group,) = result["groups"]
    assert [Path(name).name for name in group["names"]] == ["07.png", "twin.png"]
    assert [Path(name).name for name in result["skipped"]] == ["bomb.png"]
