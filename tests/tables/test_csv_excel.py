"""Excel workbooks, written by openpyxl as Excel would."""

from datetime import datetime

import openpyxl
import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError
from centrality.tables.columns import DataNote


def workbook(path, *sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"Sheet {number}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_cells_are_read_in_the_types_they_would_have_in_a_csv_file(tmp_path):
    path = workbook(
        tmp_path / "t.xlsx",
        [
            ["id", "n", "x", "when", "day", "ok", "note"],
            ["007", 1, 1.5, datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2), True, 'say "hi",\nplease'],
            ["010", 2, None, datetime(2026, 1, 3, 3, 4, 5), datetime(2026, 1, 3), False, "ü"],
        ],
    )
    as_csv = tmp_path / "t.csv"
    as_csv.write_text(
        "id,n,x,when,day,ok,note\n"
        '007,1,1.5,2026-01-02T03:04:05,2026-01-02,true,"say ""hi"",\nplease"\n'
        "010,2,,2026-01-03T03:04:05,2026-01-03,false,ü\n"
    )
    assert tables.read(path).equals(tables.read(as_csv))
    assert tables.read(path).column_names == ["id", "n", "x", "when", "day", "ok", "note"]


def test_a_failed_formula_is_a_gap_and_empty_rows_are_none(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [[], [None], ["a", "b"], [1, "#DIV/0!"], [None, None], [2, 4]])
    assert tables.read(path).to_pydict() == {"a": [1, 2], "b": [None, 4]}


def test_the_longest_sheet_is_read_and_the_others_are_named(tmp_path):
    path = workbook(tmp_path / "t.xlsx", [["read me first"]], [], [["a"], [1]], [["b"], [2]])
    with pytest.warns(DataNote, match=r"longest sheet, 'Sheet 2', is read\. For another \(Sheet 0, Sheet 3\)"):
        assert tables.read(path).equals(pa.table({"a": [1]}))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"a,b\n1,2\n"])
def test_what_is_no_workbook_says_so(tmp_path, content):
    (tmp_path / "t.xlsx").write_bytes(content)
    with pytest.raises(TableError, match=r"cannot be read as \.xlsx"):
        tables.read(tmp_path / "t.xlsx")


def test_an_empty_workbook_says_so(tmp_path):
    with pytest.raises(TableError, match="is empty: it has 0 rows and 0 columns"):
        tables.read(workbook(tmp_path / "t.xlsx", []))


ROWS = [[k, k / 2, f"x{k}"] for k in range(9)]


@pytest.mark.parametrize("above", [[["Report 2024"], []], [["Report 2024"]], [[None, "both", None], ["of", "", ""]]])
def test_a_title_above_the_table_costs_no_column_and_the_header_is_named(tmp_path, above):
    path = workbook(tmp_path / "t.xlsx", [*above, ["a", "b", "c"], *ROWS])
    with pytest.warns(DataNote, match=f"header was found in row {len(above) + 1}; what stands above it is left out"):
        table = tables.read(path)
    assert table.to_pydict() == dict(zip("abc", map(list, zip(*ROWS, strict=True)), strict=True))


def test_of_several_tables_on_a_sheet_the_largest_is_read_and_the_others_are_named(tmp_path):
    beside = [[*row, None, 1, 2] for row in ROWS[:3]]
    path = workbook(
        tmp_path / "t.xlsx",
        [["a", "b", "c", None, "p", "q"], *beside, *ROWS[3:], [], ["u", "v"], ["w", 2], ["w", 4], [], ["Source: us"]],
    )
    with pytest.warns(DataNote) as notes:
        assert tables.read(path).column_names == ["a", "b", "c"]
    places = [str(note.message).partition("'Sheet 0', ")[2] for note in notes]
    assert places == ["4 rows at E1 are left out.", "3 rows at A12 are left out.", "'Source: us' at A16 are left out."]


def test_a_table_goes_on_below_an_empty_row_and_beside_an_empty_column(tmp_path):
    rows = [[a, b, None, c] for a, b, c in ROWS]
    path = workbook(tmp_path / "t.xlsx", [["a", "b", None, "c"], *rows[:4], [], *rows[4:]])
    assert tables.read(path).num_rows == 9
    assert tables.read(path).column_names == ["a", "b", "c"]
