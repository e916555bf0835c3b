"""Print what others wrote without letting it command the terminal, on whatever stdout is."""

import io
import os
import re
import sys
from contextlib import suppress

# Control characters but line breaks and tabs: they move the cursor, change colours, retitle windows, type for the user.
# And those that turn the direction of writing, so that a line reads otherwise than it is.
COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def harmless(text: str) -> str:
    r"""Return the text with what would command a terminal spelled out.

    >>> harmless("red \x1b[31m")
    'red \\x1b[31m'
    """
    return COMMANDING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def open_what_is_closed() -> bool:
    """Put /dev/null in the place of streams that the caller has closed; say whether stdout was one of them.

    Else the next file that is opened would take their number, and whatever a library prints would go into it.
    """
    was_closed = sys.stdout is None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  (to the very end)
    return was_closed


def be_lenient() -> None:
    """Let stdout and stderr spell out characters that they cannot write, such as ▁ in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def let_go_of_stdout() -> None:
    """Write nothing more to a stdout that takes nothing more: else Python would complain when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
