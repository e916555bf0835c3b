"""Write numbers as people read them: few digits, whole numbers with commas, years and dates as such."""

from datetime import date, datetime
from math import floor, log10

COMMAS_FROM = 10_000  # four digits need no comma, and may be a year
DIGITS = 4  # of a decimal number that are shown
LETTERS = 40  # of a value, at most, that are shown
SMALLEST = 0.001  # shares below this are written as such: nobody reads 0.0000317


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
        has_time = value.time().isoformat() != "00:00:00"
        return value.isoformat(sep=" ", timespec="minutes") if has_time else value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= COMMAS_FROM else str(value)
    if isinstance(value, float):
        return _decimal(value)
    return " ".join(str(value).split())


def shortened(text: str) -> str:
    """Cut a text off after 40 letters."""
    return text if len(text) <= LETTERS else text[: LETTERS - 1] + "…"


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
