"""Runs code as if some packages were not installed: `python -m tests.without '["pandas"]' '{"name": "code"}'`."""

import json
import sys
from typing import Any


class Without:
    """A finder of modules that does not find these packages, and is otherwise the one it stands for."""

    def __init__(self, finder: Any, hidden: frozenset[str]) -> None:
        self.finder, self.hidden = finder, hidden

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return None if name.partition(".")[0] in self.hidden else self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def main() -> None:
    """Print what each piece of code raised, as JSON: its type and message, or null where it raised nothing."""
    hidden, cases = (json.loads(argument) for argument in sys.argv[1:])
    sys.meta_path[:] = [Without(finder, frozenset(hidden)) for finder in sys.meta_path]
    raised: dict[str, tuple[str, str] | None] = {}
    for name, code in cases.items():
        raised[name] = None
        try:
            exec(code, {})
        except (Exception, SystemExit) as error:  # argparse exits
            raised[name] = (type(error).__name__, str(error))
    print(json.dumps(raised))


if __name__ == "__main__":
    main()
