"""`centrality.copies`: exact copies, near ones, and rows that are the same but for one column."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from benchmarks._chance_tables import tables_without_copies
from PIL import Image

from centrality import copies
from centrality._internal.checks import InputError
from centrality.selection.copies import CopyGroup, likeness_by_model, of_images, of_texts, vectors_of_table
from tests.conftest import quick


@pytest.fixture
def frame():
    """300 rows of a number, a category with gaps, and a day; then copies: 300 of 5, 301 of 7, 302 of 8, 303 of 9."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=300),
            "weight": rng.normal(size=300),
            "colour": rng.choice(["red", "blue", None], 300),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 5_000, 300), "D"),
        }
    )
    frame = pd.concat([frame, frame.iloc[[5, 7, 8, 9]]], ignore_index=True)
    frame.loc[301, "colour"] = "green"
    frame.loc[302, "weight"] = 77.0
    frame.loc[303, ["size", "weight"]] += 1e-5
    return frame


@pytest.mark.parametrize("kind", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "Arrow"])
def test_the_three_kinds_are_found_in_a_table_with_gaps_and_categories(frame, kind):
    found = {(group.kind, group.rows): sorted(group.differs) for group in copies(kind(frame))}
    assert found == {
        ("exact", (5, 300)): [],
        ("one column", (7, 301)): ["colour"],
        ("one column", (8, 302)): ["weight"],
        ("near", (9, 303)): ["size", "weight"],
    }


def test_the_differing_cells_are_shown(frame):
    group = next(group for group in copies(frame) if group.rows == (8, 302))
    assert group.differs == {"weight": [frame.loc[8, "weight"], 77.0]}
    assert str(group).endswith("| 77")


def test_of_groups_all_but_the_first_row_may_go_and_a_row_knows_its_copies(frame):
    found = copies(frame)
    assert found.to_drop().tolist() == [300, 303]
    assert found.to_drop(["one column"]).tolist() == [301, 302]
    assert found.of(5) == [300]
    assert found.of(301) == [7]
    assert found.of(0) == []
    assert found.summary() == (
        "304 rows: 2 rows in 1 group are exact copies; 4 rows in 2 groups are the same but for one column; "
        "2 rows in 1 group are near copies."
    )


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_rows_hold_no_copies(n):
    found = copies(np.random.default_rng(0).normal(size=(n, 3)))
    assert len(found) == 0
    assert found.summary() == f"{n} row{'' if n == 1 else 's'}: no copies."


def test_constant_rows_are_exact_copies_of_each_other():
    found = copies(np.ones((30, 2)))
    assert [(group.kind, group.rows) for group in found] == [("exact", tuple(range(30)))]


def test_constant_columns_change_nothing():
    X = np.random.default_rng(0).normal(size=(200, 4))
    X[50], X[60, :3] = X[40], X[41, :3]
    expected = [(group.kind, group.rows) for group in copies(X)]
    wider = pd.DataFrame(X).assign(one=1.0, word="x", gap=None)
    wider.columns = wider.columns.astype(str)
    assert [(group.kind, group.rows) for group in copies(wider)] == expected
    assert expected == [("exact", (40, 50)), ("one column", (41, 60))]


def test_data_of_few_values_has_exact_copies_only():
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.choice(["a", "b", "c"], 600) for name in "pqrstu"})
    assert {group.kind for group in copies(table)} == {"exact"}


def test_near_copies_are_told_in_every_unit():
    X = np.random.default_rng(0).normal(size=(300, 5))
    X[9] = X[5] + 1e-4
    for unit in (1e-6, 1.0, 1e6):
        assert [(group.kind, group.rows) for group in copies(X * [unit, 1, 1, 1, 1])] == [("near", (5, 9))]


def sentences(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 6)) for _ in range(300)]
    return [" ".join(rng.choice(words, 12)) for _ in range(n)]


def test_texts_typed_anew_are_near_copies():
    texts = sentences(150)
    retyped = texts[4].upper(), texts[5] + " !", texts[6][:20] + texts[6][20] + texts[6][20:]
    found = copies([*texts, *retyped, texts[7]])
    assert {group.rows for group in found} == {(4, 150), (5, 151), (6, 152), (7, 153)}
    assert next(group.kind for group in found if group.rows == (7, 153)) == "exact"


def pictures(n: int) -> list[Image.Image]:
    """Return pictures of a few soft blots each."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 255, (n, 6, 6, 3), dtype=np.uint8)
    return [Image.fromarray(each).resize((64, 64), Image.Resampling.BICUBIC) for each in coarse]


def encoded(picture: Image.Image, kind: str, **how: int) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **how)
    return file.getvalue()


def test_an_image_that_cannot_be_read_is_named(tmp_path):
    paths = [tmp_path / f"{number}.png" for number in range(25)]
    for path, picture in zip(paths, pictures(25), strict=True):
        picture.save(path)
    paths[1].write_bytes(b"no image")
    with pytest.raises(InputError, match=r"1\.png cannot be read as an image: it is no PNG"):
        copies([str(path) for path in paths])


def test_images_encoded_anew_or_resized_are_near_copies():
    images = pictures(60)
    again = [encoded(images[3], "JPEG", quality=70), encoded(images[4].resize((48, 48)), "PNG")]
    found = copies([*(encoded(image, "PNG") for image in images), *again, encoded(images[5], "PNG")])
    assert {(group.kind, group.rows) for group in found} == {("near", (3, 60)), ("near", (4, 61)), ("exact", (5, 62))}


def test_a_model_says_how_alike_rows_are():
    X = np.random.default_rng(0).normal(size=(200, 3))
    X[9] = X[5] + 1e-5
    model = quick().fit(X)
    assert [(group.kind, group.rows) for group in copies(X, model=model)] == [("near", (5, 9))]


def test_a_long_group_is_shown_by_its_first_rows_and_columns():
    group = CopyGroup("near", tuple(range(20)), {f"c{j}": list(range(20)) for j in range(9)})
    assert group.numbers() == "0, 1, 2, 3, 4, 5, 6, 7, ..."
    assert group.differences().startswith("c0 0 | 1 | 2 | 3; c1")
    assert group.differences().endswith("and 5 more columns")
    assert CopyGroup("one column", (1, 2), {"a": [None, "x" * 50]}).differences() == "a (missing) | " + "x" * 39 + "…"


def test_spaces_in_which_cells_differ_are_seen():
    frame = pd.DataFrame({"fuel": ["oil", "oil ", "gas"] * 30, "n": np.random.default_rng(0).normal(size=90).round(6)})
    frame.loc[1, "n"] = frame.loc[0, "n"]
    (group,) = copies(frame)
    assert group.differences() == "fuel 'oil' | 'oil '"


def test_long_texts_are_shown_where_they_differ():
    start = "the same words again and again until at last one of them is "
    assert CopyGroup("near", (0, 1), {"text": [start + "red", start + "blue"]}).differences().endswith("is blue'")


def test_columns_that_seem_to_name_the_rows_are_named_and_others_are_not():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(200), "D")
    frame = pd.DataFrame({"id": [f"A{k}" for k in range(200)], "day": days.strftime("%Y-%m-%d")})
    frame = frame.assign(number=np.arange(10_000, 10_200), price=[f"${k}.50" for k in range(200)])
    frame["size"] = np.random.default_rng(0).normal(size=200)
    frame.loc[9, ["id", "number"]] = frame.loc[8, ["id", "number"]]
    found = copies(frame)
    assert found.identifiers == ["id", "number"]
    assert "id, number were compared too" in found.summary()
    assert copies(frame[["id"]]).identifiers == []  # all there is


def test_seconds_in_which_cells_differ_are_shown():
    stamps = [pd.Timestamp("2024-01-01 00:01:07"), pd.Timestamp("2024-01-01 00:01:30")]
    assert CopyGroup("near", (0, 1), {"when": stamps}).differences() == "when 2024-01-01 00:01:07 | 2024-01-01 00:01:30"


def test_numbers_that_look_alike_are_shown_with_all_digits():
    assert CopyGroup("near", (0, 1), {"x": [0.12345, 0.12346]}).differences() == "x 0.12345 | 0.12346"


def test_whole_numbers_that_doubles_cannot_tell_apart_are_not_alike():
    numbers = np.arange(2**53, 2**53 + 500)
    assert len(copies(pd.DataFrame({"id": numbers, "same": 1}))) == 0


def test_lists_and_structures_are_compared_by_what_they_hold():
    vectors = np.random.default_rng(0).normal(size=(60, 9))
    vectors[7] = vectors[3]
    rows = pa.table({"vector": list(vectors), "note": [{"number": k % 7} for k in range(60)]})
    rows = rows.set_column(1, "note", rows["note"].take([3 if k == 7 else k for k in range(60)]))
    assert [(group.kind, group.rows) for group in copies(rows)] == [("exact", (3, 7))]


@pytest.fixture
def photos(tmp_path):
    """25 pictures in files; the last, without an ending, is a copy of photo 3."""
    paths = [tmp_path / f"{number}.png" for number in range(24)] + [tmp_path / "scan"]
    for path, picture in zip(paths, pictures(24), strict=False):
        picture.save(path)
    paths[-1].write_bytes(paths[3].read_bytes())
    return [str(path) for path in paths]


def test_an_image_with_an_unknown_ending_is_one_all_the_same_and_groups_name_the_files(photos):
    (group,) = copies(photos)
    assert (group.kind, group.rows, group.names) == ("exact", (3, 24), (photos[3], photos[24]))
    assert str(group) == f"exact  {photos[3]}, {photos[24]}"


@pytest.mark.parametrize("damage", ["no image", "a bomb", "missing"])
def test_images_that_cannot_be_read_are_skipped_if_wanted_and_counted(photos, damage):
    broken = photos[5]
    if damage == "missing":
        broken = photos[5] = photos[5] + ".gone.png"
    elif damage == "a bomb":
        Image.new("1", (30_000, 30_000)).save(broken)
    else:
        Path(broken).write_bytes(b"no image")
    with pytest.raises(InputError, match="cannot be read as an image"):
        copies(photos)
    found = copies(photos, corrupt="skip")
    assert [group.rows for group in found] == [(3, 24)]
    assert found.skipped == [broken]
    assert found.summary().endswith(f"1 image could not be read: {broken!r}.")


def test_a_wrong_word_for_images_that_cannot_be_read_is_refused():
    with pytest.raises(InputError, match="corrupt must be one of refuse, skip"):
        copies(np.ones((30, 2)), corrupt="leave")


def test_moments_beyond_all_calendars_are_compared_and_shown():
    """Milliseconds that were stored as seconds, of the year 55,969."""
    rng = np.random.default_rng(0)
    when = pa.array(1_700_000_000_000 + np.append(np.arange(100), 500) * 10**9, pa.timestamp("s"))
    X = rng.normal(size=(101, 2))
    X[100] = X[3]
    (group,) = copies(pa.table({"when": when, "a": X[:, 0], "b": X[:, 1]}))
    assert (group.kind, group.rows) == ("one column", (3, 100))
    assert [str(value)[:2] for value in group.differs["when"]] == ["55", "71"]


def test_one_text_is_no_list_of_texts():
    with pytest.raises(InputError, match="Several items were wanted, for example a list, got one str"):
        copies("abc")


def test_columns_of_numbers_count_alike_whatever_their_units():
    X = np.random.default_rng(0).normal(size=(200, 2))
    small, large = (vectors_of_table(pa.table({"a": X[:, 0], "b": X[:, 1] * unit}))[0] for unit in (1.0, 1e6))
    np.testing.assert_allclose(small, large, rtol=1e-4, atol=1e-5)


def test_a_wild_cell_leaves_the_other_rows_their_differences():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[0, 0] = 1e9
    Z, _ = vectors_of_table(pa.table({"a": X[:, 0], "b": X[:, 1]}))
    assert len(np.unique(Z[:, 0])) == 200


def test_noise_in_a_column_that_is_zero_but_for_a_few_rows_stays_small():
    """The column's own values, not those of the noise in other rows, say what is large in it."""
    X = np.zeros((500, 2))
    X[:, 0] = np.random.default_rng(0).normal(size=500)
    X[:10, 1], X[10:40, 1] = 5.0, 1e-3
    Z, _ = vectors_of_table(pa.table({"a": X[:, 0], "b": X[:, 1]}))
    assert np.abs(Z[10:40, 1] - Z[-1, 1]).max() < 1e-2 < 1 < Z[0, 1] - Z[-1, 1]


def test_tables_with_gaps_and_words_have_finite_vectors():
    Z, _ = vectors_of_table(pa.table({"a": [1.0, None, 3.0] * 10, "b": ["x", "y", None] * 10}))
    assert len(Z) == 30
    assert np.isfinite(Z).all()
    assert np.linalg.norm(Z[0] - Z[3]) < 1e-6 < np.linalg.norm(Z[0] - Z[1])


def test_case_and_spaces_of_texts_do_not_count_and_letters_do():
    Z = of_texts(["A long  day", "a long day", "a long dav", "quite another thing", None])
    apart = np.linalg.norm(Z - Z[0], axis=1)
    assert apart[1] == pytest.approx(0, abs=1e-6)
    assert apart[1] < apart[2] < apart[3]
    assert np.isfinite(Z).all()


def test_a_resized_image_is_nearly_what_it_was():
    coarse = np.random.default_rng(0).integers(0, 255, (2, 4, 4, 3), dtype=np.uint8)
    first, second = (Image.fromarray(each).resize((64, 64), Image.Resampling.BICUBIC) for each in coarse)
    Z = of_images([first, first.resize((40, 40)), second])
    assert np.linalg.norm(Z[0] - Z[1]) < 0.1 * np.linalg.norm(Z[0] - Z[2])


def test_a_model_shows_rows_as_its_network_sees_them():
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 100, 1e4]
    Z = likeness_by_model(quick().fit(X), X)
    assert Z.shape == X.shape
    assert Z.std(0).max() < 3 * Z.std(0).min()  # in comparable units


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 2000])
def test_what_rows_share_by_chance_makes_no_near_copies(n):
    """Of 100 such tables one may hold a false call, at a rate of 1%: here are 19 of each size."""
    called = {name: len(copies(table).to_drop(["near"])) for name, table in tables_without_copies(n, seed=0)}
    assert sum(count > 0 for count in called.values()) <= 1, called


@pytest.mark.parametrize("name", ["stamps and categories", "a census", "counts and a number"])
def test_rows_typed_twice_are_found_beside_what_others_share(name):
    table = dict(tables_without_copies(500, seed=1))[name]
    number = table.select_dtypes("number").columns[-1]
    again = table.iloc[:20].copy()
    again[number] += 1e-4 * table[number].std()
    found = copies(pd.concat([table, again], ignore_index=True))
    pairs = {(row, 500 + row) for row in range(20)}
    assert len(pairs & {group.rows for group in found}) >= 19
    assert len({group.rows for group in found} - pairs) <= 1
