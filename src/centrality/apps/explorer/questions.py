"""Answer questions of the page about rows and selections."""

import io
from collections.abc import Callable
from typing import NotRequired, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.text import column_name
from centrality.apps.explorer.content import Column, are_bytes, cell_texts, in_words
from centrality.apps.explorer.header import Findings, Reason, TypicalWith, Why, Words
from centrality.apps.explorer.parts import part_named
from centrality.apps.explorer.session import Jobs, fields_of, row_numbers
from centrality.apps.explorer.view import View
from centrality.model.reservoir import MOST_OVERLAP
from centrality.network.calibration import one_t
from centrality.tables.csv import CsvSink

EXACT_IN_FLOAT64 = 2**53  # whole numbers beyond it do not fit
MOST_TEXT = 20_000_000  # characters of a column of long texts that a page gets whole, to search in


def selection_csv(view: View, request: object) -> str:
    """Return the rows of {"rows": [...], "t": ...} as a CSV file, from the rows that the model was given."""
    fields = fields_of(request)
    rows = row_numbers(fields, "rows", len(view))
    t = one_t(fields.get("t"))
    cells = pa.table({}) if view.cells is None else view.cells(rows)
    scores = {
        "row": view.rows[rows],
        "global": view.heads[rows, 0],
        "local": view.heads[rows, 1],
        column_name("centrality", t, view.t): view.centrality(t)[rows],
    }
    names = {name: name if name not in cells.column_names else f"centrality {name}" for name in scores}
    table = pa.table({names[name]: values for name, values in scores.items()})
    for name in cells.column_names:
        writable = not are_bytes(cells[name].type)
        table = table.append_column(name, cells[name] if writable else in_words(cells[name].combine_chunks()))
    file = io.BytesIO()
    CsvSink(file, table.schema).write(table)
    return file.getvalue().decode()


def certificate(view: View, request: object) -> str:
    """Say how many of the rows of {"rows": [...], "t": ...} are odd at least; an empty text if nothing can be said.

    The rows that the model was fitted on tell nothing of themselves.
    """
    fields = fields_of(request)
    rows = row_numbers(fields, "rows", len(view))
    t = one_t(fields.get("t"))
    if not isinstance(view.jobs, Jobs) or not len(rows):
        return ""
    fitted = view.jobs.model.fitted_
    if fitted.remembered.estimated_overlap(view.jobs.vectors) > MOST_OVERLAP:
        return ""
    certificate = fitted.certificate(rows, view.units, t)
    return "" if certificate is None or not certificate.at_least else str(certificate)


def exact_cells(view: View, *, in_file: bool) -> list[Column]:
    """Return, as texts, the cells that a page cannot write exactly from the columns of a view.

    These are very long whole numbers, moments finer than a millisecond, and texts that were cut, if all of
    them are not too long. A page in a file writes CSV by itself, and gets all moments and texts this way.
    """
    cells = []
    table = pa.table({}) if view.cells is None else view.cells(np.arange(len(view)))
    for column in view.columns:
        if view.items.whole is not None and column.name == view.items.column:
            texts = tuple(view.items.whole(row) for row in range(len(view)))
            is_exact = texts == column.texts
        elif column.name not in table.column_names or _is_exact(column, table[column.name], in_file=in_file):
            continue
        elif column.kind == "category" and in_words(table[column.name].combine_chunks()) is not None:
            continue  # a file of vectors and pictures, written out, would be many times as large
        else:
            texts = tuple("" if text is None else text for text in cell_texts(table[column.name]).to_pylist())
            is_exact = column.texts == texts if column.kind == "text" else {"", *column.levels} >= set(texts)
        if not is_exact and (in_file or sum(map(len, texts)) <= MOST_TEXT):
            cells.append(Column(column.name, "text", np.empty(0), texts=texts))
    return cells


def _is_exact(column: Column, cells: pa.ChunkedArray, *, in_file: bool) -> bool:
    """Say whether a page can write these cells exactly from the column, judged without their texts."""
    if column.kind == "number":
        whole = bool(np.nanmax(np.abs(column.values), initial=0.0) <= EXACT_IN_FLOAT64)
        return whole or not pa.types.is_integer(cells.type)
    if column.kind == "date":
        if in_file or not (pa.types.is_timestamp(cells.type) and cells.type.unit in ("us", "ns")):
            return not in_file
        in_one = 1000 if cells.type.unit == "us" else 1_000_000  # of a millisecond, which is what the page has
        return not (cells.cast(pa.int64()).drop_null().to_numpy() % in_one).any()
    return column.kind == "category" and not in_file


class Question(TypedDict):
    """A question of the page: which of `ANSWERS`, about which row, and what else the answer goes by."""

    ask: str
    row: NotRequired[int]
    given: NotRequired[object]


def answer_to(view: View, question: object) -> object:
    """Return the answer to a `Question`, as JSON can hold it; raise if it is none, or has no answer."""
    fields = fields_of(question)
    answer = ANSWERS.get(str(fields.get("ask")))
    row = fields.get("row", 0)
    if answer is None or type(row) is not int or not 0 <= row < len(view):
        raise InputError(f"A question about one of {len(view):,} rows was wanted, got {str(question)[:100]!r}.")
    return answer(view, row, fields.get("given"))


def why(view: View, row: int) -> Why:
    """Return the reasons for one row's score, and the rows near it."""
    chosen = np.array([row])
    [answer] = reasons_why(view, chosen, with_heat=True)
    if view.neighbours is not None:
        answer["near"] = view.neighbours(chosen)[0].tolist()
    return answer


def reasons_why(view: View, rows: NDArray[np.intp], *, with_heat: bool) -> list[Why]:
    """Return the reasons for these rows' scores; `with_heat`: also of each pixel or moment, if they have those."""
    answers: list[Why] = [{"reasons": [], "typical": (0.0, 0.0), "near": []} for _ in rows]
    if view.reasons is None:
        return answers
    explanation = view.reasons(rows)
    shape = view.heat_shape
    for k, features in enumerate(explanation.strongest(view.mixing).tolist()):
        of_global, of_local = explanation.parts[k].tolist()
        reasons: list[Reason] = [
            {"name": view.features[j], "global": of_global[j], "local": of_local[j]} for j in features
        ]
        if explanation.usual is not None:
            for reason, j in zip(reasons, features, strict=True):
                reason["usual"] = explanation.usual[k][j]
        answers[k] |= {"reasons": reasons, "typical": pair(explanation.typical[k])}
        if with_heat and shape is not None:
            values = explanation.parts[k].ravel().tolist()
            answers[k]["heat"] = {"width": shape[1], "height": shape[0], "values": values}
    return answers


def pair(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return two numbers of an array as plain ones."""
    return float(values[0]), float(values[1])


MOST_CHANGED = 4  # cells of a row that are changed: of more, no reader wants to hear
ODD_SHARE = 0.25  # of all rows; what is more typical than these is called typical


def typical_with(view: View, row: int, t: object) -> TypicalWith:
    """Return the fewest guilty cells that, as in the nearest typical row, take a row out of the odd quarter.

    Texts stay as they are: to hold another row's text is no correction.
    """
    if view.live is None or view.reasons is None or view.neighbours is None:
        raise InputError("Of these rows nobody can say which cells would make them typical.")
    at = one_t(t)
    contributions = view.reasons(np.array([row])).at(view.mixing, at)[0]  # (features,)
    order = np.argsort(contributions, kind="stable")
    changeable = set(view.live.columns) - set(view.live.texts)
    guilty = [view.features[k] for k in order if contributions[k] < 0]
    columns = [name for name in guilty if name in changeable][:MOST_CHANGED]
    like = int(view.neighbours(np.array([row]))[0, 0])
    scores = view.centrality(at)
    typical = np.quantile(scores, ODD_SHARE)
    if columns and scores[row] < typical:
        units = view.live.borrowed(row, like, columns)
        places = np.flatnonzero(view.mixing.squeeze(view.mixing.mixed(units, at)) >= typical)
        if len(places):
            return {"columns": columns[: places[0] + 1], "like": like, "units": pair(units[places[0]])}
    return {"columns": [], "like": like, "units": pair(view.units[row])}


def alike(view: View, row: int, part: object) -> list[int]:
    """Return the rows that are most like one, by all of it or by the part that is named, the nearest first."""
    name = part_named(view.parts, part)
    if view.alike is None:
        raise InputError("There is no model behind this page that could say which rows are alike.")
    return view.alike(row, name)


def words(view: View, row: int, column: object) -> Words:
    """Return what each word of a text of a row adds to the row's units."""
    if view.live is None or column not in view.live.texts:
        return {"words": [], "typical": (0.0, 0.0)}
    return view.live.words(row, str(column))


def whole_texts(view: View, row: int) -> dict[str, str]:
    """Return the texts of a row, uncut."""
    return {} if view.whole_texts is None else view.whole_texts(row)


def refit(view: View, context: object) -> View:
    """Return the view of the same rows by a model fitted again with these columns as context."""
    if view.refit is None:
        raise InputError("There is no model behind this page that could be fitted anew.")
    return view.refit(context)


def findings(view: View) -> Findings:
    """Return what is wrong with the rows; raise if there is nothing that can tell."""
    if view.jobs is None:
        raise InputError("There is no model behind this page: its rows cannot be checked.")
    return view.jobs.findings()


def jobs(view: View) -> Jobs:
    """Return the object that does the reader's tasks on many rows; raise if there is no model for it."""
    if not isinstance(view.jobs, Jobs):
        raise InputError("There is no model behind this page: it can learn, pick and compare nothing.")
    return view.jobs


ANSWERS: dict[str, Callable[[View, int, object], object]] = {
    "why": lambda view, row, _: why(view, row),
    "words": words,
    "alike": alike,
    "texts": lambda view, row, _: whole_texts(view, row),
    "typical": typical_with,
    "findings": lambda view, _, __: findings(view),
    "copies": lambda view, row, _: jobs(view).copies_of(row),
    "review": lambda view, _, given: jobs(view).review(given),
    "pick": lambda view, _, given: jobs(view).pick(given),
    "certificate": lambda view, _, given: certificate(view, given),
    "selection": lambda view, _, given: selection_csv(view, given),
}
