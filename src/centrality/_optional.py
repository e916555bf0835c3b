"""Import packages that only some users need, when they are used, and say how to get one that is missing."""

from importlib import import_module
from types import ModuleType


class MissingExtraError(ModuleNotFoundError):
    """Says that a package is not installed, and names the extra of centrality that brings it."""


def optional(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra of centrality brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name == package:
            reason, cause = f"This needs {package}, which is not installed", None
        else:  # the package is there, but something it needs is not: the error shows what
            reason, cause = f"This needs {package}, which could not be imported ({error})", error
        message = f"{reason}. Install it with: pip install 'centrality[{extra}]'"
        raise MissingExtraError(message, name=error.name) from cause
