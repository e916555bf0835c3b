"""Read and write CSV, and read sheets of Excel."""

import csv
import io
import json
import warnings
from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from centrality._internal.checks import optional
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
    Dialect,
    TextSource,
    in_arrows_memory,
    open_text,
    record_ends,
    split_records,
)

FAILED = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")  # cells whose formula has no value


def open_excel(path: Path) -> TextSource:
    """Open the rows of a workbook's longest sheet; a note names the others."""
    openpyxl = optional("openpyxl", "excel")
    # Openpyxl and the parsers below it raise anything of a damaged file.
    with reading(path, ".xlsx", (Exception,)), path.open("rb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions that have nothing to do with the cells
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
        sheets = {sheet.title: content for sheet in book.worksheets if (content := _as_csv(sheet))}
        book.close()
    if not sheets:
        raise TableError(f"{path} is empty: it has 0 rows and 0 columns.")
    longest = max(sheets, key=lambda title: sheets[title].count(b"\n"))
    others = ", ".join(title for title in sheets if title != longest)
    if others:
        said = (
            f"{path}: only its longest sheet, {longest!r}, is read. For another ({others}), save that as a .csv file."
        )
        warnings.warn(said, DataNote, stacklevel=2)
    content = sheets[longest]
    dialect = CsvDialect(str(path), kind=".xlsx")
    return TextSource(dialect, io.BytesIO(content), size=len(content), keeps_records=False)


def _as_csv(sheet: Any) -> bytes:
    """Return the sheet as CSV, without rows above and columns beside the table in it; nothing if it is empty."""
    text = io.StringIO()
    writer, width = csv.writer(text, lineterminator="\n"), 0
    for row in sheet.iter_rows(values_only=True):
        cells = [_cell(value) for value in row]
        if not width:  # the first row that holds something names the columns
            width = max((place for place, cell in enumerate(cells, 1) if cell != ""), default=0)
        if width and any(cell != "" for cell in cells[:width]):
            writer.writerow(cells[:width] + [""] * (width - len(cells)))
    return text.getvalue().encode()


def _cell(value: object) -> object:
    if value is None or value in FAILED:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, date) else value


EXCEL = Format(open_excel)

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
HEAD = 1 << 13  # bytes that show which columns have leading zeros, nearly always
LEADING_ZERO = r"^[+-]?0[\dxX]"  # also of hexadecimal numbers, which Arrow reads as whole ones, but not as any others


def recognised_separator(head: bytes, usual: str) -> str:
    """Return the separator of a text that begins so: `usual`, unless only another one fits all records.

    One fits if it gives each record the same number of fields, and more than one. A record that may go on after the
    head is not looked at if there are others.
    """
    best, most = usual, 1
    for mark in (usual, *(other for other in SEPARATORS if other != usual)):
        records = split_records(head.removeprefix(BYTE_ORDER_MARK), mark.encode())
        records = records if head.endswith((b"\n", b"\r")) else records[:-1] or records
        counts = {_count_fields(record, mark) for record in records}
        if len(counts) == 1 and (count := counts.pop()) > most:
            if mark == usual:
                return usual
            best, most = mark, count
    return best


def _count_fields(record: bytes, mark: str) -> int:
    return len(next(csv.reader([record.decode("utf-8", "replace")], delimiter=mark), []))


class CsvDialect(Dialect):
    """Parses CSV or TSV. A column of whole numbers is text if one would lose its leading zeros or is hexadecimal."""

    def __init__(self, name: str, head: bytes = b"", *, kind: str = ".csv", separator: str = ",") -> None:
        super().__init__(name)
        mark = recognised_separator(head, separator)
        if mark != separator:
            warnings.warn(
                f"{name}: fields are separated by {SEPARATORS[mark]}, not by {SEPARATORS[separator]}; so it is read.",
                DataNote,
                stacklevel=2,
            )
        self.kind, self.mark, self.separator = kind, mark, mark.encode()
        self._padded: set[str] = set()  # columns known to have whole numbers with leading zeros

    def without_header(self, block: bytes) -> bytes:
        block = block.lstrip(b"\r\n")
        end = next(record_ends(block, self.mark.encode()), len(block))
        self.names = self._fields(block[:end].rstrip(b"\r\n"))
        require_distinct(repeated(self.names), self.name)
        self._require_names()
        return block[end:]

    def _require_names(self) -> None:
        """Raise if the first line holds measured numbers, and so is a row of data; warn if it may be one."""
        if not self.names or not all(map(_is_number, self.names)):
            return
        if not all(name.strip().isdecimal() for name in self.names):  # years are names, 0.25 and -1 are not
            raise TableError(
                f"{self.name}: names of columns were wanted in the first line, got numbers: "
                f"{self.mark.join(self.names[:8])}. Put a line of names above them."
            )
        warnings.warn(
            f"{self.name}: the first line holds only whole numbers ({first_few(self.names, 4)}); it is taken for the "
            "names of the columns, not for a row.",
            DataNote,
            stacklevel=2,
        )

    def split(self, block: bytes) -> list[bytes]:
        return split_records(block, self.mark.encode())

    def extended_header(self, names: Sequence[str]) -> bytes:
        return header_line([*self.names, *names], self.mark)

    def extended_records(self, records: Sequence[bytes], values: dict[str, Any]) -> list[bytes]:
        columns = [[_field(value, self.mark) for value in column.tolist()] for column in values.values()]
        shape = (self.mark + "%s") * len(columns) + "\n"
        return [
            record + (shape % row).encode() for record, row in zip(records, zip(*columns, strict=True), strict=True)
        ]

    def _infer(self, block: bytes) -> pa.Table:
        if self.rows == 0 and count_leading_zeros(block, self.mark):
            self._note_padded_at_head(block)
        table = self._parsed(block, self._text(self._padded))
        if any(pa.types.is_integer(field.type) for field in table.schema):
            table = self._with_padded_as_text(table, block)
        for place, field in enumerate(table.schema):
            if pa.types.is_null(field.type):
                table = table.set_column(place, field.name, pa.nulls(table.num_rows, pa.string()))
        return table

    def _note_padded_at_head(self, block: bytes) -> None:
        """Find columns with leading zeros in the first rows, so that the block is not parsed twice because of them."""
        head = block[: block.find(b"\n", HEAD) + 1] or block
        if b'"' not in head:  # otherwise it may end inside a record: the whole block is checked then
            self._note_padded(head, self._parsed(head, {}))

    def _with_padded_as_text(self, table: pa.Table, block: bytes) -> pa.Table:
        """Return the table with columns of leading zeros as text; parse those again that were read as numbers."""
        zeros = count_leading_zeros(block, self.mark)
        if zeros and zeros != _count_padded(table):
            padded = self._note_padded(block, table)
            texts = self._parsed(block, self._text(padded), only=padded) if padded else table
            for name in padded:
                table = table.set_column(table.schema.get_field_index(name), name, texts[name])
        return table

    def _note_padded(self, block: bytes, table: pa.Table) -> list[str]:
        """Find the columns of whole numbers that have leading zeros in this block; remember and return the new ones."""
        from pyarrow import compute

        whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
        if not whole:
            return []
        texts = self._parsed(block, self._text(whole), only=whole)
        padded = [
            name for name in whole if compute.any(compute.match_substring_regex(texts[name], LEADING_ZERO)).as_py()
        ]
        self._padded.update(padded)
        return padded

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
                column_types=types, include_columns=only, strings_can_be_null=True
            ),
        )

    def _fields(self, line: bytes) -> list[str]:
        return next(csv.reader([line.decode()], delimiter=self.mark), [])

    @staticmethod
    def _text(names: Sequence[str] | set[str]) -> Types:
        return dict.fromkeys(names, pa.string())


def count_leading_zeros(block: bytes, separator: str) -> int:
    """Count the fields that begin with a zero before another digit or an x, after a sign or not.

    Such a field inside a quoted text is counted too.
    """
    from pyarrow import compute

    begins = rf'(?:^|[{separator}\r\n"])'
    return int(compute.count_substring_regex(pa.array([block], pa.binary()), begins + LEADING_ZERO[1:])[0].as_py())


def _count_padded(table: pa.Table) -> int:
    """Count the texts that begin like a number with leading zeros."""
    from pyarrow import compute

    texts = [table[field.name] for field in table.schema if pa.types.is_string(field.type)]
    return sum(compute.sum(compute.match_substring_regex(text, LEADING_ZERO)).as_py() or 0 for text in texts)


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

        held = pa.BufferOutputStream()
        arrow_csv.write_csv(_flat(table), held, self._options)
        self._file.write(held.getvalue())


def header_line(names: Sequence[str], separator: str) -> bytes:
    """Return the first line of a CSV file, with quotation marks only around names that need them."""
    return (separator.join(_quoted(name, separator) for name in names) + "\n").encode()


def _flat(table: pa.Table) -> pa.Table:
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            text = [None if value is None else json.dumps(value, default=str) for value in table[place].to_pylist()]
            table = table.set_column(place, field.name, pa.array(text, pa.string()))
    return table


def _field(value: object, separator: str) -> str:
    if isinstance(value, str):
        return _quoted(value, separator)
    return "" if value != value else repr(value)  # NaN: this row has no such value


def _quoted(text: str, separator: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(mark in text for mark in f'{separator}"\r\n') else text


def _format(kind: str, separator: str) -> Format:
    dialect = partial(CsvDialect, kind=kind, separator=separator)
    write = partial(CsvSink, separator=separator)
    return Format(partial(open_text, dialect=dialect), write, write, is_text=True)


CSV = _format(".csv", ",")
TSV = _format(".tsv", "\t")
