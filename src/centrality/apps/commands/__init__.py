"""Define the commands, one in each file: its HELP, its `arguments`, how it runs, and how it shows the result.

`run` returns a `Result`: plain values, which `--json` prints as they are and `show` puts into words.
"""

from importlib import import_module
from types import ModuleType

NAMES = """
check fit score rank detect explain pick copies similar refine labels drift watch depth plot explore inspect export
serve mcp datasets demo reproduce completion version
"""
ALL: dict[str, ModuleType] = {name: import_module(f"{__name__}.{name}") for name in NAMES.split()}
