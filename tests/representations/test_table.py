"""Mixed tables as numbers: every kind of column, gaps kept as information, every column weighing alike."""

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from centrality import Chain, load
from centrality.apps.cli import main
from centrality.network.scaling import LIMIT, SPREAD_OF_NORMAL
from centrality.representations import Table
from centrality.tables import TableError, read, write
from centrality.tables.columns import CHANGED, FILLED, MORE_GAPS
from tests.conftest import quick


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 400
    words = np.array(["red", "green", "small", "large", "old", "new", "wooden", "metal", "glass", "round"])
    return pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "height": np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(170, 10, n)),
            "smokes": rng.uniform(size=n) < 0.3,
            "city": rng.choice(["Rome", "Oslo", None], n, p=[0.6, 0.3, 0.1]),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), unit="D"),
            "seen": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d} {i % 24:02d}:30" for i in range(n)],
            "about": [" ".join(rng.choice(words, 5)) for _ in range(n)],
            "always": 1.0,
            "never": None,
        }
    )


@pytest.fixture(scope="module")
def fitted_table(people) -> Table:
    return Table().fit(people)


def test_describe_says_what_became_of_each_column(fitted_table):
    said = fitted_table.describe()
    assert said["key"] == "left out: it looks like an identifier: one word, different in every row"
    assert "% missing: filled with the median and marked" in said["height"]
    assert said["smokes"].startswith("number, scaled (median 0")
    assert said["city"] == "category, 3 levels, missing being one of them"
    assert said["since"].startswith("date: when")
    assert said["seen"].startswith("date (written as %Y-%m-%d %H:%M)")
    assert said["about"].startswith("text of")
    assert said["always"] == "left out: every value is 1"
    assert said["never"] == "left out: every value is missing"


def test_identifiers_of_which_some_repeat_are_left_out_and_words_that_often_do_are_not():
    codes = [f"K{7919 * k % 9973:04d}" for k in range(200)]
    often = [f"K{7919 * (k % 150) % 9973:04d}" for k in range(200)]  # three quarters are different
    said = Table().fit(pd.DataFrame({"x": range(200), "code": [*codes[:195], *codes[:5]], "often": often})).describe()
    assert said["code"] == "left out: it looks like an identifier: one word, different in nearly every row"
    assert said["often"].startswith("text of")


def test_no_row_is_dropped_and_every_used_column_has_about_one_unit_of_variance(people, fitted_table):
    Z = fitted_table.transform(people)
    assert Z.shape == (len(people), len(fitted_table.get_feature_names_out()))
    assert np.isfinite(Z).all()
    names, measured = fitted_table.get_feature_names_out(), fitted_table.measurements()
    np.testing.assert_allclose(Z[:, ~measured].mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(np.median(Z[:, measured], axis=0), 0, atol=1e-6)
    assert names[measured].tolist() == ["height", "smokes"]
    for column in fitted_table.columns_:
        block = Z[:, [name == column or name.startswith(f"{column} ") for name in names]]
        # A text's components have one, and so has its rarity; two values have no tails to be cut, see `scaling.py`.
        units = {"about": 2, "smokes": SPREAD_OF_NORMAL**2}.get(column, 1)
        # A tenth missing adds .1 * .9, less what it hides.
        assert block.var(0).sum() == pytest.approx(units, abs=0.12), column


def test_categories_by_number_are_those_by_name(people):
    by_name = people[["city", "height"]]
    by_number = by_name.assign(city=by_name["city"].astype("category"))
    expected = Table().fit(by_name)
    found = Table().fit(by_number)
    assert found.describe() == expected.describe()
    np.testing.assert_array_equal(found.transform(by_number), expected.transform(by_name))


def test_a_level_that_hardly_occurs_lies_as_far_off_as_a_number_that_is_as_rare():
    """Of a normal column, a value of density exp(-z²/2) = 1/1000 of the highest lies z = √(2 log 1000) off."""
    levels = pa.array([*"abcd" * 250, "B"][1:])
    table = Table().fit(pa.table({"level": levels, "x": np.arange(1000.0)}))
    Z = table.transform(pa.table({"level": ["a", "B"], "x": [499.5, 499.5]}))
    usual, slip = np.linalg.norm(Z, axis=1)
    assert slip == pytest.approx(np.sqrt(2 * np.log(1000)), rel=1e-5)
    assert usual < 1.1  # √(1 - ¼) over the deviation of four levels of a quarter each, √¾, is 1
    assert table.columns_ == ["level", "x"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pa.array([float("nan")] * 3), "left out: every value is missing"),
        (pa.array([None] * 3, pa.string()), "left out: every value is missing"),
        (pa.array([None] * 3, pa.timestamp("s")), "left out: every value is missing"),
        (pa.array(["Oslo"] * 3), "left out: every value is 'Oslo'"),
    ],
)
def test_a_column_that_says_nothing_is_left_out(values, said):
    table = Table().fit(pa.table({"x": [1.0, 2.0, 4.0], "empty": values}))
    assert table.describe()["empty"] == said
    assert table.columns_ == ["x"]


@pytest.mark.parametrize("unit", [1e-306, 1e-200, 1e200, 1e307])
def test_numbers_of_any_size_are_encoded_alike(unit):
    x = np.random.default_rng(0).normal(size=200)
    ordinary = Table().fit(pa.table({"x": x}))
    tiny_or_huge = Table().fit(pa.table({"x": x * unit}))
    np.testing.assert_allclose(
        tiny_or_huge.transform(pa.table({"x": x * unit})),
        ordinary.transform(pa.table({"x": x})),
        atol=1e-6,
    )


def test_the_largest_numbers_that_there_are_lie_far_off_and_are_finite():
    table = Table().fit(pa.table({"x": np.linspace(-1e-300, 1e-300, 50)}))
    Z = table.transform(pa.table({"x": [1.7e308, -1.7e308]}))
    assert Z[0, 0] == -Z[1, 0]
    assert Z[0, 0] == np.float32(LIMIT)


def test_a_missing_date_is_average_and_marked():
    days = pa.array([0, 40, None, 400, 800], pa.int32()).cast(pa.date32())
    table = Table().fit(pa.table({"day": days}))
    Z = table.transform(pa.table({"day": days}))
    assert (Z[2, :-1] == 0).all()
    assert (Z[2, -1], Z[0, -1]) == pytest.approx((0.8, -0.2))  # 1 of 5 is missing: marks of mean zero


def test_a_gap_is_marked_and_otherwise_average(people, fitted_table):
    Z = fitted_table.transform(people)
    names = list(fitted_table.get_feature_names_out())
    gaps = people["height"].isna().to_numpy()
    assert (Z[gaps, names.index("height")] == 0).all()
    marks = Z[:, names.index("height missing")]
    assert marks[gaps].min() > marks[~gaps].max()


@pytest.mark.parametrize("kind", ["polars", "pyarrow", "batch"])
def test_every_kind_of_frame_gives_the_same_numbers(people, fitted_table, kind):
    arrow = pa.Table.from_pandas(people, preserve_index=False)
    other = {
        "polars": lambda: pl.from_pandas(people),
        "pyarrow": lambda: arrow,
        "batch": lambda: arrow.to_batches()[0],
    }[kind]()
    np.testing.assert_array_equal(fitted_table.transform(other), fitted_table.transform(people))


def test_column_order_and_further_columns_do_not_matter(people, fitted_table):
    shuffled = people[people.columns[::-1]].assign(extra=1)
    np.testing.assert_array_equal(fitted_table.transform(shuffled), fitted_table.transform(people))


def test_left_out_columns_need_not_come_again(people, fitted_table):
    fewer = people.drop(columns=["key", "always", "never"])
    np.testing.assert_array_equal(fitted_table.transform(fewer), fitted_table.transform(people))


def test_rows_are_encoded_one_by_one_as_together(people, fitted_table):
    alone = np.concatenate([fitted_table.transform(people.iloc[[i]]) for i in range(20)])
    np.testing.assert_allclose(alone, fitted_table.transform(people.iloc[:20]), atol=1e-6)


def test_rows_of_fitting_can_be_encoded_as_if_each_had_not_been_among_them():
    rng, n = np.random.default_rng(0), 300
    frame = pd.DataFrame(
        {
            "height": np.where(np.arange(n) == 7, np.nan, rng.normal(170, 10, n)),
            "city": ["Paris" if i == 3 else "Rome" if i % 3 else "Oslo" for i in range(n)],
        }
    )
    table = Table().fit(frame)
    Z, as_new = table.transform(frame), table.transform_as_new(frame)
    names = list(table.get_feature_names_out())
    city = [name.startswith("city ") for name in names]
    assert np.linalg.norm(as_new[3, city]) == pytest.approx(6.0, rel=1e-6)  # an unseen level lies far off
    np.testing.assert_array_equal(np.delete(as_new[:, city], 3, axis=0), np.delete(Z[:, city], 3, axis=0))
    height = names.index("height")
    assert (as_new[7, height], Z[7, height]) == (6.0, 0.0)  # the only gap: a gap unlike in fitting


def test_a_text_of_fitting_is_as_rare_to_the_others_as_it_would_be_had_it_not_been_there():
    """Each rare word is in three texts: without the text itself, in two."""
    rng, n = np.random.default_rng(0), 300
    rare = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 6)) for _ in range(n // 3)]
    texts = np.array([f"please order {rng.choice(['red', 'green', 'blue'])} {rare[i // 3]}" for i in range(n)])
    frame = pd.DataFrame({"about": texts})
    table = Table().fit(frame)
    Z, as_new, wanted = table.transform(frame)[:10, -1], table.transform_as_new(frame)[:10, -1], []
    for i in range(10):
        others = Table().fit(frame.drop(index=i))
        wanted.append(others.transform(frame.iloc[[i]])[0, -1])
    assert (np.array(wanted) > Z + 2).all()
    assert np.abs(as_new - wanted).mean() < 0.1 * np.abs(Z - wanted).mean()  # all rarities' deviation moves a little


def test_the_row_with_the_most_gaps_is_judged_as_a_row_with_more_gaps_than_any():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 4)), columns=list("abcd"))
    frame.iloc[0, :3] = frame.iloc[1, 0] = frame.iloc[2, 1] = frame.iloc[3, 2] = np.nan
    table = Table().fit(frame)
    names = list(table.get_feature_names_out())
    of_numbers = [names.index(name) for name in "abc"]
    assert table.transform(frame)[0, of_numbers].tolist() == [0.0] * 3
    assert table.transform_as_new(frame)[0, of_numbers].tolist() == [6.0] * 3
    np.testing.assert_array_equal(table.transform_as_new(frame)[1:], table.transform(frame)[1:])


def test_what_it_learned_fits_into_json_and_arrays(people, fitted_table):
    state, arrays = fitted_table.state()
    again = Table().restore(json.loads(json.dumps(state, allow_nan=False)), arrays)
    np.testing.assert_array_equal(again.transform(people), fitted_table.transform(people))
    assert again.describe() == fitted_table.describe()


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"height": ["tall", "low"]}, "Column 'height' is not what .*, in 2 the value cannot be read as a number"),
        ({"height": [b"tall"]}, "Column 'height' held numbers when the model was fitted, here it is binary"),
        ({"height": [np.inf]}, "Column 'height': finite numbers were wanted, got infinity in 1 rows"),
    ],
)
def test_a_changed_type_names_the_column(new, message):
    table = Table().fit(pd.DataFrame({"height": [1.0, 2.0, 3.0]}))
    with pytest.raises(TableError, match=message):
        table.transform(pd.DataFrame(new))


def test_a_missing_column_suggests_the_nearest(people, fitted_table):
    with pytest.raises(TableError, match=r"Missing column: 'height'\. Did you mean 'hieght'\?"):
        fitted_table.transform(people.rename(columns={"height": "hieght"}))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pa.table({"x": [["a"], ["b"]]}), "Column 'x' holds list<.*>: numbers, dates, categories, text or lists"),
        (pa.table({"x": [[1, 2], [3]]}), "Column 'x': lists of 2 numbers were wanted, got one of 1"),
        (pa.table({"x": [1.0, 1.0]}), "Nothing in this table varies"),
        (pa.table({"x": pa.array([], pa.float64())}), "Rows were wanted"),
        (np.zeros(3), "A table was wanted"),
    ],
)
def test_what_is_no_table_is_refused(frame, message):
    with pytest.raises(TableError, match=message):
        Table().fit(frame)


def test_a_saved_chain_scores_the_same_bits_without_anything_else(people, tmp_path):
    chain = Chain(Table(), quick()).fit(people)
    chain.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.heads(people), chain.heads(people))
    assert again.representation_.describe() == chain.representation_.describe()
    assert again.drift(people) == chain.drift(people)
    np.testing.assert_array_equal(again.predict(people), chain.predict(people))


@pytest.mark.data
def test_adult_keeps_every_row_and_finds_no_gap_too_many(data):
    frame = pd.read_parquet(data / "extra" / "adult_train.parquet")
    table = Table().fit(frame)
    Z = table.transform(frame)
    assert len(Z) == 32561
    assert np.isfinite(Z).all()
    assert "missing being one of them" in table.describe()["workclass"]


@pytest.mark.data
def test_ames_houses_are_ranked_with_the_mansions_outside(data):
    frame = pd.read_csv(data / "extra" / "ames_housing.csv.gz").drop(columns=["Order", "PID", "SalePrice"])
    scores = Chain(Table(), quick(max_steps=300)).fit(frame).centrality(frame)
    assert np.isfinite(scores).all()
    huge = frame["Gr Liv Area"] > 4000  # the five that the data's author advises to remove
    assert huge.sum() == 5
    assert scores[huge].max() < np.quantile(scores, 0.1)  # a short fit: among the oddest tenth


def test_dates_whose_offset_changes_with_the_season_are_one_column_of_dates():
    moments = pd.date_range("2023-01-01", periods=100, freq="75h", tz="Europe/Berlin")
    written = pd.DataFrame({"when": [moment.isoformat() for moment in moments], "value": np.arange(100.0)})
    assert written["when"].str[-6:].nunique() == 2
    table = Table().fit(written)
    assert table.describe()["when"].startswith("date")
    again = Table().fit(written.assign(when=moments.tz_convert("UTC")))
    names = list(table.get_feature_names_out())
    k, j = names.index("when total_seconds"), list(again.get_feature_names_out()).index("when total_seconds")
    np.testing.assert_allclose(
        table.transform(written)[:, k], again.transform(written.assign(when=moments.tz_convert("UTC")))[:, j], atol=1e-5
    )


def test_the_labels_of_a_pandas_frame_are_no_column():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0]}, index=["x", "y", "z"])
    assert list(Table().fit(frame).get_feature_names_out()) == ["a"]


def test_a_column_of_several_kinds_is_refused_by_name():
    frame = pd.DataFrame({"price": pd.Series(["a", 1, 2.5], dtype=object), "area": [1.0, 2.0, 3.0]})
    with pytest.raises(TableError, match=r"Column 'price' holds values of several kinds"):
        Table().fit(frame)


def test_digits_and_marks_that_stay_text_are_doubted_and_codes_and_words_are_not():
    rng = np.random.default_rng(0)
    lasted, code, name = [], [], []
    for number in rng.integers(100, 9000, 200):
        lasted.append(f"{number // 60}:{number % 60:02d} / {number}")
        code.append(f"{number:05d}")
        name.append(f"part {number} of {number % 7}")
    table = Table().fit(pa.table({"lasted": lasted, "code": code, "name": name}))
    assert "digits and marks" in table.doubts()["lasted"]
    assert not {"code", "name"} & {column for column, why in table.doubts().items() if "digits and marks" in why}


def test_a_column_that_both_marks_fit_is_read_by_the_decimal_mark_of_the_others():
    rows = {"length": ["3,041", "1,057", "2,500"], "weight": ["1302,81", "950,5", "7,25"], "kind": ["a", "b", "a"]}
    table = Table().fit(pa.table(rows))
    assert table.doubts() == {}
    assert "median 2.5" in table.describe()["length"]  # of 3.041, 1.057 and 2.5


def test_where_the_others_do_not_agree_on_a_mark_a_warning_names_the_column_and_what_was_taken():
    rows = {
        "length": ["3,041", "1,057", "2,500"],
        "weight": ["1302,81", "950,5", "7,25"],
        "x": ["1.5 m", "2 m", "2.5 m"],
    }
    with pytest.warns(UserWarning, match=r"Column 'length': '3,041' is taken for 3041, but could be 3\.041\."):
        assert list(Table().fit(pa.table(rows)).doubts()) == ["length"]


def test_limits_that_are_the_same_number_are_categories_of_an_order_and_that_is_said():
    rng = np.random.default_rng(0)
    rows = pa.table({"income": rng.choice(["<=50K", ">50K"], 300), "age": rng.choice(["65+", "18-25", "26-64"], 300)})
    table = Table().fit(rows)
    assert table.describe()["income"] == "category, 2 levels from '<=50K' to '>50K'"
    assert table.describe()["age"] == "category, 3 levels from '18-25' to '65+'"
    assert table.doubts() == {"income": "'<=50K' and '>50K' are read as categories of an order, not as numbers"}


def test_a_declared_category_of_whole_numbers_stays_one():
    store = np.random.default_rng(0).integers(1, 9, 800)
    rows = pd.DataFrame({"store": pd.Categorical(store), "x": np.arange(800) % 7})
    table = Table().fit(rows)
    assert table.describe()["store"] == "category, 8 levels"
    np.testing.assert_array_equal(table.transform(rows.assign(store=store)), table.transform(rows))


def test_a_level_called_other_stays_what_it_is():
    """Ten levels of one row each lie as far off beside "(other)" as beside any other name."""
    levels = np.array([*["(other)"] * 500, *["brand"] * 490, *[f"c{k}" for k in range(10)]])
    found = [
        Table().fit(pa.table({"k": named, "x": np.arange(1000) % 7})).transform(pa.table({"k": ["c3"], "x": [1]}))
        for named in (levels, np.where(levels == "(other)", "z", levels))
    ]
    np.testing.assert_allclose(np.sort(found[0]), np.sort(found[1]), rtol=1e-6)
    encoder: Any = Table().fit(pa.table({"k": levels, "x": np.arange(1000) % 7}))._encoders["k"]
    assert sum(encoder.shares) == pytest.approx(1)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["Oslo", "Rome", "Oslo "], "'Oslo' and 'Oslo ' are read as different values"),
        (["Köln", "Rome", "Ko\u0308ln"], "'Köln' is written in two forms of Unicode"),
        (["yes", "no", "true", "1"], "are read as different values: write them alike"),
        (["yes", "no"], ""),
        (["Oslo"] * 300 + ["Rome"] * 299 + ["rome"], ""),  # so rare: an odd row, not a doubt
    ],
)
def test_values_that_differ_in_their_spelling_alone_are_a_doubt(values, said):
    table = Table().fit(pa.table({"k": values * 60, "x": np.arange(60 * len(values)) % 7}))
    assert said in table.doubts().get("k", "")
    assert bool(said) == ("k" in table.doubts())


def test_digits_e_digits_are_codes_in_every_door(tmp_path):
    rng = np.random.default_rng(0)
    codes = [f"{a}E{b}" for a, b in zip(rng.integers(10, 99, 500), rng.integers(1, 9, 500), strict=True)]
    rows = pa.table({"code": codes, "x": np.arange(500) / 7 * 1e20})
    assert Table().fit(rows).describe()["code"].startswith("text of")
    write(rows, tmp_path / "t.csv")
    assert read(tmp_path / "t.csv").schema.types == [pa.string(), pa.float64()]


def sales(rows: int, **constant: object) -> pd.DataFrame:
    rng = np.random.default_rng(rows)
    gaps = np.where(rng.uniform(size=rows) < 0.05, np.nan, rng.normal(size=rows))
    return pd.DataFrame({"x": rng.normal(size=rows), "gaps": gaps, **constant})


def test_a_constant_that_changes_and_a_gap_that_fills_are_counted():
    table = Table().fit(sales(300, currency="EUR", vat=0.19, note=None))
    same = sales(200, currency="EUR", vat=np.float32(0.19).astype(float).round(2), note=None)
    assert table.examined(same)[1].cells == {}
    assert table.examined(sales(200))[1].cells == {}  # they need not be there
    text = same.assign(vat="0.19")
    assert table.examined(text)[1].cells == {}
    other = sales(200, currency="USD", vat=[0.07] * 50 + [0.19] * 150, note="late").assign(gaps=np.nan)
    Z, issues = table.examined(other)
    assert issues.cells == {
        "gaps": {MORE_GAPS: 200},
        "currency": {CHANGED: 200},
        "vat": {CHANGED: 50},
        "note": {FILLED: 200},
    }
    issues.require_few(0.05)  # the columns that are read can be read
    assert Z.shape == (200, len(table.get_feature_names_out()))


def test_what_was_constant_is_kept_in_the_file_and_looked_at_when_scoring(tmp_path, capsys):
    Chain(Table(), quick()).fit(sales(300, currency="EUR")).save(tmp_path / "m.safetensors")
    write(pa.Table.from_pandas(sales(50, currency="USD")), tmp_path / "t.csv")
    assert main(["score", str(tmp_path / "m.safetensors"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.csv")]) == 0
    said = "Column 'currency': in 50 of 50 rows the value is not the one that all rows of fitting had"
    assert said in capsys.readouterr().err


def test_a_constant_column_given_as_context_is_ignored_and_that_is_said():
    rows = sales(300, currency="EUR", kind=np.arange(300) % 3)
    with pytest.warns(UserWarning, match="given: 'currency' is the same in every row, and ignored"):
        chain = Chain(Table(), quick(given=["currency", "kind"])).fit(rows)
    assert chain.model_.given == ["kind"]
    with pytest.warns(UserWarning, match="ignored"):
        assert Chain(Table(), quick(given="currency")).fit(rows).model_.given is None
