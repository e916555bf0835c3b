"""Detect that a file changes while it is read, when its rows would be a mix of old and new ones."""

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from centrality.tables.columns import TableError


@dataclass(frozen=True)
class FileState:
    """Hold the identity, size and time of the file that was at a path."""

    path: str
    inode: int
    size: int
    modified: int  # in nanoseconds

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "FileState | None":
        """Return the state of the file at this path; None if there is no regular file, such as for a pipe."""
        try:
            found = Path(path).stat()
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        return cls(os.fspath(path), found.st_ino, found.st_size, found.st_mtime_ns)


def require_unchanged(states: Iterable[FileState | None]) -> None:
    """Raise if one of the files has changed since its state was taken."""
    for state in states:
        if state is not None and FileState.of(state.path) != state:
            raise TableError(
                f"{state.path} changed while it was read, so that old and new rows may be mixed. "
                "Read it again when nobody writes to it, or read a copy."
            )
