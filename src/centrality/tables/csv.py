"""Read and write CSV, and read sheets of Excel."""

import csv
import io
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from centrality._internal.checks import optional, warn_caller
from centrality.tables.columns import (
    DataNote,
    Format,
    Sink,
    TableError,
    Types,
    first_few,
    reading,
    repeated,
    require_distinct,
)
from centrality.tables.text import (
    BYTE_ORDER_MARK,
    GAP_WORDS,
    Dialect,
    TextSource,
    in_arrows_memory,
    is_open,
    last_record_end,
    open_text,
    record_ends,
    split_records,
)
from centrality.tables.written_numbers import DIGITS_E_DIGITS, UNMARKED

FAILED = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")  # cells whose formula has no value


def open_excel(path: Path) -> TextSource:
    """Open the largest table of a workbook's longest sheet; notes name the other tables and sheets."""
    openpyxl = optional("openpyxl", "excel")
    # Openpyxl and the parsers below it raise anything of a damaged file.
    with reading(path, ".xlsx", (Exception,)), path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions that have nothing to do with the cells
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheets = {
            sheet.title: [[_cell(value) for value in row] for row in sheet.iter_rows(values_only=True)]
            for sheet in book.worksheets
        }
        book.close()
    rows_of = {title: sum(any(cell != "" for cell in row) for row in cells) for title, cells in sheets.items()}
    longest = max(rows_of, key=rows_of.__getitem__)
    if not rows_of[longest]:
        raise TableError(f"{path} is empty: it has 0 rows and 0 columns.")
    if others := ", ".join(title for title, rows in rows_of.items() if rows and title != longest):
        note = (
            f"{path}: only its longest sheet, {longest!r}, is read. For another ({others}), save that as a .csv file."
        )
        warn_caller(note, DataNote)
    table, *other_parts = parts_of_sheet(sheets[longest])
    rows = [[str(cell) for cell in row] for row in table.rows[: 10 * PREAMBLE]]
    header = header_row(rows)
    strays = [part for part in other_parts if part.top < table.top or min(len(part.rows), len(part.rows[0])) < 2]
    if header or any(part.top < table.top for part in strays):
        note = f"{path}: the header was found in row {table.top + header + 1}; what stands above it is left out."
        warn_caller(note, DataNote)
    for part in other_parts:
        if part.top >= table.top:
            what = f"{len(part.rows)} rows" if part not in strays else repr(str(part.rows[0][0]))
            note = f"{path}: besides the largest table of {longest!r}, {what} at {part.place()} are left out."
            warn_caller(note, DataNote)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_names(rows[header]), *table.rows[header + 1 :]])
    content = text.getvalue().encode()
    dialect = CsvDialect(str(path), kind=".xlsx")
    source = TextSource(dialect, io.BytesIO(content), size=len(content), keeps_records=False)
    source.rows_above = table.top + header + 1
    return source


@dataclass
class SheetPart:
    """Cells of a sheet that belong together, without empty rows and columns; `top` and `left` count from 0."""

    top: int
    left: int
    rows: list[list[object]]

    def place(self) -> str:
        """Return the part's first cell, as a spreadsheet calls it."""
        letters = ""
        left = self.left + 1
        while left:
            left, letter = divmod(left - 1, 26)
            letters = chr(ord("A") + letter) + letters
        return f"{letters}{self.top + 1}"


def parts_of_sheet(cells: Sequence[Sequence[object]]) -> list[SheetPart]:
    """Return the parts of a sheet between empty rows and columns, the one with the most cells first.

    A table goes on after an empty row if the next row is like the last one, and beside an empty column if all its rows
    do.
    """
    width = max(map(len, cells))
    grid = [[*row, *[""] * (width - len(row))] for row in cells]
    filled = np.array([[cell != "" for cell in row] for row in grid])
    blocks: list[list[int]] = []  # numbers of rows
    for number in np.flatnonzero(filled.any(axis=1)).tolist():
        above = [grid[place] for place in (*blocks[-1][:1], *blocks[-1][1:][-COMPARED:])] if blocks else []
        if blocks and (number == blocks[-1][-1] + 1 or _goes_on(above, grid[number])):
            blocks[-1].append(number)
        else:
            blocks.append([number])
    parts = []
    for block in blocks:
        columns = np.flatnonzero(filled[block].any(axis=0))
        beside: dict[tuple[int, ...], list[int]] = {}  # columns by the rows that they are filled in
        for run in np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1):
            rows = tuple(number for number in block if filled[number, run].any())
            beside[rows] = [*beside.get(rows, []), *run.tolist()]
        for rows, its_columns in beside.items():
            parts.append(SheetPart(rows[0], its_columns[0], [[grid[row][k] for k in its_columns] for row in rows]))
    return sorted(parts, key=lambda part: -sum(cell != "" for row in part.rows for cell in row))


def _goes_on(rows: Sequence[Sequence[object]], below: Sequence[object]) -> bool:
    """Say whether a row below a gap is of the table above it: most cells of its columns are of the same kind as there.

    The first row is that of the names, and has a kind only where no other is there yet.
    """
    last = [next((str(row[k]) for row in reversed(rows[1:]) if row[k] != ""), "") for k in range(len(below))]
    if not any(last):
        return 2 * sum(cell != "" for cell in rows[0]) > sum(cell != "" for cell in below)
    pairs = [(above, str(cell)) for above, cell in zip(last, below, strict=True) if above and cell != ""]
    alike = sum(_is_number(above) == _is_number(cell) for above, cell in pairs)
    return 2 * alike > len(pairs) and 2 * alike > sum(map(bool, last))


COMPARED = 20  # last rows of a table that a row below a gap is compared with
PREAMBLE = 30  # rows that may stand above the names of columns


def header_row(rows: Sequence[Sequence[str]]) -> int:
    """Return the place of the row that names the columns: the first from which on all rows have the table's width.

    Titles and notes above it have fewer fields, or leave several of them empty. It is the first row unless that is
    none, and one below is full of different names.
    """
    if not rows:
        return 0
    width, _ = Counter(map(len, rows)).most_common(1)[0]
    for place, row in enumerate(rows[:PREAMBLE]):
        if len(row) != width or sum(cell.strip() == "" for cell in row) > 1:
            continue
        of_numbers = [cell for cell in row if _is_number(cell)]
        is_names = len(set(row)) == width and all(re.fullmatch("[12][0-9]{3}", cell) for cell in of_numbers)
        whole = all(len(other) == width for other in rows[place:])
        return place if is_names and whole else 0
    return 0


def _names(names: Sequence[str]) -> list[str]:
    """Return the names of columns; if several have none, these are called by their places."""
    if sum(name == "" for name in names) < 2:
        return list(names)
    return [name or f"column {place}" for place, name in enumerate(names, 1)]


def _cell(value: object) -> object:
    if value is None or value in FAILED:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else value


SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
HEAD = 1 << 13  # bytes that show which columns have leading zeros, nearly always
SEPARATOR_SAID = re.compile(rb"sep=([,;\t|])\r?\n")  # the first line that Excel writes and reads
GROUPED_BY_POINTS = r"^-?(?:[1-9][0-9]{0,2}\.[0-9]{3}|[0-9]{1,3})$"
WHOLE = r"^-?[0-9]+$"
LEADING_ZERO = r"^[+-]?0[\dxX]"  # also of hexadecimal numbers, which Arrow reads as whole ones, but not as any others


def recognised_separator(head: bytes, default: str) -> str:
    """Return the separator of a text that begins so: `default`, unless only another one fits all records.

    One fits if it gives each record the same number of fields, and more than one. A record that may go on after the
    head is not looked at if there are others. If none fits so, there may be other lines above the table: then one fits
    that gives so many of the last records the same number of fields, at least twice as many as stand above.
    """
    head = head.removeprefix(BYTE_ORDER_MARK)
    if line := SEPARATOR_SAID.match(head):
        return line[1].decode()
    best = default  # of the separators that fit all records
    best_count = 1
    best_below = default  # of those that fit the last records
    best_alike = 0
    for mark in (default, *(other for other in SEPARATORS if other != default)):
        records = split_records(head, mark.encode())
        records = records if head.endswith((b"\n", b"\r")) else records[:-1] or records
        counts = [_count_fields(record, mark) for record in records]
        if len(set(counts)) == 1 and counts[0] > best_count:
            if mark == default:
                return default
            best = mark
            best_count = counts[0]
        alike = next((k for k, count in enumerate(reversed(counts)) if count != counts[-1]), len(counts))
        if counts and counts[-1] > 1 and alike >= max(3, 2 * (len(counts) - alike)) and alike > best_alike:
            best_below = mark
            best_alike = alike
    return best if best_count > 1 else best_below


def _count_fields(record: bytes, mark: str) -> int:
    return len(next(csv.reader([record.decode("utf-8", "replace")], delimiter=mark), []))


class CsvDialect(Dialect):
    """Parses CSV or TSV. A column of whole numbers is text if one would lose its leading zeros or is hexadecimal."""

    def __init__(self, name: str, head: bytes = b"", *, kind: str = ".csv", separator: str = ",") -> None:
        super().__init__(name)
        mark = recognised_separator(head, separator)
        if mark != separator:
            warn_caller(
                f"{name}: fields are separated by {SEPARATORS[mark]}, not by {SEPARATORS[separator]}; so it is read.",
                DataNote,
            )
        self.kind = kind
        self.mark = mark
        self.separator = mark.encode()
        self.keeps_gap_words = GAP_WORDS.get()
        self._codes: set[str] = set()  # columns that are read as text, although Arrow takes them for numbers

    def without_header(self, block: bytes) -> bytes:
        separator_line = SEPARATOR_SAID.match(block)
        table = block[separator_line.end() if separator_line else 0 :].lstrip(b"\r\n")
        size = HEAD
        while size < len(table) and table.count(b"\n", 0, size) < PREAMBLE:
            size *= 2
        head = table[: last_record_end(table[:size], self.mark.encode()) or len(table)]
        ends = [*record_ends(head, self.mark.encode()), len(head)]
        records = [(start, end) for start, end in zip([0, *ends], ends, strict=False) if head[start:end].strip()]
        lines = [head[start:end].rstrip(b"\r\n").decode() for start, end in records]
        rows = [next(csv.reader([line], delimiter=self.mark), []) for line in lines]
        header = header_row(rows)
        self.rows_above = block.count(b"\n", 0, len(block) - len(table) + records[header][0]) + 1
        if header:
            title = " ".join(filter(None, rows[0]))
            warn_caller(
                f"{self.name}: the header was found in line {self.rows_above}; what stands above it is left out: "
                f"{title!r:.60}.",
                DataNote,
            )
        self.names = _names(rows[header])
        require_distinct(repeated(self.names), self.name)
        if self.names and all(map(_is_number, self.names)):  # this may be a row of data
            if not all(name.strip().isdecimal() for name in self.names):  # years are names, 0.25 and -1 are not
                raise TableError(
                    f"{self.name}: names of columns were wanted in the first line, got numbers: "
                    f"{self.mark.join(self.names[:8])}. Put a line of names above them."
                )
            warn_caller(
                f"{self.name}: the first line holds only whole numbers ({first_few(self.names, 4)}); it is taken for "
                "the names of the columns, not for a row.",
                DataNote,
            )
        return table[records[header][1] :]

    def split(self, block: bytes) -> list[bytes]:
        return split_records(block, self.mark.encode())

    def repaired(self, record: bytes) -> bytes:
        is_whole = not is_open(record, self.mark.encode()) and _count_fields(record, self.mark) == len(self.names)
        return record if is_whole else self.mark.encode() * (len(self.names) - 1)

    def extended_header(self, names: Sequence[str]) -> bytes:
        return header_line([*self.names, *names], self.mark)

    def extended_records(self, records: Sequence[bytes], values: dict[str, Any]) -> list[bytes]:
        columns = (
            # NaN: this row has no such value.
            [_quoted(v, self.mark) if isinstance(v, str) else "" if v != v else repr(v) for v in column.tolist()]
            for column in values.values()
        )
        shape = (self.mark + "%s") * len(values) + "\n"
        rows = zip(*columns, strict=True)
        return [record + (shape % row).encode() for record, row in zip(records, rows, strict=True)]

    def _infer(self, block: bytes) -> pa.Table:
        if self.rows == 0 and count_leading_zeros(block, self.mark):
            # They show in the first rows already, nearly always: then the block is not parsed twice because of them.
            head = block[: block.find(b"\n", HEAD) + 1] or block
            if b'"' not in head:  # otherwise it may end inside a record
                self._with_codes_as_text(self._parsed(head, {}), head)
        table = self._with_codes_as_text(self._parsed(block, dict.fromkeys(self._codes, pa.string())), block)
        for place, field in enumerate(table.schema):
            if pa.types.is_null(field.type):
                table = table.set_column(place, field.name, pa.nulls(table.num_rows, pa.string()))
        return table

    def _with_codes_as_text(self, table: pa.Table, block: bytes) -> pa.Table:
        """Return the table with columns as text that Arrow takes for numbers but should not; remember these.

        They are whole numbers with leading zeros or hexadecimal ones, codes such as 12E5, and whole numbers with points
        between thousands: 950 beside 1.234.
        """
        from pyarrow import compute

        def share(name: str, pattern: str) -> float:
            return compute.mean(compute.match_substring_regex(texts[name], pattern)).as_py() or 0.0

        zeros = count_leading_zeros(block, self.mark)
        for field in table.schema if zeros else ():
            if pa.types.is_string(field.type):
                texts_with_zeros = compute.match_substring_regex(table[field.name], LEADING_ZERO)
                zeros -= compute.sum(texts_with_zeros).as_py() or 0
        padded = [field.name for field in table.schema if zeros and pa.types.is_integer(field.type)]
        floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
        coded = floats if count_fields(block, self.mark, DIGITS_E_DIGITS.strip("^$")) else []
        grouped = []
        for name in floats:
            x = table[name].drop_null().to_numpy()
            thousandths = np.abs(x) * 1000
            if len(x) == 0 or thousandths.max() >= 1e6 or (np.abs(thousandths - np.rint(thousandths)) > 1e-6).any():
                continue
            if UNMARKED < (x == np.rint(x)).mean() < 1:  # three decimals, but some without any: 1.234 may be 1,234
                grouped.append(name)
        suspects = list(dict.fromkeys([*padded, *coded, *grouped]))
        texts = self._parsed(block, dict.fromkeys(suspects, pa.string()), only=suspects) if suspects else table
        for name in suspects:
            is_grouped = name in grouped and share(name, GROUPED_BY_POINTS) == 1 and share(name, WHOLE) > UNMARKED
            is_padded = name in padded and share(name, LEADING_ZERO) > 0
            if is_padded or is_grouped or (name in coded and share(name, DIGITS_E_DIGITS) > 1 / 2):
                self._codes.add(name)
                table = table.set_column(table.schema.get_field_index(name), name, texts[name])
        return table

    def _parse(self, block: bytes, schema: pa.Schema, *, strict: bool) -> pa.Table:
        return self._parsed(block, {field.name: field.type for field in schema}, only=schema.names)

    def _parsed(self, block: bytes, types: Types, only: Sequence[str] | None = None) -> pa.Table:
        try:
            return self._read(block, types, only)
        except pa.ArrowInvalid:
            return self._read(block, types, only, threads=False)  # one thread's error names the row

    def _read(self, block: bytes, types: Types, only: Sequence[str] | None, *, threads: bool = True) -> pa.Table:
        from pyarrow import csv as arrow_csv

        return arrow_csv.read_csv(
            in_arrows_memory(block),
            read_options=arrow_csv.ReadOptions(column_names=self.names, use_threads=threads),
            parse_options=arrow_csv.ParseOptions(delimiter=self.mark, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=only,
                strings_can_be_null=True,
                null_values=[""] if self.keeps_gap_words else None,
            ),
        )


def count_leading_zeros(block: bytes, separator: str) -> int:
    """Count the fields that begin with a zero before another digit or an x, after a sign or not.

    Such a field inside a quoted text is counted too.
    """
    return count_fields(block, separator, LEADING_ZERO[1:])


def count_fields(block: bytes, separator: str, pattern: str) -> int:
    """Count the fields that begin with this pattern."""
    from pyarrow import compute

    begins = rf'(?:^|[{separator}\r\n"])'
    return int(compute.count_substring_regex(pa.array([block], pa.binary()), begins + pattern)[0].as_py())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class CsvSink(Sink):
    """Writes CSV or TSV; lists and records, which it cannot hold, become JSON."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, separator: str = ",") -> None:
        from pyarrow import csv as arrow_csv

        self._options = arrow_csv.WriteOptions(delimiter=separator, include_header=False)
        file.write(header_line(schema.names, separator))
        self._file = file

    def write(self, table: pa.Table) -> None:
        from pyarrow import csv as arrow_csv

        text = pa.BufferOutputStream()
        arrow_csv.write_csv(_flat(table), text, self._options)
        self._file.write(text.getvalue())


MOST_ROWS_OF_SHEET = 1 << 20
FORBIDDEN_IN_SHEET = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")


class ExcelSink(Sink):
    """Writes a workbook of one sheet. A text is never a formula; a whole number that Excel would round is a text."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._book = optional("openpyxl", "excel").Workbook(write_only=True)
        self._sheet = self._book.create_sheet("rows")
        self._file = file
        self._rows = 0
        self._append(schema.names)

    def write(self, table: pa.Table) -> None:
        for row in zip(*(column.to_pylist() for column in _flat(table).columns), strict=True):
            self._append(row)

    def close(self) -> None:
        self._book.save(self._file)

    def _append(self, row: Sequence[object]) -> None:
        self._rows += 1
        if self._rows > MOST_ROWS_OF_SHEET:
            raise TableError(f"A sheet of Excel has at most {MOST_ROWS_OF_SHEET:,} rows: write .csv or .parquet.")
        self._sheet.append([self._cell(value) for value in row])

    def _cell(self, value: object) -> Any:
        from openpyxl.cell import WriteOnlyCell

        if isinstance(value, float) and not math.isfinite(value):
            return None
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**15:
            value = str(value)
        if isinstance(value, datetime) and value.tzinfo is not None:
            value = value.isoformat()
        if value is None or isinstance(value, bool | int | float | date | datetime):
            return value
        cell = WriteOnlyCell(self._sheet, FORBIDDEN_IN_SHEET.sub("\ufffd", str(value)))
        cell.data_type = "s"  # also where it begins with =
        return cell


def header_line(names: Sequence[str], separator: str) -> bytes:
    """Return the first line of a CSV file, with quotation marks only around names that need them."""
    return (separator.join(_quoted(name, separator) for name in names) + "\n").encode()


def _flat(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            text = [None if value is None else json.dumps(value, default=str) for value in table[place].to_pylist()]
            table = table.set_column(place, field.name, pa.array(text, pa.string()))
    return table


def _quoted(text: str, separator: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in f'{separator}"\r\n') else text


def _format(kind: str, separator: str) -> Format:
    dialect = partial(CsvDialect, kind=kind, separator=separator)
    write = partial(CsvSink, separator=separator)
    return Format(partial(open_text, dialect=dialect), write, write, is_text=True)


CSV = _format(".csv", ",")
TSV = _format(".tsv", "\t")
EXCEL = Format(open_excel, ExcelSink)
