"""Read Excel workbooks: the sheet with the most rows, below a row of names. Cells are read as those of a CSV."""

import csv
import io
import warnings
from datetime import date, datetime
from pathlib import Path
from typing import Any

from centrality._optional import optional
from centrality.tables.columns import DataNote, TableError, reading
from centrality.tables.csv import CsvDialect
from centrality.tables.source import Format
from centrality.tables.text import TextSource

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
