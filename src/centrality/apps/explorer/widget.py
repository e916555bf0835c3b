"""Show the page in a notebook, and a picture where it cannot run."""

import base64
import io
import os
from typing import Any, NotRequired, Unpack, cast

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, optional
from centrality._internal.input import ModelRows
from centrality.apps.explorer import marks, payload, questions, server
from centrality.apps.explorer.header import Change, Mark, Renewed
from centrality.apps.explorer.view import View, ViewOptions, explored
from centrality.model.interface import CentralityModel

WIDTH = 900  # pixels
HEIGHT = 560
MARGIN = 46
MOST_POINTS = 50_000
# viridis at 17 equal steps, as in web/src/core/colours.ts
STOPS = "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1fa08828ae803fbc735ec96284d44baddc30d8e219fde725"


def picture_of(view: View, t: float) -> bytes:
    """Return the map at this t as a PNG file: dark blue is peripheral and drawn last, yellow is central."""
    image = optional("PIL.Image", "explore").new("RGB", (WIDTH, HEIGHT), "#fbfaf7")
    draw = optional("PIL.ImageDraw", "explore").Draw(image)
    centrality = view.centrality(t)

    # Where rows lie, in pixels; those far from all others lie at the edge.
    low, high = np.quantile(view.points, (0.01, 0.99), axis=0)
    span = np.where(high > low, high - low, 1.0)
    size = np.array([WIDTH, HEIGHT])
    scale = (size - 2 * MARGIN) / (1.25 * (span if view.own_scales else span.max()))
    if not view.own_scales:
        scale = np.full(2, scale.min())
    places = (view.points - (low + high) / 2) * scale * [1, -1] + size / 2
    places = places.clip(MARGIN / 2, size - MARGIN / 2)

    # Their colours.
    stops = np.frombuffer(bytes.fromhex(STOPS), dtype=np.uint8).reshape(-1, 3)
    low, high = np.quantile(centrality, (0.01, 0.99))
    at = 0.93 * ((centrality - low) / max(high - low, 1e-3)).clip(0, 1) * (len(stops) - 1)
    colours = np.column_stack([np.interp(at, np.arange(len(stops)), stops[:, k]) for k in range(3)]).astype(np.uint8)

    rows = np.argsort(-centrality, kind="stable")
    rows = rows[:: -(-len(rows) // MOST_POINTS)]
    radius = float(np.clip(60 / np.sqrt(len(rows)), 1.0, 4.0))
    for (x, y), colour in zip(places[rows].tolist(), colours[rows].tolist(), strict=True):
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tuple(colour))
    caption = f"{view.title.encode('latin-1', 'replace').decode('latin-1')}: {len(view):,} rows at t = {t:.2f}"
    draw.text((14, 12), caption, fill="#1c1e21")
    draw.text((14, HEIGHT - 24), "dark blue: peripheral, yellow: central. Run the cell to explore.", fill="#5c6066")
    file = io.BytesIO()
    image.quantize(64).save(file, "PNG", optimize=True)
    return file.getvalue()


AnyWidget: Any = optional("anywidget", "explore").AnyWidget
traitlets: Any = optional("traitlets", "explore")


class WidgetQuestion(questions.Question):
    """A question of the page, or the row whose picture it wants; the answer repeats the number of the question."""

    question: int
    picture: NotRequired[int]
    full: NotRequired[bool]


class Rows(traitlets.TraitType):
    """Numbers of rows as a sorted array without repeats; it accepts any list, set or array of them."""

    info_text = "whole numbers of rows that the widget shows"

    def validate(self, widget: "Widget", value: Any) -> NDArray[np.int64]:
        """Return the rows; a mask of all rows means those where it is True."""
        numbers = np.asarray(sorted(value) if isinstance(value, set) else value)
        if numbers.dtype == bool and numbers.shape == (len(widget.view),):
            return np.asarray(np.sort(widget.view.rows[numbers]), dtype=np.int64)
        if numbers.size and not np.issubdtype(numbers.dtype, np.integer):
            self.error(widget, value)
        rows = np.unique(numbers.astype(np.int64).ravel())
        strange = np.setdiff1d(rows, widget.view.rows)
        if len(strange):
            raise InputError(f"selection must be rows that the widget shows, got {strange[:5].tolist()}.")
        return rows


def _by_row(kind: Any) -> Any:
    """Return a trait that holds a value of this kind for each of some rows; JSON has only texts for their numbers."""
    return traitlets.Dict(key_trait=traitlets.Integer(min=0), value_trait=kind).tag(
        sync=True, from_json=lambda value, _: {int(row): text for row, text in value.items()}
    )


class Widget(AnyWidget):
    """Shows the explorer in a notebook cell; its traits can be set, and observed, while the page is open.

    t : where the dial stands. query : what is in the search box.
    selection : the numbers of the selected rows. hovered : that of the row under the pointer, or -1.
    marks, notes, tags : what the reader has said of rows, by number: outlier, fine or later, anything, and names of
        the reader's own with semicolons between them. reviewer : who says it, for the file.
    """

    _esm = server.built_file("explorer.js")
    _css = server.built_file("explorer.css")
    _bytes = traitlets.Bytes().tag(sync=True)
    height = traitlets.Int(720).tag(sync=True)
    t = traitlets.Float(0.5, min=0, max=1).tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)
    hovered = traitlets.Int(-1).tag(sync=True)
    selection = Rows(np.empty(0, dtype=np.int64)).tag(
        sync=True,
        to_json=lambda rows, _: rows.astype("<u4").tobytes(),
        from_json=lambda value, _: np.frombuffer(bytes(value), dtype="<u4").astype(np.int64),  # of a memoryview
    )
    marks = _by_row(traitlets.Enum(marks.MARKS))
    notes = _by_row(traitlets.Unicode())
    tags = _by_row(traitlets.Unicode())
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
        placed = [(place.get(mark["key"], -1) if mark["key"] else mark["row"], mark) for mark in marks.read(path)]
        here = {row: mark for row, mark in placed if row in rows}
        self.marks = {**self.marks, **{row: mark["mark"] for row, mark in here.items() if mark["mark"]}}
        self.notes = {**self.notes, **{row: mark["note"] for row, mark in here.items() if mark["note"]}}
        self.tags = {**self.tags, **{row: mark["tags"] for row, mark in here.items() if mark["tags"]}}
        return len(here)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the page with its marks to one file that needs nothing else."""
        server.export(self.view, path, self._all_marks())

    def _all_marks(self) -> list[Mark]:
        return [self._mark(row) for row in sorted({*self.marks, *self.notes, *self.tags})]

    def _mark(self, row: int) -> Mark:
        """Return the mark, tags and note of the row of this number in the data."""
        place = int(np.searchsorted(self.view.rows, row))
        key = self.view.keys[place] if self.view.keys else ""
        change = {"mark": self.marks.get(row, ""), "tags": self.tags.get(row, ""), "note": self.notes.get(row, "")}
        return cast("Mark", {"key": key, "row": row, **change, "by": self.reviewer, "at": "", "version": 0})

    def _answer(self, _: object, question: WidgetQuestion, __: object) -> None:
        number = {"question": question["question"]}
        if "picture" in question:
            file = payload.readable_picture(self.view, int(question["picture"]), full=bool(question.get("full")))
            self.send({**number, "picture": file is not None}, buffers=[] if file is None else [file])
        else:
            self.send({**number, **self._answered(question)})

    def _answered(self, question: WidgetQuestion) -> dict[str, object]:
        """Return the answer to a question, or a message about what is wrong with it."""
        try:
            if question["ask"] == "kept":  # marks have arrived: Python is there
                return {"answer": True}
            if question["ask"] == "given":
                # Fit the model again with these columns as context, and show the same rows by it.
                self.view = questions.refit(self.view, question.get("given"))
                self._bytes = payload.pack(self.view, pictures=True, reasons=False)
                renewed: Renewed = {"given": list(self.view.given)}
                return {"answer": renewed}
            return {"answer": questions.answer_to(self.view, question)}
        except InputError as error:
            return {"wrong": str(error)}

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget for a running notebook, and a picture for a saved one."""
        bundle = super()._repr_mimebundle_(**options)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        if data is None:
            return bundle
        return {**data, "image/png": base64.b64encode(picture_of(self.view, self.t)).decode()}, metadata


def explore(model: CentralityModel, X: ModelRows, *, height: int = 720, **options: Unpack[ViewOptions]) -> Widget:
    """Return the widget for these rows; `options` are those of `view_of`."""
    return Widget(explored(model, X, **options), height=height)
