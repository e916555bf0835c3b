"""Write files completely or not at all, and leave no temporary files behind for long.

A file is first written beside its place, under a temporary name made from its own, and renamed when it is complete.
While a process writes, it holds a lock on the temporary file; the lock ends with the process, however that ends. So the
next one that writes to the same place reuses the file that a killed process left, and does not touch the file of a
running one.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows has no such locks: there, names are random
    fcntl = None  # type: ignore[assignment]

MOST_LEFT = 8  # temporary names beside a place at which files of killed processes are looked for
MOST = 64  # temporary names that are tried before a random one
FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}  # a disk, a file, a share of the disk
HARMLESS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def write_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it is renamed to `path` only if the block succeeds.

    A full disk, an error or Ctrl-C inside the block leaves an older file at `path` untouched. A link stays, and what it
    leads to is written; an older file's mode stays; a device or a pipe is not replaced, but written to.
    """
    target = require_place(path)
    if is_special(target):
        with tempfile.TemporaryDirectory(prefix="centrality-") as folder:
            here = Path(folder) / target.name
            yield here
            with here.open("rb") as source, target.open("wb") as sink:
                shutil.copyfileobj(source, sink)
        return
    handle, temporary = _open_temporary(target)
    is_there = True
    try:
        older = target.stat() if target.exists() else None
        if older is not None:  # before anything is written, so that only those can read it who may read the old one
            temporary.chmod(stat.S_IMODE(older.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        if older is not None:
            with suppress(OSError):  # only some users may give files away
                os.chown(temporary, older.st_uid, older.st_gid)
            temporary.chmod(stat.S_IMODE(older.st_mode))
        temporary.replace(target)
        is_there = False  # another process may take the name now
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(error.errno, f"Cannot write {path}: there is no space left for it. Nothing was changed") from None
    finally:
        if is_there:
            temporary.unlink(missing_ok=True)
        os.close(handle)


def require_place(path: str | os.PathLike[str]) -> Path:
    """Return the real path of a file, all links followed; raise if no file can be there."""
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"Cannot write {path}: the folder {Path(path).parent} does not exist.")
    if target.is_dir():
        raise IsADirectoryError(f"Cannot write {path}: it is a folder, a file name was wanted.")
    return target


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise if a file cannot be written there. It is called before the work begins."""
    target = require_place(path)
    if is_special(target):
        if not os.access(target, os.W_OK):
            raise PermissionError(f"Cannot write {path}: it is not yours to write to.")
        return
    try:
        handle, temporary = _open_temporary(target)
    except OSError as error:
        raise OSError(error.errno, f"Cannot write {path}: its folder cannot be written ({error.strerror})") from None
    try:
        temporary.unlink(missing_ok=True)
    except BaseException:  # Ctrl-C may have come before it was gone
        if fcntl is None or _is_ours(handle, temporary):
            temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)


def is_special(target: Path) -> bool:
    """Say whether the path is not a regular file but a device, a pipe or a socket."""
    return target.exists() and not target.is_file()


def remove_leftovers(targets: Iterable[Path]) -> None:
    """Remove the temporary files that killed processes left beside these; keep those of running ones."""
    names: dict[Path, set[str]] = {}
    for target in targets:
        names.setdefault(target.parent, set()).add(target.name)
    for folder, wanted in names.items():
        for file in folder.glob(".*") if folder.is_dir() else ():
            leftover = re.fullmatch(r"\.(.+)\.[0-9a-f]{8}(\.[^.]+)?", file.name)
            if leftover and leftover[1] + (leftover[2] or "") in wanted:
                _remove_if_unlocked(file)


def _open_temporary(target: Path) -> tuple[int, Path]:
    """Return an open, locked and empty file beside the target, and its path; reuse one that a killed process left."""
    for number in range(0 if fcntl is None else MOST):
        temporary = _name(target, f"{number:08x}")
        handle = _locked(temporary, [_name(target, f"{other:08x}") for other in range(number + 1, MOST_LEFT)])
        if handle is not None:
            return handle, temporary
    temporary = _name(target, secrets.token_hex(4))  # all names are in use, or this system has no locks
    return os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | HARMLESS, 0o666), temporary


def _locked(temporary: Path, left_over: Iterable[Path]) -> int | None:
    """Return the file, open, locked and empty; None if another process has it. An interrupt leaves no file behind.

    Files of killed processes under other names beside the target are removed.
    """
    handle = None
    is_ours = False
    try:
        handle = _opened(temporary, os.O_CREAT)
        is_ours = handle is not None and _is_ours(handle, temporary)
        if handle is not None and is_ours:
            os.ftruncate(handle, 0)
            for other in left_over:
                _remove_if_unlocked(other)
            return handle
    except BaseException:
        if is_ours:
            temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)
        _remove_if_unlocked(temporary)
        raise
    if handle is not None:
        os.close(handle)
    return None


def _name(target: Path, mark: str) -> Path:
    return target.with_name(f".{target.stem}.{mark}{target.suffix}")  # the suffix stays last: it says the format


def _opened(file: Path, create: int = 0) -> int | None:
    """Open the file; return None if it is a link, or belongs to another user."""
    try:
        return os.open(file, os.O_RDWR | create | HARMLESS, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP or (error.errno in (errno.EACCES, errno.EPERM) and os.path.lexists(file)):
            return None
        raise


def _is_ours(handle: int, file: Path) -> bool:
    """Lock the open file; say whether that worked, and it is a file of ours and still the one at its path."""
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_uid != os.geteuid():
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(status, os.lstat(file))
    except OSError:  # somebody writes it, or has just renamed it
        return False


def _remove_if_unlocked(file: Path) -> None:
    """Remove a file that no process is writing."""
    try:
        handle = None if fcntl is None else _opened(file)
    except OSError:
        return
    if handle is not None:
        if _is_ours(handle, file):
            file.unlink(missing_ok=True)
        os.close(handle)
