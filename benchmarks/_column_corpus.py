"""Columns as people write them, with what a careful person reads in each: made by code from a seed.

Every column has 120 rows. What it holds is drawn first and then written, so that the right reading is known. A few
ways of writing are in it that are hard to read (durations, quarters, fractions): the corpus is no list of what works.
"""

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ROWS = 120
NUMBER, DATE, WORDS, IDENTIFIER = "number", "date", "words", "identifier"
ORDER, DOUBTED = "categories of an order", "words with a doubt"

Rng = np.random.Generator
Text = Callable[[float], str]


@dataclass(frozen=True)
class Column:
    """Holds the cells of a column as they are written, and what they mean."""

    family: str
    name: str
    kind: str
    cells: list[str]
    values: NDArray[np.float64] | None = None  # of numbers, and of dates as seconds; NaN where there is none


def grouped(x: float, decimals: int, thousands: str, decimal: str) -> str:
    return f"{x:,.{decimals}f}".translate({ord(","): thousands, ord("."): decimal})


STYLES = {
    "1,234.50": (",", "."),
    "1.234,50": (".", ","),
    "1 234,50": (" ", ","),
    "1'234.50": ("'", "."),
    "1234,50": ("", ","),
    "1234.50": ("", "."),
}
CURRENCIES = ["${}", "€{}", "€ {}", "£{}", "¥{}", "₹{}", "US${}", "R$ {}", "USD {}", "EUR {}", "CHF {}", "{} €", "{}€",
              "{} EUR", "{} USD", "{} kr", "{} zł", "{} CHF", "{} £", "{} ₽"]  # fmt: skip
UNITS = ["{} kg", "{}kg", "{}ms", "{} ms", "{} km/h", "{} °C", "{}°", "{} m²", "{} sq ft", "{} GB", "{} mm", "{} kWh",
         "{} µg/L", "{} bpm", "{} mmHg", '{}"', "{} yrs", "{} min.", "{} €/m²", "{} per day", "{} l/100km"]  # fmt: skip
GAPS = ["-", "--", "n/a", "N/A", "NA", "null", "None", "?", ".", "unknown", "–", "nan", "missing", "", "tbd"]


def amounts(rng: Rng, decimals: int = 2) -> NDArray[np.float64]:
    """Amounts from under ten to over a hundred thousand."""
    return np.round(10 ** rng.uniform(0.5, 5.5, ROWS), decimals)


def numbers(family: str, name: str, x: NDArray[np.float64], write: Text) -> Column:
    return Column(family, name, NUMBER, [write(float(v)) for v in x], x)


def currencies(rng: Rng) -> Iterator[Column]:
    for k, currency in enumerate(CURRENCIES):
        for how in (list(STYLES)[k % 6], list(STYLES)[(k + 2) % 6]):
            marks = STYLES[how]
            yield numbers(
                "currency",
                currency.format(how),
                amounts(rng),
                lambda v, c=currency, m=marks: c.format(grouped(v, 2, *m)),
            )

    whole = np.round(10 ** rng.uniform(3, 5.9, ROWS))
    yield numbers("currency", "€1.234, no decimals", whole, lambda v: "€" + grouped(v, 0, ".", ","))
    yield numbers("currency", "1.234,- €", whole, lambda v: grouped(v, 0, ".", ",") + ",- €")


def plain(rng: Rng) -> Iterator[Column]:
    yield numbers("plain", "whole numbers", rng.poisson(50, ROWS).astype(float), lambda v: f"{v:.0f}")
    yield numbers("plain", "decimals", rng.normal(size=ROWS).round(3), lambda v: f"{v:.3f}")
    yield numbers("plain", "years", rng.integers(1950, 2024, ROWS).astype(float), lambda v: f"{v:.0f}")
    yield numbers("plain", "0 or 1", rng.integers(0, 2, ROWS).astype(float), lambda v: f"{v:.0f}")
    yield numbers("plain", "in millions", np.round(rng.lognormal(15, 3, ROWS)), lambda v: f"{v:.0f}")
    yield numbers("plain", "with spaces", rng.normal(size=ROWS).round(2), lambda v: f"  {v} ")


def units(rng: Rng) -> Iterator[Column]:
    for k, unit in enumerate(UNITS):
        decimals, marks = k % 3, STYLES[list(STYLES)[(0, 1, 5)[k % 3]]]
        x = np.round(rng.gamma(4, 20, ROWS), decimals)
        yield numbers("units", unit, x, lambda v, u=unit, d=decimals, m=marks: u.format(grouped(v, d, *m)))
    days = rng.integers(1, 30, ROWS).astype(float)
    yield numbers("units", "1 day, 2 days", days, lambda v: f"{v:.0f} day{'s' if v != 1 else ''}")
    some = rng.gamma(4, 20, ROWS).round(1)
    yield numbers("units", "12.5 kg, some 12.5", some, lambda v: f"{v}" if v > 150 else f"{v} kg")


def percents(rng: Rng) -> Iterator[Column]:
    for how in ("{:.1f}%", "{:.0f} %", "{:+.2f}%", "{:.1f}‰"):
        x = rng.uniform(-20, 95, ROWS)
        exact = np.array([float(how.format(v).strip("%‰ +")) for v in x])
        yield numbers("percent", how, exact, lambda v, h=how: h.format(v))
    x = rng.uniform(0, 95, ROWS).round(1)
    yield numbers("percent", "12,5 %", x, lambda v: f"{v:.1f} %".replace(".", ","))


def separators(rng: Rng) -> Iterator[Column]:
    for how, marks in STYLES.items():
        for decimals in (0, 1, 2):
            if decimals or marks[0]:
                name = f"{how}, {decimals} decimals"
                yield numbers(
                    "separators", name, amounts(rng, decimals), lambda v, d=decimals, m=marks: grouped(v, d, *m)
                )
    people = np.round(10 ** rng.uniform(2, 7.9, ROWS))
    yield numbers("separators", "12,34,567", people, indian)
    yield numbers("separators", "1\u202f234", people, lambda v: grouped(v, 0, "\u202f", "."))
    yield numbers("separators", "1’234", people, lambda v: grouped(v, 0, "’", "."))
    tiny = 10 ** rng.uniform(-6, 3, ROWS)
    exact = np.array([float(f"{v:.2e}") for v in tiny])
    yield numbers("separators", "1.23e-04", exact, lambda v: f"{v:.2e}")
    yield numbers("separators", "1,23E-04", exact, lambda v: f"{v:.2E}".replace(".", ","))


def indian(v: float) -> str:
    head, tail = divmod(int(v), 1000)
    groups = []
    while head >= 100:
        head, last = divmod(head, 100)
        groups.insert(0, f"{last:02d}")
    return ",".join([str(head), *groups, f"{tail:03d}"]) if v >= 1000 else str(tail)


def negatives(rng: Rng) -> Iterator[Column]:
    x = amounts(rng) * rng.choice([-1, 1], ROWS)
    ways: dict[str, Text] = {
        "(1,234.50)": lambda v: f"({-v:,.2f})" if v < 0 else f"{v:,.2f}",
        "($1,234.50)": lambda v: f"(${-v:,.2f})" if v < 0 else f"${v:,.2f}",
        "$(1,234.50)": lambda v: f"$({-v:,.2f})" if v < 0 else f"${v:,.2f}",
        "-$1,234.50": lambda v: f"-${-v:,.2f}" if v < 0 else f"${v:,.2f}",
        "$-1,234.50": lambda v: f"${v:,.2f}",
        "1,234.50-": lambda v: f"{-v:,.2f}-" if v < 0 else f"{v:,.2f}",
        "−1234.50": lambda v: f"{v:.2f}".replace("-", "\u2212"),
        "– 1.234,50 €": lambda v: ("– " if v < 0 else "") + grouped(abs(v), 2, ".", ",") + " €",
        "+5 / -5": lambda v: f"{v:+.2f}",
    }
    for name, write in ways.items():
        yield numbers("negatives", name, x, write)


def gaps(rng: Rng) -> Iterator[Column]:
    for k, gap in enumerate(GAPS):
        x = amounts(rng, k % 3)
        x[rng.uniform(size=ROWS) < 0.1] = np.nan
        style = ("{}", "${}", "{}%")[k % 3]
        mark = "," if k % 3 else ""
        write = lambda v, g=gap, s=style, d=k % 3, m=mark: g if np.isnan(v) else s.format(grouped(v, d, m, "."))  # noqa: E731
        yield numbers("gaps", f"{style.format('1,234')} or {gap!r}", x, write)
    x = np.round(rng.normal(50, 10, ROWS))
    x[:2] = np.nan
    notes = iter(["see note", "broken sensor"])
    cells = [next(notes) if np.isnan(v) else f"{v:.0f} mg" for v in x]
    x[2], cells[2] = 5, "<5"  # a limit among many numbers stays one
    yield Column("gaps", "three remarks", NUMBER, cells, x)


def hard_numbers(rng: Rng) -> Iterator[Column]:
    x = np.array([float(f"{v:.3g}") for v in 10 ** rng.uniform(2.5, 8.5, ROWS)])
    yield numbers("hard", "1.23M, 45.6k", x, thousands)
    yield numbers("hard", "$1.23M, $45.6K", x, lambda v: "$" + thousands(v).upper())
    places = rng.integers(1, 60, ROWS).astype(float)
    yield numbers("hard", "1st, 2nd", places, ordinal)
    minutes = rng.integers(20, 300, ROWS).astype(float)
    yield numbers("hard", "1h 30m", minutes, lambda v: f"{int(v) // 60}h {int(v) % 60:02d}m")
    yield numbers("hard", "~12", places, lambda v: f"~{v:.0f}")
    yield numbers("hard", "08:30", 60 * minutes, lambda v: f"{int(v) // 3600:02d}:{int(v) // 60 % 60:02d}")  # seconds
    inches = rng.integers(58, 78, ROWS).astype(float)
    yield numbers("hard", "12 ± 3", places, lambda v: f"{v:.0f} ± 3")
    yield numbers("hard", "4/5", rng.integers(1, 6, ROWS).astype(float), lambda v: f"{v:.0f}/5")
    yield numbers("hard", "5'11\"", inches, lambda v: f"{int(v) // 12}'{int(v) % 12}\"")


def thousands(v: float) -> str:
    factor, letter = next((f, letter) for f, letter in ((1e6, "M"), (1e3, "k"), (1, "")) if v >= f)
    return f"{v / factor:.4g}{letter}"


def ordinal(v: float) -> str:
    last = int(v) % 10 if int(v) // 10 != 1 else 0
    return f"{v:.0f}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"


FORMATS = ["%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%d %b %Y", "%b %d, %Y", "%B %d, %Y",
           "%d %B %Y", "%d-%b-%Y", "%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%Y%m%d", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S",
           "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M:%S", "%Y-%m-%dT%H:%M:%S+01:00", "%b %Y", "%Y-%m", "%m/%d/%Y %I:%M %p",
           "%a, %d %b %Y", "%d.%m.%Y %H:%M", "%Y.%m.%d", "%b-%y", "%d. %B %Y", "%Y年%m月%d日"]  # fmt: skip


def dates(rng: Rng) -> Iterator[Column]:
    for k, format in enumerate(FORMATS):
        yield moments(rng, format, format, gap="-" if k % 4 == 3 else None)
    yield moments(rng, "%Y-%m-%d", "2024-01-31 or unknown", gap="unknown")
    yield moments(rng, "%d/%m/%Y", "31/01/2024 or never", gap="n/a")
    days = list(moments(rng, "%Y-%m-%d", "", gap=None).cells)
    mixed = [day if k % 3 else f"{day} 00:00:00" for k, day in enumerate(days)]
    seconds = np.array([datetime.datetime.fromisoformat(f"{day}+00:00").timestamp() for day in days])
    yield Column("dates", "with and without a time", DATE, mixed, seconds)
    years = rng.integers(2015, 2024, ROWS)
    quarters = rng.integers(1, 5, ROWS)
    starts = [
        datetime.datetime(y, 3 * q - 2, 1, tzinfo=datetime.UTC).timestamp()
        for y, q in zip(years, quarters, strict=True)
    ]
    yield Column("dates", "2024Q1", DATE, [f"{y}Q{q}" for y, q in zip(years, quarters, strict=True)], np.array(starts))


def moments(rng: Rng, format: str, name: str, gap: str | None) -> Column:
    cells, seconds = [], []
    for offset in rng.integers(0, 3000 * 86400, ROWS):
        moment = datetime.datetime(2015, 1, 1) + datetime.timedelta(seconds=int(offset))
        if gap is not None and rng.uniform() < 0.05:
            cells.append(gap)
            seconds.append(np.nan)
            continue
        cells.append(moment.strftime(format))
        back = datetime.datetime.strptime(cells[-1], format.replace("+01:00", "%z"))  # what is left of it when written
        aware = back if back.tzinfo else back.replace(tzinfo=datetime.UTC)
        seconds.append(aware.timestamp())
    return Column("dates", name, DATE, cells, np.array(seconds))


def identifiers(rng: Rng) -> Iterator[Column]:
    order = rng.permutation(ROWS)
    ways: dict[str, Callable[[int], str]] = {
        "1001, 1002, ...": lambda k: str(1001 + k),
        "8 digits": lambda k: str(10_000_000 + (k * 7_654_321) % 89_999_999),
        "row numbers": str,
        "ORD-00123": lambda k: f"ORD-{k:05d}",
        "hexadecimal": lambda k: f"{(k * 2654435761) % 2**32:08x}",
        "A123": lambda k: f"A{k + 100}",
        "a1@b.org": lambda k: f"user{k}@example.org",
        "IP addresses": lambda k: f"192.168.{k % 7}.{k}",
        "zeros in front": lambda k: f"{k:06d}",
        "accounts": lambda k: f"DE{10 + k % 80} {k * 7919 % 10000:04d} {k * 104729 % 10000:04d}",
        "urls": lambda k: f"https://example.org/item/{k}",
        "phone numbers": lambda k: f"+49 170 {k * 7919 % 10**7:07d}",
    }
    for name, write in ways.items():
        yield Column("identifiers", name, IDENTIFIER, [write(int(k)) for k in order])


def words(rng: Rng) -> Iterator[Column]:
    sets = {
        "colours": ["red", "green", "blue"],
        "yes or no": ["yes", "no"],
        "grades": ["A", "A-", "B+", "B", "C"],
        "ranges": ["0-10", "10-20", "20-30", "30+"],
        "sizes": ["S", "M", "L", "XL", "XXL"],
        "postcodes": ["01067", "10115", "20095", "80331", "50667"],
        "countries": ["DE", "FR", "NO", "NA", "US"],
        "unknown is a value": ["single", "married", "unknown"],
        "versions": ["1.2.3", "1.10.0", "2.0.1", "2.1.0"],
        "weekdays": ["Mon", "Tue", "Wed", "Thu", "Fri"],
        "seats": ["12A", "12B", "13A", "14C"],
        "scores": ["2-1", "0-0", "3-2", "1-1"],
        "answers": ["1 - bad", "2 - fair", "3 - good"],
        "ages": ["18-24", "25-34", "35-44", "45+"],
        "quarters": ["Q1", "Q2", "Q3", "Q4"],
        "blood": ["A+", "0-", "AB+", "B-"],
        "several units": ["5 kg", "11 lb", "300 g", "7 kg"],
    }
    for name, values in sets.items():
        yield Column("categories", name, WORDS, [str(v) for v in rng.choice(values, ROWS)])
    some = np.array(
        [
            "the",
            "a",
            "red",
            "old",
            "small",
            "wooden",
            "house",
            "table",
            "with",
            "two",
            "3",
            "chairs",
            "near",
            "river",
            "sold",
            "for",
            "200",
            "and",
            "quick",
        ]
    )
    for name, length in (("sentences", 12), ("a line", 7), ("short phrases", 4), ("two words", 2)):
        yield Column("free text", name, WORDS, [" ".join(rng.choice(some, length)) for _ in range(ROWS)])
    streets = rng.choice(["Main St", "High Rd", "Park Ave", "Elm Ln", "Oak Dr"], ROWS)
    yield Column("free text", "addresses", WORDS, [f"{rng.integers(1, 200)} {street}" for street in streets])
    codes = rng.choice(np.arange(10_000, 99_999), 60, replace=False)  # they come again: not one for each row
    yield Column(
        "free text", "codes", WORDS, [f"{code // 1000}-{code % 1000:03d}-X" for code in rng.choice(codes, ROWS)]
    )
    first, last = rng.choice(["Ann", "Bob", "Cem", "Dora"], ROWS), rng.choice(["Ito", "Li", "Roy"], ROWS)
    names = [f"{a} {chr(65 + rng.integers(26))}. {b}" for a, b in zip(first, last, strict=True)]
    yield Column("free text", "people", WORDS, names)


def limits(rng: Rng) -> Iterator[Column]:
    sets = {
        "<=50K": ["<=50K", ">50K"],
        "<5%": ["<5%", ">5%"],
        "< 1 year": ["< 1 year", "1 year", "2 years", "3 years", "10+ years"],
        "18-25": ["18-25", "26-40", "41-64", "65+"],
        "$10,000": ["<$10,000", "$10,000 - $24,999", "$25,000 - $49,999", "$50,000+"],
        "500-1.000": ["unter 500", "500-1.000", "1.000-2.000", "über 2.000"],
        "(0, 10]": ["(0, 10]", "(10, 20]", "(20, 35]"],
        "under 18": ["under 18", "18 to 64", "65 and over", "refused"],
        "1-9 employees": ["1-9 employees", "10-49 employees", "50-249 employees", "250+ employees"],
        "≤ 0.5": ["≤ 0.5", "0.5 – 1", "> 1"],
    }
    for name, values in sets.items():
        yield Column("limits", name, ORDER, [str(v) for v in rng.choice(values, ROWS)])
    x = rng.gamma(2, 2, ROWS).round(2)
    for limit in (0.5, 1.0):
        low = np.maximum(x, limit)
        cells = [f"<{limit}" if v < limit else f"{v}" for v in x]
        yield Column("limits", f"numbers, some <{limit}", NUMBER, cells, low)


def identifiers_too(rng: Rng) -> Iterator[Column]:
    yield Column("codes", "100001, 100002, ...", IDENTIFIER, [str(100_001 + k) for k in range(ROWS)])
    yield Column("codes", "orders, some left out", IDENTIFIER, [str(7_000 + 3 * k + k % 2) for k in range(ROWS)])
    yield Column("codes", "two entered twice", IDENTIFIER, [str(40 + k % (ROWS - 2)) for k in range(ROWS)])
    yield Column("codes", "12E5", WORDS, [f"{a}E{b}" for a, b in rng.integers(1, 9, (ROWS, 2))])
    yield Column("codes", "31 digits", IDENTIFIER, [str(10**30 + 7919 * k) for k in range(ROWS)])
    pay = np.round(rng.lognormal(10, 0.5, ROWS))
    yield numbers("codes", "pay in whole euros", pay, lambda v: f"{v:.0f}")
    yield numbers("codes", "years in their order", np.arange(ROWS) + 1900.0, lambda v: f"{v:.0f}")


def spellings(rng: Rng) -> Iterator[Column]:
    sets = {
        "yes in many ways": ["yes", "Yes", "Y", "true", "1", "no", "No", "N", "false", "0"],
        "two forms of Unicode": ["Köln", "Ko\u0308ln", "Rome"],
        "blanks behind": ["Oslo", "Oslo ", "Rome"],
        "upper and lower case": ["Oslo", "OSLO", "Rome"],
    }
    for name, values in sets.items():
        yield Column("spellings", name, DOUBTED, [str(v) for v in rng.choice(values, ROWS)])
    yield Column("spellings", "(other)", WORDS, [str(v) for v in rng.choice(["(other)", "(not set)", "brand"], ROWS)])


def hard_dates(rng: Rng) -> Iterator[Column]:
    for format in ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y"):
        column = moments(rng, format, f"{format}, and one of 9999", gap=None)
        never = datetime.date(9999, 12, 31).strftime(format)
        stored = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC).timestamp()
        last = stored if format == "%Y-%m-%d" else np.nan  # as a file's own date it is one, as text it stands for none
        values = np.append(column.values[:-1], last) if column.values is not None else None
        yield Column("dates", column.name, DATE, [*column.cells[:-1], never], values)
    hours = [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=70 * k) for k in range(ROWS)]
    offsets = [datetime.timezone(datetime.timedelta(hours=1 + (3 < hour.month < 11))) for hour in hours]
    cells = [hour.astimezone(zone).isoformat(" ") for hour, zone in zip(hours, offsets, strict=True)]
    yield Column("dates", "offsets of summer and winter", DATE, cells, np.array([hour.timestamp() for hour in hours]))


def corpus(seed: int = 0) -> list[Column]:
    """Return all columns."""
    rng = np.random.default_rng(seed)
    families = (
        plain,
        currencies,
        units,
        percents,
        separators,
        negatives,
        gaps,
        hard_numbers,
        dates,
        identifiers,
        words,
        limits,
        identifiers_too,
        spellings,
        hard_dates,
    )
    return [column for family in families for column in family(rng)]
