"""Read numbers as people write them.

How the numbers of a column are written is learned from the whole column (`learn_writing`), is a small value that a
model file can hold (`NumberFormat`), and is then applied to each cell by itself.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

# What people write where they have no number or date. In columns of words, such a word is a value like others.
MISSING_MARKERS = frozenset(
    {"", "-", "--", "---", ".", "..", "...", "…", "?", "??", "n/a", "#n/a", "na", "n.a.", "nan", "null", "none", "nil",
     "missing", "unknown", "tbd", "no data"}
)  # fmt: skip
# Characters that look like a space, a minus and an apostrophe, and the plain ones that they stand for.
UNICODE_EQUIVALENTS = {
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
    r"(?: ?(?:±|\+/-) ?[0-9][0-9.,]*)?"  # what a measurement may be off
    r"""(?P<after> ?[\p{L}\p{Sc}\p{So}%‰/"″′][\p{L}\p{Sc}\p{So}\p{N}%/"·.* ]*)?"""
    r" ?(?P<minus>-)? ?(?P<end>\))?$"
)
# The digits where this is the decimal mark: in one run, or in groups with the same mark between all of them.
GROUPED = "[1-9][0-9]{{0,2}}(?:(?:{mark}[0-9]{{3}})+|(?: [0-9]{{3}})+|(?:'[0-9]{{3}})+)"
INDIAN = "[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
UNGROUPED = {".": r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)", ",": r"(?:[0-9]+(?:,[0-9]+)?|,[0-9]+)"}
# One group of three: if this is no mark between thousands, it is the decimal mark of somebody else.
ONE_GROUP = {".": r"[1-9][0-9]{0,2},[0-9]{3}", ",": r"[1-9][0-9]{0,2}\.[0-9]{3}"}
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
        for pattern, plain in (UNICODE_EQUIVALENTS | OTHER_DIGITS).items():
            texts = pc.replace_substring_regex(texts, pattern, plain)
    texts = pc.utf8_trim_whitespace(texts)
    if pc.any(pc.or_(pc.starts_with(texts, '="'), pc.starts_with(texts, "'"))).as_py():
        texts = pc.replace_substring_regex(texts, AS_TEXT, r"\1\2")
    is_gap = pc.is_in(pc.utf8_lower(texts), pa.array(sorted(MISSING_MARKERS)))
    return pc.if_else(is_gap, pa.scalar(None, pa.string()), texts)


def evenly(texts: pa.Array, limit: int) -> pa.Array:
    """Return at most `limit` of the texts, evenly spaced."""
    return texts.take(pa.array(np.unique(np.linspace(0, len(texts) - 1, limit).astype(np.int64))))


@dataclass(frozen=True)
class NumberCells:
    """The parts of cells by name: null where a cell is not a number, empty where it lacks this part."""

    parts: dict[str, pa.Array]

    @classmethod
    def of(cls, texts: pa.Array) -> Self:
        """Split texts that `without_gaps` has returned into parts."""
        parts = pc.extract_regex(texts, CELL)
        return cls({field.name: pc.struct_field(parts, [field.name]) for field in parts.type})

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
    matches = pc.match_substring_regex(pa.array([affix.strip()]), f"^(?:{CURRENCY})$")
    return bool(matches[0].as_py())


def canonical(affix: str) -> str:
    """Return a unit in one standard spelling: without case, spaces, a full stop, plural, raised digits, 1st and 4th.

    >>> canonical(" Days"), canonical("day"), canonical("ms"), canonical(" m²")
    ('day', 'day', 'ms', 'm2')
    """
    bare = re.sub(r"\s", "", affix).casefold().rstrip(".").translate(RAISED)
    if bare in ORDINALS:
        return "th"
    return bare[:-1] if len(bare) > 2 and bare.endswith("s") else bare


# A number in a level such as "10,000 - 25,000" or "< 1 year", with thousands between its groups or without.
LEVEL_NUMBER = re.compile(
    r"(?P<minus>(?<![\w%)\s])-)?(?P<digits>[1-9][0-9]{0,2}(?:[., '][0-9]{3})+(?![0-9])|[0-9]+)"
    r"(?P<fraction>[.,][0-9]+)?(?: ?(?P<magnitude>k|thousand|mn?|mio|million|bn?|mrd|billion)\b)?"
)
BELOW = re.compile(r"[<≤]|under |below |less than |up to |at most |unter |bis |höchstens ")
ABOVE = re.compile(r"[>≥]|over |above |more than |at least |über |ab |mehr als |mindestens ")
BETWEEN = re.compile(r"[^0-9]*(?:-| to | bis |, ?)[^0-9]*")
LIMITS = 0.1  # the share of a column's levels that must be limits or ranges: among many numbers, <0.5 stays a number
COME_AGAIN = 5  # cells a bare number must have on average among limits and ranges: measurements do not come again so


def ordered_levels(texts: pa.Array | pa.ChunkedArray) -> list[str]:
    """Return the different texts of a column of ranges and limits in their order; none if it is no such column.

    >>> ordered_levels(pa.array(["65+", "< 18", "18-35", "36-64", "refused"]))
    ['< 18', '18-35', '36-64', '65+', 'refused']
    """
    counts = {level["values"]: level["counts"] for level in texts.drop_null().value_counts().to_pylist()}
    places: dict[str, tuple[float, int]] = {}
    limits = 0
    words = 0
    bare = []
    for level in counts:
        plain = re.sub("[\u2010-\u2015\u2212]", "-", " ".join(level.casefold().split()))
        parts = list(LEVEL_NUMBER.finditer(plain))
        ends = [
            float(re.sub("[., ']", "", part["digits"]) + (part["fraction"] or "").replace(",", "."))
            * MAGNITUDES.get(part["magnitude"] or "", 1.0)
            * (-1 if part["minus"] else 1)
            for part in parts
        ]
        above = ABOVE.match(plain) or (parts and "+" in plain[parts[-1].end() :])
        side = 1 if above else -1 if BELOW.match(plain) else 0
        if len(ends) == 2 and not side:
            if ends[0] >= ends[1] or not BETWEEN.fullmatch(plain[parts[0].end() : parts[1].start()]):
                return []  # results of a match, or codes
            limits += 1
        elif side and parts:
            limits += 1
        elif len(ends) == 1:
            bare.append(level)
        elif ends:
            return []
        else:
            words += 1
        places[level] = (ends[0], side) if ends else (np.inf, 0)
    if words > limits / 2:  # schooling: "1st-4th", "Bachelors", "Some-college"
        return []
    if limits < max(LIMITS * len(counts), 1) or sum(counts[level] for level in bare) < COME_AGAIN * len(bare):
        return []
    return sorted(counts, key=lambda level: (places[level], level))


def _mask(answers: pa.Array) -> Mask:
    return np.asarray(answers.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)  # noqa: FBT003


ENOUGH = 0.95  # the share of a column's cells that must be numbers for it to be a column of numbers
LOOKED_AT = 1000  # cells that are checked first: most columns of text fail here
LEARNED_FROM = 20_000  # cells, and those besides that are then found to be written otherwise
MOST_DECIMALS = 400  # no float has more
CODE_LENGTH = 5  # digits alone, at least so many and equally many in all cells: a postcode, an account
DIGITS_E_DIGITS = r"^[0-9]+[eE][0-9]+$"  # 12E5: a code, or a number
MAGNITUDES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9,
              "mrd": 1e9, "billion": 1e9}  # fmt: skip
TYPOS = 0.001  # a share of digits with a zero in front that does not make a column one of codes
FEW_UNITS = 4  # named in a message
UNMARKED = 0.02  # the share of whole numbers under a thousand from which a point stands between groups
NOT_ALIKE = "many cells look like numbers, but they are not all written in one way"

Affixes = tuple[str, str]  # what stands before and after the digits


@dataclass(frozen=True)
class NumberFormat:
    """How the numbers of a column are written: the decimal mark, and the currency or unit beside them."""

    decimal: str = "."  # a point or a comma; the other one, spaces and apostrophes stand between groups of digits
    thousands: str = ""  # which of these does, where one does
    before: str = ""  # "$"
    after: str = ""  # " kg", "%"
    decimals: int = 0  # the most digits after the decimal mark
    magnitudes: bool = False  # k, M and bn multiply

    def __post_init__(self) -> None:
        marks = self.decimal in DIGITS and self.thousands in ("", ",", ".", " ", "'")
        if not (marks and isinstance(self.before + self.after, str) and self.decimals in range(MOST_DECIMALS)):
            raise ValueError(f"numbers cannot be written so: {self!r}")

    def read(self, texts: pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.float64], Mask]:
        """Return the numbers, NaN where missing, and say which cells hold something that is not such a number."""
        texts = without_gaps(texts)
        # Cells in the column's common form are read together, which is ten times as fast.
        before = self.before.strip()
        after = self.after.strip()
        digits = (DIGITS if self.thousands else UNGROUPED)[self.decimal]
        pattern = f"^-?(?:{re.escape(before)} ?)?{digits}(?: ?{re.escape(after)})?$"
        common = pc.if_else(pc.match_substring_regex(texts, pattern), texts, pa.scalar(None, pa.string()))
        for text in filter(None, (before, after, *" ',.".replace(self.decimal, ""))):
            common = pc.replace_substring(common, text, "")
        x = as_floats(pc.replace_substring(common, ",", "."))
        present = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False), dtype=bool)
        others = present & np.isnan(x)
        if others.any():
            x[others] = self._read_parts(NumberCells.of(texts.filter(pa.array(others))))
        return x, present & np.isnan(x)

    def _read_parts(self, cells: NumberCells) -> NDArray[np.float64]:
        """Return the numbers of cells that were split into parts; NaN where these are not a number of this column."""
        places, affixes = cells.affixes()
        split = [_without_magnitude(pair) if self.magnitudes else (pair, 1.0) for pair in affixes]
        units = ("", canonical(self.before + self.after))
        factors = [factor if canonical("".join(pair)) in units else np.nan for pair, factor in split]
        x = cells.sizes(self.decimal) * np.array(factors)[places]
        if self.decimal == ",":
            # A number as programs write it, 1234.5 beside 1.234,50: it cannot be mistaken.
            bare = cells.are("before", "") & cells.are("after", "") & cells.match("digits", r"^[0-9]*\.[0-9]+$")
            x = np.where(np.isnan(x) & bare, cells.sizes("."), x)
        x = np.where(cells.negative(), -x, x)
        return np.where(cells.proper() & np.isfinite(x) & ~self._two_readings(cells), x, np.nan)

    def two_readings(self, texts: pa.Array) -> Mask:
        """Say which texts may be two numbers: 50.629 beside 50,6, where a point never stood between thousands."""
        return self._two_readings(NumberCells.of(without_gaps(texts)))

    def _two_readings(self, cells: NumberCells) -> Mask:
        if self.thousands in (",", "."):
            return np.zeros(len(cells.parts["digits"]), dtype=bool)
        return cells.match("digits", f"^{ONE_GROUP[self.decimal]}$")

    def without_unit(self, texts: pa.Array) -> bool:
        """Say whether no text has a unit, though the numbers of this column have one."""
        if not (self.before or self.after):
            return False
        present = without_gaps(texts).drop_null()
        bare = pc.match_substring_regex(present, r"^[-+(]?[0-9.,' ]+\)?$")
        return len(present) > 0 and bool(pc.all(bare).as_py())

    def write(self, x: float) -> str:
        """Write a number in the column's form.

        >>> NumberFormat(thousands=",", before="$", decimals=2).write(-1234.5)
        '-$1,234.50'
        """
        digits = f"{abs(x):,.{self.decimals}f}".translate({ord(","): self.thousands, ord("."): self.decimal})
        sign = "-" if x < 0 and re.search("[1-9]", digits) else ""
        return f"{sign}{self.before}{digits}{self.after}"

    def example(self) -> str:
        """Write an example that shows the column's marks and unit.

        >>> NumberFormat(",", ".", after=" kg", decimals=1).example()
        '1.234,5 kg'
        """
        return replace(self, decimals=min(self.decimals, 2)).write(1234.5 if self.decimals else 1234)


def learn_writing(texts: pa.Array | pa.ChunkedArray, default_mark: str = "") -> tuple[NumberFormat | None, str]:
    """Return how a column's numbers are written, or None if it is not numbers; and what is doubtful about it.

    Where a point and a comma fit all cells, `default_mark` is taken, the decimal mark of other columns; "" if they
    show none.
    """
    plain = without_gaps(texts)
    present = plain.drop_null()
    if len(present) == 0 or NumberCells.of(evenly(present, LOOKED_AT)).share() < 1 / 2:
        return None, ""
    if _are_codes(present, gaps=plain.null_count):
        return None, ""
    sample = evenly(present, LEARNED_FROM)
    writing, doubt = _learn(sample, default_mark)
    if writing is None:
        return None, doubt
    _, unread = writing.read(present)
    if unread.any() and len(sample) < len(present):  # a few of these may tell decimal marks from those between groups
        others = present.filter(pa.array(unread)).slice(0, LOOKED_AT)
        others = others.filter(NumberCells.of(others).parts["digits"].is_valid())
        writing, doubt = _learn(pa.concat_arrays([sample, others]), default_mark)
        if writing is not None:
            _, unread = writing.read(present)
    return (writing, doubt) if writing is not None and unread.mean() <= 1 - ENOUGH else (None, doubt or NOT_ALIKE)


def usual_decimal_mark(columns: Iterable[pa.Array | pa.ChunkedArray]) -> str:
    """Return the decimal mark of all columns of numbers whose cells only one mark fits; "" if none is, or they differ.

    >>> usual_decimal_mark([pa.array(["3,041", "1,250"]), pa.array(["1302,81", "7,5"]), pa.array(["no", "yes"])])
    ','
    """
    marks = set()
    for texts in columns:
        present = without_gaps(texts).drop_null()
        if len(present) == 0:
            continue
        cells = NumberCells.of(evenly(present, LOOKED_AT))
        point = cells.fits(".").sum()
        comma = cells.fits(",").sum()
        if point != comma and cells.share() >= ENOUGH:
            marks.add("." if point > comma else ",")
    return marks.pop() if len(marks) == 1 else ""


def _learn(texts: pa.Array, default_mark: str) -> tuple[NumberFormat | None, str]:
    """Learn how numbers are written from some texts."""
    cells = NumberCells.of(texts)
    if cells.share() < ENOUGH:
        return None, ""
    affixes, magnitudes, about_units = _common_unit(cells)
    if affixes is None:
        return None, about_units
    before, after = affixes
    decimal, about_marks = _decimal_mark(cells, default_mark, currency=is_currency(before) or is_currency(after))
    # The most frequent mark between groups of digits, if there is one.
    marks = [mark for mark in ",. '" if re.match(GROUP_MARKS[decimal], mark)]
    times = [int(pc.sum(pc.count_substring(cells.parts["digits"], mark)).as_py() or 0) for mark in marks]
    thousands = marks[int(np.argmax(times))] if max(times) else ""
    # The largest number of digits after the decimal mark.
    fitting = cells.parts["digits"].filter(pa.array(cells.fits(decimal)))
    fractions = pc.replace_substring_regex(fitting, rf"^[^{decimal}]*[{decimal}]?", "")
    decimals = min(int(pc.max(pc.utf8_length(fractions)).as_py() or 0), MOST_DECIMALS - 1)
    writing = NumberFormat(decimal, thousands, before, after, decimals, magnitudes)
    with_error = pc.any(pc.match_substring_regex(texts, r"±|\+/-")).as_py()
    about_errors = "what stands behind ± is left out" if with_error else ""
    return writing, "; ".join(filter(None, (about_marks, about_units, about_errors)))


def _are_codes(texts: pa.Array, gaps: int) -> bool:
    """Say whether the texts are codes, not amounts: some have zeros in front, or all are digits of one length.

    Or most are digits, E, digits: programs and spreadsheets write an exponent with its sign, or after a decimal mark.
    """
    if (pc.mean(pc.match_substring_regex(texts, "^0[0-9]+$")).as_py() or 0) > TYPOS:
        return True
    if (pc.mean(pc.match_substring_regex(texts, DIGITS_E_DIGITS)).as_py() or 0) > 1 / 2:
        return True
    lengths = pc.min_max(pc.utf8_length(texts)).as_py()
    same = lengths["min"] == lengths["max"] >= CODE_LENGTH and not gaps
    return bool(same and pc.all(pc.match_substring_regex(texts, "^[0-9]+$")).as_py())


def _without_magnitude(affixes: Affixes) -> tuple[Affixes, float]:
    """Return the affixes without k, M or bn, and the factor that these mean."""
    before, after = affixes
    letters = re.sub(r"[\W\d_].*", "", after.strip(), flags=re.DOTALL)
    factor = MAGNITUDES.get(letters.casefold())
    return (affixes, 1.0) if factor is None else ((before, after.strip()[len(letters) :]), factor)


def _common_unit(cells: NumberCells) -> tuple[Affixes | None, bool, str]:
    """Return the affixes of nearly all cells in the most common spelling, whether k and M multiply, and any doubt."""
    places, affixes = cells.affixes()
    counts = dict(zip(affixes, np.bincount(places, minlength=len(affixes)).tolist(), strict=True))
    for magnitudes in (False, True):
        written: Counter[Affixes] = Counter()
        for pair, count in counts.items():
            written[_without_magnitude(pair)[0] if magnitudes else pair] += count
        units: Counter[str] = Counter()
        for pair, count in written.items():
            units[canonical("".join(pair))] += count
        bare_cells = units.pop("", 0)
        # A unit that only a few cells have, among cells without one, is not the column's.
        unit, cells_with_unit = units.most_common(1)[0] if units and bare_cells < ENOUGH * len(places) else ("", 0)
        share = cells_with_unit / len(places)
        bare = bare_cells / len(places)
        # 950 beside 1.2k is no 950k; and 5 m beside 3 km are no millions.
        is_other = bool(unit and bare) if magnitudes else bool(bare) and unit in MAGNITUDES and unit not in ("m", "b")
        if share + bare >= ENOUGH and not is_other:
            common = next(pair for pair, _ in written.most_common() if canonical("".join(pair)) == unit)
            doubt = f"{bare:.1%} of the numbers have no unit and are taken for {unit}, too" if unit and bare else ""
            return common, magnitudes, doubt
    named = ", ".join(dict.fromkeys("".join(pair).strip() or "none" for pair in affixes[:FEW_UNITS]))
    return None, False, f"numbers of several units ({named}) cannot be compared: write them in one"


def _decimal_mark(cells: NumberCells, default: str, *, currency: bool) -> tuple[str, str]:
    """Return the decimal mark that fits most cells; if both point and comma fit, also a note on which was chosen."""
    point = cells.fits(".")
    comma = cells.fits(",")
    if point.sum() != comma.sum():
        return (".", "") if point.sum() > comma.sum() else (",", "")
    marked = cells.match("digits", "[.,]")
    either = np.flatnonzero(marked & point & comma)
    if not len(either):
        return ("," if cells.match("digits", " ").any() else "."), ""  # whoever groups by spaces writes decimal commas
    # All have three digits after their only mark. Where other numbers have none and at most three digits, it stands
    # between groups: decimals would be one or two at times. Else as in other columns; as a rule, a comma stands between
    # groups, and so does a point in prices.
    short = 1 - marked.mean() > UNMARKED and not cells.match("digits", "^[0-9]{4}").any()
    if default and not short:
        return default, ""
    decimal = "," if (currency or short) and not cells.match("digits", ",").any() else "."
    if default:
        return decimal, ""  # what the column shows by itself counts for more than the others
    place = int(either[0])
    size = cells.sizes(decimal)[place]
    other_size = cells.sizes("." if decimal == "," else ",")[place]
    return decimal, f"{cells.parts['digits'][place].as_py()!r} is taken for {size:g}, but could be {other_size:g}"
