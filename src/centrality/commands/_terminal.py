"""Print foreign text without its control characters taking effect, and handle closed or limited streams."""

import io
import os
import re
import sys
from contextlib import suppress

# Control characters but line breaks and tabs: they move the cursor, change colours, retitle windows, type for the user.
# And those that change the direction of writing, so that a line looks different from what it says.
COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def harmless(text: str) -> str:
    r"""Return the text with control characters spelled out, so that they have no effect on a terminal.

    >>> harmless("red \x1b[31m")
    'red \\x1b[31m'
    """
    return COMMANDING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def open_closed_streams() -> bool:
    """Open /dev/null for standard streams that the caller has closed; return whether stdout was one of them.

    Else the next file that is opened would take their number, and whatever a library prints would go into it.
    """
    was_closed = sys.stdout is None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  (to the very end)
    return was_closed


def escape_unencodable() -> None:
    """Make stdout and stderr spell out characters that they cannot encode, such as ▁ in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_stdout() -> None:
    """Redirect a broken stdout to /dev/null: else Python would print an error when it flushes it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
