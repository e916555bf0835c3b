"""Answer what the page asks of a view and its marks, path by path; `server` decides who may ask."""

import json
import threading
from collections.abc import Callable
from pathlib import Path

from centrality._atomic import require_writable
from centrality._checks import InputError
from centrality.explorer import marks, payload, questions
from centrality.explorer.header import BetterMap, Change, KeptMarks, Renewed
from centrality.explorer.jobs import Jobs
from centrality.explorer.live import decoded
from centrality.explorer.selection import selection_csv
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
            "/marks": self._kept,
            "/map": self._map,
            "/keys": lambda: (200, "application/octet-stream", payload.keys(self.view)),
            "/data": lambda: (200, "application/octet-stream", self.data),
        }
        by_row: dict[str, Callable[[int], Answer]] = {
            "picture": self._picture,
            "full": lambda row: self._picture(row, full=True),
            "why": lambda row: _json(questions.why(self.view, row)),
            "words": lambda row: _json(questions.words(self.view, row)),
            "texts": lambda row: _json(questions.whole_texts(self.view, row)),
            "copies": lambda row: _answered(lambda: questions.jobs(self.view).copies_of(row)),
        }
        if path in fixed:
            return fixed[path]()
        what, row = self._what_and_row(path)
        return by_row[what](row) if what in by_row and row is not None else NOT_HERE

    def take(self, path: str, body: bytes) -> Answer:
        """Answer what the page sends: marks to keep or learn from, rows to save or pick, values to try, a context."""
        whole = {"/marks": self.keep, "/marks-file": self.take_over, "/selection": self.select, "/given": self.renew}
        jobs = {"/review": Jobs.review, "/pick": Jobs.pick}
        if path in jobs:
            return _answered(lambda: jobs[path](questions.jobs(self.view), decoded(body)))
        return whole[path](body) if path in whole else self.consider(path, body)

    def renew(self, body: bytes) -> Answer:
        """Fit the model again with the columns named in the body as context, and show the same rows by it."""

        def renewed() -> Renewed:
            with self._fitting:
                view = questions.again(self.view, decoded(body))
                data = payload.pack(view, pictures=False, reasons=False)
                before, self.view, self.data = self.view, view, data
            if before.later is not None:
                before.later.end()
            return {"given": list(view.given)}

        return _answered(renewed)

    def consider(self, path: str, body: bytes) -> Answer:
        """Answer with a row's score for the values in the body, or with its way to a typical point."""
        known = {"what-if": questions.what_if, "way": questions.way}
        what, row = self._what_and_row(path)
        if what not in known or row is None:
            return NOT_HERE
        return _answered(lambda: known[what](self.view, row, decoded(body)))

    def keep(self, body: bytes) -> Answer:
        """Merge marks that the page sends into those that are kept, and answer with the result."""
        return self._merged(lambda: marks.decoded(body))

    def take_over(self, body: bytes) -> Answer:
        """Merge the marks of a file that the reader chose: a CSV file, or a page with marks in it."""
        return self._merged(lambda: marks.as_changes(marks.from_bytes(body, "The file")))

    def _merged(self, changes: Callable[[], list[Change]]) -> Answer:
        try:
            return _json(self.marks.take(*changes()))
        except (InputError, OSError) as error:
            return 422 if isinstance(error, InputError) else 500, "text/plain; charset=utf-8", str(error).encode()

    def _map(self) -> Answer:
        """Answer with the better map, or its progress; it is started by the first such request."""
        later = self.view.later
        if later is not None:
            later.start()
        if later is None or later.points is None:
            share, trouble = (0.0, "") if later is None else (later.share, later.trouble)
            waiting: BetterMap = {"share": share, "trouble": trouble}
            return _json(waiting)
        return _json(payload.better_map(later.points, later.axes))

    def select(self, body: bytes) -> Answer:
        """Answer with the rows whose numbers are in the body as a CSV file."""
        try:
            return 200, "text/csv; charset=utf-8", selection_csv(self.view, decoded(body))
        except InputError as error:
            return 422, "text/plain; charset=utf-8", str(error).encode()

    def _kept(self) -> Answer:
        """Answer with all marks, read from their file: another explorer may have written it."""
        kept: KeptMarks = {"marks": [], "where": "in memory, until centrality explore ends", "trouble": ""}
        try:
            kept["marks"] = self.marks.marks()
            if self.marks.path is not None:
                kept["where"] = f"in {self.marks.path.name}"
                require_writable(self.marks.path)
        except (InputError, OSError) as error:
            kept["trouble"] = str(error)
        return _json(kept)

    def _picture(self, row: int, *, full: bool = False) -> Answer:
        file = payload.readable_picture(self.view, row, full=full)
        if file is None:
            return 404, "text/plain", b"There is no picture of this row, or it cannot be read."
        return 200, "image/png" if file[:1] == b"\x89" else "image/jpeg", file

    def _what_and_row(self, path: str) -> tuple[str, int | None]:
        """Return the question and the row in a path such as /why/12; None if there is no such row."""
        _, what, number, *more = [*path.split("/"), "", ""]
        known = number.isascii() and number.isdigit() and len(number) <= MOST_DIGITS and not any(more)
        return what, int(number) if known and int(number) < len(self.view) else None


def _json(value: object) -> Answer:
    return 200, "application/json", json.dumps(value).encode()


def _answered(question: Callable[[], object]) -> Answer:
    """Return the answer to a question, or an answer with the error that it raised."""
    try:
        return _json(question())
    except InputError as error:
        return 422, "text/plain; charset=utf-8", str(error).encode()
