"""Change a module that others have already imported: functions keep their identity and get other code.

Importing everything anew for each of a thousand mutants would take hours.
"""

import sys
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tests.present import present


def transplant(code: CodeType, module: ModuleType) -> None:
    """Run a module's changed code and carry what it defines into the module as it was imported."""
    fresh = {"__name__": module.__name__, "__file__": module.__file__, "__builtins__": __builtins__}
    exec(code, fresh)
    for name, new in fresh.items():
        old = vars(module).get(name)
        if _function(new) is not None:
            _carry_function(_function(new), _function(old))
            getattr(old, "cache_clear", lambda: None)()
        elif isinstance(new, type) and new.__module__ == module.__name__:
            _carry_class(new, old)
        elif not name.startswith("__") and new is not old:
            _carry_constant(name, new, old)


def _function(value: Any) -> FunctionType | None:
    """The function inside a property, a cached or a conditional method."""
    while value is not None and not isinstance(value, FunctionType):
        inner = ("__func__", "fget", "func", "__wrapped__", "fn")
        if (
            not isinstance(value, classmethod | staticmethod | property | cached_property)
            and not hasattr(type(value), "cache_clear")
            and type(value).__name__ != "_AvailableIfDescriptor"
        ):
            return None
        value = next((getattr(value, name) for name in inner if getattr(value, name, None) is not None), None)
    return value


def _carry_function(new: Any, old: Any) -> None:
    old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__
    if new.__code__ != old.__code__:
        old.__code__ = new.__code__


def _carry_class(new: type, old: Any) -> None:
    for name, value in vars(new).items():
        function, before = _function(value), vars(old).get(name)
        if hasattr(before, "check"):  # a method there under a condition
            before.check = value.check
        if function is None:
            if isinstance(value, bool | int | float | str) and name not in ("__module__", "__doc__"):
                setattr(old, name, value)
        elif len(function.__code__.co_freevars) == len(present(_function(before)).__code__.co_freevars):
            _carry_function(function, _function(before))
        else:  # it no longer calls super()
            setattr(old, name, value)


def _carry_constant(name: str, new: Any, old: Any) -> None:
    """Whoever imported it has to see it."""
    if isinstance(old, dict) and isinstance(new, dict):
        old.clear()
        old.update(new)
        return
    for module in list(sys.modules.values()):
        ours = getattr(module, "__name__", "").startswith(("centrality", "tests"))
        if ours and vars(module).get(name) is old:
            setattr(module, name, new)
