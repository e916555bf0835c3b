"""Print what others wrote without letting it command the terminal, on whatever stdout is."""

import io
import os
import re
import sys

# Control characters but line breaks and tabs: they move the cursor, change colours, retitle windows, type for the user.
# And those that turn the direction of writing, so that a line reads otherwise than it is.
COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def harmless(text: str) -> str:
    r"""Return the text with what would command a terminal spelled out.

    >>> harmless("red \x1b[31m")
    'red \\x1b[31m'
    """
    return COMMANDING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def be_lenient() -> None:
    """Let stdout and stderr spell out characters that they cannot write, such as ▁ in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def let_go_of_stdout() -> None:
    """Write nothing more to a stdout that takes nothing more: else Python would complain when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
