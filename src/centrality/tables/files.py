"""Open files: packed ones, and those at addresses.

A new kind of compression is a line in `PACKINGS`.

An address may end in ?options for Arrow, as in s3://bucket/folder?region=eu-west-1; they stay at the end of every
address made from it.
"""

import bz2
import codecs
import gzip
import io
import os
import re
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from os import SEEK_END
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias
from zlib import crc32

import pyarrow as pa

from centrality._internal import files
from centrality._internal.checks import InputError, warn_caller
from centrality.tables.columns import DataNote, TableError, first_few, reading

if TYPE_CHECKING:
    from pyarrow import fs


FIRST_BYTES = 16  # more first bytes than any kind is recognised by
PIECE = 1 << 18  # bytes unpacked together
NAMED_ENCODING: ContextVar[str | None] = ContextVar("NAMED_ENCODING", default=None)  # of text files: by the user
OTHER_KINDS = {  # what is no text, and what to do about it
    b"PAR1": "a Parquet file: name it .parquet",
    b"ARROW1": "an Arrow file: name it .arrow",
    b"\x93NUMPY": "an array of numpy: name it .npy",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook: save it as .xlsx or .csv",
    b"%PDF": "a PDF document: save the table in it as .csv",
    b"SQLite format 3": "a data base of SQLite: say sqlite:PATH#TABLE",
    b"\xfd7zXZ": "packed by xz: unpack it with xz -d",
}


@dataclass(frozen=True)
class Compression:
    """Define how files of one ending are unpacked and packed; `write` is None where we only unpack."""

    begins: bytes
    open: Callable[[BinaryIO], Any]
    write: Callable[[BinaryIO], Any] | None = None


def folder_of(rows: object) -> str | None:
    """Return the folder of a file of rows, where the paths of its pictures begin; None for what is no file."""
    if not isinstance(rows, str | Path):
        return None
    path = Path(rows)
    return str(path.resolve().parent) if path.is_file() else None


def only_member(archive: zipfile.ZipFile, name: str) -> str:
    """Return the name of the one file in a zip archive; raise if there are more, or none."""
    members = [one for one in archive.namelist() if not one.endswith("/") and not one.startswith("__MACOSX/")]
    if "xl/workbook.xml" in members:
        raise TableError(f"{name} is an Excel workbook: name it .xlsx.")
    if len(members) != 1:
        raise TableError(
            f"{name}: a zip archive of one file was wanted, got {first_few(members, 3) or 'none'}. Unpack it first."
        )
    return members[0]


def _open_zip(file: BinaryIO) -> Any:
    try:
        archive = zipfile.ZipFile(file)
        return archive.open(only_member(archive, getattr(file, "name", "The archive")))
    except RuntimeError as error:  # a password is needed, or a way to unpack that Python does not have
        raise TableError(f"{error}. Unpack it first.") from None


PACKINGS = {
    # Without a name and a time: the same rows give the same bytes.
    ".gz": Compression(
        b"\x1f\x8b",
        lambda file: gzip.GzipFile(fileobj=file),
        lambda file: gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0),
    ),
    ".bz2": Compression(b"BZh", bz2.BZ2File, lambda file: bz2.BZ2File(file, "wb")),
    ".zst": Compression(
        b"\x28\xb5\x2f\xfd",
        lambda file: pa.CompressedInputStream(file, "zstd"),
        lambda file: pa.CompressedOutputStream(file, "zstd"),
    ),
    ".zip": Compression(b"PK\x03\x04", _open_zip),
}


def packing_of(first: bytes) -> str | None:
    """Return the usual ending of packed files that begin with these bytes; None if they are not packed."""
    return next((ending for ending, packing in PACKINGS.items() if first.startswith(packing.begins)), None)


def encoding_of(name: str, head: bytes) -> str | None:
    """Return the encoding of a text that begins so, None for UTF-8 or what `ToUtf8` will find; raise if it is no text.

    That is UTF-16 if it says so by its first bytes, or if every other byte is zero; or what the user has named.
    """
    if named := NAMED_ENCODING.get():
        try:
            return codecs.lookup(named).name
        except LookupError:
            raise InputError(f"An encoding such as utf-8, cp1252 or utf-16 was wanted, got {named!r}.") from None
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for begins, what in OTHER_KINDS.items():
        if head.startswith(begins):
            raise TableError(f"{name} is {what}.")
    zeros = [head[:SNIFFED][start::2].count(0) for start in (0, 1)]
    if not any(zeros):
        return None
    if min(zeros) == 0 and max(zeros) > len(head[:SNIFFED]) / 4:
        return "utf-16-be" if zeros[0] else "utf-16-le"
    raise TableError(f"{name} is no text: there is a zero byte near its beginning.")


def head_in_utf8(head: bytes, encoding: str | None) -> bytes:
    """Return the first bytes of a text so that its marks can be looked for: where a letter is cut, it is left out."""
    return head if encoding is None else head.decode(encoding, "ignore").encode()


SNIFFED = 1024  # first bytes of a text in which UTF-16 shows
NAME_IT = "Name its encoding, as in --encoding cp1251 (in Python: encoding=), or save it as UTF-8."
BEYOND_ASCII = rb"[\x80-\xff]+"
OF_UTF_8 = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


class ToUtf8:
    """Turns the pieces of a text into UTF-8.

    Without a named encoding they are taken for UTF-8; from the first byte on that cannot be, after nothing but ASCII,
    for cp1252, which Windows writes in Western Europe and America, if the bytes look like it. A note says so.
    """

    def __init__(self, name: str, encoding: str | None = None) -> None:
        self.name = name
        self.encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding or "cp1252")()
        self._rest = b""  # the first bytes of a letter whose others are in the next piece
        self._is_ascii = True

    def __call__(self, piece: bytes, *, last: bool = False) -> bytes:
        """Return the next piece in UTF-8; the letter that it ends in may come with the piece after it."""
        if self.encoding is not None:
            return self._decoded(piece, last=last)
        if piece.isascii() and not self._rest:
            return piece
        piece = self._rest + piece
        try:
            _, whole = codecs.utf_8_decode(piece, "strict", last)
        except UnicodeDecodeError as error:
            if not (self._is_ascii and _is_western(piece)):
                raise TableError(f"{self.name} is not UTF-8 throughout: {error}. {NAME_IT}") from None
            self.encoding = "cp1252"
            decoded = self._decoded(piece, last=last)
            example = re.search(r"[^\W\d_]*[^\x00-\x7f][^\W\d_]*", decoded.decode())
            warn_caller(
                f"{self.name} is read as cp1252, the encoding of Windows, as it is not UTF-8: "
                f"{example[0] if example else ''!r:.40}. If that is wrong, name another: --encoding.",
                DataNote,
            )
            return decoded
        self._is_ascii &= piece[:whole].isascii()
        self._rest = piece[whole:]
        return piece[:whole]

    def _decoded(self, piece: bytes, *, last: bool) -> bytes:
        try:
            return self._decoder.decode(piece, last).encode()
        except UnicodeError as error:
            raise TableError(f"{self.name} cannot be read as {self.encoding}: {error}. {NAME_IT}") from None


def _is_western(text: bytes) -> bool:
    """Say whether bytes beyond ASCII may be cp1252: it has them all, most stand alone in a word, none is UTF-8."""
    try:
        text.decode("cp1252")
    except UnicodeDecodeError:
        return False
    alone = [len(run) for run in re.findall(BEYOND_ASCII, text)]
    return not OF_UTF_8.search(text) and sum(alone) < 2 * len(alone)


class Pieces(io.RawIOBase):
    """Reads pieces of bytes of any length as one file; closing it also closes the files that it reads from."""

    def __init__(self, pieces: Iterator[bytes], *files: Any) -> None:
        self._pieces = pieces
        self._files = files
        self._waiting = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._waiting:
            self._waiting = memoryview(next(self._pieces, b""))
        size = min(len(buffer), len(self._waiting))
        buffer[:size] = self._waiting[:size]
        self._waiting = self._waiting[size:]
        return size

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()


def open_unpacked(path: Path) -> tuple[io.BufferedReader, bool]:
    """Open a file of text, unpacked; say also whether its size on disk is the size of its text."""
    with ExitStack() as if_it_fails, reading(path, path.suffix.lower()):
        file = if_it_fails.enter_context(path.open("rb"))
        first = file.peek(FIRST_BYTES)
        kind = packing_of(first)
        ending = path.suffix.lower()
        if kind is None and ending in PACKINGS and first:
            raise TableError(f"{path} is not packed as {ending} files are. If it is plain text, rename it.")
        if kind == ".zip" and stat.S_ISFIFO(path.stat().st_mode):
            raise TableError(f"{path} is a pipe with a zip archive, which is read from its end: unpack it first.")
        plain = file
        if kind is not None:
            stream = PACKINGS[kind].open(file)
            plain = io.BufferedReader(Pieces(iter(partial(stream.read, PIECE), b""), stream, file))
        plain.peek(FIRST_BYTES)  # fails here if it is damaged
        if_it_fails.pop_all()
    return plain, kind is None


def name_in_zip(path: Path) -> PurePosixPath:
    """Return the name of the one file in a zip archive."""
    with reading(path, ".zip", (zipfile.BadZipFile, RuntimeError)), zipfile.ZipFile(path) as archive:
        return PurePosixPath(only_member(archive, str(path)))


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
        names = [file.relative_to(path) for file in Path(path).rglob("*") if file.is_file()]
    else:
        from pyarrow import fs

        entries = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
        names = [Path(PurePosixPath(entry.path).relative_to(path)) for entry in entries if entry.is_file]
    return [
        str(name)
        for name in sorted(names)
        if name.suffix.lower() in suffixes and not any(part[0] in "._" for part in name.parts)
    ]


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
        with files.write_atomically(path) as beside:
            yield beside
        return
    with tempfile.TemporaryDirectory(prefix="centrality-") as folder:
        here = Path(folder) / PurePosixPath(path).name
        yield here
        from pyarrow import fs

        if filesystem.type_name in ATOMIC_STORES:
            fs.copy_files(str(here), path, fs.LocalFileSystem(), filesystem)
            return
        filesystem.create_dir(str(PurePosixPath(path).parent), recursive=True)
        unfinished = str(PurePosixPath(path).with_name(f".{here.name}"))
        fs.copy_files(str(here), unfinished, fs.LocalFileSystem(), filesystem)
        filesystem.move(unfinished, path)
