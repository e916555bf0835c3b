"""Locate files and folders by their path, or by an address such as s3://bucket/folder that Arrow can open.

An address may end in ?options for Arrow, as in s3://bucket/folder?region=eu-west-1; they stay at the end of every
address made from it.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import SEEK_END
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, TypeAlias
from zlib import crc32

from centrality import _atomic
from centrality._checks import InputError

if TYPE_CHECKING:
    from pyarrow import fs

Place: TypeAlias = str | os.PathLike[str]  # a path, or an address
AFTER_SCHEME = "://"
LAST_BYTES = 1 << 16  # last bytes of a file in its fingerprint: those of Parquet describe all columns
ATOMIC_STORES = ("s3", "gcs", "abfs")  # stores where a file appears only when all of it is there


def is_remote(place: Place) -> bool:
    return AFTER_SCHEME in str(place) and not str(place).startswith("file" + AFTER_SCHEME)


def filesystem_and_path(place: Place) -> tuple["fs.FileSystem | None", str]:
    """Return the file system (None: this machine's) and the path in it."""
    if not is_remote(place):
        return None, str(place).removeprefix("file" + AFTER_SCHEME)
    from pyarrow import ArrowInvalid, fs

    try:
        filesystem, path = fs.FileSystem.from_uri(str(place))
    except ArrowInvalid as error:
        raise InputError(f"{place} is no address that Arrow can open: {error}") from None
    return filesystem, path


def name_of(place: Place) -> Path:
    """Return the address as a path that may be used only for its name and ending."""
    return Path(str(place).partition("?")[0] if is_remote(place) else filesystem_and_path(place)[1])


def join(folder: Place, name: str) -> str:
    """Return the address of the file of this name in the folder."""
    if not is_remote(folder):
        return str(Path(filesystem_and_path(folder)[1]) / name)
    base, mark, options = str(folder).partition("?")
    return f"{base.rstrip('/')}/{name}{mark}{options}"


def is_folder(place: Place) -> bool:
    filesystem, path = filesystem_and_path(place)
    if filesystem is None:
        return Path(path).is_dir()
    from pyarrow import fs

    return bool(filesystem.get_file_info(path).type == fs.FileType.Directory)


def files_below(folder: Place, suffixes: Sequence[str]) -> list[str]:
    """List the files of these endings below a folder, by relative path, without names that begin with . or _."""
    filesystem, path = filesystem_and_path(folder)
    if filesystem is None:
        files = (file for file in Path(path).rglob("*") if file.suffix.lower() in suffixes and file.is_file())
        names = [file.relative_to(path) for file in files]
    else:
        from pyarrow import fs

        seen = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
        names = [Path(PurePosixPath(one.path).relative_to(path)) for one in seen if one.is_file]
        names = [name for name in names if name.suffix.lower() in suffixes]
    return [str(name) for name in sorted(names) if not any(part[0] in "._" for part in name.parts)]


def broken_links(folder: Place) -> list[str]:
    """List the links below a folder of this machine that lead nowhere."""
    path = filesystem_and_path(folder)[1]
    links = (file for file in Path(path).rglob("*") if file.is_symlink() and not file.exists())
    return sorted(str(link.relative_to(path)) for link in links)


def modified_at(place: Place) -> float | None:
    """Return when the file was last written, in seconds; None if there is none."""
    filesystem, path = filesystem_and_path(place)
    if filesystem is None:
        return Path(path).stat().st_mtime if Path(path).is_file() else None
    info = filesystem.get_file_info(path)
    return (info.mtime_ns or 0) / 1e9 if info.is_file else None


def fingerprint(place: Place) -> str:
    """Return a fingerprint that tells a file from other versions of it: its size, its time and its last bytes."""
    filesystem, path = filesystem_and_path(place)
    if filesystem is not None:
        info = filesystem.get_file_info(path)
        return f"{info.size} bytes of {info.mtime_ns}"
    with Path(path).open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(0, size - LAST_BYTES))
        return f"{size} bytes of {Path(path).stat().st_mtime_ns} ending in {crc32(file.read()):08x}"


@contextmanager
def write_atomically(place: Place) -> Iterator[Path]:
    """Yield a path to write to; the file is moved to its final path only if the block succeeds."""
    filesystem, path = filesystem_and_path(place)
    if filesystem is None:
        with _atomic.write_atomically(path) as beside:
            yield beside
        return
    with tempfile.TemporaryDirectory(prefix="centrality-") as folder:
        here = Path(folder) / PurePosixPath(path).name
        yield here
        _upload(here, filesystem, path)


def _upload(here: Path, filesystem: "fs.FileSystem", path: str) -> None:
    from pyarrow import fs

    if filesystem.type_name in ATOMIC_STORES:
        fs.copy_files(str(here), path, fs.LocalFileSystem(), filesystem)
        return
    filesystem.create_dir(str(PurePosixPath(path).parent), recursive=True)
    beside = str(PurePosixPath(path).with_name(f".{here.name}"))
    fs.copy_files(str(here), beside, fs.LocalFileSystem(), filesystem)
    filesystem.move(beside, path)
