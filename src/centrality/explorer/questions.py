"""Answer what a page asks of a view and the model behind it; a server and a notebook are asked the same."""

from collections.abc import Callable
from typing import NotRequired, TypedDict

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.explorer.explained import Explained
from centrality.explorer.header import Reason, WhatIf, Why, Words
from centrality.explorer.jobs import Jobs
from centrality.explorer.live import Changes
from centrality.explorer.selection import selection_csv
from centrality.explorer.view import View
from centrality.scores.mixing import one_t


class Question(TypedDict):
    """Hold a question of the page: which of `ANSWERS`, about which row, and what else the answer goes by."""

    ask: str
    row: NotRequired[int]
    given: NotRequired[object]


def answered(view: View, question: object) -> object:
    """Return the answer to a `Question`, as JSON can hold it; raise if it is none, or has no answer."""
    asked = question if isinstance(question, dict) else {}
    answer, row = ANSWERS.get(str(asked.get("ask"))), asked.get("row", 0)
    if answer is None or type(row) is not int or not 0 <= row < len(view):
        raise InputError(f"A question about one of {len(view):,} rows was wanted, got {str(question)[:100]!r}.")
    return answer(view, row, asked.get("given"))


def why(view: View, row: int) -> Why:
    """Return the reasons for one row's score, and the rows near it."""
    chosen = np.array([row])
    [answer] = reasons_why(view, chosen, painted=True)
    if view.neighbours is not None:
        answer["near"] = view.neighbours(chosen)[0].tolist()
    return answer


def reasons_why(view: View, rows: NDArray[np.intp], *, painted: bool) -> list[Why]:
    """Return the reasons for these rows' scores; with `painted`, also of each pixel or moment, if they have those."""
    answers: list[Why] = [{"reasons": [], "typical": (0.0, 0.0), "near": []} for _ in rows]
    if view.reasons is None:
        return answers
    found, shape = view.reasons(rows), view.heat_shape
    named = _strongest_named(view, found)
    for answer, reasons, typical, parts in zip(answers, named, found.typical, found.parts, strict=True):
        answer["reasons"], answer["typical"] = reasons, pair(typical)
        if painted and shape is not None:
            answer["heat"] = {"width": shape[1], "height": shape[0], "values": parts.ravel().tolist()}
    return answers


def pair(values: NDArray[np.float64]) -> tuple[float, float]:
    """Return two numbers of an array as plain ones."""
    return float(values[0]), float(values[1])


def _strongest_named(view: View, found: Explained) -> list[list[Reason]]:
    """Return the strongest contributions to each row's units, with the names of their features."""
    named: list[list[Reason]] = []
    for k, which in enumerate(found.strongest(view.mixing).tolist()):
        of_global, of_local = found.parts[k].tolist()
        reasons: list[Reason] = [
            {"name": view.features[j], "global": of_global[j], "local": of_local[j]} for j in which
        ]
        if found.usual is not None:
            for reason, j in zip(reasons, which, strict=True):
                reason["usual"] = found.usual[k][j]
        named.append(reasons)
    return named


def what_if(view: View, row: int, changes: object) -> WhatIf:
    """Return the units that a row would have with these values, by column, and the reasons."""
    if view.live is None:
        raise InputError("No value of these rows can be changed.")
    units, found = view.live.what_if(row, changes)
    if found is None:
        return {"units": pair(units), "reasons": [], "typical": (0.0, 0.0)}
    return {"units": pair(units), "reasons": _strongest_named(view, found)[0], "typical": pair(found.typical[0])}


def way(view: View, row: int, t: object) -> list[Changes]:
    """Return the values of a row on its way to a typical point, step by step."""
    if view.live is None or not view.live.has_way:
        raise InputError("Of these rows no way to a typical one is known.")
    return view.live.way(row, one_t(t))


def words(view: View, row: int) -> Words:
    """Return what each word of a row's text adds to its units."""
    if view.live is None or not view.live.has_words:
        return {"words": [], "typical": (0.0, 0.0)}
    return view.live.words(row)


def whole_texts(view: View, row: int) -> dict[str, str]:
    """Return the texts of a row, uncut."""
    return {} if view.whole_texts is None else view.whole_texts(row)


def again(view: View, given: object) -> View:
    """Return the view of the same rows by a model fitted again with these columns as context."""
    if view.again is None:
        raise InputError("There is no model behind this page that could be fitted anew.")
    return view.again(given)


def jobs(view: View) -> Jobs:
    """Return the object that does the reader's tasks on many rows; raise if there is no model for it."""
    if view.jobs is None:
        raise InputError("There is no model behind this page: it can learn, pick and compare nothing.")
    return view.jobs


ANSWERS: dict[str, Callable[[View, int, object], object]] = {
    "why": lambda view, row, _: why(view, row),
    "words": lambda view, row, _: words(view, row),
    "texts": lambda view, row, _: whole_texts(view, row),
    "what-if": what_if,
    "way": way,
    "copies": lambda view, row, _: jobs(view).copies_of(row),
    "review": lambda view, _, given: jobs(view).review(given),
    "pick": lambda view, _, given: jobs(view).pick(given),
    "selection": lambda view, _, given: selection_csv(view, given),
}
