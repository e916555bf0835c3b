"""Packages that only some users need: imported when used, with a message that says how to get them."""

from importlib import import_module
from types import ModuleType


class MissingExtraError(ModuleNotFoundError):
    """A package that is not installed; the message names the extra of centrality that brings it."""


def optional(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra of centrality brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name != package:
            raise  # the package is there, but something it needs is not: let that be seen
        raise MissingExtraError(
            f"This needs {package}, which is not installed. Install it with: pip install 'centrality[{extra}]'",
            name=package,
        ) from None
