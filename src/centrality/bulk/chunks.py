"""Define the chunk of work: a file, or some row groups of one, whose scores go into one file.

The name of that file follows from the chunk; it is written under another name and then renamed. So chunks may be scored
in any order and more than once, and the files are the same in the end: one after another here, in worker processes
(`_internal/processes.py`), or on a cluster (`distributed`).
"""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

from centrality import tables
from centrality._internal.files import remove_leftovers
from centrality.tables import files, formats
from centrality.tables.binary import Footer, read_footer
from centrality.tables.columns import CellIssues

Item = TypeVar("Item")
Result = TypeVar("Result")
PART = re.compile(r"(.+)\.\d{5}(\.parquet)")  # the name of a part of a file, by its first row group


class Runner(Protocol):
    """Runs the work on items: one after another, as `in_turn` does, or in other processes, or on other machines."""

    def __call__(self, work: Callable[[Item], Result], items: Sequence[Item], /) -> Generator[tuple[Item, Result]]:
        """Yield every item with the result of `work`, in any order."""


@dataclass(frozen=True)
class Chunk:
    """Names some rows to read and the file where their scores go."""

    source: str  # a file, by its path or address
    target: str  # the file of its scores; empty if it is only read
    rows: int | None = None  # None: not known before the end
    groups: tuple[int, int] | None = None  # the first row group and the one after the last; None: all of the file
    file: Footer | None = field(default=None, compare=False, repr=False)  # the footer of the source, if it was read

    def open(self) -> tables.Source:
        """Open the chunk's rows as a source."""
        return tables.open_rows(self.source) if self.file is None else self.file.open(self.groups)


class Scored(NamedTuple):
    """How many rows were written, which of their cells could not be read, and how many rows have no score.

    `faults` says what was wrong with the first text that could not be read. Of the rows with a score, `called` ones are
    outliers by the model's threshold.
    """

    rows: int
    unreadable: CellIssues = CellIssues()
    left_out: int = 0
    faults: tuple[str, ...] = ()
    with_score: int = 0
    called: int = 0

    @classmethod
    def all_of(cls, parts: "Iterable[Scored]") -> "Scored":
        """Return the sum of several scorings."""
        parts = list(parts)
        return cls(
            sum(part.rows for part in parts),
            sum((part.unreadable for part in parts), CellIssues()),
            sum(part.left_out for part in parts),
            tuple(fault for part in parts for fault in part.faults),
            sum(part.with_score for part in parts),
            sum(part.called for part in parts),
        )


def in_turn(work: Callable[[Item], Result], items: Sequence[Item]) -> Generator[tuple[Item, Result]]:
    """Yield every item with the result of `work`, one after another in this process: the simplest runner."""
    for item in items:
        yield item, work(item)


def run_chunks(
    work: Callable[[Chunk], Result], chunks: Sequence[Chunk], runner: Runner = in_turn, *, progress: bool = False
) -> list[Result]:
    """Return the result of `work` for each chunk, in no order; remove half-written files even after an error."""
    from tqdm import tqdm

    results = []
    bar = tqdm(total=sum(chunk.rows or 0 for chunk in chunks), unit=" rows", unit_scale=True, disable=not progress)
    try:
        with bar, closing(runner(work, chunks)) as done:
            for chunk, result in done:
                results.append(result)
                bar.update(chunk.rows or 0)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{len(results)} of {len(chunks)} files are whole; --resume does the others") from None
    finally:
        remove_partial_files(chunks)
    return results


def plan(data: str | Path, folder: str | Path | None, split: int | None = None) -> list[Chunk]:
    """Plan the chunks of a file or a folder of Parquet files, each with its file in a folder of scores if one is given.

    With `split`, files of more rows than that become several chunks, each of some row groups.
    """
    if formats.is_text_file(data):  # not opened: that would parse its first rows, which are parsed again when scored
        return _not_onto_itself([Chunk(str(data), _target(data, data, folder))])
    with tables.open_rows(data) as source:
        if not source.files:
            if files.is_folder(data):
                raise tables.TableError(
                    f"{data}: .parquet files were wanted for a folder of scores, but it holds none."
                )
            return _not_onto_itself([Chunk(str(data), _target(data, data, folder), source.rows)])
        chunks = of_files(source.files, lambda file: _target(data, file, folder), split)
    if folder is not None:
        if files.is_remote(data) or files.is_remote(folder):
            within = str(data).rstrip("/") == str(folder).rstrip("/")
        else:
            scores = Path(files.filesystem_and_path(folder)[1]).resolve()
            within = scores.is_relative_to(Path(files.filesystem_and_path(data)[1]).resolve())
        if within:
            raise tables.TableError(
                f"{folder}: scores among the rows would be taken for rows. Name a folder outside {data}."
            )
        _require_no_other_parts(folder, chunks)
    return _not_onto_itself(chunks)


def _not_onto_itself(chunks: list[Chunk]) -> list[Chunk]:
    """Return the chunks; raise if the scores of one would overwrite its rows."""
    for chunk in chunks:
        if chunk.target and Path(chunk.target).exists() and Path(chunk.target).samefile(chunk.source):
            raise tables.TableError(f"{chunk.target} would be overwritten, but its rows are read: name another folder.")
    return chunks


def of_files(
    files: Sequence[Footer], target: Callable[[str], str] = lambda _: "", split: int | None = None
) -> list[Chunk]:
    """Return the chunks of files with footers, without empty files; `target` gives the file of a file's scores."""
    return [chunk for file in files for chunk in _split(file, target(file.file), split) if chunk.rows]


def rows_done(chunk: Chunk, note: str, *, may_skip: bool = False) -> int | None:
    """Return the number of rows in the chunk's file if the chunk is done, else None.

    It is done if the file has all rows of the chunk, holds this note, and is no older than the rows; with `may_skip`,
    it may have fewer rows.
    """
    if files.name_of(chunk.target).suffix != ".parquet" or (written_at := files.modified_at(chunk.target)) is None:
        return None
    try:
        footer = read_footer(chunk.target)
    except tables.TableError:
        return None
    is_whole = footer.rows == chunk.rows or (may_skip and chunk.rows is not None and footer.rows < chunk.rows)
    is_newer = written_at >= (files.modified_at(chunk.source) or 0.0)
    return footer.rows if footer.note == note and is_whole and is_newer else None


def remove_partial_files(chunks: Iterable[Chunk]) -> None:
    """Remove the half-written files that killed processes left beside the scores."""
    remove_leftovers(Path(chunk.target) for chunk in chunks if not files.is_remote(chunk.target))


def _target(data: str | Path, file: str | Path, folder: str | Path | None) -> str:
    """Return the path in the folder of scores that corresponds to the file's path in the data."""
    if folder is None:
        return ""
    path = files.name_of(file)
    base = files.name_of(data)
    return files.join(folder, path.name if path == base else path.relative_to(base).as_posix())


def _split(file: Footer, target: str, split: int | None) -> Iterator[Chunk]:
    """Yield the chunks of a file: all of it or, if it has more rows than `split`, some of its row groups each."""
    if split is None or file.rows <= split:
        yield Chunk(file.file, target, file.rows, file=file)
        return
    first = 0
    rows = 0
    for group, rows_of_group in enumerate(file.groups):
        if rows and rows + rows_of_group > split:
            yield Chunk(file.file, _part_name(target, first), rows, (first, group), file)
            first = group
            rows = 0
        rows += rows_of_group
    yield Chunk(file.file, _part_name(target, first), rows, (first, len(file.groups)), file)


def _part_name(target: str, first: int) -> str:
    """Return the path of the part that begins with this row group."""
    name, mark, options = target.partition("?")
    return f"{name.removesuffix('.parquet')}.{first:05d}.parquet{mark}{options}" if target else ""


def _require_no_other_parts(folder: str | Path, chunks: Sequence[Chunk]) -> None:
    """Raise if the folder holds parts of a file that was split in another way: their rows would be there twice."""
    ours = {str(files.name_of(chunk.target)) for chunk in chunks}
    uncut = {PART.sub(r"\1\2", name) for name in ours} | ours
    if not files.is_folder(folder):
        return
    for name in files.files_below(folder, (".parquet",)):
        present = str(files.name_of(files.join(folder, name)))
        if present not in ours and (present in uncut or PART.sub(r"\1\2", present) in uncut):
            raise tables.TableError(
                f"{folder} holds {name}, cut from its file in another way than now: its rows would be there twice. "
                "Use the same --split as before, or an empty folder."
            )
