"""Run the command line: find the command, run it, print its result. Heavy imports wait until a command runs."""

import argparse
import json
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import TextIO

from centrality import __version__, commands
from centrality._checks import InputError
from centrality._optional import MissingExtraError
from centrality.commands._signals import ending_in_order
from centrality.commands._terminal import be_lenient, harmless, let_go_of_stdout

# What the process exits with; the last one is what shells report when nobody reads the output.
BUG, WRONG, UNREAD = 1, 2, 141
# What users can mend: what they gave, files and machines, extras to install, a training that diverged.
USERS_ERRORS = (InputError, OSError, MissingExtraError, FloatingPointError)
TRACEBACK = "show where in the program an error arose"
REPORT = f"centrality {__version__}: this is a bug of ours, not of your input. Please report it with the lines above."


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0 on success, 2 on wrong usage or input, 1 if it hits a bug of ours."""
    be_lenient()
    arguments = None
    with ending_in_order() as interrupted:
        try:
            arguments = _parser().parse_args(argv)
            return _run(arguments)
        except KeyboardInterrupt as stopped:
            state = str(stopped) if stopped.args else "nothing was written"
            with_traceback = arguments is not None and arguments.traceback
            return _failed(interrupted.status, f"centrality: interrupted, {state}", with_traceback=with_traceback)


def _run(arguments: argparse.Namespace) -> int:
    """Run the command, print its result, and return the status to exit with."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _print_warning
            result = arguments.run(arguments)
        text = json.dumps(result, indent=2, default=str) if arguments.json else harmless(arguments.show(result))
        _print(text, file=sys.stderr if result.get("scores") == "-" else sys.stdout)
    except BrokenPipeError:
        let_go_of_stdout()
        return UNREAD
    except USERS_ERRORS as error:
        return _failed(WRONG, f"centrality: {error}", with_traceback=arguments.traceback)
    except Exception:  # noqa: BLE001  (whatever else a command raises is a bug of ours: its traceback is printed)
        return _failed(BUG, REPORT, with_traceback=True)
    return 0


def _print(text: str, file: TextIO) -> None:
    """Print at once; where stdout takes no more, nothing is left in it to fail again when the program ends."""
    try:
        print(text, file=file, flush=True)
    except OSError:
        if file is sys.stdout:
            let_go_of_stdout()
        raise


def _failed(status: int, message: str, *, with_traceback: bool) -> int:
    """Print the message, and return the status to exit with."""
    if with_traceback:
        traceback.print_exc()
    print(harmless(message), file=sys.stderr)
    return status


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as a note, without the line of code that `warnings` would add."""
    print(harmless(f"centrality: note: {message}"), file=sys.stderr)


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
        # SUPPRESS: without it, the command's own default would undo a --traceback that stands before the command.
        command.add_argument("--traceback", action="store_true", default=argparse.SUPPRESS, help=TRACEBACK)
        module.arguments(command)
        command.set_defaults(run=module.run, show=module.show)
    return parser


if __name__ == "__main__":
    sys.exit(main())
