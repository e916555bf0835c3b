"""Start programs as a terminal does, or as a shell starts what ends in &, whichever way these tests were started.

A shell without a terminal lets its background jobs ignore Ctrl-C, `nohup` lets them ignore a terminal that closes, and
programs pass on to those they start what they ignore.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def foreground() -> Iterator[None]:
    """Programs started in the block end by Ctrl-C, and when their terminal closes."""
    with _handlers({signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}):
        yield


@contextmanager
def background() -> Iterator[None]:
    """Programs started in the block ignore Ctrl-C, and that their terminal closes."""
    with _handlers({signal.SIGINT: signal.SIG_IGN, signal.SIGHUP: signal.SIG_IGN}):
        yield


@contextmanager
def _handlers(handlers: dict[signal.Signals, object]) -> Iterator[None]:
    """Handle signals so in the block. A new program ignores what is ignored here, and does the default for all else."""
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
