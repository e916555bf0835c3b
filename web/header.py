"""Writes web/src/core/header.ts, the payload's header as TypeScript sees it, from centrality.apps.explorer.header.

`make web` runs it; tests/explorer/test_payload.py tells if the file is stale.
"""

import types
from pathlib import Path
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from centrality.apps.explorer import header

OUT = Path(__file__).parent / "src" / "core" / "header.ts"
PLAIN = {int: "number", float: "number", str: "string", bool: "boolean", type(None): "null"}
FIRST = "// Written by web/header.py from src/centrality/apps/explorer/header.py: change that, then run make web.\n"


def written() -> str:
    """Return the text of header.ts."""
    kinds = [kind for kind in vars(header).values() if is_typeddict(kind)]
    return "\n".join([FIRST, *map(interface, kinds)])


def interface(kind: Any) -> str:
    """Return one TypedDict as an interface."""
    hints = get_type_hints(kind, include_extras=True)
    fields = [
        f"  {name}{'?' if get_origin(hint) is NotRequired else ''}: {spelt(hint)};" for name, hint in hints.items()
    ]
    return "\n".join([f"export interface {kind.__name__} {{", *fields, "}\n"])


def spelt(hint: Any) -> str:
    """Return a Python type in TypeScript's words."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if is_typeddict(hint):
        return str(hint.__name__)
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in inner)
    if origin is NotRequired:
        return spelt(inner[0])
    if origin in (Union, types.UnionType):
        return " | ".join(map(spelt, inner))
    if origin is tuple:
        return f"[{', '.join(map(spelt, inner))}]"
    if origin is dict:
        return f"Record<{', '.join(map(spelt, inner))}>"
    if origin is list:
        return f"({spelt(inner[0])})[]" if len(get_args(inner[0])) > 1 else f"{spelt(inner[0])}[]"
    raise TypeError(f"The header's types are numbers, texts, lists and dictionaries, got {hint!r}.")


if __name__ == "__main__":
    OUT.write_text(written(), encoding="utf-8")
