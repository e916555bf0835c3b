"""Reads committed results, and writes them as a table of a page."""

import csv
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import provenance  # noqa: E402  (found by the line above: scripts of docs/ run from anywhere)


class Field(str):
    """A field of a result: as it is written, or by a format of numbers; an empty one stays empty."""

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        if not spec or not self:
            return str(self)
        return people(self) if spec == "people" else format(float(self), spec)


Row = dict[str, Field]


def rows(name: str, of: str = "benchmarks") -> list[Row]:
    with (ROOT / of / "results" / f"{name}.csv").open(newline="") as file:
        return [{key: Field(value) for key, value in row.items()} for row in csv.DictReader(file)]


def origin(*results: str) -> str:
    """Say how each of these results came to be, in a line below their table; those that came together are told once."""
    known = provenance.ledger()
    told = dict.fromkeys(str(known[name]) if name in known else f"{name}: {provenance.UNKNOWN}" for name in results)
    text = "; ".join(told)
    return f"\n*{text[0].upper()}{text[1:]}.*"


def markdown(header: list[str], body: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def short(number: str) -> str:
    return f"{float(number):.3f}"


def people(number: str) -> str:
    """Write a number with three digits that count and no exponent, and what is no number as it is."""
    try:
        value = float(f"{float(number):.3g}")
    except ValueError:
        return number
    return f"{value / 1e6:,.10g} million" if abs(value) >= 1e6 else f"{value:,.10g}"
