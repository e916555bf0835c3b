"""Text cut into blocks of whole records, and blocks into records.

A record is a line, except in CSV and TSV: there a line break inside quotation marks ends no record. As in Arrow, only
a quotation mark at the beginning of a field opens one; the one in `5" pipe` is a character like any other. Counting
marks is much quicker than looking at each, and nearly always enough: an even number before a line break means that it
lies outside. So they are counted first, and looked at only where the count tells nothing.
"""

import re
import select
from collections.abc import Iterator
from functools import cache
from typing import BinaryIO

BLOCK = 4 << 20  # bytes parsed together: some ten thousand rows
PIECES = 16  # of a pipe's 64 kB, at most so many together: a busy stream is parsed in blocks of 1 MB
PATIENCE = 4  # blocks: where quotation marks are odd for so long, each is looked at
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Blocks:
    """Yields whole records, about `size` bytes at a time; a live stream gives what has come as soon as it has.

    With a `separator` of fields, a line break inside quotation marks ends no record.
    """

    def __init__(self, file: BinaryIO, separator: bytes | None, *, live: bool = False, size: int = BLOCK) -> None:
        self.file, self.separator, self.live, self.size = file, separator, live, size

    def __iter__(self) -> Iterator[bytes]:
        waiting: list[bytes] = []  # what came after the last record's end
        is_odd = False  # whether quotation marks in `waiting` are
        patience = self._patience
        while piece := self._more():
            if not waiting:
                piece = piece.removeprefix(BYTE_ORDER_MARK)
            end = piece.rfind(b"\n") + 1
            if is_odd ^ self._has_odd_marks(piece[:end]):
                end = 0  # the last line break may lie inside quotation marks
            waiting.append(piece)
            is_odd ^= self._has_odd_marks(piece)
            if not end and not (is_odd and sum(map(len, waiting)) >= patience):
                continue
            together = b"".join(waiting)
            end = len(together) - len(piece) + end if end else self._last_end(together)
            if end:
                yield together[:end]
            waiting, is_odd = [together[end:]], self._has_odd_marks(together[end:])
            # Twice as many the next time: a mark that nothing closes costs no more than a second look at all bytes.
            patience = self._patience if end else 2 * len(together)
        rest = b"".join(waiting)
        if rest.strip(b"\r\n" if self.separator is not None else None):
            yield rest

    @property
    def _patience(self) -> int:
        """Return how many bytes may wait for their quotation marks to become even before each mark is looked at."""
        return 0 if self.live else PATIENCE * self.size

    def _has_odd_marks(self, piece: bytes) -> bool:
        return self.separator is not None and piece.count(b'"') % 2 == 1

    def _last_end(self, text: bytes) -> int:
        return 0 if self.separator is None else max(record_ends(text, self.separator), default=0)

    def _more(self) -> bytes:
        return self._what_has_come() if self.live else self.file.read(self.size)

    def _what_has_come(self) -> bytes:
        """Return what a stream holds; wait only if that is nothing."""
        pieces = [self.file.read1(1 << 16)]  # type: ignore[attr-defined]
        while pieces[-1] and len(pieces) < PIECES and select.select([self.file], [], [], 0)[0]:
            pieces.append(self.file.read1(1 << 16))  # type: ignore[attr-defined]
        return b"".join(pieces)


def split_lines(block: bytes) -> list[bytes]:
    """Return a block's lines without those that hold nothing but white space."""
    return [line for line in block.splitlines() if line.strip()]


def split_records(block: bytes, separator: bytes, *, count: int | None = None) -> list[bytes]:
    """Return a block's records without line ends and without empty ones.

    If quotation marks are even in other than `count` records, each mark is looked at.
    """
    if b'"' not in block:
        return [line for line in block.splitlines() if line]
    records = [record for record in _joined_where_odd(block.splitlines(keepends=True)) if record]
    if count is None or len(records) == count:
        return records
    ends = [*record_ends(block, separator), len(block)]
    parts = (block[start:end].rstrip(b"\r\n") for start, end in zip([0, *ends], ends, strict=False))
    return [part for part in parts if part]


def _joined_where_odd(lines: list[bytes]) -> Iterator[bytes]:
    """Yield lines, several together where that makes their quotation marks even."""
    together: list[bytes] = []
    for line in lines:
        is_odd = line.count(b'"') % 2
        if together or is_odd:
            together.append(line)
        if not together:
            yield line.rstrip(b"\r\n")
        elif is_odd and len(together) > 1:
            yield b"".join(together).rstrip(b"\r\n")
            together = []
    if together:
        yield b"".join(together)


def record_ends(text: bytes, separator: bytes) -> Iterator[int]:
    """Yield the place after each line break outside quoted fields; the text begins with a record."""
    for found in _quoted_field_or_line_break(separator).finditer(text):
        if text[found.start()] in b"\r\n":
            yield found.end()


@cache
def _quoted_field_or_line_break(separator: bytes) -> re.Pattern[bytes]:
    begins = rb"(?:(?<=[\r\n" + re.escape(separator) + rb"])|\A)"
    return re.compile(begins + rb'"[^"]*(?:""[^"]*)*(?:"|\Z)|\r\n?|\n')
