"""Keep readers' marks (outlier, fine or later), tags and notes of rows in a CSV file that several readers can share.

A line holds the row's key, its number when it was last seen, mark, tags, note, who said the last of it and when, and a
version: it counts the changes of the file, and each line has that of its last one. A mark that was taken back keeps its
line, empty. An exported page holds marks as well; they are read from it like from a file.
"""

import csv
import io
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.files import require_place, write_atomically
from centrality.apps.explorer.header import Change, Mark

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, two explorers should have a file each
    fcntl = None  # type: ignore[assignment]
HAS_LOCKS = fcntl is not None

MARKS = ("outlier", "fine", "later")
PARTS = ("mark", "tags", "note", "by", "was")  # of a change
MOST_DIGITS = 15  # of the number of a row
NOTHING = {"key": "", "mark": "", "tags": "", "note": "", "by": "", "at": "", "version": "0"}
COLUMNS = ("key", "row", "mark", "tags", "note", "by", "at", "version")
IN_PAGE = re.compile(r'<script type="application/json" id="centrality-marks">(.*?)</script>', re.DOTALL)
FORMULA = re.compile(r"'*[=+\-@\t\r]")  # what a spreadsheet would compute
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

Line: TypeAlias = dict[str, str]  # of the file, with whatever columns people have added


class MarksFile:
    """Merges changes into a file of marks; several pages and several processes may do so at the same time.

    Each change is read, merged and written while the file is locked, and nothing is remembered in between. Without a
    path, marks are kept as long as this object is.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lines: list[Line] = []
        self._lock = threading.Lock()
        self.marks()  # errors in the file are raised now

    def marks(self) -> list[Mark]:
        """Return all marks and notes, of rows that are shown or not; those taken back are left out."""
        return _saying(map(_as_mark, self._read()))

    def take(self, *changes: Change) -> list[Mark]:
        """Merge these changes and return the resulting marks, also those that are empty now."""
        with self._lock, nullcontext() if self.path is None else _alone_with(self.path):
            lines = self._read()
            version = max((int(line["version"]) for line in lines), default=0)
            places = _Places(lines)
            changed = []
            for change in changes:
                line = places.line_of(change)
                before = dict(line)
                line["mark"] = change.get("mark", line["mark"])
                line["tags"] = tidy_tags(change.get("tags", line["tags"]))
                # Of two notes that were written at the same time both are kept, one after the other.
                note = change.get("note", line["note"])
                old = line["note"]
                if note and old not in (note, change.get("was", old)):
                    note = old if note in old else note if old in note else f"{old} | {note}"
                line["note"] = note
                if line != before:
                    version += 1
                    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
                    line |= {"version": str(version), "by": change.get("by", ""), "at": now}
                changed.append(_as_mark(line))
            if self.path is None:
                self._lines = lines
                return changed
            # A table that people can read and spreadsheets can open, written completely or not at all. An apostrophe
            # stands before a text that a spreadsheet would take for a formula; numbers stay as they are.
            names = [*COLUMNS, *dict.fromkeys(name for line in lines for name in line if name not in COLUMNS)]
            with write_atomically(self.path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
                table = csv.DictWriter(file, names, restval="")
                table.writeheader()
                for line in lines:
                    formulas = {cell for cell in line.values() if FORMULA.match(cell) and not NUMBER.fullmatch(cell)}
                    table.writerow({name: f"'{cell}" if cell in formulas else cell for name, cell in line.items()})
        return changed

    def _read(self) -> list[Line]:
        """Return the lines of the file: none if there is no file, or it is empty."""
        if self.path is None:
            return self._lines
        return _lines_of(_text(self.path.read_bytes()), str(self.path)) if self.path.exists() else []


class _Places:
    """Finds the line of a change: the one with its key, or a line without a key for its row; else a new one."""

    def __init__(self, lines: list[Line]) -> None:
        self._lines = lines
        self._by_key = {line["key"]: line for line in reversed(lines) if line["key"]}
        self._by_row = {line["row"]: line for line in reversed(lines) if not line["key"]}

    def line_of(self, change: Change) -> Line:
        key = change["key"]
        row = str(change["row"])
        line = self._by_key.get(key) if key else None
        line = line or self._by_row.get(row)
        if line is None:
            line = {**NOTHING, "row": row}
            self._lines.append(line)
        if key:
            self._by_row.pop(line["row"], None)
        line |= {"key": key, "row": row}
        (self._by_key if key else self._by_row)[key or row] = line
        return line


def tidy_tags(text: str) -> str:
    """Return the distinct tags in alphabetical order, with semicolons between them.

    >>> tidy_tags("typo;  unit ; typo")
    'typo; unit'
    """
    return "; ".join(sorted({name for part in text.split(";") if (name := " ".join(part.split()))}))


def changes_of(entries: object) -> list[Change]:
    """Return the changes that a page sent; raise if one is not valid, or if they are no list."""
    if not isinstance(entries, list):
        raise InputError(f"A list of marks was wanted, got {str(entries)[:100]!r}.")
    for entry in entries:
        one = entry if isinstance(entry, dict) else {}
        row = one.get("row")
        is_valid = isinstance(one.get("key"), str) and type(row) is int and row >= 0
        if (
            not is_valid
            or one.get("mark", "") not in ("", *MARKS)
            or not all(isinstance(one.get(name, ""), str) for name in PARTS)
        ):
            raise InputError(
                f"A mark has a key, a row, one of {', '.join(MARKS)}, tags and a note; got {str(entry)[:100]!r}."
            )
    return [cast("Change", {name: one[name] for name in ("key", "row", *PARTS) if name in one}) for one in entries]


def read(path: str | os.PathLike[str]) -> list[Mark]:
    """Read marks from a CSV file, as the page saves it, as the server keeps it, or of row and mark alone.

    A page that was saved with marks in it is read, too.
    """
    return from_bytes(Path(path).read_bytes(), str(path)) if Path(path).exists() else []


def from_bytes(data: bytes, name: str) -> list[Mark]:
    """Return the marks in the bytes of a CSV file, or of a page that holds some; `name` is for the message."""
    text = _text(data)
    if not text[:500].lstrip().lower().startswith("<!doctype html"):
        return _saying(map(_as_mark, _lines_of(text, name)))
    match = IN_PAGE.search(text)
    try:
        entries = json.loads(match.group(1)) if match else []
        lines = [_checked_line({**one, "row": str(one["row"]), "version": "0"}, name) for one in entries]
        return _saying(map(_as_mark, lines))
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{name} holds no marks that can be read: {error}") from None


def as_changes(marks: Sequence[Mark]) -> list[Change]:
    """Return marks as changes that only add to existing marks: no mark is removed, and both notes are kept."""
    changes = ({name: cell for name, cell in mark.items() if name in PARTS and cell} for mark in marks)
    places = ({"key": mark["key"], "row": mark["row"], "was": ""} for mark in marks)
    return [cast("Change", {**place, **says}) for place, says in zip(places, changes, strict=True)]


def in_page(marks: Sequence[Mark]) -> str:
    """Return marks in the form in which a page holds them."""
    text = json.dumps(list(marks)).replace("<", "\\u003c")
    return f'<script type="application/json" id="centrality-marks">{text}</script>\n'


def _saying(marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks that are not empty."""
    return [mark for mark in marks if mark["mark"] or mark["note"] or mark["tags"]]


def rows_marked(
    mark: str, marks: Iterable[Mark] | str | os.PathLike[str], keys: Sequence[str] = ()
) -> NDArray[np.int64]:
    """Return the numbers of the rows that were given this mark, (k,), of marks or of a file of them.

    keys : those of the rows of your data, from `row_keys`. Rows are found by them wherever they stand now; without
        keys, where they stood when they were marked.

    >>> said = {"tags": "", "note": "", "by": "Ann", "at": "2026-01-31 09:30:00", "version": 1}
    >>> rows_marked("fine", [{"key": "b", "row": 7, "mark": "fine", **said}])
    array([7])
    >>> rows_marked("fine", [{"key": "b", "row": 7, "mark": "fine", **said}], keys=["a", "b"])
    array([1])
    """
    if mark not in MARKS:
        raise InputError(f"mark must be one of {', '.join(MARKS)}, got {mark!r}.")
    stored = read(marks) if isinstance(marks, str | os.PathLike) else marks
    marked = [one for one in stored if one["mark"] == mark]
    place = {key: row for row, key in enumerate(keys)}
    rows = [place.get(one["key"], -1) if keys and one["key"] else one["row"] for one in marked]
    return np.array(sorted(row for row in rows if row >= 0), dtype=np.int64)


@contextmanager
def _alone_with(path: Path) -> Iterator[None]:
    """Lock the file, and create it if needed. Writing replaces the file, so lock again if it was replaced meanwhile."""
    target = require_place(path)
    while HAS_LOCKS:
        handle = os.open(target, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if target.exists() and os.path.samestat(os.fstat(handle), target.stat()):
                yield
                return
        finally:
            os.close(handle)
    yield


def _lines_of(text: str, path: str) -> list[Line]:
    if not text.strip():
        return []
    first = text.splitlines()[0]
    separator = max(",;\t", key=first.count)  # as spreadsheets of different countries write it
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))  # a note may be long
    try:
        table = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        if not ({"row", "mark"} <= set(names := table.fieldnames or ()) and len(set(names)) == len(names)):
            raise InputError(f"{path} holds no marks: columns row, mark and note were wanted, got {first[:60]!r}.")
        return [_checked_line(line, f"{path}, line {table.line_num}") for line in table]
    except csv.Error as error:
        raise InputError(f"{path} holds no marks: it is no CSV file ({error}).") from None


def _text(data: bytes) -> str:
    """Decode the bytes: UTF-8 with or without a byte order mark, UTF-16 with one, else the encoding of Windows."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _checked_line(cells: dict[str, str | None], where: str) -> Line:
    """Return a line with all of our columns; raise if it is not a mark."""
    if None in cells or None in cells.values():
        raise InputError(f"{where}: as many fields were wanted as there are columns.")
    line = NOTHING | {name: cell or "" for name, cell in cells.items()}
    for name, cell in line.items():
        if cell.startswith("'") and FORMULA.match(cell):
            line[name] = cell[1:]  # without the apostrophe before what a spreadsheet would take for a formula
    line["mark"] = line["mark"].strip().lower()
    if not (line["row"].isascii() and line["row"].isdecimal() and len(line["row"]) <= MOST_DIGITS):
        raise InputError(f"{where}: a row was wanted by its number, got {line['row'][:60]!r}.")
    if line["mark"] not in ("", *MARKS):
        raise InputError(f"{where}: one of {', '.join(MARKS)} was wanted, or nothing, got {line['mark'][:60]!r}.")
    line["version"] = line["version"] if line["version"].isascii() and line["version"].isdecimal() else "0"
    return line


def _as_mark(line: Line) -> Mark:
    texts = {name: line[name] for name in ("key", "mark", "tags", "note", "by", "at")}
    return cast("Mark", {**texts, "row": int(line["row"]), "version": int(line["version"])})
