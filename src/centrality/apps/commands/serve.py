"""centrality serve: score over HTTP."""

import argparse
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from centrality._internal.checks import InputError
from centrality.apps.commands import _series
from centrality.apps.commands._arguments import count, device_option, load_model, port
from centrality.apps.commands._terminal import Result

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel
    from centrality.series import Timeline

HELP = "score over HTTP"
TOKEN = "CENTRALITY_TOKEN"


def arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument("model", type=Path, metavar="MODEL", help="a model file")
    command.add_argument("--host", default="127.0.0.1", help="which address to listen on (default: 127.0.0.1)")
    command.add_argument("--port", type=port, default=8000, help="0 takes a free one (default: 8000)")
    command.add_argument(
        "--token-file", type=Path, metavar="FILE", help=f"a file with the bearer token (default: ${TOKEN})"
    )
    command.add_argument(
        "--max-bytes", type=count, default=64 << 20, metavar="N", help="the most bytes of a request (default: 64 MiB)"
    )
    command.add_argument(
        "--max-rows", type=count, default=1_000_000, metavar="N", help="the most rows of a request (default: 1,000,000)"
    )
    command.add_argument(
        "--max-seconds",
        type=float,
        default=30.0,
        metavar="S",
        help="the longest a request may take, waiting included (default: 30)",
    )
    command.add_argument(
        "--max-connections", type=count, default=1000, metavar="N", help="the most connections at once (default: 1000)"
    )
    command.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="without a token: another host name that requests may use, besides localhost",
    )
    command.add_argument("--encoder", metavar="NAME", help="where the model's encoder is now, if its folder has moved")
    device_option(command)


def run(arguments: argparse.Namespace) -> Result:
    from centrality.apps import service

    limits = service.Limits(
        body_bytes=arguments.max_bytes,
        rows=arguments.max_rows,
        seconds=arguments.max_seconds,
        rows_waiting=4 * arguments.max_rows,
        connections=arguments.max_connections,
    )
    return service.run(
        arguments.model,
        partial(_load, arguments),
        host=arguments.host,
        port=arguments.port,
        token=read_token(arguments.token_file),
        limits=limits,
        hosts=arguments.allow_host,
        say=lambda text: print(f"centrality: {text}", file=sys.stderr, flush=True),
    )


def show(result: Result) -> str:
    return f"Stopped after {result['requests']:,} requests with {result['rows']:,} rows."


def _load(arguments: argparse.Namespace, path: Path) -> "CentralityModel | Timeline":
    """Load the model from this file; the process for large requests loads it too, from a copy."""
    if _series.is_series_model(path):
        from centrality.chain import load

        series_model: Timeline = load(path, device=arguments.device)
        return series_model
    # Without progress bars: a request takes milliseconds.
    return load_model(argparse.Namespace(**vars(arguments) | {"model": path, "quiet": True}))


def read_token(file: Path | None) -> str | None:
    """Read the token from the file, else from the environment; None if there is none."""
    try:
        token = os.environ.get(TOKEN, "") if file is None else file.read_text().strip()
    except UnicodeDecodeError as error:
        raise InputError(f"{file} holds no text, a token was wanted in it: {error}.") from None
    if file is not None and not token:
        raise InputError(f"{file} is empty, a token was wanted in it.")
    return token or None
