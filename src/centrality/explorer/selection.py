"""Write selected rows as a CSV file, with their scores; their cells leave as they came."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.explorer.columns import Column
from centrality.explorer.row_keys import cell_texts
from centrality.explorer.view import View
from centrality.scores.mixing import one_t
from centrality.tables.csv import CsvSink

EXACT_IN_FLOAT64 = 2**53  # whole numbers beyond it do not fit


def selection_csv(view: View, wanted: Any) -> bytes:
    """Return the rows of {"rows": [...], "t": ...} as a CSV file, from the rows that the model was given."""
    rows, t = _checked(view, wanted)
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
    return file.getvalue()


def score_name(view: View, t: float) -> str:
    """Return the name of the scores at t: with t in per cent, unless it is the model's own."""
    return "centrality" if t == view.t else f"centrality_t{100 * t:g}".replace(".", "_")


def _checked(view: View, wanted: Any) -> tuple[NDArray[np.intp], float]:
    """Return rows and t of what a page asked for; raise if they are none."""
    rows = wanted.get("rows") if isinstance(wanted, dict) else None
    if not isinstance(rows, list) or not all(type(row) is int and 0 <= row < len(view) for row in rows):
        raise InputError(f"The numbers of rows to save were wanted, got {str(wanted)[:100]!r}.")
    return np.array(rows, dtype=np.intp), one_t(wanted.get("t"))


def exact_columns(view: View) -> tuple[list[Column], list[Column]]:
    """Return the view's columns with doubles that are not rounded, and as texts the cells that these do not tell.

    A page that cannot ask for cells later has them so: moments, texts that were cut, very long whole numbers.
    """
    held = pa.table({}) if view.cells is None else view.cells(np.arange(len(view)))
    columns, cells = [], []
    for column in view.columns:
        name, whole, texts = column.name, view.items.whole, None
        if whole is not None and name == view.items.column:
            texts = tuple(whole(row) for row in range(len(view)))
        elif name in held.column_names and pa.types.is_float64(held[name].type):
            column = replace(column, values=held[name].to_numpy())
        elif name in held.column_names:
            texts = tuple("" if text is None else text for text in cell_texts(held[name]).to_pylist())
        columns.append(column)
        if texts is not None and not _tells(column, texts):
            cells.append(Column(name, "text", np.empty(0), texts=texts))
    return columns, cells


def _tells(column: Column, texts: tuple[str, ...]) -> bool:
    """Tell whether a page can write these cells from what the column holds."""
    if column.kind == "number":  # whole numbers, and float32
        return (
            bool(np.nanmax(np.abs(column.values), initial=0.0) <= EXACT_IN_FLOAT64) or column.values.dtype == np.float32
        )
    return column.texts == texts if column.kind == "text" else {"", *column.levels} >= set(texts)
