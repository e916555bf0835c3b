"""The command line: finds the command, runs it, prints what it says. Heavy imports wait until a command runs."""

import argparse
import json
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from centrality import __version__, commands
from centrality._checks import InputError
from centrality._optional import MissingExtraError

BUG, WRONG, INTERRUPTED, UNREAD = 1, 2, 130, 141  # the last two: what shells say for Ctrl-C, and if nobody reads on
# What users can mend: what they gave, files and machines, extras to install, a training that diverged.
USERS_ERRORS = (InputError, OSError, MissingExtraError, FloatingPointError)
TRACEBACK = "show where in the program an error arose"
REPORT = f"centrality {__version__}: this is a bug of ours, not of your input. Please report it with the lines above."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 on success, 2 on wrong usage or input, 1 if it hits a bug of ours."""
    arguments = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _note
            result = arguments.run(arguments)
        text = json.dumps(result, indent=2, default=str) if arguments.json else arguments.show(result)
        print(text, file=sys.stderr if result.get("scores") == "-" else sys.stdout, flush=True)
    except KeyboardInterrupt as stopped:
        said = str(stopped) if stopped.args else "nothing was written"
        return _failed(INTERRUPTED, f"centrality: interrupted, {said}", arguments.traceback)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return UNREAD
    except USERS_ERRORS as error:
        return _failed(WRONG, f"centrality: {error}", arguments.traceback)
    except Exception:
        return _failed(BUG, REPORT, True)
    return 0


def _failed(status: int, said: str, with_traceback: bool) -> int:
    if with_traceback:
        traceback.print_exc()
    print(said, file=sys.stderr)
    return status


def _note(message: Any, category: Any, *_: Any, **__: Any) -> None:
    print(f"centrality: note: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="centrality",
        description="How typical is each row of your data, from global (t=0) to local (t=1)?",
    )
    parser.add_argument("--version", action="version", version=f"centrality {__version__}")
    parser.add_argument("--traceback", action="store_true", help=TRACEBACK)
    parsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module in commands.ALL.items():
        command = parsers.add_parser(name, help=module.HELP, description=module.HELP)
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        # Left out of the defaults: else the command's "not said" would undo what was said before it.
        command.add_argument("--traceback", action="store_true", default=argparse.SUPPRESS, help=TRACEBACK)
        module.arguments(command)
        command.set_defaults(run=module.run, show=module.show)
    return parser


if __name__ == "__main__":
    sys.exit(main())
