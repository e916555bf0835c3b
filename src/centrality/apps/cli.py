"""Run the command line: find the command, run it, print its result. Heavy imports wait until a command runs."""

import argparse
import json
import logging
import math
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from centrality import __version__
from centrality._internal.checks import InputError, MissingExtraError
from centrality.apps.commands._arguments import reading_as_asked
from centrality.apps.commands._parser import parser
from centrality.apps.commands._terminal import (
    coloured,
    discard_stdout,
    ending_in_order,
    escape_unencodable,
    harmless,
    open_closed_streams,
    shows_colour,
)

# What the process exits with; 141 is what shells report when nobody reads the output.
BUG = 70  # an error of the software itself, as sysexits.h has it
WRONG = 2
UNREAD = 141
# What users can correct: what they gave, files and machines, extras to install, a training that diverged.
USERS_ERRORS = (InputError, OSError, MissingExtraError, FloatingPointError)
# How Python, Arrow and the loader of libraries say that memory has run out, where it is no MemoryError.
OF_NO_MEMORY = ("can't start new thread", "Failed to launch worker thread", "failed to map segment")
REPORT = f"centrality {__version__}: this is a bug of ours, not of your input. Please report it with the lines above."
NOT_LOGGED = {"run", "show", "show_quietly", "json", "quiet", "verbose", "traceback"}
log = logging.getLogger("centrality")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0 on success, 2 on wrong usage or input, 70 if it hits a bug of ours.

    A command that was asked to fail on what it finds sets its own `exit_status`.
    """
    if open_closed_streams():
        return _failed(WRONG, "centrality: stdout is closed: there is no place for results.", with_traceback=False)
    escape_unencodable()
    arguments = None
    with ending_in_order() as interrupted:
        try:
            arguments = parser().parse_args((sys.argv[1:] if argv is None else argv) or ["--help"])
            return _run(arguments)
        except KeyboardInterrupt as stopped:
            state = str(stopped) if stopped.args else "nothing was written"
            with_traceback = arguments is not None and arguments.traceback
            return _failed(interrupted.status, f"centrality: interrupted, {state}", with_traceback=with_traceback)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command, print its result, and return the status to exit with."""
    try:
        with warnings.catch_warnings(), _logging(wanted=arguments.verbose):
            warnings.simplefilter("ignore" if arguments.quiet else "default", UserWarning)
            warnings.showwarning = _printing_each_once()
            began = time.perf_counter()
            options = (item for item in vars(arguments).items() if item[0] not in NOT_LOGGED)
            words = ", ".join(f"{name}={value}" for name, value in options if value not in (None, False))
            log.info("centrality %s: %s", __version__, words)
            with reading_as_asked(arguments):
                result = arguments.run(arguments)
            log.info("done in %.1f s", time.perf_counter() - began)
        file = sys.stderr if result.get("scores") == "-" else sys.stdout
        if arguments.json:
            text = json.dumps(as_json(result), indent=2, default=str, allow_nan=False)
        else:
            text = harmless((arguments.show_quietly if arguments.quiet else arguments.show)(result))
        try:
            print(coloured(text, colour=shows_colour(file)), file=file, flush=True)
        except OSError:
            if file is sys.stdout:
                discard_stdout()  # so that it does not fail again when the program ends
            raise
    except BrokenPipeError:
        discard_stdout()
        return UNREAD
    except USERS_ERRORS as error:
        is_gone = isinstance(error, OSError) and _folder_is_gone()
        message = "The working folder is gone: go to one that is there." if is_gone else str(error)
        return _failed(WRONG, f"centrality: {message}", with_traceback=arguments.traceback)
    except Exception as error:  # noqa: BLE001  (whatever else a command raises is a bug of ours)
        if isinstance(error, MemoryError) or any(words in str(error) for words in OF_NO_MEMORY):
            message = "centrality: there is not enough memory: free some, or raise the limit (ulimit -v)."
            return _failed(WRONG, message, with_traceback=arguments.traceback)
        return _failed(BUG, REPORT, with_traceback=True)
    return int(getattr(arguments, "exit_status", 0))


def as_json(value: Any) -> Any:
    """Return plain values in which numbers that JSON does not know, NaN and infinity, are null."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _folder_is_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109  (pathlib's asks the same)
    except FileNotFoundError:
        return True
    return False


def _failed(status: int, message: str, *, with_traceback: bool) -> int:
    """Print the message, and return the status to exit with."""
    if with_traceback:
        traceback.print_exc()
    print(harmless(message), file=sys.stderr)
    return status


def _printing_each_once() -> Callable[..., None]:
    """Return a function that prints each warning once, as a note without its line of code."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        if str(message) not in printed:
            printed.add(str(message))
            print(harmless(f"centrality: note: {message}"), file=sys.stderr)

    return show


@contextmanager
def _logging(*, wanted: bool) -> Iterator[None]:
    """Send what the library logs to stderr in the block, if --verbose was given."""
    handler = logging.StreamHandler()
    level = log.level
    if wanted:
        handler.setFormatter(logging.Formatter("centrality: %(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


if __name__ == "__main__":
    sys.exit(main())
