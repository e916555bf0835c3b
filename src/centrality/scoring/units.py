"""The unit of work: one file, or some row groups of one, scored into one file whose name follows from it.

A unit is written beside its place and renamed, and doing it again changes nothing. So whoever does them, in whatever
order, as often as need be, ends with the same files: one after another here, in worker processes (`_workers`), or on a
cluster (`distributed`).
"""

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from centrality import tables
from centrality._atomic import sweep
from centrality.tables import locations
from centrality.tables.parquet import Footer, ParquetSource, footer

Item = TypeVar("Item")
Result = TypeVar("Result")
Engine = Callable[[Callable[[Any], Any], Sequence[Any]], Generator[tuple[Any, Any]]]  # as `in_turn`, somewhere else
PART = re.compile(r"(.+)\.\d{5}(\.parquet)")  # how a part of a file is called: by its first row group


@dataclass(frozen=True)
class Unit:
    source: str  # a file, by its path or address
    target: str  # where its scores go; empty if it is only read
    rows: int | None = None  # None: nobody can tell
    groups: tuple[int, int] | None = None  # the first row group and the one after the last; None: all of the file

    def open(self) -> tables.Source:
        """Its rows."""
        if self.groups is None:
            return tables.open_rows(self.source)
        return ParquetSource(self.source, [self.source], self.groups)


def in_turn(work: Callable[[Item], Result], items: Sequence[Item]) -> Generator[tuple[Item, Result]]:
    """The plainest engine: every item and what `work` makes of it, one after another in this process."""
    for item in items:
        yield item, work(item)


def do_all(
    work: Callable[[Unit], Result], units: Sequence[Unit], engine: Engine = in_turn, *, progress: bool = False
) -> list[Result]:
    """What `work` makes of each unit, in no order; nothing half done is left behind, come what may."""
    from tqdm import tqdm

    results = []
    bar = tqdm(total=sum(unit.rows or 0 for unit in units), unit=" rows", unit_scale=True, disable=not progress)
    try:
        with bar, closing(engine(work, units)) as done:
            for unit, result in done:
                results.append(result)
                bar.update(unit.rows or 0)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{len(results)} of {len(units)} files are whole; --resume does the others") from None
    finally:
        tidy(units)
    return results


def plan(data: str | Path, folder: str | Path | None, split: int | None = None) -> list[Unit]:
    """The units of a file or of a folder of Parquet files, with their places in the folder of scores (None: no scores).

    With `split`, files of more rows than that become several units, each of whole row groups.
    """
    with tables.open_rows(data) as source:
        if not isinstance(source, ParquetSource):
            if locations.is_folder(data):
                raise tables.TableError(
                    f"{data}: .parquet files were wanted for a folder of scores, but it holds none."
                )
            return [Unit(str(data), _target(data, data, folder), source.rows)]
        units = [
            unit for part in source.footers for unit in _cut(part, _target(data, part.file, folder), split) if unit.rows
        ]
    if folder is not None:
        _require_apart(data, folder)
        _require_no_other_parts(folder, units)
    return units


def added_columns(ts: Sequence[float], p_values: bool, explain: bool = False) -> list[str]:
    """centrality_<t> for each t, then p_value_<t>, then reasons_<t>."""
    kinds = ["centrality", *(["p_value"] * p_values), *(["reasons"] * explain)]
    return [f"{kind}_{t:g}" for kind in kinds for t in ts]


def is_done(unit: Unit, note: str) -> bool:
    """Does the unit's place hold all its rows, with this note at the end of the file, no older than the unit's rows?"""
    if locations.name_of(unit.target).suffix != ".parquet" or (made := locations.modified(unit.target)) is None:
        return False
    try:
        there = footer(unit.target)
    except tables.TableError:
        return False
    return there.note == note and there.rows == unit.rows and made >= (locations.modified(unit.source) or 0.0)


def tidy(units: Iterable[Unit]) -> None:
    """Remove what killed processes left beside the scores."""
    sweep(Path(unit.target) for unit in units if not locations.is_remote(unit.target))


def _target(data: str | Path, file: str | Path, folder: str | Path | None) -> str:
    if folder is None:
        return ""
    at, base = locations.name_of(file), locations.name_of(data)
    return locations.joined(folder, at.name if at == base else at.relative_to(base).as_posix())


def _cut(part: Footer, target: str, split: int | None) -> Iterator[Unit]:
    """The file whole, or in runs of row groups that hold about `split` rows."""
    if split is None or part.rows <= split:
        yield Unit(part.file, target, part.rows)
        return
    first, rows = 0, 0
    for group, more in enumerate(part.groups):
        if rows and rows + more > split:
            yield Unit(part.file, _of_part(target, first), rows, (first, group))
            first, rows = group, 0
        rows += more
    yield Unit(part.file, _of_part(target, first), rows, (first, len(part.groups)))


def _of_part(target: str, first: int) -> str:
    name, mark, options = target.partition("?")
    return f"{name.removesuffix('.parquet')}.{first:05d}.parquet{mark}{options}" if target else ""


def _require_apart(data: str | Path, folder: str | Path) -> None:
    if locations.is_remote(data) or locations.is_remote(folder):
        apart = str(data).rstrip("/") != str(folder).rstrip("/")
    else:
        source, scores = (Path(locations.found(place)[1]).resolve() for place in (data, folder))
        apart = not scores.is_relative_to(source)
    if not apart:
        raise tables.TableError(
            f"{folder}: scores among the rows would be taken for rows. Name a folder outside {data}."
        )


def _require_no_other_parts(folder: str | Path, units: Sequence[Unit]) -> None:
    """Parts cut in another way stay no part of the result: their rows would be there twice."""
    ours = {str(locations.name_of(unit.target)) for unit in units}
    whole = {PART.sub(r"\1\2", name) for name in ours} | ours
    if not locations.is_folder(folder):
        return
    for name in locations.below(folder, (".parquet",)):
        there = str(locations.name_of(locations.joined(folder, name)))
        if there not in ours and (there in whole or PART.sub(r"\1\2", there) in whole):
            raise tables.TableError(
                f"{folder} holds {name}, cut from its file in another way than now: its rows would be there twice. "
                "Use the same --split as before, or an empty folder."
            )
