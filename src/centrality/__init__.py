"""How typical is this data point?

`FUSE` learns it without labels; `load` brings a fitted model back from its file.
Names are imported when they are first used, so that `import centrality` stays instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from centrality.chain import Chain as Chain
    from centrality.chain import load as load
    from centrality.findings import check as check
    from centrality.fuse import FUSE as FUSE
    from centrality.fuse import PaperFUSE as PaperFUSE
    from centrality.network.calibration import blend as blend
    from centrality.selection.copies import copies as copies
    from centrality.selection.labels import wrong_labels as wrong_labels
    from centrality.selection.pick import select as select
    from centrality.selection.rank import rank as rank
    from centrality.series import Timeline as Timeline

__version__ = "0.2.0"

_HOMES = {
    "FUSE": "fuse",
    "Timeline": "series",
    "PaperFUSE": "fuse",
    "Chain": "chain",
    "load": "chain",
    "blend": "network.calibration",
    "check": "findings",
    "copies": "selection.copies",
    "rank": "selection.rank",
    "select": "selection.pick",
    "wrong_labels": "selection.labels",
}
_ROOMS = (
    "datasets",
    "depths",
    "distributed",
    "findings",
    "maps",
    "metrics",
    "onnx",
    "pictures",
    "plots",
    "pyod",
    "regions",
    "representations",
    "series",
    "spark",
)

__all__ = [
    "FUSE",
    "Chain",
    "PaperFUSE",
    "Timeline",
    "__version__",
    "blend",
    "check",
    "copies",
    "load",
    "rank",
    "select",
    "wrong_labels",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"centrality.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return import_module(f"centrality.{name}")
    raise AttributeError(f"module 'centrality' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
