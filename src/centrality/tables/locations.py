"""Files and folders by their path, or by an address such as s3://bucket/folder that Arrow can open.

An address may end in ?options for Arrow, as in s3://bucket/folder?region=eu-west-1; they stay at the end of every
address made from it.
"""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from centrality._atomic import written_whole
from centrality._checks import InputError

MARK = "://"
WHOLE_WHEN_CLOSED = ("s3", "gcs", "abfs")  # stores where a file appears only when all of it is there


def is_remote(place: Any) -> bool:
    return MARK in str(place) and not str(place).startswith("file" + MARK)


def found(place: Any) -> tuple[Any, str]:
    """The file system (None: this machine's) and the path in it."""
    if not is_remote(place):
        return None, str(place).removeprefix("file" + MARK)
    from pyarrow import ArrowInvalid, fs

    try:
        filesystem, path = fs.FileSystem.from_uri(str(place))
    except ArrowInvalid as error:
        raise InputError(f"{place} is no address that Arrow can open: {error}") from None
    return filesystem, path


def name_of(place: Any) -> Path:
    """As a path, for its name and ending alone."""
    return Path(str(place).partition("?")[0] if is_remote(place) else found(place)[1])


def joined(folder: Any, name: str) -> str:
    """The place of this name in the folder."""
    if not is_remote(folder):
        return str(Path(found(folder)[1]) / name)
    base, mark, options = str(folder).partition("?")
    return f"{base.rstrip('/')}/{name}{mark}{options}"


def is_folder(place: Any) -> bool:
    filesystem, path = found(place)
    if filesystem is None:
        return Path(path).is_dir()
    from pyarrow import fs

    return bool(filesystem.get_file_info(path).type == fs.FileType.Directory)


def below(folder: Any, suffixes: Sequence[str]) -> list[str]:
    """Names, from the folder on, of the files of these endings anywhere below it; hidden ones and _ones left out."""
    filesystem, path = found(folder)
    if filesystem is None:
        files = (file for file in Path(path).rglob("*") if file.suffix.lower() in suffixes and file.is_file())
        names = [file.relative_to(path) for file in files]
    else:
        from pyarrow import fs

        seen = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
        names = [Path(PurePosixPath(one.path).relative_to(path)) for one in seen if one.is_file]
        names = [name for name in names if name.suffix.lower() in suffixes]
    return [str(name) for name in sorted(names) if not any(part[0] in "._" for part in name.parts)]


def modified(place: Any) -> float | None:
    """When the file was last written, in seconds; None if there is none."""
    filesystem, path = found(place)
    if filesystem is None:
        return Path(path).stat().st_mtime if Path(path).is_file() else None
    info = filesystem.get_file_info(path)
    return (info.mtime_ns or 0) / 1e9 if info.is_file else None


@contextmanager
def whole(place: Any) -> Iterator[Path]:
    """Yield a path to write to; the file takes its place only if the block succeeds."""
    filesystem, path = found(place)
    if filesystem is None:
        with written_whole(path) as beside:
            yield beside
        return
    with tempfile.TemporaryDirectory(prefix="centrality-") as folder:
        here = Path(folder) / PurePosixPath(path).name
        yield here
        _bring(here, filesystem, path)


def _bring(here: Path, filesystem: Any, path: str) -> None:
    from pyarrow import fs

    if filesystem.type_name in WHOLE_WHEN_CLOSED:
        fs.copy_files(str(here), path, fs.LocalFileSystem(), filesystem)
        return
    filesystem.create_dir(str(PurePosixPath(path).parent), recursive=True)
    beside = str(PurePosixPath(path).with_name(f".{here.name}"))
    fs.copy_files(str(here), beside, fs.LocalFileSystem(), filesystem)
    filesystem.move(beside, path)
