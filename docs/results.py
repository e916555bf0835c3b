"""Reads committed results, and writes them as a table of a page."""

import csv
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import provenance  # noqa: E402  (found by the line above: scripts of docs/ run from anywhere)


def rows(name: str, of: str = "benchmarks") -> list[dict[str, str]]:
    with (ROOT / of / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


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
