"""Split text cells that hold a number as people write it into parts: sign, currency, digits with marks, unit."""

import re
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

# What people write where they have no number or date. In columns of words, such a word is a value like others.
GAPS = frozenset(
    {"", "-", "--", "---", ".", "..", "...", "…", "?", "??", "n/a", "#n/a", "na", "n.a.", "nan", "null", "none", "nil",
     "missing", "unknown", "tbd", "no data"}
)  # fmt: skip
# Characters that look like a space, a minus and an apostrophe, and the plain ones that they stand for.
LOOK_ALIKES = {
    "[\u00a0\u2007\u2009\u202f]": " ",
    "[\u2010-\u2015\u2212\ufe63\uff0d]": "-",
    "[\u2018\u2019\u02bc\u00b4`]": "'",
}
# The digits of other scripts that spreadsheets and phones write: of full width, Arabic, Persian, Devanagari.
ZEROS = "０٠۰०"
OTHER_DIGITS = {f"[{''.join(chr(ord(zero) + digit) for zero in ZEROS)}]": str(digit) for digit in range(10)}
AS_TEXT = r"""^(?:="(.*)"|'(.*))$"""  # how spreadsheets say that a cell is text: ="1234" and '1234
CODES = (
    "USD|EUR|GBP|JPY|CNY|RMB|CHF|CAD|AUD|NZD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|RUB|UAH|TRY|ILS|AED|SAR|EGP|ZAR|NGN|KES|"
    "INR|PKR|BDT|LKR|THB|IDR|MYR|SGD|HKD|TWD|KRW|PHP|VND|BRL|MXN|ARS|CLP|COP|PEN|kr|Rs|Fr|zł"
)
CURRENCY = rf"(?:[A-Za-z]{{1,3}})?\p{{Sc}}|(?i:{CODES})\.?"
CELL = (
    rf"^(?:[~≈≤≥]|[<>]=?)? ?(?P<bracket>\()? ?(?P<sign>[+-])? ?(?P<before>(?:{CURRENCY}) ?)?(?P<inner>[+(-])? ?"
    r"(?P<digits>[.,]?[0-9](?:[0-9.,' ]*[0-9])?)(?P<exponent>[eE][+-]?[0-9]{1,3})?(?:[.,]--?)?"
    r"""(?P<after> ?[\p{L}\p{Sc}\p{So}%‰/"″′][\p{L}\p{Sc}\p{So}\p{N}%/"·.* ]*)?"""
    r" ?(?P<minus>-)? ?(?P<end>\))?$"
)
# The digits where this is the decimal mark: in one run, or in groups with the same mark between all of them.
GROUPED = "[1-9][0-9]{{0,2}}(?:(?:{mark}[0-9]{{3}})+|(?: [0-9]{{3}})+|(?:'[0-9]{{3}})+)"
INDIAN = "[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
DIGITS = {
    ".": rf"(?:(?:[0-9]+|{GROUPED.format(mark=',')}|{INDIAN})(?:\.[0-9]+)?|\.[0-9]+)",
    ",": rf"(?:(?:[0-9]+|{GROUPED.format(mark='[.]')})(?:,[0-9]+)?|,[0-9]+)",
}
ORDINALS = ("st", "nd", "rd", "th")
RAISED = str.maketrans("²³", "23")
GROUP_MARKS = {".": "[, ']", ",": "[. ']"}


def without_gaps(texts: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the texts with plain spaces, signs, apostrophes and digits; words such as "n/a" become null."""
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    if not pc.all(pc.string_is_ascii(texts)).as_py():
        for pattern, plain in (LOOK_ALIKES | OTHER_DIGITS).items():
            texts = pc.replace_substring_regex(texts, pattern, plain)
    texts = pc.utf8_trim_whitespace(texts)
    if pc.any(pc.or_(pc.starts_with(texts, '="'), pc.starts_with(texts, "'"))).as_py():
        texts = pc.replace_substring_regex(texts, AS_TEXT, r"\1\2")
    is_gap = pc.is_in(pc.utf8_lower(texts), pa.array(sorted(GAPS)))
    return pc.if_else(is_gap, pa.scalar(None, pa.string()), texts)


def evenly(texts: pa.Array, most: int) -> pa.Array:
    """Return at most `most` of the texts, evenly spaced."""
    return texts.take(pa.array(np.unique(np.linspace(0, len(texts) - 1, most).astype(np.int64))))


@dataclass(frozen=True)
class NumberCells:
    """Hold the parts of cells by name: null where a cell is not a number, empty where it lacks this part."""

    parts: dict[str, pa.Array]

    @classmethod
    def of(cls, texts: pa.Array) -> Self:
        """Split texts that `without_gaps` has returned into parts."""
        found = pc.extract_regex(texts, CELL)
        return cls({field.name: pc.struct_field(found, [field.name]) for field in found.type})

    def are(self, part: str, text: str) -> Mask:
        """Say in which cells this part equals that text."""
        return _mask(pc.equal(self.parts[part], text))

    def match(self, part: str, pattern: str) -> Mask:
        """Say in which cells this part matches that pattern."""
        return _mask(pc.match_substring_regex(self.parts[part], pattern))

    def share(self) -> float:
        """Return the share of the cells that are numbers."""
        digits = self.parts["digits"]
        return float(1 - digits.null_count / len(digits))

    def negative(self) -> Mask:
        """Say which numbers are negative: with a minus before or after them, or in brackets as accountants write."""
        return self._minuses() > 0

    def proper(self) -> Mask:
        """Say which cells have at most one minus, and brackets that close."""
        return np.asarray((self._minuses() <= 1) & (self._opened() == self.are("end", ")")))

    def _opened(self) -> NDArray[np.int64]:
        return self.are("bracket", "(").astype(np.int64) + self.are("inner", "(")

    def _minuses(self) -> NDArray[np.int64]:
        return self._opened() + self.are("sign", "-") + self.are("inner", "-") + self.are("minus", "-")

    def affixes(self) -> tuple[NDArray[np.intp], list[tuple[str, str]]]:
        """Return the distinct pairs of texts before and after the digits, and which pair each cell has."""
        joined = pc.binary_join_element_wise(self.parts["before"], pc.utf8_rtrim_whitespace(self.parts["after"]), "\n")
        coded = joined.fill_null("\n").dictionary_encode()
        pairs = [text.partition("\n")[::2] for text in coded.dictionary.to_pylist()]
        return coded.indices.to_numpy(), [(before, after) for before, after in pairs]

    def fits(self, decimal: str) -> Mask:
        """Say in which cells the digits are a number if this is the decimal mark."""
        return self.match("digits", f"^{DIGITS[decimal]}$")

    def sizes(self, decimal: str) -> NDArray[np.float64]:
        """Return the numbers without their sign, if this is the decimal mark; NaN where the digits are not a number."""
        digits = pc.if_else(pa.array(self.fits(decimal)), self.parts["digits"], pa.scalar(None, pa.string()))
        digits = pc.replace_substring_regex(digits, GROUP_MARKS[decimal], "")
        if decimal == ",":
            digits = pc.replace_substring(digits, ",", ".")
        written = pc.binary_join_element_wise(digits, self.parts["exponent"], "")
        return as_floats(written)


def as_floats(texts: pa.Array) -> NDArray[np.float64]:
    """Return texts of numbers as programs write them as floats; NaN where there is none."""
    return np.array(texts.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def is_currency(affix: str) -> bool:
    """Say whether this text is a currency's symbol or code."""
    found = pc.match_substring_regex(pa.array([affix.strip()]), f"^(?:{CURRENCY})$")
    return bool(found[0].as_py())


def canonical(affix: str) -> str:
    """Return a unit in one standard spelling: without case, spaces, a full stop, plural, raised digits, 1st and 4th.

    >>> canonical(" Days"), canonical("day"), canonical("ms"), canonical(" m²")
    ('day', 'day', 'ms', 'm2')
    """
    bare = re.sub(r"\s", "", affix).casefold().rstrip(".").translate(RAISED)
    if bare in ORDINALS:
        return "th"
    return bare[:-1] if len(bare) > 2 and bare.endswith("s") else bare


def _mask(found: pa.Array) -> Mask:
    return np.asarray(found.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)  # noqa: FBT003
