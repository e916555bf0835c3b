"""Reasons in words: in Python, in a notebook, beside scores and in rankings."""

import csv
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import Chain, load, tables
from centrality.analysis.reasons import Reason, Reasons, plain, signed
from centrality.apps.cli import main
from centrality.model.reader import reader_of
from centrality.representations import Series, Table
from tests.conftest import quick

RNG = np.random.default_rng(0)
NAMES = ["height", "weight, kg", "age"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model in a file, and rows of which the last is too heavy."""
    folder = tmp_path_factory.mktemp("reasons")
    rows = pd.DataFrame(RNG.normal(size=(300, 3)) * [9, 8, 15] + [170, 70, 45], columns=NAMES)
    rows.loc[299, "weight, kg"] = 250.0
    rows.to_csv(folder / "rows.csv", index=False)
    model = quick(max_steps=300).fit(rows)
    model.save(folder / "m.safetensors")
    return folder, model, rows


def contributions() -> Reasons:
    parts = np.array([[-0.5, 0.1, -0.02], [-0.001, 0.0, 0.2], [np.nan, np.nan, np.nan]])
    values = [[1.5, 2.5, None], ["<b>", "c", None], np.array([7, 8, 9])]
    return Reasons.of(
        0.5,
        np.array([0.1, 0.9, np.nan]),
        parts,
        names=["a", "b", "c"],
        values=values,
        typical=[[1.0, None, 3]],
        against=np.zeros(3, dtype=np.intp),
        top=2,
    )


def test_the_most_negative_come_first_and_what_hardly_matters_is_no_reason():
    reasons = contributions()
    assert [[r.feature for r in row] for row in reasons] == [["a", "c"], [], []]
    assert reasons[0][0] == Reason("a", -0.5, 1.5, 1.0)
    assert len(reasons) == 3
    assert reasons.short() == ["a 1.5, typically 1 (-0.50); c 7, typically 3 (-0.02)", "", ""]


def test_as_text_each_row_has_its_score_and_why():
    first, second, _ = str(contributions()).splitlines()
    assert first.split(maxsplit=2) == ["0", "0.1000", "a 1.5, typically 1 (-0.50); c 7, typically 3 (-0.02)"]
    assert second.endswith("nothing in particular")


def test_a_notebook_shows_a_table_and_no_markup_of_the_data():
    page = Reasons(0.5, [0.25], [[Reason("<script>", -0.5, "<b>", None)]])._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt; &lt;b&gt; (-0.50)" in page
    assert "width:45px" in page  # half of the 90 that a whole unit of centrality would have
    assert "centrality at t = 0.5" in page


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "(missing)"), (3.14159265, "3.142"), ("two\nlines", "two lines"), ("x" * 50, "x" * 39 + "…"), (7, "7")],
)
def test_values_are_shown_on_one_short_line(value, shown):
    assert plain(value) == shown


def test_small_contributions_keep_a_digit():
    assert [signed(-0.4), signed(0.25), signed(-0.0061)] == ["-0.40", "+0.25", "-0.006"]


def test_reasons_speak_of_the_users_columns_in_the_users_units(made):
    _, model, rows = made
    reason = model.reasons(rows.tail(1), top=1)[0][0]
    assert (reason.feature, reason.value) == ("weight, kg", 250.0)
    assert reason.typical == pytest.approx(model.center_[1])
    assert reason.contribution == pytest.approx(model.explain(rows.tail(1))[0, 1])
    unnamed = quick().fit(rows.to_numpy())
    assert unnamed.reasons(rows.to_numpy()[-1:], top=1)[0][0].feature == "x1"
    with pytest.raises(ValueError, match="top must be"):
        model.reasons(rows, top=0)


def test_scores_come_with_reasons_when_asked(made, capsys):
    folder, model, rows = made
    ask = ["score", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--explain", "--t", "0,1"]
    assert main([*ask, "-o", str(folder / "s.csv")]) == 0
    with (folder / "s.csv").open() as file:
        written = list(csv.DictReader(file))
    assert list(written[0])[-4:] == ["centrality_t0", "centrality_t100", "reasons_t0", "reasons_t100"]
    assert [row["reasons_t100"] for row in written] == model.reasons(rows, 1).short()
    assert written[-1]["reasons_t0"].startswith("weight, kg 250, typically")
    assert main([*ask, "-o", str(folder / "s.parquet")]) == 0
    assert tables.read(folder / "s.parquet")["reasons_t0"].to_pylist() == [row["reasons_t0"] for row in written]
    capsys.readouterr()


def test_json_lines_keep_their_records_and_get_reasons(made):
    folder, model, rows = made
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows.to_dict("records")))
    ask = [
        "score",
        str(folder / "m.safetensors"),
        str(folder / "rows.jsonl"),
        "--explain",
        "-o",
        str(folder / "s.jsonl"),
    ]
    assert main(ask) == 0
    written = [json.loads(line) for line in (folder / "s.jsonl").read_text().splitlines()]
    assert [row["reasons"] for row in written] == model.reasons(rows).short()


def test_an_array_has_no_room_for_reasons(made, capsys):
    folder, *_ = made
    out = folder / "s.npy"
    assert main(["score", str(folder / "m.safetensors"), str(folder / "rows.csv"), "-o", str(out), "--explain"]) == 2
    assert "reasons" in capsys.readouterr().err
    assert not out.exists()


def test_a_ranking_says_why_the_peripheral_rows_are(made, capsys):
    folder, *_ = made
    ask = ["rank", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--top", "2"]
    assert main(ask) == 0
    central, peripheral = capsys.readouterr().out.split("\n\n")
    assert "↳" not in central
    assert "↳ " in peripheral
    assert ": weight, kg 250, typically" in peripheral
    assert main([*ask, "--json"]) == 0
    worst = json.loads(capsys.readouterr().out)["peripheral"][0]
    assert worst["reasons"][0]["feature"] == "weight, kg"
    assert worst["holds"]["weight, kg"] == worst["reasons"][0]["value"] == 250


def test_windows_of_a_series_have_no_reasons_for_single_moments(tmp_path, capsys):
    tables.write(pa.table({"v": np.sin(np.arange(400) / 5)}), tmp_path / "v.csv")
    chain = Chain(Series(window=50, column="v"), quick()).fit(tables.read(tmp_path / "v.csv"))
    chain.save(tmp_path / "m.safetensors")
    ask = ["score", str(tmp_path / "m.safetensors"), str(tmp_path / "v.csv"), "-o", str(tmp_path / "s.csv")]
    assert main([*ask, "--explain"]) == 2
    assert "Score without --explain" in capsys.readouterr().err
    assert main(ask) == 0


def test_a_loaded_chain_gives_the_same_reasons(tmp_path):
    frame = pd.DataFrame({"x": RNG.normal(size=100), "kind": RNG.choice(["a", None], 100), "y": [1.0, None] * 50})
    chain = Chain(Table(), quick()).fit(frame)
    chain.save(tmp_path / "c.safetensors")
    assert load(tmp_path / "c.safetensors").reasons(frame) == chain.reasons(frame)


def test_a_typical_value_far_below_its_columns_spread_reads_zero():
    """Values that cancel out leave 1e-10 or so in the middle of a column whose spread is one."""
    X = np.column_stack([RNG.normal(size=300), np.tile([0.3, 0.0, -0.3], 100)])
    model = quick(max_steps=20).fit(X)
    values_of = reader_of(model).values_of
    assert list(values_of(np.array([0.3, -8.58e-11]))) == [0.3, 0.0]
    assert list(values_of(np.array([0.3, -8.58e-4]))) == [0.3, -8.58e-4]
    table = Table().fit(pa.table({"zero": X[:, 1] + 1e-9, "other": X[:, 1] + 7}))  # medians of 1e-9 and 7
    np.testing.assert_allclose(table.typical(np.zeros(2)), [0, 7])
