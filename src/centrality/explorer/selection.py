"""Write selected rows as a CSV file, with their scores and their cells unchanged."""

import io

import numpy as np
import pyarrow as pa

from centrality.explorer.columns import Column
from centrality.explorer.jobs import named, rows_named
from centrality.explorer.row_keys import cell_texts
from centrality.explorer.view import View
from centrality.scores.mixing import one_t
from centrality.tables.csv import CsvSink

EXACT_IN_FLOAT64 = 2**53  # whole numbers beyond it do not fit
MOST_TEXT = 20_000_000  # characters of a column of long texts that a page gets whole, to search in


def selection_csv(view: View, given: object) -> str:
    """Return the rows of {"rows": [...], "t": ...} as a CSV file, from the rows that the model was given."""
    wanted = named(given)
    rows, t = rows_named(wanted, "rows", len(view)), one_t(wanted.get("t"))
    held = pa.table({}) if view.cells is None else view.cells(rows)
    scores = {
        "row": view.rows[rows],
        "global": view.heads[rows, 0],
        "local": view.heads[rows, 1],
        score_name(view, t): view.centrality(t)[rows],
    }
    names = {name: name if name not in held.column_names else f"centrality {name}" for name in scores}
    table = pa.table({names[name]: values for name, values in scores.items()})
    for name in held.column_names:
        table = table.append_column(name, held[name])
    file = io.BytesIO()
    CsvSink(file, table.schema).write(table)
    return file.getvalue().decode()


def score_name(view: View, t: float) -> str:
    """Return the name of the scores at t: with t in per cent, unless it is the model's own."""
    return "centrality" if t == view.t else f"centrality_t{100 * t:g}".replace(".", "_")


def exact_cells(view: View, *, in_file: bool) -> list[Column]:
    """Return, as texts, the cells that a page cannot write exactly from the columns of a view.

    These are very long whole numbers, moments finer than a millisecond, and texts that were cut, if all of
    them are not too long. A page in a file writes CSV by itself, and gets all moments and texts this way.
    """
    cells = []
    held = pa.table({}) if view.cells is None else view.cells(np.arange(len(view)))
    for column in view.columns:
        texts = _cell_texts(view, column, held, in_file=in_file)
        if texts is not None and (in_file or sum(map(len, texts)) <= MOST_TEXT):
            cells.append(Column(column.name, "text", np.empty(0), texts=texts))
    return cells


def _cell_texts(view: View, column: Column, held: pa.Table, *, in_file: bool) -> tuple[str, ...] | None:
    """Return the cells of one column as texts; None if the page can write them exactly from the column."""
    if view.items.whole is not None and column.name == view.items.column:
        texts = tuple(view.items.whole(row) for row in range(len(view)))
        return None if texts == column.texts else texts
    if column.name not in held.column_names or _is_told(column, held[column.name], in_file=in_file):
        return None
    texts = tuple("" if text is None else text for text in cell_texts(held[column.name]).to_pylist())
    told = column.texts == texts if column.kind == "text" else {"", *column.levels} >= set(texts)
    return None if told else texts


def _is_told(column: Column, held: pa.ChunkedArray, *, in_file: bool) -> bool:
    """Say whether a page can write these cells exactly from the column, judged without their texts."""
    if column.kind == "number":
        whole = bool(np.nanmax(np.abs(column.values), initial=0.0) <= EXACT_IN_FLOAT64)
        return whole or not pa.types.is_integer(held.type)
    if column.kind == "date":
        fine = pa.types.is_timestamp(held.type) and held.type.unit in ("us", "ns")
        return not in_file and not (fine and _is_finer(held))
    return column.kind == "category" and not in_file


def _is_finer(held: pa.ChunkedArray) -> bool:
    """Say whether some moment is not a whole number of milliseconds."""
    in_one = 1000 if held.type.unit == "us" else 1_000_000
    moments = held.cast(pa.int64()).drop_null().to_numpy()
    return bool((moments % in_one).any())
