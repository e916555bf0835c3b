"""CSV and TSV: names, leading zeros, empty fields and odd quotation marks."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from centrality.tables import TableError
from centrality.tables.columns import DataNote
from centrality.tables.csv import count_leading_zeros, header_row, recognised_separator
from centrality.tables.text import TextSource
from tests.conftest import quick


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    quick().fit(pa.table({"a": np.arange(50.0), "b": np.arange(50.0) % 7})).save(path)
    return path


@pytest.mark.parametrize(
    ("text", "zeros"),
    [
        ("007,1\n", 1),
        ("1,007\n", 1),
        ("-01,+02\n", 2),
        ('"007","-08"\n', 2),
        ("1\r\n01\r02\n", 2),
        ("0,0.5,10,1e05,-0,2024-01-05,-\n", 0),
        ("0", 0),
        ("", 0),
    ],
)
def test_fields_with_leading_zeros_are_counted(text, zeros):
    assert count_leading_zeros(text.encode(), ",") == zeros


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["007", "12"], pa.string()),
        (["1"] * 5000 + ["007"], pa.string()),  # far from the first lines
        (['"007"', "12"], pa.string()),
        (["-07", "1"], pa.string()),
        (["0", "10"], pa.int64()),
        (["0.5", "00.5"], pa.float64()),
        (["1"], pa.int64()),
        (["08:30:00", "12:00:00"], pa.time32("s")),
    ],
)
def test_whole_numbers_that_would_lose_leading_zeros_are_text(tmp_path, values, kind):
    (tmp_path / "t.csv").write_text("note,a,n\n" + "".join(f"0151-22,{value},4\n" for value in values))
    table = tables.read(tmp_path / "t.csv")
    assert table.schema.types == [pa.string(), kind, pa.int64()]
    if kind == pa.string():
        assert table["a"].to_pylist() == [value.strip('"') for value in values]


@pytest.mark.parametrize(("suffix", "mark"), [(".csv", ","), (".tsv", "\t")])
def test_rows_with_no_value_in_any_field_are_rows(tmp_path, suffix, mark):
    lines = [mark.join(["1", "x"])] * 20 + [mark] + [mark.join(["2", "y"])] * 19 + [mark]
    (tmp_path / f"t{suffix}").write_text(f"a{mark}b\n" + "\n".join(lines))
    assert tables.read(tmp_path / f"t{suffix}").num_rows == 41
    with tables.open_rows(tmp_path / f"t{suffix}") as source:
        assert isinstance(source, TextSource)
        [(table, records)] = source.records(["a"])
    assert table.num_rows == len(records) == 41
    assert [record.decode() for record in records] == lines


def test_an_inch_is_no_quotation_mark_and_41_rows_in_are_41_out(model, tmp_path):
    lines = [f"{i},{i % 7},plain" for i in range(41)]
    lines[7], lines[30] = '7,0,5" pipe', '30,2,"quoted\nin ""two"" lines"'
    (tmp_path / "t.csv").write_text("a,b,what\n" + "\n".join(lines) + "\n")
    assert main(["score", str(model), str(tmp_path / "t.csv"), "-o", str(tmp_path / "s.csv")]) == 0
    scored = tables.read(tmp_path / "s.csv")
    assert scored.num_rows == 41
    assert scored["what"][7].as_py() == '5" pipe'
    assert scored["what"][30].as_py() == 'quoted\nin "two" lines'
    written = (tmp_path / "s.csv").read_text()
    assert all("\n" + line + "," in written for line in lines)


def test_names_are_compared_once_each_however_many(tmp_path):
    names = [f"c{i}" for i in range(10_000)]
    (tmp_path / "t.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 10_000) + "\n")
    assert tables.read(tmp_path / "t.csv").column_names == names
    (tmp_path / "t.csv").write_text(",".join([*names, "c7"]) + "\n" + ",".join(["1"] * 10_001) + "\n")
    with pytest.raises(TableError, match="column names must differ, but 'c7' comes twice"):
        tables.read(tmp_path / "t.csv")


def test_names_in_quotation_marks_may_hold_line_breaks_and_separators(tmp_path):
    (tmp_path / "t.csv").write_text('\n"a, b","two\nlines"\n1,2\n')
    table = tables.read(tmp_path / "t.csv")
    assert table.to_pydict() == {"a, b": [1], "two\nlines": [2]}
    tables.write(table, tmp_path / "u.csv")
    assert tables.read(tmp_path / "u.csv").equals(table)


@pytest.mark.parametrize(("command", "output"), [("fit", "out.safetensors"), ("depth mahalanobis", "out.csv")])
def test_no_names_of_columns_are_an_error_not_all_columns(tmp_path, capsys, command, output):
    tables.write(pa.table({"a": [1.0, 2.0]}), tmp_path / "t.csv")
    arguments = [*command.split(), str(tmp_path / "t.csv"), "-o", str(tmp_path / output), "--columns", ""]
    assert main(arguments) == 2
    assert "Names of columns were wanted, separated by commas, got none." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("head", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a;b\n1,5;2,5\n", ";"),  # decimal commas
        ("a\tb\n1\t2\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ("a,b;c\n1,2;3\n", ","),  # both fit: what the ending says
        ("text\none; two\nthree\n", ","),  # a column of text
        ('"Price, EUR";"n"\n"1,5";"2\n3"\n', ";"),  # commas and line breaks in quotation marks
        ("a;b\n1;2\n3;", ";"),  # the last record may go on
        ("a;b", ";"),  # a stream that has given its first line so far
        ("a,b\n1,2\n3\n", ","),  # a missing field is not mended by another separator
        ("x;y|z\n1;2|3\n", ";"),
        ("", ","),
    ],
)
def test_the_separator_is_the_one_that_fits_all_records_of_the_head(head, separator):
    assert recognised_separator(head.encode(), ",") == separator
    assert recognised_separator(head.encode().replace(b"\n", b"\r\n"), ",") == separator
    assert recognised_separator(b"\xef\xbb\xbf" + head.encode(), ",") == separator


@pytest.mark.parametrize(("mark", "called"), [(";", "semicolons"), ("\t", "tabs"), ("|", "vertical bars")])
def test_another_separator_is_taken_said_and_kept_in_the_scores(model, tmp_path, capsys, mark, called):
    lines = [mark.join([str(i), f'"{mark}\n{i}"', str(i % 7)]) for i in range(50)]
    (tmp_path / "t.csv").write_text(mark.join(["a", "note", "b"]) + "\n" + "\n".join(lines) + "\n")
    with pytest.warns(DataNote, match=f"fields are separated by {called}, not by commas"):
        table = tables.read(tmp_path / "t.csv")
    assert table["note"].to_pylist() == [f"{mark}\n{i}" for i in range(50)]
    assert table.schema.types == [pa.int64(), pa.string(), pa.int64()]
    assert main(["score", str(model), str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.csv")]) == 0
    assert f"note: {tmp_path / 't.csv'}: fields are separated by {called}" in capsys.readouterr().err
    scored = (tmp_path / "o.csv").read_text()
    assert scored.startswith(mark.join(["a", "note", "b", ""]))
    assert all(line + mark in scored for line in lines)


TABLE_LINES = "a;b;c\n" + "".join(f"{k};{k},5;x{k}\n" for k in range(9))


@pytest.mark.parametrize(
    ("above", "line"),
    [("Report 2024\n", 2), ("Report 2024\n\nof us, and you\n", 4), ("Report;;\n;;\n", 3), ("sep=;\nReport\n", 3)],
)
def test_what_stands_above_the_header_is_left_out_and_said(tmp_path, above, line):
    (tmp_path / "t.csv").write_text(above + TABLE_LINES)
    with pytest.warns(DataNote) as notes:
        table = tables.read(tmp_path / "t.csv")
    assert table.column_names == ["a", "b", "c"]
    assert table["c"].to_pylist() == [f"x{k}" for k in range(9)]
    assert f"the header was found in line {line}; what stands above it is left out: 'Report" in str(notes[-1].message)


def test_the_separator_is_the_one_that_the_first_line_says(tmp_path):
    (tmp_path / "t.csv").write_text("sep=;\n" + TABLE_LINES)
    with pytest.warns(DataNote, match="separated by semicolons") as notes:
        assert tables.read(tmp_path / "t.csv").column_names == ["a", "b", "c"]
    assert len(notes) == 1


@pytest.mark.parametrize(
    "rows",
    [
        [["", "b", "c"], ["1", "2", "3"]],  # row numbers without a name
        [["a", "b"], ["1", "x", "y"], ["2", "x", "y"]],  # fewer names than columns: no row of names is below
        [["a", "b", "c"], ["1", "2", "3"], ["4", "5"]],  # a line that lacks a field is an error, not a title
        [["a"], ["b, c"], ["d"]],
        [["a", "", ""], ["1", "2", "3"]],
    ],
)
def test_the_first_row_names_the_columns_unless_one_below_is_the_first_of_the_tables_width(rows):
    assert header_row(rows) == 0


def test_several_columns_without_a_name_are_called_by_their_places(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,,\n1,2,,\n3,4,,\n")
    assert tables.read(tmp_path / "t.csv").column_names == ["a", "b", "column 3", "column 4"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["950", "1.234", "12.345", "7"] * 9, pa.string()),  # whole numbers with points between thousands
        (["9.5", "1.234", "12.345", "7"] * 9, pa.float64()),
        (["1.234", "0.345", "12.345", "7"] * 9, pa.float64()),  # no group begins with a zero
        (["1.234", "12.345"] * 9, pa.float64()),
        (["950.000", "1.234"] * 9, pa.float64()),  # no number without a point
        (["12E5", "3E1"] * 9, pa.string()),
        (["1.2E5", "3e+1"] * 9, pa.float64()),
    ],
)
def test_numbers_that_arrow_would_take_for_fractions_stay_text(tmp_path, values, kind):
    (tmp_path / "t.csv").write_text("n,a\n" + "".join(f"1,{value}\n" for value in values))
    table = tables.read(tmp_path / "t.csv")
    assert table.schema.types == [pa.int64(), kind]
    if kind == pa.string():
        assert table["a"].to_pylist() == values
