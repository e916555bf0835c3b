"""Turn tables, images, texts and time series into vectors, each by a scikit-learn transformer.

Some need packages of their own, named by an extra (`pip install '.[text]' in a clone` and so on), and import them when
they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from centrality.representations.base import Representation
    from centrality.representations.images import Images as Images
    from centrality.representations.series import Series as Series
    from centrality.representations.table import Table as Table
    from centrality.representations.text import Text as Text

# One line a representation: the name that people import, and the module it lives in.
HOMES = {"Table": "table", "Text": "text", "Images": "images", "Series": "series"}

__all__ = ["Images", "Series", "Table", "Text"]


def __getattr__(name: str) -> "type[Representation]":
    if name in HOMES:
        return representation_named(name)
    raise AttributeError(f"module 'centrality.representations' has no attribute {name!r}")


def all_representations() -> "list[type[Representation]]":
    """Return all representations."""
    return [representation_named(name) for name in HOMES]


def representation_named(name: str) -> "type[Representation]":
    """Import the representation of this name; raise a KeyError if there is none."""
    representation: type[Representation] = getattr(import_module(f"centrality.representations.{HOMES[name]}"), name)
    return representation


def __dir__() -> list[str]:
    return sorted(__all__)
