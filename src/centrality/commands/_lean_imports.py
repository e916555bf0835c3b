"""Import scikit-learn sooner: without SciPy's statistics and pandas, which its helpers name and hardly use.

Both together take more than half of the time of that import, and a third of what `explore` computes before its first
picture; commands that import tables first have scikit-learn whole already. They are imported as ever by whoever uses
them later.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

STATISTICS = "scipy.stats"


class _Statistics(ModuleType):
    """Stands for SciPy's statistics, and imports them if something of them is asked for after all."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if sys.modules.get(STATISTICS) is self:
            del sys.modules[STATISTICS]
        return getattr(import_module(STATISTICS), name)


def import_scikit_learn() -> None:
    """Import what the estimators take from scikit-learn; a process that has it already is left as it is."""
    if "sklearn" in sys.modules:
        return
    stand_ins: dict[str, Any] = {STATISTICS: _Statistics(STATISTICS), "pandas": None}  # None: as if not installed
    stand_ins = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        import sklearn.utils.validation  # noqa: F401
    finally:
        for name, module in stand_ins.items():
            if sys.modules.get(name, module) is module:
                sys.modules.pop(name, None)
