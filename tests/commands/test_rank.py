"""centrality rank: both ends of a ranking, of a file, a series or a folder of images."""

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import FUSE, Chain, load, tables
from centrality.apps.cli import main
from centrality.apps.commands._reading import in_words
from centrality.representations import Series
from tests.commands.said import as_json, said


def test_windows_of_one_event_stand_once_in_a_ranking(capsys, tmp_path):
    series = np.sin(np.arange(2000) / 5)
    series[700:720] += 4  # one event, and another
    series[1500:1520] -= 4
    model = Chain(Series(window=60, step=20), FUSE(random_state=0, max_steps=100))
    model.fit(pa.table({"value": series})).save(tmp_path / "m.safetensors")
    tables.write(pa.table({"value": series}), tmp_path / "series.csv")
    ranked = as_json(capsys, "rank", tmp_path / "m.safetensors", tmp_path / "series.csv", "--top", "2")
    moments = sorted(row["row"] for row in ranked["peripheral"])
    assert 640 <= moments[0] < 780
    assert 1440 <= moments[1] < 1580


def test_rank_shows_both_ends_of_each_class(trees, capsys):
    result = as_json(capsys, "rank", trees / "m.safetensors", trees / "rows.csv", "--by", "kind", "--top", "2")
    assert [(group["group"], group["rows"]) for group in result["groups"]] == [("ash", 101), ("birch", 99)]
    for group in result["groups"]:
        assert {row["holds"]["kind"] for row in group["central"] + group["peripheral"]} == {group["group"]}


@pytest.mark.slow
@pytest.mark.usefixtures("short_fits")
def test_a_folder_of_images_is_read_as_such_without_being_told(capsys, tmp_path):
    rng = np.random.default_rng(0)
    for number in range(30):
        pixels = np.full((8, 8, 3), 255) if number == 7 else rng.integers(0, 90, (8, 8, 3))
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"{number:02d}.png")
    result = as_json(capsys, "rank", tmp_path, "--top", "1")
    assert result["peripheral"][0]["holds"]["path"].endswith("07.png")


def test_a_context_that_is_misspelled_is_answered_with_the_one_that_was_meant(trees, capsys):
    assert main(["rank", str(trees / "rows.csv"), "--given", "knid"]) == 2
    assert "Did you mean 'kind'?" in capsys.readouterr().err


def test_small_reasons_are_said_to_count_together():
    small = {"feature": "a", "contribution": -0.01, "value": 3, "typical": 4}
    large = {"feature": "b", "contribution": -0.4, "value": 9, "typical": 1}
    assert in_words({"reasons": [small]}) == (
        "no column alone, but its values together; most of all: a 3, typically 4 (-0.01)"
    )
    assert in_words({"reasons": [large, small]}).startswith("b 9, typically 1 (-0.40)")
    assert in_words({"reasons": []}) == ""


def test_rows_whose_places_may_swap_are_shown_as_ties(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[7] = 9.0
    tables.write(pa.table({"a": X[:, 0], "b": X[:, 1]}), tmp_path / "rows.csv")
    command = ["rank", tmp_path / "rows.csv", "--top", "4", "--ties", "--quiet"]
    odd = as_json(capsys, *command)["peripheral"]
    assert odd[0]["places"] == [1, 1]
    assert all(first <= place <= last for place, (first, last) in enumerate((row["places"] for row in odd), 1))
    text = said(capsys, *command)
    assert ", place 1: " in text


def test_the_list_of_a_model_of_other_rows_has_a_certificate(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for name, values in (
        ("fine", rng.normal(size=(1000, 3))),
        ("new", np.concatenate([rng.normal(size=(400, 3)), rng.normal(size=(40, 3)) + 9])),
    ):
        tables.write(pa.table(dict(zip("abc", values.T, strict=True))), tmp_path / f"{name}.csv")
    model = tmp_path / "m.safetensors"
    fit = ["fit", str(tmp_path / "fine.csv"), "-o", str(model), "--holdout", "0.5", "--max-steps", "200", "--quiet"]
    assert main(fit) == 0
    capsys.readouterr()
    result = as_json(capsys, "rank", model, tmp_path / "new.csv", "--top", "40")
    rows = tables.read(tmp_path / "new.csv")
    chosen = rows.take(np.array([row["row"] for row in result["peripheral"]]))
    expected = load(model).certificate(chosen, among=440)
    assert expected.at_least > 0
    assert result["certificate"]["text"] == str(expected)
    assert f"The most peripheral: {expected}" in said(capsys, "rank", model, tmp_path / "new.csv", "--top", "40")
    low, high = result["peripheral"][0]["p_value_interval"]
    assert low <= result["peripheral"][0]["p_value"] <= high
    assert "certificate" not in as_json(capsys, "rank", tmp_path / "new.csv", "--quiet")
