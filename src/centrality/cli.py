"""The command line: finds the command, runs it, prints what it says. Heavy imports wait until a command runs."""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from centrality import __version__, commands

INTERRUPTED, UNREAD = 130, 141  # what shells say for Ctrl-C, and for output that nobody reads any more


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 on success, 2 on wrong usage or input."""
    arguments = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _note
            result = arguments.run(arguments)
    except KeyboardInterrupt as stopped:
        print(f"centrality: interrupted, {stopped if stopped.args else 'nothing was written'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends
        return UNREAD
    except (ValueError, TypeError, OSError, ModuleNotFoundError, FloatingPointError) as error:
        print(f"centrality: {error}", file=sys.stderr)
        return 2
    text = json.dumps(result, indent=2, default=str) if arguments.json else arguments.show(result)
    print(text, file=sys.stderr if result.get("scores") == "-" else sys.stdout)
    return 0


def _note(message: Any, category: Any, *_: Any, **__: Any) -> None:
    print(f"centrality: note: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="centrality",
        description="How typical is each row of your data, from global (t=0) to local (t=1)?",
    )
    parser.add_argument("--version", action="version", version=f"centrality {__version__}")
    parsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, module in commands.ALL.items():
        command = parsers.add_parser(name, help=module.HELP, description=module.HELP)
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        module.arguments(command)
        command.set_defaults(run=module.run, show=module.show)
    return parser


if __name__ == "__main__":
    sys.exit(main())
