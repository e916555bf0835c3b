"""The page in a notebook, with Python at its other end."""

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.explorer import page
from centrality.explorer.payload import pack, reasons_for
from centrality.explorer.view import View, view_of

AnyWidget: Any = optional("anywidget", "explore").AnyWidget
traitlets: Any = optional("traitlets", "explore")


class Widget(AnyWidget):
    """The explorer in a notebook cell: `selection` holds the rows selected on the map, `export` writes a page."""

    _esm = page.built("explorer.js")
    _css = page.built("explorer.css")
    _bytes = traitlets.Bytes().tag(sync=True)
    _selected = traitlets.Bytes().tag(sync=True, from_json=lambda value, _: bytes(value))  # it comes as a memoryview
    height = traitlets.Int(720).tag(sync=True)

    def __init__(self, view: View, **options: Any) -> None:
        self.view = view
        super().__init__(_bytes=pack(view, pictures=True, reasons=False), **options)
        self.on_msg(self._answer)

    @property
    def selection(self) -> NDArray[np.int64]:
        """(k,) the numbers of the selected rows, as they stand in the data."""
        return np.frombuffer(self._selected, dtype="<u4").astype(np.int64)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the page to one file that needs nothing else."""
        page.export(self.view, path)

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        self.send({"question": content["question"], "reasons": reasons_for(self.view, int(content["row"]))})


def explore(model: Any, X: Any, *, height: int = 720, **options: Any) -> Widget:
    """The widget for these rows; `options` are those of `view_of`."""
    return Widget(view_of(model, X, **options), height=height)
