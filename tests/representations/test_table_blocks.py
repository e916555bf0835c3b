"""Rows of pictures, texts, vectors and attributes: each part weighs as one, and what does not fit together is odd."""

import io
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image

from centrality import Chain, load
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.representations import Table
from centrality.representations.blocks import REST
from centrality.selection.rank import how_read
from centrality.tables import TableError
from centrality.tables.columns import ABSENT, EMPTY, NO_PICTURE, NO_VECTOR, DataNote
from tests.conftest import quick

NAMES = ("lamp", "toaster")
WORDS = (
    ["bright", "bulb", "shade", "light", "warm", "desk", "glow", "switch", "reading", "evening"],
    ["bread", "slot", "crisp", "crumbs", "browning", "kitchen", "breakfast", "lever", "heat", "slices"],
)
SWAPPED = 7  # the row whose name is the other one


def striped(kind: int, rng: np.random.Generator) -> np.ndarray:
    """A picture of a horizontal stripe, or of a vertical one, somewhere."""
    pixels = np.full((16, 16, 3), 30, dtype=np.uint8)
    start = int(rng.integers(2, 6))
    if kind:
        pixels[start : start + 6] = [200, 40, 40]
    else:
        pixels[:, start : start + 6] = [40, 200, 40]
    return pixels + rng.integers(0, 20, pixels.shape, dtype=np.uint8)


@pytest.fixture(scope="module")
def products() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 520
    kinds = rng.integers(2, size=n)
    common = ["a", "very", "good", "thing", "to", "have", "and", "to", "give"]
    return pd.DataFrame(
        {
            "picture": [striped(kind, rng) for kind in kinds],
            "text": [" ".join([*rng.permutation(common), *rng.choice(WORDS[kind], 5)]) for kind in kinds],
            "embedding": list(rng.normal(size=(n, 12)) + 3 * kinds[:, None]),
            "name": [NAMES[kind if row != SWAPPED else 1 - kind] for row, kind in enumerate(kinds)],
            "price": rng.lognormal(3, 0.3, n),
        }
    )


@pytest.fixture(scope="module")
def model(products) -> Chain:
    return Chain(Table(), quick(max_steps=200)).fit(products)


def test_each_column_says_what_it_is_read_as(model):
    said = model.representation_.describe()
    assert said["picture"] == "picture, by its edges and colours: 624 numbers, weighed as one"
    assert said["text"].startswith("long text: ")
    assert said["embedding"] == "vector of 12 numbers, weighed as one"
    assert how_read(model) == "as a table: 1 picture, 1 long text, 1 vector, 1 category, 1 number"


def test_a_block_of_a_thousand_numbers_has_one(model):
    names = model.representation_.get_feature_names_out().tolist()
    assert names[:3] == ["picture", "text", "embedding"]
    assert len(names) == 3 + 2 + 1 + 6  # blocks, levels, the price, and all pairs of three blocks and the rest


def test_a_row_is_odd_as_a_combination_though_each_part_is_ordinary(model, products):
    odd = model.blocks(products.iloc[[SWAPPED]]).iloc[0]
    assert odd[["picture", "text", "embedding", REST]].max() < 50
    for part in ("picture", "text", "embedding"):
        assert odd[f"{part} and {REST}"] > 1000
    assert odd["picture and text"] < 50
    assert model.score_samples(products).argmin() == SWAPPED
    first = model.reasons(products.iloc[[SWAPPED]], top=1)[0][0]
    assert first.feature.endswith(f" and {REST}")
    assert str(first.value).startswith("go together as badly as 1 in ")


def test_blocks_are_a_frame_of_the_kind_that_came_in(model, products):
    assert model.blocks(products.iloc[5:9]).index.tolist() == [5, 6, 7, 8]
    arrow = pa.Table.from_pylist(products.iloc[5:9].assign(picture=None).to_dict("records"))
    with pytest.warns(DataNote, match="is missing"):
        assert model.blocks(arrow).column_names[0] == "whole"


def test_a_model_without_blocks_says_so():
    rows = pd.DataFrame({"x": np.arange(30.0), "y": ["a", "b", "c"] * 10})
    chain = Chain(Table(), quick()).fit(rows)
    with pytest.raises(InputError, match="reads no pictures, long texts or vectors"):
        chain.blocks(rows)
    with pytest.raises(TableError, match="There are none"):
        chain.like(rows, rows, block="x")


def test_a_saved_model_scores_the_same_and_still_knows_its_blocks(model, products, tmp_path):
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.centrality(products), model.centrality(products))
    pd.testing.assert_frame_equal(again.blocks(products), model.blocks(products))


def test_more_like_this_looks_at_the_block_that_is_named(model, products):
    rows = products.iloc[[SWAPPED]]
    of_picture = model.like(rows, products, top=20, block="picture")[0]
    assert SWAPPED not in of_picture
    assert set(products["name"].iloc[of_picture]) == set(NAMES) - set(rows["name"])
    assert model.like(products.iloc[:3], products, top=4).shape == (3, 4)


def test_a_missing_block_is_no_fault_and_the_row_is_scored_by_the_rest(model, products):
    rows = products.iloc[20:60].copy()
    rows.loc[25, "embedding"] = None
    _, issues = model.representation_.examined(rows)
    assert issues.cells["embedding"] == {ABSENT: 1}
    with pytest.warns(DataNote, match="in 1 of 40 rows the value is missing; the row is scored by the rest"):
        odd = model.blocks(rows).iloc[5]
    assert np.isnan(odd["embedding"])
    assert np.isnan(odd[f"embedding and {REST}"])
    assert odd["whole"] < 10


def test_vectors_of_another_length_or_with_gaps_count_against_their_rows(model, products):
    rows = products.iloc[20:60].copy()
    rows.at[21, "embedding"] = np.arange(3.0)
    rows.at[22, "embedding"] = np.full(12, np.nan)
    _, issues = model.representation_.examined(rows)
    assert issues.cells["embedding"] == {NO_VECTOR: 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        scores = model.centrality(rows)
    assert scores[[1, 2]].max() < np.median(scores)


def test_a_column_whose_vectors_come_from_two_encoders_is_refused():
    rows = pa.table({"v": [[0.0] * 8, [0.0] * 9] * 20, "x": range(40)})
    with pytest.raises(TableError, match=r"lists of equally many numbers were wanted, got 20 of 8 and 20 of 9"):
        Table().fit(rows)


def test_a_text_that_says_nothing_is_odd(model, products):
    rows = products.iloc[20:60].copy()
    rows.loc[21, "text"] = "  ... "
    _, issues = model.representation_.examined(rows)
    assert issues.cells["text"] == {EMPTY: 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        assert model.centrality(rows)[1] < np.quantile(model.centrality(products.iloc[20:60]), 0.1)


def test_words_that_no_text_of_fitting_has_are_odd(model, products):
    row = products.iloc[[20]].assign(text="Der Tisch steht seit gestern hinter dem großen alten Haus am Fluss")
    assert model.blocks(row)["text"].iloc[0] > 100 > model.blocks(products.iloc[[20]])["text"].iloc[0]


def as_png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format="PNG")
    return file.getvalue()


def test_broken_and_blank_pictures_among_good_ones_stop_nothing(products):
    good = [as_png(picture) for picture in products["picture"]]
    blank = as_png(np.zeros((16, 16, 3), dtype=np.uint8))
    rows = pa.table({"picture": [b"broken", blank, None, *good[3:]], "name": products["name"]})
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", DataNote)
        chain = Chain(Table(), quick()).fit(rows)
        scores = chain.centrality(rows)
    said = {str(note.message) for note in notes if issubclass(note.category, DataNote)}
    assert any(NO_PICTURE in note for note in said)
    assert any(EMPTY in note for note in said)
    assert np.isfinite(scores).all()
    assert scores[1] < min(scores[0], scores[2])  # a blank one is odd, a missing one says nothing


def test_pictures_as_paths_bytes_pixels_and_images_are_read_alike(products, tmp_path):
    pixels = list(products["picture"])
    for number, picture in enumerate(pixels):
        Image.fromarray(picture).save(tmp_path / f"p{number:03}.png")
    spellings = {
        "paths": [f"p{number:03}.png" for number in range(len(pixels))],
        "bytes": [as_png(picture) for picture in pixels],
        "Hugging Face": [{"bytes": as_png(picture), "path": None} for picture in pixels],
        "pixels": pixels,
        "PIL": [Image.fromarray(picture) for picture in pixels],
    }
    vectors = {}
    for name, values in spellings.items():
        rows = pd.DataFrame({"picture": pd.Series(values, dtype=object), "price": products["price"]})
        vectors[name] = Table(folder=str(tmp_path)).fit_transform(rows)
    for name, found in vectors.items():
        np.testing.assert_array_equal(found, vectors["paths"], err_msg=name)


def test_names_of_pictures_that_are_nowhere_are_names_and_that_is_said(products):
    rows = pd.DataFrame({"picture": [f"p{row}.png" for row in range(520)], "price": products["price"]})
    table = Table(folder="/nowhere").fit(rows)
    assert table.describe()["picture"].startswith("left out: it looks like an identifier")
    assert table.doubts()["picture"] == (
        "none of its pictures could be read, such as 'p0.png': paths are taken from /nowhere"
    )


def test_the_terminal_finds_pictures_beside_the_file_and_scores_them_elsewhere(products, tmp_path, capsys):
    folder = tmp_path / "shop"
    folder.mkdir()
    for number, picture in enumerate(products["picture"]):
        Image.fromarray(picture).save(folder / f"p{number:03}.png")
    rows = products.assign(picture=[f"p{number:03}.png" for number in range(520)])[["picture", "name", "price"]]
    rows.to_csv(folder / "shop.csv", index=False)
    assert main(["fit", str(folder / "shop.csv"), "-o", str(tmp_path / "m.safetensors"), "--max-steps", "60"]) == 0
    assert "picture, by its edges and colours" in capsys.readouterr().out
    command = ["score", str(tmp_path / "m.safetensors"), str(folder / "shop.csv"), "-o", str(tmp_path / "s.csv")]
    assert main(command) == 0
    assert pd.read_csv(tmp_path / "s.csv")["centrality"].argmin() == SWAPPED


def test_vectors_written_as_text_are_those_of_lists(products):
    lists = pd.DataFrame({"embedding": products["embedding"], "price": products["price"]})
    written = lists.assign(embedding=[str(vector.tolist()) for vector in products["embedding"]])
    np.testing.assert_array_equal(Table().fit_transform(written), Table().fit_transform(lists))


def test_fixed_size_lists_are_vectors(products):
    vectors = np.stack(products["embedding"].to_list())
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), 12)
    lists = pa.table({"embedding": list(vectors), "price": products["price"]})
    rows = pa.table({"embedding": fixed, "price": products["price"]})
    np.testing.assert_array_equal(Table().fit_transform(rows), Table().fit_transform(lists))


def test_without_blocks_texts_are_words_and_lists_are_numbers(products):
    table = Table(blocks=False).fit(products[["text", "embedding", "price"]])
    assert table.describe()["text"].startswith("text of")
    assert table.describe()["embedding"] == "vector of 12 numbers, scaled together"
    assert table.severities(products) == {}


def test_vectors_and_texts_without_any_other_column_count_number_by_number(products):
    assert Table().fit(products[["embedding"]]).describe()["embedding"] == "vector of 12 numbers, scaled together"
    assert Table().fit(products[["text"]]).describe()["text"].startswith("text of")


def test_a_phrase_finds_the_texts_about_it_and_a_picture_those_that_look_like_it(model, products, tmp_path):
    about_light = products["text"].str.contains("bulb|shade|light|glow")
    assert about_light[model.like("the light of a bulb", products, top=5)[0]].all()
    pixels = products["picture"][11]
    Image.fromarray(pixels).save(tmp_path / "like.png")
    for picture in (Image.fromarray(pixels), tmp_path / "like.png", str(tmp_path / "like.png")):
        assert model.like(picture, products, top=1)[0, 0] == 11  # a picture is no row: its own is found
    assert 11 not in model.like(products.iloc[[11]], products, top=5, block="picture")


def test_a_phrase_without_a_known_word_and_a_model_without_texts_are_errors(model, products, tmp_path):
    with pytest.raises(InputError, match="'qwxz' is like nothing in column 'text': none of its words is in"):
        model.like("qwxz", products)
    with pytest.raises(InputError, match="it cannot be read as a picture, or shows nothing"):
        model.like(str(tmp_path / "nowhere.png"), products)
    with pytest.raises(InputError, match=r"to look for a phrase, got 'picture'\. There are 'text'"):
        model.like("light", products, block="picture")
    numbers = Chain(Table(), quick(max_steps=50)).fit(products[["price", "name"]])
    with pytest.raises(InputError, match="long texts to look for a phrase was wanted, but this model reads none"):
        numbers.like("light", products)


def test_a_block_that_is_odd_by_itself_is_named_and_not_its_pair(model, products):
    """A picture like no other goes together with nothing, but it is the picture that is to blame."""
    odd = products.iloc[[11]].copy()
    odd["picture"] = [np.random.default_rng(1).integers(0, 255, (16, 16, 3), dtype=np.uint8)]
    assert model.blocks(odd)["picture"].iloc[0] > 20
    assert model.reasons(odd, top=1)[0][0].feature == "picture"


def test_the_smallest_correction_says_which_part_to_look_at(model, products):
    odd = products.iloc[[11]].copy()
    odd["embedding"] = [np.full(12, 60.0)]
    (correction,) = model.smallest_correction(odd)
    assert correction.look_at[0] == "embedding"
    assert "look at embedding" in str(correction)
    assert "numbers" not in str(correction)


def test_the_smallest_correction_of_a_combination_names_the_two(model, products):
    (correction,) = model.smallest_correction(products.iloc[[SWAPPED]])
    assert set(correction.look_at) <= set(model.blocks(products.iloc[[SWAPPED]]).columns)
    assert any(" and " in part for part in correction.look_at)


def test_what_a_row_owes_to_its_parts_is_the_same_sum(model, products):
    """A contribution goes from a pair to a part, and none is lost: as many as there were add up to the same."""
    odd = products.iloc[[11]].copy()
    odd["embedding"] = [np.full(12, 60.0)]
    reasons = model.reasons(odd, top=20)[0]
    assert sum(reason.contribution for reason in reasons) == pytest.approx(model.explain(odd).sum(), abs=0.05)
