"""Write results as HTML for notebooks: text is escaped here and nowhere else."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import NamedTuple

RED, BLUE, GREY = "#d6604d", "#296e9b", "#888888"
LEFT = " style='text-align:left'"
BAR_WIDTH = 6  # pixels, the gap to the next bar included


class Markup(str):
    """Mark a text as HTML, which is written as it is; any other text is escaped."""

    __slots__ = ()


class Bar(NamedTuple):
    """Hold one bar of a chart: where it begins, from the top, and its length, in pixels."""

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
    box, length = "display:inline-block;height:.7em", widest * min(1.0, share)
    bar = f"<span style='{box};width:{length:.0f}px;background:{RED}'></span>"
    gap = f"<span style='{box};width:{widest - length:.0f}px'></span>"
    return Markup(f"<div style='white-space:nowrap'>{bar}{gap} {text_of(text)}</div>")
