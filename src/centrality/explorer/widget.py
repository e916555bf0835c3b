"""Show the page in a notebook, where Python answers its questions."""

import os
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.explorer import page
from centrality.explorer.payload import pack, reasons_for
from centrality.explorer.view import ModelInput, View, ViewOptions, view_of
from centrality.model.interface import CentralityModel

AnyWidget: Any = optional("anywidget", "explore").AnyWidget
traitlets: Any = optional("traitlets", "explore")


class Question(TypedDict):
    """Asks why a row scores as it does; the answer repeats the question's number."""

    question: int
    row: int


class Widget(AnyWidget):
    """Shows the explorer in a notebook cell: `selection` holds the rows selected on the map, `export` writes a page."""

    _esm = page.built_file("explorer.js")
    _css = page.built_file("explorer.css")
    _bytes = traitlets.Bytes().tag(sync=True)
    _selected = traitlets.Bytes().tag(sync=True, from_json=lambda value, _: bytes(value))  # it comes as a memoryview
    height = traitlets.Int(720).tag(sync=True)

    def __init__(self, view: View, **options: Any) -> None:
        self.view = view
        super().__init__(_bytes=pack(view, pictures=True, reasons=False), **options)
        self.on_msg(self._answer)

    @property
    def selection(self) -> NDArray[np.int64]:  # (k,)
        """Return the numbers of the selected rows, as they stand in the data."""
        return np.frombuffer(self._selected, dtype="<u4").astype(np.int64)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the page to one file that needs nothing else."""
        page.export(self.view, path)

    def _answer(self, _: object, content: Question, __: object) -> None:
        self.send({"question": content["question"], "reasons": reasons_for(self.view, int(content["row"]))})


def explore(model: CentralityModel, X: ModelInput, *, height: int = 720, **options: Unpack[ViewOptions]) -> Widget:
    """Return the widget for these rows; `options` are those of `view_of`."""
    return Widget(view_of(model, X, **options), height=height)
