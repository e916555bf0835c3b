"""Show the page in a notebook, where Python answers its questions and both sides can set t."""

import base64
import os
from typing import Any, NotRequired, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality._estimator import ModelRows
from centrality._optional import optional
from centrality.explorer import marks, page, payload, questions
from centrality.explorer.again import explored
from centrality.explorer.header import Change, Mark, Renewed
from centrality.explorer.picture import picture_of
from centrality.explorer.view import View, ViewOptions
from centrality.model.interface import CentralityModel

AnyWidget: Any = optional("anywidget", "explore").AnyWidget
traitlets: Any = optional("traitlets", "explore")


class Asked(questions.Question):
    """Hold a question of the page, or the row whose picture it wants; the answer repeats the number of the question."""

    question: int
    picture: NotRequired[int]
    full: NotRequired[bool]


class Rows(traitlets.TraitType):
    """Hold numbers of rows as a sorted array without repeats; it accepts any list, set or array of them."""

    info_text = "whole numbers of rows that the widget shows"

    def validate(self, widget: "Widget", value: Any) -> NDArray[np.int64]:
        """Return the rows; a mask of all rows means those where it is True."""
        given = np.asarray(sorted(value) if isinstance(value, set) else value)
        if given.dtype == bool and given.shape == (len(widget.view),):
            return np.asarray(np.sort(widget.view.rows[given]), dtype=np.int64)
        if given.size and not np.issubdtype(given.dtype, np.integer):
            self.error(widget, value)
        rows = np.unique(given.astype(np.int64).ravel())
        strange = np.setdiff1d(rows, widget.view.rows)
        if len(strange):
            raise InputError(f"selection must be rows that the widget shows, got {strange[:5].tolist()}.")
        return rows


def _to_bytes(rows: NDArray[np.int64], _: object) -> bytes:
    return rows.astype("<u4").tobytes()


def _from_bytes(value: Any, _: object) -> NDArray[np.int64]:  # it comes as a memoryview
    return np.frombuffer(bytes(value), dtype="<u4").astype(np.int64)


def _by_row(value: dict[str, str], _: object) -> dict[int, str]:
    return {int(row): said for row, said in value.items()}  # JSON has only texts for keys


class Widget(AnyWidget):
    """Shows the explorer in a notebook cell; its traits can be set, and observed, while the page is open.

    t : where the dial stands. query : what is in the search box.
    selection : the numbers of the selected rows. hovered : that of the row under the pointer, or -1.
    marks, notes, tags : what the reader has said of rows, by number: outlier, fine or later, anything, and names of
        the reader's own with semicolons between them. reviewer : who says it, for the file.
    """

    _esm = page.built_file("explorer.js")
    _css = page.built_file("explorer.css")
    _bytes = traitlets.Bytes().tag(sync=True)
    height = traitlets.Int(720).tag(sync=True)
    t = traitlets.Float(0.5, min=0, max=1).tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)
    hovered = traitlets.Int(-1).tag(sync=True)
    selection = Rows(np.empty(0, dtype=np.int64)).tag(sync=True, to_json=_to_bytes, from_json=_from_bytes)
    marks = traitlets.Dict(key_trait=traitlets.Integer(min=0), value_trait=traitlets.Enum(marks.MARKS)).tag(
        sync=True, from_json=_by_row
    )
    notes = traitlets.Dict(key_trait=traitlets.Integer(min=0), value_trait=traitlets.Unicode()).tag(
        sync=True, from_json=_by_row
    )

    tags = traitlets.Dict(key_trait=traitlets.Integer(min=0), value_trait=traitlets.Unicode()).tag(
        sync=True, from_json=_by_row
    )
    reviewer = traitlets.Unicode("").tag(sync=True)

    def __init__(self, view: View, **options: Any) -> None:
        self.view = view
        self._saved: set[int] = set()  # rows whose marks are in a file; one that is taken back is taken back there
        super().__init__(**{"_bytes": payload.pack(view, pictures=True, reasons=False), "t": view.t, **options})
        self.on_msg(self._answer)

    def marked(self, mark: str) -> NDArray[np.int64]:  # (k,)
        """Return the numbers of the rows marked so: outlier, fine or later."""
        return marks.rows_marked(mark, self._all_marks())

    def save_marks(self, path: str | os.PathLike[str]) -> None:
        """Merge marks and notes into a CSV file; what others have kept there stays, and is not overwritten."""
        now = self._all_marks()
        self._saved |= {mark["row"] for mark in now}
        taken_back = [self._mark(row) for row in sorted(self._saved - {mark["row"] for mark in now})]
        marks.MarksFile(path).take(*[cast("Change", mark) for mark in [*now, *taken_back]])

    def take_marks(self, path: str | os.PathLike[str]) -> int:
        """Read the marks of these rows from a CSV file, or from a page with marks; return the number of rows marked."""
        place = {key: int(row) for key, row in zip(self.view.keys, self.view.rows, strict=False)}
        rows = set(self.view.rows.tolist())
        said = [(place.get(mark["key"], -1) if mark["key"] else mark["row"], mark) for mark in marks.read(path)]
        here = {row: mark for row, mark in said if row in rows}
        self.marks = {**self.marks, **{row: mark["mark"] for row, mark in here.items() if mark["mark"]}}
        self.notes = {**self.notes, **{row: mark["note"] for row, mark in here.items() if mark["note"]}}
        self.tags = {**self.tags, **{row: mark["tags"] for row, mark in here.items() if mark["tags"]}}
        return len(here)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the page with its marks to one file that needs nothing else."""
        page.export(self.view, path, self._all_marks())

    def _all_marks(self) -> list[Mark]:
        return [self._mark(row) for row in sorted({*self.marks, *self.notes, *self.tags})]

    def _mark(self, row: int) -> Mark:
        """Return the mark, tags and note of the row of this number in the data."""
        place = int(np.searchsorted(self.view.rows, row))
        key = self.view.keys[place] if self.view.keys else ""
        said = {"mark": self.marks.get(row, ""), "tags": self.tags.get(row, ""), "note": self.notes.get(row, "")}
        return cast("Mark", {"key": key, "row": row, **said, "by": self.reviewer, "at": "", "version": 0})

    def _answer(self, _: object, asked: Asked, __: object) -> None:
        number = {"question": asked["question"]}
        if "picture" in asked:
            file = payload.readable_picture(self.view, int(asked["picture"]), full=bool(asked.get("full")))
            self.send({**number, "picture": file is not None}, buffers=[] if file is None else [file])
        else:
            self.send({**number, **self._answered(asked)})

    def _answered(self, asked: Asked) -> dict[str, object]:
        """Return the answer to a question, or a message about what is wrong with it."""
        try:
            if asked["ask"] == "kept":  # marks have arrived: Python is there
                return {"answer": True}
            if asked["ask"] == "given":
                return {"answer": self._renew(asked.get("given"))}
            return {"answer": questions.answered(self.view, asked)}
        except InputError as error:
            return {"wrong": str(error)}

    def _renew(self, given: object) -> Renewed:
        """Fit the model again with these columns as context, and show the same rows by it."""
        self.view = questions.again(self.view, given)
        self._bytes = payload.pack(self.view, pictures=True, reasons=False)
        return {"given": list(self.view.given)}

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget for a running notebook, and a picture for a saved one."""
        found = super()._repr_mimebundle_(**options)
        data, about = found if isinstance(found, tuple) else (found, {})
        if data is None:
            return found
        return {**data, "image/png": base64.b64encode(picture_of(self.view, self.t)).decode()}, about


def explore(model: CentralityModel, X: ModelRows, *, height: int = 720, **options: Unpack[ViewOptions]) -> Widget:
    """Return the widget for these rows; `options` are those of `view_of`."""
    return Widget(explored(model, X, **options), height=height)
