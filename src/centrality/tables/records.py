"""Cut text into blocks of whole records, and blocks into records.

A record is a line, except in CSV and TSV: there a line break inside quotation marks ends no record. As in Arrow, only
a quotation mark at the beginning of a field opens one; the one in `5" pipe` is a character like any other. Nearly
always marks open and close in turn, which is quickly checked for all of them; only otherwise is each looked at.
"""

import re
import select
from collections.abc import Iterator
from functools import cache
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

BLOCK = 4 << 20  # bytes parsed together: some ten thousand rows
PIECES = 16  # of a pipe's 64 kB, at most so many together: a busy stream is parsed in blocks of 1 MB
VERY_LONG = 16 * BLOCK  # bytes without a record's end: then it is looked for again only when there are twice as many
LONGEST = 256 << 20  # bytes of a record; more are a quotation mark that nobody closed, or no text
UNCLOSED = "; a quotation mark at the beginning of a field may lack its other one"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Blocks:
    """Yields whole records, about `size` bytes at a time; from a live stream, as soon as they have come.

    With a `separator` of fields, a line break inside quotation marks ends no record.
    """

    def __init__(self, file: BinaryIO, separator: bytes | None, *, live: bool = False, size: int = BLOCK) -> None:
        self.file, self.separator, self.live, self.size = file, separator, live, size

    def __iter__(self) -> Iterator[bytes]:
        waiting: list[bytes] = []  # what came after the last record's end
        looked_from = 0  # bytes waiting, from which on a record's end is looked for
        is_first = True
        while piece := self._more():
            waiting.append(piece.removeprefix(BYTE_ORDER_MARK) if is_first else piece)
            is_first = False
            is_last = not self.live and len(piece) < self.size
            if is_last or sum(map(len, waiting)) < looked_from:
                continue
            together = b"".join(waiting)
            end = last_record_end(together, self.separator)
            if end:
                yield together[:end]
            waiting = [together[end:]]
            looked_from = 0 if end or len(together) < VERY_LONG else 2 * len(together)
            if not end and len(together) > LONGEST:
                raise ValueError(
                    f"no record ends within {LONGEST >> 20} MB" + (UNCLOSED if b'"' in together else "; is it text?")
                )
        rest = b"".join(waiting)
        if self.separator is not None and _is_open(rest, self.separator):
            raise ValueError("a quotation mark opens a field that never ends")
        if rest.strip(b"\r\n" if self.separator is not None else None):
            yield rest

    def _more(self) -> bytes:
        return self._what_has_come() if self.live else self.file.read(self.size)

    def _what_has_come(self) -> bytes:
        """Return the bytes that a stream has ready; wait only if there are none."""
        file: Any = self.file
        pieces = [file.read1(1 << 16)]
        while pieces[-1] and len(pieces) < PIECES and select.select([file], [], [], 0)[0]:
            pieces.append(file.read1(1 << 16))
        return b"".join(pieces)


def split_lines(block: bytes) -> list[bytes]:
    """Return a block's lines without those that hold nothing but white space."""
    return [line for line in block.splitlines() if line.strip()]


def split_records(block: bytes, separator: bytes) -> list[bytes]:
    """Return a block's records without line ends and without empty ones."""
    if b'"' not in block:
        return [line for line in block.splitlines() if line]
    if _open_and_close_in_turn(block, _marks(block), separator):
        parts = _joined_where_odd(block.splitlines(keepends=True))
    else:
        ends = [*record_ends(block, separator), len(block)]
        parts = (block[start:end] for start, end in zip([0, *ends], ends, strict=False))
    records = (part.rstrip(b"\r\n") for part in parts)
    return [record for record in records if record]


def last_record_end(text: bytes, separator: bytes | None) -> int:
    """Return the position after the last line break that ends a record, 0 if none does; text begins with a record."""
    end = text.rfind(b"\n") + 1
    if separator is None or b'"' not in text:
        return end
    marks = _marks(text)
    if not _open_and_close_in_turn(text, marks, separator):
        return max(record_ends(text, separator), default=0)
    while end and (before := int(np.searchsorted(marks, end))) % 2:
        end = text.rfind(b"\n", 0, int(marks[before - 1])) + 1  # before the mark that opens this field
    return end


def record_ends(text: bytes, separator: bytes) -> Iterator[int]:
    """Yield the position after each line break outside quoted fields; the text begins with a record."""
    for match in _quoted_field_or_line_break(separator).finditer(text):
        if text[match.start()] in b"\r\n":
            yield match.end()


@cache
def _quoted_field_or_line_break(separator: bytes) -> re.Pattern[bytes]:
    begins = rb"(?:(?<=[\r\n" + re.escape(separator) + rb"])|\A)"
    return re.compile(begins + rb'"[^"]*(?:""[^"]*)*("|\Z)|\r\n?|\n')


def _is_open(text: bytes, separator: bytes) -> bool:
    """Say whether the text ends inside a quoted field; it begins with a record."""
    if b'"' not in text or (len(marks := _marks(text)) % 2 == 0 and _open_and_close_in_turn(text, marks, separator)):
        return False
    *_, last = _quoted_field_or_line_break(separator).finditer(text)
    return last.end() == len(text) and text[last.start()] == ord('"') and last[1] == b""


def _marks(text: bytes) -> NDArray[np.intp]:
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord('"'))


def _open_and_close_in_turn(text: bytes, marks: NDArray[np.intp], separator: bytes) -> bool:
    """Say whether every other quotation mark begins a field, or is the second of a doubled one."""
    before = np.frombuffer(text, np.uint8)[np.maximum(marks[::2] - 1, 0)]
    return bool((np.isin(before, np.frombuffer(b'\r\n"' + separator, np.uint8)) | (marks[::2] == 0)).all())


def _joined_where_odd(lines: list[bytes]) -> Iterator[bytes]:
    """Yield lines, joined until their number of quotation marks is even."""
    together: list[bytes] = []
    for line in lines:
        is_odd = line.count(b'"') % 2 == 1
        if not together and not is_odd:
            yield line
            continue
        together.append(line)
        if is_odd and len(together) > 1:
            yield b"".join(together)
            together = []
    if together:
        yield b"".join(together)
