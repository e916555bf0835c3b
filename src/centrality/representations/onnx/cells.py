"""A column's cells in a graph, and texts as people write them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality.onnx.graph import Symbol, matches
from centrality.onnx.inputs import GAP
from centrality.tables.written_numbers import MISSING_MARKERS

# What stands for a blank, a minus and an apostrophe, as `without_gaps` has them.
BLANK = r"[ \x{a0}\x{2007}\x{2009}\x{202f}]"
QUOTE = r"['\x{2018}\x{2019}\x{02bc}\x{b4}`]"
DASH = r"[-\x{2010}-\x{2015}\x{2212}\x{fe63}\x{ff0d}]"
CURRENCIES = "€£¥"  # signs beside the dollar's that stand for nothing else
AROUND = r"[\s\v\p{Z}\x{85}\x1c-\x1f]*"  # what is trimmed at both ends


@dataclass
class GraphCells:
    """The cells of a column of n rows, as `Cells` but without their faults' names."""

    block: Symbol  # (n, q)
    gaps: Symbol  # (n,) which cells are missing
    far_off: Symbol | None  # (n,) which count against their row, and are put at `outlying`; None: none does
    outlying: NDArray[np.float64]  # (q,)
    unread: Symbol | None  # (n,) which the graph cannot read, though Python can; None: it can read all


def escaped(text: str) -> str:
    """Return a pattern that matches this text, its blanks and dashes in whatever characters."""
    others = {" ": BLANK, "-": DASH}
    return "".join(others.get(c, c if c.isalnum() else rf"\x{{{ord(c):x}}}") for c in text)


def are_gaps(texts: Symbol) -> Symbol:
    """Say which texts stand for a missing number or date."""
    markers = f"(?:{'|'.join(escaped(marker) for marker in sorted({*MISSING_MARKERS, GAP}))})"
    return matches(texts, f"""(?i){AROUND}(?:{QUOTE}?{markers}|="{markers}"){AROUND}""")


def have_no_digit(texts: Symbol) -> Symbol:
    """Say which texts have no digit in any script: they are neither numbers nor dates."""
    return matches(texts, r"(?s)\P{Nd}*")


def are_plain(texts: Symbol) -> Symbol:
    """Say which texts have usual characters only, and are not written as spreadsheets write texts: ="12" and '12."""
    return matches(texts, rf"(?s)[\x00-\x7f{CURRENCIES}]*") & ~matches(texts, r"""(?s)\s*(?:="|').*""")
