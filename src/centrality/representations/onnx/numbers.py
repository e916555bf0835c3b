"""Read a column of numbers in a graph, also such as people have written as text.

Of the latter, cells in the column's own form are read as `NumberFormat.read` reads them, and so are signs, exponents,
brackets, k and M, and points for commas. Cells that cannot be such numbers count against their row, as in Python. What
is left is unread: other characters for digits and blanks, another spelling of the unit, "~5", "5 ± 1".
"""

import string
from collections.abc import Callable

from centrality.network.scaling import LIMIT
from centrality.onnx.graph import Graph, Symbol, any_of, matches, pieces, replaced
from centrality.representations.columns import Numbers
from centrality.representations.onnx.cells import (
    AROUND,
    CURRENCIES,
    GraphCells,
    are_gaps,
    are_plain,
    escaped,
    have_no_digit,
)
from centrality.tables.written_numbers import (
    CELL,
    DIGITS,
    MAGNITUDES,
    ONE_GROUP,
    ORDINALS,
    UNGROUPED,
    NumberFormat,
    canonical,
)

LONGEST = 30  # letters of a number that is read: it has ten groups of digits at most
MOST_MARKS = 11  # marks between the groups of such a number
# Characters that are read; the first of each is the plain one.
BLANKS = " \u00a0\u202f"
QUOTES = "'\u2019"
MINUSES = "-\u2212\u2013"
EXPONENT = "[eE][+-]?[0-9]{1,2}"  # with more, a number may be none of float64


def number_cells(graph: Graph, column: Numbers, name: str, kind: str) -> GraphCells:
    """Take a column of numbers, or of texts if its numbers were written as text, and encode it as `Numbers` does."""
    if column.writing is None:
        x = graph.input(name, kind, ("n",)).double()
        absent = gaps = x.is_nan()
        wrong = None
        unread = x.is_infinite()
    else:
        texts = graph.input(name, "text", ("n",))
        gaps = are_gaps(texts)
        x, is_number, wrong = _read(texts, column.writing)
        wrong = wrong & ~gaps
        absent = ~is_number | gaps
        unread = ~any_of([is_number, gaps, wrong])
    z = ((graph("Where", absent, column.center, x) - column.center) * column.weight).clamp(-LIMIT, LIMIT)[:, None]
    if column.missing:
        z = graph("Concat", z, (gaps.double() - column.missing)[:, None], axis=1)
        return GraphCells(z, gaps, wrong, column.outlying_code(), unread)
    return GraphCells(z, gaps, gaps if wrong is None else gaps | wrong, column.outlying_code(), unread)


def _read(texts: Symbol, writing: NumberFormat) -> tuple[Symbol, Symbol, Symbol]:  # (n,) each
    """Return numbers written so, which texts are such, and which are surely none."""
    graph = texts.graph
    decimal = writing.decimal
    before = writing.before.strip()
    after = writing.after.strip()

    def are(pattern: str) -> Symbol:
        return matches(texts, f"{AROUND}(?:{pattern}){AROUND}")

    # In the column's own form.
    blank = f"[{BLANKS}]"
    minus = f"[{MINUSES}]"
    front = f"(?:{escaped(before)}{blank}?)?"
    back = f"(?:{blank}?{escaped(after)})?"
    plain = are(f"{minus}?{front}{_in_any_blanks((DIGITS if writing.thousands else UNGROUPED)[decimal])}{back}")

    # In further forms: with other marks and signs, an exponent, in brackets as accountants write.
    def forms(digits: str) -> tuple[str, str]:
        """Return the patterns of numbers with these digits, and of those in brackets."""
        bare = f"[+-]?{digits}(?:{EXPONENT})?"
        if before and after:  # one of the two alone is no unit of the column
            amount = f"{escaped(before)}{blank}?{digits}{blank}?{escaped(after)}"
            return f"{bare}|{minus}{blank}?{amount}", rf"\({blank}?{amount}{blank}?\)"
        amounts = f"{minus}{blank}?{front}{digits}{back}|{front}{minus}?{digits}{back}"
        return f"{bare}|{amounts}", rf"\({blank}?{front}{digits}{back}{blank}?\)"

    of_any_groups = _in_any_blanks(DIGITS[decimal])
    further, in_brackets = map(are, forms(of_any_groups))
    two_readings = []
    if writing.thousands not in (",", "."):
        two_readings = [are("|".join(forms(ONE_GROUP[decimal]))) & ~plain]
        further = further & ~two_readings[0]
        in_brackets = in_brackets & ~two_readings[0]
    is_short = are(f".{{1,{LONGEST}}}?")
    is_number = any_of([plain, further, in_brackets]) & is_short
    x = _number(graph("Where", is_number, texts, "0"), decimal, before, after)
    x = graph("Where", in_brackets, -1.0 * x, x)

    if decimal == ",":  # as programs write beside it: 1234.5
        as_programs = are(rf"[+-]?[0-9]*\.[0-9]+(?:{EXPONENT})?") & is_short & ~any_of([is_number, *two_readings])
        x = graph("Where", as_programs, _number(graph("Where", as_programs, texts, "0"), ".", "", ""), x)
        is_number = is_number | as_programs
    if writing.magnitudes and not after:
        sizes = {
            size: are(f"{minus}?{front}{of_any_groups} ?(?i:{'|'.join(keys)})") for size, keys in _magnitudes().items()
        }
        if two_readings:
            two_readings.append(are(f"{minus}?{front}{ONE_GROUP[decimal]} ?(?i:{'|'.join(MAGNITUDES)})"))
        are_sized = any_of(list(sizes.values())) & is_short & ~any_of([is_number, *two_readings])
        x = graph("Where", are_sized, _sized(texts, sizes, are_sized, decimal, before), x)
        is_number = is_number | are_sized
    impossible = are_plain(texts) & _are_impossible(texts, writing, are) & is_short
    return x, is_number, any_of([have_no_digit(texts), impossible, *two_readings]) & ~is_number


def _in_any_blanks(digits: str) -> str:
    """Return a pattern of digits with other characters for blanks and apostrophes, too."""
    return digits.replace("(?: [", f"(?:[{BLANKS}][").replace("(?:'", f"(?:[{QUOTES}]")


def _number(texts: Symbol, decimal: str, before: str, after: str) -> Symbol:
    """Return the numbers of texts that are known to be such."""
    plain = texts
    for affix in filter(None, (before, after)):
        plain = replaced(plain, affix, "", most_parts=1)
    is_negative = matches(plain, f"(?s).*[{MINUSES[1:]}].*")
    for mark in f"{MINUSES[1:]}()":
        plain = replaced(plain, mark, "", most_parts=1)
    for mark in f"{BLANKS[1:]}{QUOTES}{',.'.replace(decimal, '')}":
        plain = replaced(plain, mark, "", MOST_MARKS)
    plain = replaced(plain, "", "", MOST_MARKS)  # the plain blanks
    x = (replaced(plain, ",", ".", most_parts=1) if decimal == "," else plain).double()
    return texts.graph("Where", is_negative, -1.0 * x, x)


def _magnitudes() -> dict[float, list[str]]:
    """Return how people write k, M and bn, by their sizes."""
    return {size: [key for key in MAGNITUDES if MAGNITUDES[key] == size] for size in sorted(set(MAGNITUDES.values()))}


def _sized(texts: Symbol, sizes: dict[float, Symbol], are_sized: Symbol, decimal: str, before: str) -> Symbol:
    """Return the numbers of texts with k, M or bn behind them."""
    graph = texts.graph
    plain = graph("Where", are_sized, texts, "0")
    plain = replaced(plain, before, "", most_parts=1) if before else plain
    for letter in sorted({letter for key in MAGNITUDES for letter in (key[0], key[0].upper())}):
        plain = pieces(plain, letter, 1)[:, 0]  # what stands in front of it
    x = _number(plain, decimal, "", "")
    for size, are_of_it in sizes.items():
        x = graph("Where", are_of_it, size * x, x)
    return x


def _are_impossible(texts: Symbol, writing: NumberFormat, are: Callable[[str], Symbol]) -> Symbol:
    """Say which plain texts, if they are not read, are no numbers of this column in Python either.

    They are no numbers at all, or numbers with letters that its unit does not have, or digits with marks alone.
    """
    unit = canonical(writing.before + writing.after)
    letters = {*f"{writing.before}{writing.after}".casefold(), *"es"} if unit else {"e"}
    letters |= set("".join(MAGNITUDES)) if writing.magnitudes else set()
    letters |= set("".join(ORDINALS)) if unit == "th" else set()
    foreign = "".join(c for c in f"{string.ascii_lowercase}$%{CURRENCIES}" if c not in letters)
    strange = f"[{foreign}]" if "/" in letters else f"[{foreign}]|[^+]/"
    return any_of(
        [
            matches(texts, f"(?si).*(?:{strange}).*"),
            ~are(CELL.removeprefix("^").removesuffix("$")),
            are("[+-]?[.,]?[0-9](?:[0-9.,' ]*[0-9])?"),
        ]
    )
