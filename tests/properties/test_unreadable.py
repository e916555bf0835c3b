"""Cells that cannot be read, or are like none in fitting: never typical, always counted, and too many stop the job."""

import datetime
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import centrality
from centrality import Chain, load
from centrality._internal import model_file
from centrality.apps.cli import main
from centrality.model.reader import reader_of
from centrality.representations import Table
from centrality.tables import TableError, write
from centrality.tables.columns import NEW_GAP, NEW_VALUE, NO_DATE, CellIssues, DataNote
from tests.conftest import quick

N = 400
DAYS = [datetime.date(2023, 1, 1) + datetime.timedelta(days=int(d)) for d in np.arange(N) * 7 % 365]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "x": rng.normal(size=N),
            "y": rng.normal(size=N),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], N),
            "day": [f"{day:%d/%m/%Y}" for day in DAYS],
        }
    )


@pytest.fixture(scope="module")
def chain(rows) -> Chain:
    return Chain(Table(), quick(max_steps=400)).fit(rows)


@pytest.fixture(scope="module")
def model(chain, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    chain.save(path)
    return path


def with_days(rows: pa.Table, days) -> pa.Table:
    return rows.set_column(
        rows.column_names.index("day"), "day", days if isinstance(days, pa.Array) else pa.array(days)
    )


@pytest.mark.parametrize(
    "written",
    [
        [f"{day:%Y-%m-%d}" for day in DAYS],
        [f"{day:%Y-%m-%d} 00:00:00" for day in DAYS],
        [f"{day:%Y-%m-%d}T00:00:00Z" for day in DAYS],
        [f"{day:%d/%m/%Y} 00:00" for day in DAYS],
        [f" {day:%d/%m/%Y} " for day in DAYS],
        [f"{day:%d %b %Y}" for day in DAYS],
        [f"{day:%B} {day.day}, {day:%Y}" for day in DAYS],
        [f"{day:%Y/%m/%d}" for day in DAYS],
        pa.array(DAYS, pa.date32()),
        pa.array(DAYS, pa.date64()),
        pa.array(DAYS).cast(pa.timestamp("ns")),
        pa.array(DAYS).cast(pa.timestamp("us")).cast(pa.timestamp("us", tz="UTC")),
        pa.array([f"{day:%d/%m/%Y}" for day in DAYS]).dictionary_encode(),
    ],
    ids=str.split(
        "iso with-time with-zone own-with-time blanks month-name american year-first date32 date64 timestamp aware "
        "dictionary"
    ),
)
def test_the_same_dates_written_or_stored_otherwise_are_the_same_numbers(chain, rows, written):
    np.testing.assert_array_equal(
        chain.representation_.transform(with_days(rows, written)), chain.representation_.transform(rows)
    )


def test_dates_of_parquet_are_found_again_in_text(rows, tmp_path):
    stored = with_days(rows, pa.array(DAYS).cast(pa.timestamp("us")))
    table = Table().fit(stored)
    for written in ([f"{day:%Y-%m-%d}" for day in DAYS], [f"{day:%Y/%m/%d} 00:00" for day in DAYS]):
        np.testing.assert_array_equal(table.transform(with_days(rows, written)), table.transform(stored))


@pytest.mark.parametrize("ambiguous", ["03/04/2024", "3.4.24", "hello", "1704153600", "2024-13-01"])
def test_what_may_be_two_dates_or_none_is_not_guessed(rows, ambiguous):
    table = Table().fit(with_days(rows, [f"{day:%Y-%m-%d}" for day in DAYS]))
    _, unreadable = table.examined(with_days(rows, [*(f"{day:%Y-%m-%d}" for day in DAYS[1:]), ambiguous]))
    assert unreadable == CellIssues(N, {"day": {NO_DATE: 1}})


def test_whole_numbers_are_no_dates(rows):
    table = Table().fit(with_days(rows, pa.array(DAYS).cast(pa.timestamp("us"))))
    with pytest.raises(TableError, match="dates were wanted, as such or as text, got int64"):
        table.transform(with_days(rows, list(range(N))))


def odd_rows(rows: pa.Table) -> dict[str, tuple[pa.Table, dict]]:
    """Ordinary rows that differ by a fault from those the model knows, and what is to be counted."""
    few = rows.slice(0, 40)
    nothing = pa.table({f.name: pa.nulls(40, f.type) for f in few.schema})
    return {
        "no date": (with_days(few, ["hello"] * 40), {"day": {NO_DATE: 40}}),
        "no day": (with_days(few, pa.nulls(40, pa.string())), {"day": {NEW_GAP: 40}}),
        "no number": (few.set_column(0, "x", pa.nulls(40, pa.float64())), {"x": {NEW_GAP: 40}}),
        "a new city": (few.set_column(2, "city", pa.array(["Lima"] * 40)), {"city": {NEW_VALUE: 40}}),
        "nothing": (nothing, {name: {NEW_GAP: 40} for name in few.column_names}),
    }


@pytest.mark.parametrize("fault", ["no date", "no day", "no number", "a new city", "nothing"])
def test_a_fault_counts_against_the_row_and_is_counted(chain, rows, fault):
    faulty, counts = odd_rows(rows)[fault]
    vectors, unreadable = reader_of(chain).vectors_and_issues(faulty)
    assert unreadable == CellIssues(40, counts)
    for t in (0.0, 0.5, 1.0):
        found = chain.fitted_.centrality(vectors, t)
        as_they_were = chain.centrality(rows.slice(0, 40), t=t)
        assert np.median(found) < np.quantile(chain.centrality(rows, t=t), 0.05)
        assert (found < as_they_were).mean() > 0.9


def test_a_row_with_more_gaps_than_any_in_fitting_has_too_many(rows):
    """Gaps were there in fitting, one a row at most: one is ordinary, and all of them are not."""
    columns = [rows["x"].to_numpy().copy(), rows["y"].to_numpy().copy()]
    columns[0][:40] = np.nan
    columns[1][40:80] = np.nan
    with_gaps = pa.table({"x": pa.array(columns[0], from_pandas=True), "y": pa.array(columns[1], from_pandas=True)})
    table = Table().fit(with_gaps)
    assert table.examined(with_gaps)[1] == CellIssues(N)
    empty = pa.table({"x": pa.nulls(1, pa.float64()), "y": pa.nulls(1, pa.float64())})
    Z, unreadable = table.examined(empty)
    assert unreadable == CellIssues(1, {"x": {NEW_GAP: 1}, "y": {NEW_GAP: 1}})
    assert np.linalg.norm(Z) > np.linalg.norm(table.transform(with_gaps), axis=1).max()


def test_a_rare_category_is_known_and_an_unseen_one_is_not():
    frame = pa.table({"c": ["a"] * 600 + ["b"] * 600 + ["r1", "r2", "r3"], "x": np.arange(1203.0)})
    table = Table().fit(frame)
    new = pa.table({"c": ["r1", "r2", "new"], "x": [0.0, 0.0, 0.0]})
    Z, unreadable = table.examined(new)
    np.testing.assert_array_equal(Z[0], Z[1])
    assert unreadable == CellIssues(3, {"c": {NEW_VALUE: 1}})
    assert np.linalg.norm(Z[2]) > np.linalg.norm(Z[0])


def test_a_text_of_unknown_letters_counts_against_its_row():
    texts = [f"round {color} {thing}" for color in ("red", "green", "blue") for thing in map(str, range(100, 120))]
    table = Table(cardinality=10).fit(pa.table({"about": texts, "x": np.arange(60.0)}))
    assert table.examined(pa.table({"about": ["круглый", "round red 100", None], "x": [1.0] * 3}))[1] == CellIssues(
        3, {"about": {NEW_VALUE: 1, NEW_GAP: 1}}
    )


def test_python_is_warned_of_few_and_stopped_by_many(chain, rows):
    few = with_days(rows, ["hello", *rows["day"].to_pylist()[1:]])
    with pytest.warns(DataNote, match="Column 'day': in 1 of 400 rows the value cannot be read as a date; it counts"):
        chain.centrality(few)
    many = with_days(rows, ["hello"] * 21 + rows["day"].to_pylist()[21:])  # 5% of 400 are 20
    with pytest.raises(TableError, match="Column 'day' is not what the model was fitted on: of 400 rows, in 21 "):
        chain.centrality(many)
    chain.representation_.set_params(unreadable=1)
    try:
        with pytest.warns(DataNote, match="in 21 of 400 rows"):
            chain.centrality(many)
    finally:
        chain.representation_.set_params(unreadable=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("into", ["out.csv", "out.parquet", "folder/"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_command_counts_a_few_and_stops_at_many(model, rows, tmp_path, capsys, kind, into):
    few, many = tmp_path / f"few.{kind}", tmp_path / f"many.{kind}"
    write(with_days(rows, ["hello"] * 3 + rows["day"].to_pylist()[3:]), few)
    write(with_days(rows, ["hello"] * N), many)
    output = str(tmp_path / into) + ("/" if into.endswith("/") else "")
    assert main(["score", str(model), str(few), "-o", output, "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["unreadable"] == {"day": {NO_DATE: 3}}
    assert "note: Column 'day': in 3 of 400 rows" in said.err
    before = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert main(["score", str(model), str(many), "-o", output.replace("out", "other")]) == 2
    assert "Column 'day' is not what the model was fitted on: of 400 rows, in 400 the value" in capsys.readouterr().err
    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == before
    assert main(["score", str(model), str(many), "-o", output, "--unreadable", "1"]) == 0
    assert "in 400 of 400 rows" in capsys.readouterr().err


@pytest.mark.slow
def test_rank_and_explore_say_it_too(model, rows, tmp_path, capsys):
    few, many = tmp_path / "few.parquet", tmp_path / "many.parquet"
    parquet.write_table(with_days(rows, ["hello"] * 3 + rows["day"].to_pylist()[3:]), few)
    parquet.write_table(with_days(rows, ["hello"] * N), many)
    assert main(["rank", str(model), str(few), "--json"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["unreadable"] == {"day": {NO_DATE: 3}}
    assert said.err.count("in 3 of 400 rows") == 1
    page = ["--export", str(tmp_path / "p.html"), "--map", "x,y"]
    assert main(["explore", str(model), str(few), *page]) == 0
    assert "in 3 of 400 rows" in capsys.readouterr().err
    for command in (["rank", str(model), str(many)], ["explore", str(model), str(many), *page]):
        assert main(command) == 2
        assert "not what the model was fitted on" in capsys.readouterr().err


@pytest.mark.slow
def test_detect_and_drift_count_it_too(model, rows, tmp_path, capsys):
    few, old = tmp_path / "few.parquet", tmp_path / "old.parquet"
    parquet.write_table(with_days(rows, ["hello"] * 3 + rows["day"].to_pylist()[3:]), few)
    parquet.write_table(rows, old)
    for command in (["detect", str(model)], ["drift", str(model)], ["drift", str(old)]):
        assert main([*command, str(few), "--json"]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["unreadable"] == {"day": {NO_DATE: 3}}
        assert said.err.count("in 3 of 400 rows") == 1
        assert main([*command, str(old), "--json"]) == 0
        assert "unreadable" not in json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("command", ["explain --top 2", "pick --odd 5", "detect --contamination 0.02 -o odd.csv"])
def test_the_few_that_are_read_again_are_no_column_of_unreadable_cells(
    model, rows, tmp_path, capsys, monkeypatch, command
):
    days = rows["day"].to_pylist()
    days[:4] = ["soon"] * 4  # 1% of all rows, and most of the oddest
    write(with_days(rows, days), tmp_path / "rows.csv")
    monkeypatch.chdir(tmp_path)
    name, *options = command.split()
    assert main([name, str(model), "rows.csv", *options, "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    first = next(found[key] for key in ("found", "picked", "rows") if isinstance(found.get(key), list))
    assert {row["row"] for row in first[:4]} == {0, 1, 2, 3}
    assert said.err.count("in 4 of 400 rows the value cannot be read as a date") == 1


def test_rank_reads_the_oddest_rows_again_and_leaves_the_model_its_limit(chain, rows):
    days = rows["day"].to_pylist()
    days[:4] = ["soon"] * 4
    with pytest.warns(DataNote, match="in 4 of 400 rows"):
        ranked = centrality.rank(with_days(rows, days), model=chain, top=5)
    assert {0, 1, 2, 3} <= set(ranked["row"].to_pylist())
    assert chain.representation_.unreadable == Table().unreadable


def test_a_share_that_is_none_is_refused(rows, model, tmp_path, capsys):
    with pytest.raises(ValueError, match="unreadable must be a share of the rows from 0 to 1, got 5"):
        Table(unreadable=5).fit(rows)
    parquet.write_table(rows, tmp_path / "r.parquet")
    assert main(["score", str(model), str(tmp_path / "r.parquet"), "-o", "-", "--unreadable", "nan"]) == 2
    assert "unreadable must be a share" in capsys.readouterr().err


def test_a_file_that_does_not_say_how_many_gaps_a_row_had_is_refused(chain, tmp_path):
    chain.save(tmp_path / "m.safetensors")
    header, arrays = model_file.read(tmp_path / "m.safetensors")
    header.pop("format")
    del header["representation"]["state"]["most_gaps"]
    model_file.write(tmp_path / "m.safetensors", header, arrays)
    with pytest.raises(model_file.ModelFileError, match="lacks something a Chain needs: KeyError\\('most_gaps'\\)"):
        load(tmp_path / "m.safetensors")
