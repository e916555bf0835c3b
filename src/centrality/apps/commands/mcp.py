"""centrality mcp: answer agents over the Model Context Protocol."""

import argparse
import secrets
import sys
from pathlib import Path

from centrality.apps.commands._arguments import count, port
from centrality.apps.commands._terminal import Result
from centrality.apps.commands.serve import TOKEN, read_token

HELP = "let agents ask about folders and databases, over the Model Context Protocol; nothing can be written"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--folder", type=Path, action="append", default=[], metavar="FOLDER", help="files below it may be read"
    )
    command.add_argument(
        "--database", action="append", default=[], metavar="ADDRESS",
        help="its tables may be read; with #TABLE, this table only",
    )  # fmt: skip
    command.add_argument(
        "--max-rows", type=count, default=200_000, metavar="N", help="of more rows, a sample is read (default: 200,000)"
    )
    command.add_argument("--http", type=port, metavar="PORT", help="HTTP on this machine's own address, not stdio")
    command.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"a file with the token of --http (default: ${TOKEN}, or a new one)",
    )


def run(arguments: argparse.Namespace) -> Result:
    from centrality.apps.mcp import Sources, serve

    def say(text: str) -> None:
        print(f"centrality: {text}", file=sys.stderr, flush=True)

    sources = Sources(arguments.folder, arguments.database, arguments.max_rows)
    token = None
    if arguments.http is not None:
        token = read_token(arguments.token_file)
        if token is None:
            token = secrets.token_urlsafe(32)
            say(f"the token of this run is {token}")
    serve(sources, http=arguments.http, token=token, say=say)
    return {"stopped": True, "scores": "-"}  # stdout is the agent's: what is said goes to stderr


def show(result: Result) -> str:
    return "Stopped."
