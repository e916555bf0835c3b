"""Answer what the served page asks for and sends, path by path; `server` decides who may ask."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

from centrality._atomic import require_writable
from centrality._checks import InputError
from centrality.explorer import marks, payload, questions
from centrality.explorer.header import BetterMap, KeptMarks, Renewed
from centrality.explorer.server import MOST_DIGITS, NOT_HERE, Answer
from centrality.explorer.view import View


class Answers:
    """Answers questions about one view, and keeps marks in the one file it was given for them."""

    def __init__(self, view: View, marks_file: Path | None = None) -> None:
        self.view, self.marks = view, marks.MarksFile(marks_file)
        self.data = payload.pack(view, pictures=False, reasons=False)
        self._fitting = threading.Lock()  # held while a model is fitted

    def end(self) -> None:
        """Stop what is still being made of the view."""
        if self.view.later is not None:
            self.view.later.end()

    def answer(self, path: str) -> Answer:
        """Answer a GET request for this path; paths that are not listed here do not exist."""
        fixed: dict[str, Callable[[], Answer]] = {
            "/marks": lambda: _json(self._kept()),
            "/map": lambda: _json(self._map()),
            "/keys": lambda: (200, "application/octet-stream", payload.keys(self.view)),
            "/data": lambda: (200, "application/octet-stream", self.data),
        }
        return fixed[path]() if path in fixed else self._picture(path)

    def take(self, path: str, body: bytes) -> Answer:
        """Answer what the page sends: a question, a context to fit the model by, or marks."""
        acts: dict[str, Callable[[bytes], object]] = {
            "/ask": lambda body: questions.answered(self.view, _decoded(body)),
            "/given": self._renew,
            "/marks": lambda body: self.marks.take(*marks.checked(_decoded(body))),
            "/marks-file": lambda body: self.marks.take(*marks.as_changes(marks.from_bytes(body, "The file"))),
        }
        if path not in acts:
            return NOT_HERE
        try:
            return _json(acts[path](body))
        except (InputError, OSError) as error:
            return 422 if isinstance(error, InputError) else 500, "text/plain; charset=utf-8", str(error).encode()

    def _renew(self, body: bytes) -> Renewed:
        """Fit the model again with the columns named in the body as context, and show the same rows by it."""
        with self._fitting:
            view = questions.again(self.view, _decoded(body))
            data = payload.pack(view, pictures=False, reasons=False)
            before, self.view, self.data = self.view, view, data
        if before.later is not None:
            before.later.end()
        return {"given": list(view.given)}

    def _map(self) -> BetterMap:
        """Return the better map, or its progress; it is started by the first such request."""
        later = self.view.later
        if later is not None:
            later.start()
        if later is None or later.points is None:
            share, trouble = (0.0, "") if later is None else (later.share, later.trouble)
            return {"share": share, "trouble": trouble}
        return payload.better_map(later.points, later.axes)

    def _kept(self) -> KeptMarks:
        """Return all marks, read from their file: another explorer may have written it."""
        kept: KeptMarks = {"marks": [], "where": "in memory, until centrality explore ends", "trouble": ""}
        try:
            kept["marks"] = self.marks.marks()
            if self.marks.path is not None:
                kept["where"] = f"in {self.marks.path.name}"
                require_writable(self.marks.path)
        except (InputError, OSError) as error:
            kept["trouble"] = str(error)
        return kept

    def _picture(self, path: str) -> Answer:
        """Answer with the picture that a path such as /picture/12 names, or with it in full: /full/12."""
        _, what, number, *more = [*path.split("/"), "", ""]
        if not (number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS) or any(more):
            return NOT_HERE
        if what not in ("picture", "full") or int(number) >= len(self.view):
            return NOT_HERE
        file = payload.readable_picture(self.view, int(number), full=what == "full")
        if file is None:
            return 404, "text/plain", b"There is no picture of this row, or it cannot be read."
        return 200, "image/png" if file[:1] == b"\x89" else "image/jpeg", file


def _json(value: object) -> Answer:
    return 200, "application/json", json.dumps(value).encode()


def _decoded(body: bytes) -> object:
    """Return the JSON value in the body of a request."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError(f"This is no JSON: {error}") from None
