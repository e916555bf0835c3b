"""Read a column of dates in a graph, as moments in microseconds or as texts, and encode them as `Dates.encode` does.

Texts are read in the column's own form and in those that cannot be mistaken, with or without a time of day. Cells that
cannot be dates count against their row, as in Python. Dates in other characters or in mixed case are unread.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.onnx.graph import Graph, Symbol, Value, any_of, count_up_to, look_up, matches, pieces, replaced
from centrality.representations.dates import (
    CENTURY_FROM,
    CIRCLES,
    LEAST_DEVIATION,
    MONTHS,
    PARTS,
    SECONDS,
    UNMISTAKABLE,
    YEARS,
    Dates,
)
from centrality.representations.onnx.cells import AROUND, GraphCells, are_gaps, are_plain, have_no_digit

NO_MOMENT = int(np.iinfo(np.int64).min)  # numpy's NaT
SECOND = 1_000_000  # in microseconds
DAY = 86_400 * SECOND
TOKENS = 10  # runs of digits or letters in a date with a time and a zone: at most four, four and two
MOST_MARKS = 5  # of one kind in a date
FIRST_AND_LAST_YEAR = (1678, 2262)  # whose changes of the clock are known to the graph

# A time of day with a zone, as those that `_date_texts.TIMES` allow.
CLOCK = r"[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2}(?:\.[0-9]{1,9})?)?"
CLOCK_OF_TWELVE = r"[0-9]{1,2}:[0-9]{1,2}(?::[0-9]{1,2})? (?:am|pm|AM|PM)"
ZONE = "(?: ?(?:z|Z|utc|UTC|[+-][0-9]{2}:?[0-9]{2}))"
TIME = f"(?:[ tT](?:{CLOCK}|{CLOCK_OF_TWELVE}){ZONE}?)?"


def date_cells(graph: Graph, column: Dates, name: str) -> GraphCells:
    """Take a column of dates, and encode it."""
    wrong = unread = None
    if column.format is None:
        moments = graph.input(name, "int64", ("n",))
        gaps = absent = moments.equals(NO_MOMENT)
    else:
        texts = graph.input(name, "text", ("n",))
        gaps = are_gaps(texts)
        moments, is_date, wrong = _read(texts, column.format, in_utc=column.zone is not None)
        wrong = wrong & ~gaps
        absent = ~is_date | gaps
        unread = ~any_of([is_date, gaps, wrong])
    features = _features(column, graph("Where", absent, 0, moments))
    deviations = np.array(column.deviations)
    varies = deviations > LEAST_DEVIATION
    factor = np.where(varies, 1 / (np.where(varies, deviations, 1.0) * np.sqrt(max(varies.sum(), 1))), 0.0)
    z = graph("Where", absent[:, None], 0.0, (features - np.array(column.means)) * factor)
    if column.missing:
        z = graph("Concat", z, (absent.double() - column.missing)[:, None], axis=1)
        return GraphCells(z, gaps, wrong, column.outlying_code(), unread)
    return GraphCells(z, gaps, gaps if wrong is None else gaps | wrong, column.outlying_code(), unread)


def _features(column: Dates, moments: Symbol) -> Symbol:  # (n,) -> (n, parts)
    """Write the parts of dates, in the order of the column's names."""
    graph = moments.graph
    local = moments if column.zone is None else moments + _offsets(column.zone, moments)
    of_day = local % DAY  # as Python's: never negative
    days = (local - of_day) / DAY
    year, month, day = _calendar(days)
    minutes = of_day / (60 * SECOND)
    places = {"month": month, "day": day, "weekday": (days + 3) % 7 + 1}
    places["hour"] = minutes / 60
    parts: list[Symbol] = []
    for part in (name.strip() for name in column.names("")):
        circle, _, number = part.partition("_circular_")
        if part == "year":
            parts.append(year.double())
        elif part == "minute":
            parts.append((minutes % 60).double())
        elif part == SECONDS:
            parts.append(moments.double() / 1e6)
        elif number:
            angles = 2 * np.pi * np.arange(32) / CIRCLES[circle][0]
            parts.append(look_up((np.sin, np.cos)[int(number)](angles), places[circle]))
    return graph("Concat", *(part[:, None] for part in parts), axis=1)


def _calendar(days: Symbol) -> tuple[Symbol, Symbol, Symbol]:
    """Return year, month and day of days since 1970: whole numbers, by the eras of 400 years that are all alike.

    Years begin in March here, so that a leap day is the last one (Howard Hinnant, chrono-compatible date algorithms).
    """
    since_era = days + 719_468  # from 1 March of the year 0
    of_era = since_era % 146_097
    era = (since_era - of_era) / 146_097
    leap_days = of_era / 1_460 - of_era / 36_524 + of_era / 146_096
    year_of_era = (of_era - leap_days) / 365
    of_year = of_era - (year_of_era * 365 + year_of_era / 4 - year_of_era / 100)
    from_march = (of_year * 5 + 2) / 153
    day = of_year - (from_march * 153 + 2) / 5 + 1
    month = (from_march + 2) % 12 + 1
    early = days.graph("Where", month <= 2, 1, 0)
    return year_of_era + era * 400 + early, month, day


def _days(year: Symbol, month: Symbol, day: Symbol) -> Symbol:
    """Return days since 1970: the inverse of `_calendar`."""
    graph = year.graph
    year = year - graph("Where", month <= 2, 1, 0)
    of_era = year % 400
    era = (year - of_era) / 400
    of_year = ((month + 9) % 12 * 153 + 2) / 5 + day - 1
    days = of_era * 365 + of_era / 4 - of_era / 100 + of_year
    return era * 146_097 + days - 719_468


def _offsets(zone: str, moments: Symbol) -> Symbol:
    """Write how far the clocks of a zone are ahead of UTC at these moments."""
    changes, offsets = clock_changes(zone)
    return look_up(offsets, count_up_to(changes, moments))


def clock_changes(zone: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # (k,), (k + 1,)
    """Return the moments at which a zone's clocks change, and how far they are ahead of UTC before and after each.

    They are found by asking for every hour, and within those hours by bisection to the second.

    >>> from centrality.representations.onnx.dates import clock_changes
    >>> moments, offsets = clock_changes("Europe/Oslo")
    >>> [str(moment) for moment in moments.astype("M8[us]").astype("M8[h]") if str(moment)[:4] == "2024"]
    ['2024-03-31T01', '2024-10-27T01']
    >>> sorted({int(offset) // 3_600_000_000 for offset in offsets[-9:]})
    [1, 2]
    """
    first, last = np.array([f"{year}-01-01" for year in FIRST_AND_LAST_YEAR], dtype="M8[s]").astype(np.int64)

    def ahead(seconds: NDArray[np.int64]) -> NDArray[np.int64]:
        local = pa.array(seconds, pa.int64()).cast(pa.timestamp("s", "UTC")).cast(pa.timestamp("s", zone))
        return np.asarray(pc.local_timestamp(local).cast(pa.int64())) - seconds

    hours = np.arange(first, last, 3600)
    at_hours = ahead(hours)
    changed = np.flatnonzero(np.diff(at_hours))
    before = hours[changed]
    after = hours[changed + 1]
    for _ in range(12):  # 2^12 > 3600
        middle = (before + after) // 2
        is_before = ahead(middle) == at_hours[changed]
        before = np.where(is_before, middle, before)
        after = np.where(is_before, after, middle)
    return after * SECOND, at_hours[np.append(changed, -1)] * SECOND


# Dates as texts.


@dataclass
class DayForm:
    """A form of days: its pattern, and what its runs of digits and letters are, such as d, B and Y."""

    pattern: str
    parts: list[str]
    marks: set[str]  # letters that stand between the parts

    @classmethod
    def of(cls, format: str) -> "DayForm":
        """Return the form of a format such as "%d %B %Y"."""
        number = r"[0-9]{2}" if "%m%d" in format else r"[0-9]{1,2}"
        pattern = ""
        parts: list[str] = []
        marks: set[str] = set()
        for token in re.findall(r"%Y%m%d|%\w|.", format):
            if token == "%Y%m%d":
                pattern += "[0-9]{8}"
                parts.append("Ymd")
            elif token in ("%d", "%m"):
                pattern += number
                parts.append(token[1])
            elif token.startswith("%"):
                pattern += _in_three_cases(token)
                parts.append(token[1])
            else:
                pattern += f"[{token.lower()}{token.upper()}]" if token.isalpha() else re.escape(token)
                marks |= {token.lower(), token.upper()} if token.isalpha() else set()
        return cls(pattern, parts, marks)

    @property
    def time(self) -> str:
        """Return the pattern of a time of day behind such a day."""
        return TIME.replace("{1,2}", "{2}") if "Ymd" in self.parts else TIME

    def place(self, part: str) -> int:
        """Return which of the parts this is; that of one that is not there says so."""
        return self.parts.index(part) if part in self.parts else NOWHERE


def _in_three_cases(token: str) -> str:
    """Return the pattern of a part of a day, without names for groups, and of words in the cases that are read."""
    pattern = re.sub(r"\?P<\w>", "?:", PARTS[token]).replace(r"\d", "[0-9]")
    if token not in ("%B", "%b", "%a"):
        return pattern
    words = re.findall("[a-z]+", pattern)
    return f"(?:{'|'.join(cased for word in words for cased in _in_cases(word))})"


def _in_cases(word: str) -> tuple[str, str, str]:
    """Return a word in the cases that are read."""
    return word, word.title(), word.upper()


def _read(texts: Symbol, format: str, *, in_utc: bool) -> tuple[Symbol, Symbol, Symbol]:  # (n,) each
    """Return moments, which texts are dates, and which are surely none; offsets count if the column is `in_utc`."""
    graph = texts.graph
    day_format = re.split(r"[ T]%[HI]", format)[0]
    forms = [DayForm.of(written) for written in dict.fromkeys((day_format, *UNMISTAKABLE))]
    form: Value = len(forms)  # of which text has which; that of none is the last
    for number, day in reversed(list(enumerate(forms))):
        form = graph("Where", matches(texts, f"{AROUND}{day.pattern}{day.time}{AROUND}"), number, form)
    assert isinstance(form, Symbol)
    with_two = any_of([matches(texts, f"(?s).*{t}.*[^A-Za-z]{t}[0-9].*") for t in "tT"])  # OCT 2024T10:30: unread
    has_form = (form < len(forms)) & ~with_two
    form = graph("Where", has_form, form, len(forms))
    tokens = Tokens.of(graph("Where", has_form, texts, "0"), forms)

    def place(part: str) -> Symbol:
        """Return where a part of the day is in the texts of each form."""
        return look_up(np.array([*(day.place(part) for day in forms), NOWHERE]), form)

    days, is_day = _days_of(tokens, place)
    first = look_up(np.array([*(len(day.parts) for day in forms), NOWHERE]), form)
    time, is_time = _time_of(tokens, first)
    offset = tokens.offset(first)
    if not in_utc:  # what the clock shows counts; Python takes the zone off behind a clock of 24 hours alone
        offset = graph("Where", tokens.of_twelve, offset, 0)
    is_date = has_form & is_day & is_time
    impossible = are_plain(texts) & ~_may_be_date(texts, forms)
    return days * DAY + time - offset, is_date, any_of([have_no_digit(texts), impossible, has_form]) & ~is_date


NOWHERE, NOUGHT = TOKENS, TOKENS + 1  # the places of two more tokens, "1" and "0", for parts that a text lacks


@dataclass
class Tokens:
    """The runs of digits and letters in texts of dates, and what the marks between them say."""

    texts: Symbol  # (n, TOKENS + 2)
    has_time: Symbol
    has_seconds: Symbol
    has_fraction: Symbol
    of_twelve: Symbol  # a clock of twelve hours
    afternoon: Symbol
    has_offset: Symbol
    has_wide_offset: Symbol  # +0530, not +05:30
    behind_utc: Symbol

    @classmethod
    def of(cls, texts: Symbol, forms: list[DayForm]) -> "Tokens":
        """Split texts that have one of these forms."""
        graph = texts.graph

        def hold(pattern: str) -> Symbol:
            return matches(texts, f"(?s).*{pattern}")

        plain = texts
        has_time = hold(":.*")
        for zone in ("z", "Z", "utc", "UTC"):
            plain = graph("Where", has_time, replaced(plain, zone, " ", most_parts=1), plain)
        for mark in "tT":
            has_t = matches(plain, f"(?s).*[^A-Za-z]{mark}[0-9].*")
            plain = graph("Where", has_t, replaced(plain, mark, " ", most_parts=1), plain)
        for mark in sorted({*"-/.,:+", *(mark for form in forms for mark in form.marks)}):
            plain = replaced(plain, mark, " ", MOST_MARKS)
        one = graph("Where", has_time, "1", "1")[:, None]
        zero = graph("Where", has_time, "0", "0")[:, None]
        offset = f":.*[+-][0-9]{{2}}%s[0-9]{{2}}{AROUND}"
        return cls(
            graph("Concat", pieces(plain, "", TOKENS), one, zero, axis=1),
            has_time=has_time,
            has_seconds=hold(":[0-9]{1,2}:.*"),
            has_fraction=hold(r":[0-9]{1,2}\.[0-9].*"),
            of_twelve=hold(":.* (?:am|AM|pm|PM).*"),
            afternoon=hold(":.* (?:pm|PM).*"),
            has_offset=hold(offset.replace("%s", ":?")),
            has_wide_offset=hold(offset.replace("%s", "")),
            behind_utc=hold(offset.replace("%s", ":?").replace("[+-]", "-")),
        )

    def at(self, place: Symbol) -> Symbol:
        """Return the token in this place of each text."""
        return self.texts.graph("GatherElements", self.texts, place[:, None], axis=1)[:, 0]

    def number(self, place: Symbol, holds: Symbol | None = None) -> Symbol:
        """Return the number in this place, 0 for texts of which the condition does not hold."""
        graph = place.graph
        token = self.at(place if holds is None else graph("Where", holds, place, NOUGHT))
        return graph("Where", matches(token, "[0-9]{1,9}"), token, "0").whole()  # a runtime stops at other texts

    def offset(self, first: Symbol) -> Symbol:
        """Return how far the zone of a time is ahead of UTC; the time begins at the token `first`."""
        graph = first.graph
        before = [self.has_seconds, self.has_fraction, self.of_twelve]
        place = first + 2
        for token in before:
            place = place + token.whole()
        hours = self.number(place, self.has_offset)
        minutes = self.number(place + 1, self.has_offset & ~self.has_wide_offset)
        minutes = graph("Where", self.has_wide_offset, hours % 100, minutes)
        hours = graph("Where", self.has_wide_offset, hours / 100, hours)
        offset = (hours * 60 + minutes) * 60 * SECOND
        return graph("Where", self.behind_utc, -1 * offset, offset)


def _days_of(tokens: Tokens, place: Callable[[str], Symbol]) -> tuple[Symbol, Symbol]:
    """Return days since 1970, and which texts are days of the calendar."""
    graph = tokens.texts.graph

    def is_present(part: str) -> Symbol:
        return ~place(part).equals(NOWHERE)

    def number(part: str) -> Symbol:
        return tokens.number(place(part))

    digits = number("Ymd")
    has_digits = is_present("Ymd")
    short = number("y")
    century = graph("Where", short < CENTURY_FROM, 2000, 1900)
    year = graph("Where", is_present("y"), short + century, number("Y"))
    month = graph("Where", is_present("q"), number("q") * 3 - 2, number("m"))
    for part, letters in (("B", None), ("b", 3)):
        names = {cased: k + 1 for k, name in enumerate(MONTHS) for cased in _in_cases(name[:letters])}
        of_name = graph(
            "LabelEncoder",
            tokens.at(place(part)),
            keys_strings=list(names),
            values_int64s=list(names.values()),
            default_int64=0,
        )
        month = graph("Where", is_present(part), of_name, month)
    day = number("d")
    year = graph("Where", has_digits, digits / 10_000, year)
    month = graph("Where", has_digits, digits / 100 % 100, month)
    day = graph("Where", has_digits, digits % 100, day)
    days = _days(year, graph("Min", graph("Max", month, 1), 12), day)
    valid = (month >= 1) & (month <= 12) & (day >= 1)
    valid = valid & (year >= YEARS[0]) & (year <= YEARS[1])
    return days, valid & _calendar(days)[1].equals(month)  # the month has such a day


def _time_of(tokens: Tokens, first: Symbol) -> tuple[Symbol, Symbol]:
    """Return the time since midnight, and which times a clock shows; they begin at the token `first`."""
    graph = first.graph
    hour = tokens.number(first, tokens.has_time)
    minute = tokens.number(first + 1, tokens.has_time)
    second = tokens.number(first + 2, tokens.has_seconds)
    digits = tokens.at(graph("Where", tokens.has_fraction, first + 3, NOUGHT))
    micro = (graph("StringConcat", "0.", digits).double() * 1e6 + 1e-4).floor().whole()
    valid = (hour < 24) & (minute < 60) & (second < 60)
    valid = valid & (~tokens.of_twelve | ((hour >= 1) & (hour <= 12)))
    hour = graph("Where", tokens.of_twelve, hour % 12, hour)
    hour = graph("Where", tokens.afternoon, hour + 12, hour)
    return ((hour * 60 + minute) * 60 + second) * SECOND + micro, valid


def _may_be_date(texts: Symbol, forms: list[DayForm]) -> Symbol:
    """Say which texts have a form in which Python reads dates, in letters of any case."""
    loose = r"(?:[ t](?:[0-9:. ]|am|pm|z|utc|[+-])*)?"
    return matches(texts, f"(?si){AROUND}(?:{'|'.join(form.pattern for form in forms)}){loose}{AROUND}")
