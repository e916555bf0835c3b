"""Look at a column as values, as codes, as texts and as numbers; each is computed when it is first asked for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._internal.text import number, shortened
from centrality.representations.block_columns import may_be_pictures
from centrality.representations.dates import learn_format, read_texts
from centrality.tables.columns import is_number, is_text
from centrality.tables.written_numbers import MISSING_MARKERS, learn_writing

FEW_LEVELS = 20  # one bad level among so many is a twentieth, which is as much as a column of numbers may have
PROSE = 3.0  # words of a cell, on average, from which on a column is prose
REPEATED = 0.7  # of the rows: a column with more different values hardly repeats any
DAY = 86_400e6  # microseconds
DIGITS = re.compile(r"\d+")
LETTERS = re.compile(r"[^\W\d_]+")

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Mask = NDArray[np.bool_]
GapWords = dict[str, Codes]  # words for nothing, such as N/A, and the rows that hold them


def structures_in(table: pa.Table) -> list[str]:
    """Return the columns of structures and maps: no model reads them, unless they are pictures."""
    return [
        name
        for name, values in zip(table.column_names, table.columns, strict=True)
        if (pa.types.is_struct(values.type) or pa.types.is_map(values.type)) and not may_be_pictures(values)
    ]


@dataclass(frozen=True, eq=False)
class Column:
    """One column: which of its `levels` each row holds, how many rows hold each, and its numbers where it has some."""

    name: str
    type: pa.DataType
    levels: Sequence[Any]  # its different values, in order of their first row; None for a gap
    codes: Codes  # (n,) the level of each row

    @classmethod
    def of(cls, name: str, values: pa.ChunkedArray) -> "Column":
        """Return a column of a table; cells that are no number (NaN) are gaps."""
        kind = values.type
        if pa.types.is_dictionary(kind):
            values = values.cast(kind.value_type)
        if pa.types.is_floating(values.type):
            values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        coded = pc.dictionary_encode(values, null_encoding="encode").combine_chunks()
        coded = coded if isinstance(coded, pa.DictionaryArray) else coded.chunk(0)
        levels = coded.dictionary.to_pylist()
        return cls(name, values.type, levels, coded.indices.to_numpy(zero_copy_only=False).astype(np.intp))

    @cached_property
    def counts(self) -> Codes:
        """Return how many rows hold each level."""
        return np.bincount(self.codes, minlength=len(self.levels))

    @cached_property
    def gaps(self) -> Mask:
        """Say which rows hold nothing: no value, an empty text, or a mark that stands for none, such as n/a."""
        empty = [level is None or (isinstance(level, str) and is_gap_word(level)) for level in self.levels]
        return np.array(empty, dtype=bool)[self.codes]

    @cached_property
    def is_text(self) -> bool:
        """Say whether cells are texts."""
        return is_text(self.type)

    @cached_property
    def texts(self) -> list[str]:
        """Return the levels as texts; that of a gap is empty."""
        return ["" if level is None else str(level) for level in self.levels]

    @cached_property
    def is_prose(self) -> bool:
        """Say whether cells are texts of several words that hardly repeat."""
        if not self.is_text or len(self.levels) < len(self.codes) / 2:
            return False
        few = self.texts[:1000]
        return sum(len(text.split()) for text in few) >= PROSE * len(few)

    @cached_property
    def is_date(self) -> bool:
        """Say whether cells are dates."""
        return pa.types.is_temporal(self.type) or self._date_format is not None

    @cached_property
    def _date_format(self) -> str | None:
        return learn_format(self._texts_to_learn_from())[0] if self.is_text and not self.is_prose else None

    def _level_texts(self) -> pa.ChunkedArray:
        return pa.chunked_array(
            [pa.array([None if level is None else str(level) for level in self.levels], pa.string())]
        )

    def _texts_to_learn_from(self) -> pa.ChunkedArray:
        """Return the different texts, which all count alike; of few, in each row: else one is too many."""
        texts = self._level_texts()
        return texts if len(self.levels) > FEW_LEVELS else texts.take(pa.array(self.codes))

    @cached_property
    def level_numbers(self) -> Floats | None:
        """Return the number that each level stands for, of dates that of days since 1970; None if it is no number."""
        if is_number(self.type) or pa.types.is_decimal(self.type):
            return np.array([np.nan if level is None else float(level) for level in self.levels])
        if pa.types.is_timestamp(self.type) or pa.types.is_date(self.type):
            moments = pa.array(self.levels, self.type).cast(pa.timestamp("us"), safe=False)
            return _days(moments.to_numpy(zero_copy_only=False))
        if not self.is_text or self.is_prose:
            return None
        if self._date_format is not None:
            return _days(read_texts(self._level_texts(), self._date_format)[0])
        writing, _ = learn_writing(self._texts_to_learn_from())
        numbers = None if writing is None else writing.read(self._level_texts())[0]
        return None if numbers is None or len(np.unique(numbers[np.isfinite(numbers)])) < 2 else numbers

    @cached_property
    def numbers(self) -> Floats | None:
        """Return the number of each row, NaN for a gap; None if the column holds no numbers."""
        return None if self.level_numbers is None else self.level_numbers[self.codes]

    @cached_property
    def is_whole(self) -> bool:
        """Say whether all numbers are whole."""
        if self.level_numbers is None:
            return False
        present = self.level_numbers[np.isfinite(self.level_numbers)]
        return bool((present == np.round(present)).all())

    @cached_property
    def names_rows(self) -> bool:
        """Say whether it looks like an identifier: whole numbers or single words, each in one row."""
        if len(self.levels) < len(self.codes) or self.is_date:
            return False
        return self.is_whole if self.level_numbers is not None else not any(" " in text for text in self.texts)

    @cached_property
    def varies(self) -> bool:
        """Say whether it holds more than one value."""
        return len(self.levels) > 1

    @cached_property
    def repeats(self) -> bool:
        """Say whether values occur again and again, so that something can be learned about each."""
        return self.varies and len(self.levels) <= REPEATED * len(self.codes)

    def written(self, code: int) -> str:
        """Return a level as it is shown."""
        return shortened(number(self.levels[code]))

    def coded_by(self, how: "re.Pattern[str] | Sequence[tuple[re.Pattern[str], str]]") -> Codes:
        """Return which rows look alike when letters or digits are masked."""
        pairs = [(how, "0")] if isinstance(how, re.Pattern) else how
        shapes: dict[str, int] = {}
        places = []
        for text in self.texts:
            for pattern, mark in pairs:
                text = pattern.sub(mark, text)
            places.append(shapes.setdefault(text, len(shapes)))
        return np.array(places, dtype=np.intp)[self.codes]


def is_gap_word(text: str) -> bool:
    """Say whether people write this where they have nothing.

    >>> is_gap_word(" N/A "), is_gap_word("Nancy")
    (True, False)
    """
    return text.strip().lower() in MISSING_MARKERS


def _days(moments: NDArray[Any]) -> Floats:
    micro = moments.astype("datetime64[us]").astype(np.int64).astype(np.float64)
    return np.where(np.isnat(moments), np.nan, micro / DAY)
