"""Write numbers and HTML for people."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from html import escape
from math import floor, log10
from typing import NamedTuple

COMMAS_FROM = 10_000  # four digits need no comma, and may be a year
DIGITS = 4  # of a decimal number
LETTERS = 40  # of a value, at most
SMALLEST = 0.001  # shares below this are written as "<0.001": nobody reads 0.0000317


def number(value: object) -> str:
    """Write a value for display: large whole numbers with commas, years and dates as such, few digits.

    >>> number(1234567), number(2021), number(0.000012), number(12.5), number(3.0), number(71234.5678)
    ('1,234,567', '2021', '0.000012', '12.5', '3', '71,235')
    """
    if value is None:
        return "(missing)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        if value.time().isoformat() == "00:00:00":
            return value.date().isoformat()
        return value.isoformat(sep=" ", timespec="auto" if value.second or value.microsecond else "minutes")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= COMMAS_FROM else str(value)
    if isinstance(value, float):
        return _decimal(value)
    return " ".join(str(value).split())


def none_if_missing(value: object) -> object:
    """Return None for what frames write where nothing is: None, NaN, NaT, pandas' NA; any other value as it is.

    >>> none_if_missing(float("nan")), none_if_missing("nan"), none_if_missing(0)
    (None, 'nan', 0)
    """
    if value is None or type(value).__name__ == "NAType":  # a comparison with NA is neither true nor false
        return None
    return None if value != value else value


def column_name(kind: str, t: float, model_t: float) -> str:
    """Name the column of a score at t: by its kind alone at the model's own t, else with t in per cent, without dots.

    >>> column_name("centrality", 0.5, model_t=0.5), column_name("centrality", 0.25, model_t=0.5)
    ('centrality', 'centrality_t25')
    >>> column_name("p_value", 0.125, model_t=0.5), column_name("reasons", 1 / 3, model_t=0.5)
    ('p_value_t12_5', 'reasons_t33_333333')
    """
    return kind if t == model_t else f"{kind}_t{100 * abs(t):.6f}".rstrip("0").rstrip(".").replace(".", "_")


def shortened(text: str, length: int = LETTERS) -> str:
    """Cut a text off after so many letters."""
    return text if len(text) <= length else text[: length - 1] + "…"


def rounded_up(count: int) -> int:
    """Return the next larger round number: two digits and zeros.

    >>> rounded_up(2969), rounded_up(99), rounded_up(100)
    (3000, 99, 100)
    """
    unit = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // unit) * unit


def share(value: float) -> str:
    """Write a number between 0 and 1 with three decimals, or as "<0.001" if it is smaller than that but not 0.

    >>> share(0.5), share(0.00004), share(0.0)
    ('0.500', '<0.001', '0.000')
    """
    return f"<{SMALLEST}" if 0 < value < SMALLEST else f"{value:.3f}"


def _decimal(value: float) -> str:
    """Write a number with few significant digits and no exponent, unless it is huge or tiny."""
    if value != value or abs(value) in (0.0, float("inf")):
        return f"{value:g}"
    if not 1e-9 < abs(value) < 1e15:
        return f"{value:.2e}"
    decimals = max(0, DIGITS - 1 - floor(log10(abs(value))))
    if abs(value) < 0.01:
        decimals = 1 - floor(log10(abs(value)))  # two digits of a small number are enough
    text = f"{value:,.{decimals}f}" if abs(value) >= COMMAS_FROM else f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


RED = "#d6604d"
BLUE = "#296e9b"
GREY = "#888888"
LEFT = " style='text-align:left'"
BAR_WIDTH = 6  # pixels, the gap to the next bar included


class Markup(str):
    """Mark a text as HTML, which is written as it is; any other text is escaped."""

    __slots__ = ()


class Bar(NamedTuple):
    """One bar of a chart: where it begins, from the top, and its length, in pixels."""

    top: float
    height: float
    colour: str


def text_of(value: object) -> Markup:
    """Return a value as HTML."""
    return value if isinstance(value, Markup) else Markup(escape(str(value)))


def joined(parts: Iterable[object], tag: str, style: str = "") -> Markup:
    """Return each part in a tag of its own."""
    return Markup("".join(f"<{tag}{style}>{text_of(part)}</{tag}>" for part in parts))


def facts_table(facts: Mapping[str, object], warnings: Sequence[str]) -> Markup:
    """Return a table of names and values, with warnings below."""
    lines = [joined([name], "th", LEFT) + joined([fact], "td", LEFT) for name, fact in facts.items()]
    below = f"<p><b>Warnings</b></p><ul>{joined(warnings, 'li')}</ul>" if warnings else ""
    return Markup(f"<table>{joined(map(Markup, lines), 'tr')}</table>{below}")


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Markup:
    """Return a table whose last column holds text, on the left, and the others numbers or names."""
    *others, last = headings
    head = joined(others, "th") + joined([last], "th", LEFT)
    body = (Markup(joined(row[:-1], "td") + joined(row[-1:], "td", LEFT)) for row in rows)
    return Markup(f"<table><thead><tr>{head}</tr></thead><tbody>{joined(body, 'tr')}</tbody></table>")


def chart(bars: Sequence[Bar], height: int, label: str, behind: str = "") -> Markup:
    """Draw bars side by side, in front of the SVG `behind`."""
    drawn = "".join(
        f"<rect x='{k * BAR_WIDTH}' y='{bar.top:.1f}' width='{BAR_WIDTH - 1}' height='{bar.height:.1f}' "
        f"fill='{bar.colour}'/>"
        for k, bar in enumerate(bars)
    )
    size = f"width='{BAR_WIDTH * len(bars)}' height='{height}'"
    return Markup(f"<svg role='img' aria-label='{escape(label)}' {size}>{behind}{drawn}</svg>")


def line_of_bar(share: float, text: str, widest: int) -> Markup:
    """Return one line: a bar whose length is this share of the full one, then the text."""
    box = "display:inline-block;height:.7em"
    length = widest * min(1.0, share)
    bar = f"<span style='{box};width:{length:.0f}px;background:{RED}'></span>"
    gap = f"<span style='{box};width:{widest - length:.0f}px'></span>"
    return Markup(f"<div style='white-space:nowrap'>{bar}{gap} {text_of(text)}</div>")
