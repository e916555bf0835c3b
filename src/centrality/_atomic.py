"""Write files completely or not at all."""

import os
import re
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it is renamed to `path` only if the block succeeds.

    A full disk, an error or Ctrl-C inside the block leaves an older file at `path` untouched.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {target}: the folder {target.parent} does not exist.")
    if target.is_dir():
        raise IsADirectoryError(f"Cannot write {target}: it is a folder, a file name was wanted.")
    # The suffix stays last: writers choose the format by it.
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(4)}{target.suffix}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(targets: Iterable[Path]) -> None:
    """Remove the temporary files that killed processes left beside these. Nobody may be writing them meanwhile."""
    names: dict[Path, set[str]] = {}
    for target in targets:
        names.setdefault(target.parent, set()).add(target.name)
    for folder, wanted in names.items():
        for file in folder.glob(".*") if folder.is_dir() else ():
            leftover = re.fullmatch(r"\.(.+)\.[0-9a-f]{8}(\.[^.]+)?", file.name)
            if leftover and leftover[1] + (leftover[2] or "") in wanted:
                file.unlink(missing_ok=True)
