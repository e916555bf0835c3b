"""Find copies: rows that agree in every cell, that differ in one column only, or that are near copies of each other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import generator
from centrality._estimator import ModelRows
from centrality.model.interface import CentralityModel
from centrality.representations._base import as_arrow, is_frame
from centrality.representations._identifiers import names_rows
from centrality.representations._vision import content_of
from centrality.scores.number_format import LETTERS, number, shortened
from centrality.selecting import likeness
from centrality.selecting.near import FAR_BELOW, FEWEST, near_copies
from centrality.selecting.same_cells import CellHashes, groups_alike
from centrality.tables.columns import TableError

SHOWN = 4  # differing columns, and values of each, that are shown
FAR_BELOW_OF_TEXTS = 0.5  # the distance of texts grows as the root of the letters that were changed
SEEM = ("was compared too, but seems to name", "were compared too, but seem to name")
WORDS = {"exact": "exact copies", "one column": "the same but for one column", "near": "near copies"}


@dataclass(frozen=True)
class CopyGroup:
    """Hold rows that are copies of each other, and the cells in which they differ.

    >>> print(CopyGroup("one column", (3, 7), {"price": [100, 101]}))
    one column  rows 3, 7: price 100 | 101
    """

    kind: str  # "exact", "one column" or "near"
    rows: tuple[int, ...]
    differs: dict[str, list[object]] = field(default_factory=dict)  # by column, one value for each row

    def __str__(self) -> str:
        return f"{self.kind}  rows {self.numbers()}" + (f": {self.differences()}" if self.differs else "")

    def numbers(self) -> str:
        """Write the numbers of the rows in one line; of many, the first few."""
        more = "" if len(self.rows) <= 2 * SHOWN else ", ..."
        return ", ".join(f"{row:,}" for row in self.rows[: 2 * SHOWN]) + more

    def differences(self) -> str:
        """Write the differing cells in one line; of many, the first few."""
        cells = [
            f"{name} {' | '.join(_told_apart(values[:SHOWN]))}" for name, values in list(self.differs.items())[:SHOWN]
        ]
        more = len(self.differs) - len(cells)
        return "; ".join(cells) + (f" and {more} more columns" if more > 0 else "")


@dataclass(frozen=True)
class Copies:
    """Hold the groups of copies among so many rows: exact ones, then those that differ in one column, then near ones.

    Print it, or take the groups one by one. A row may be in a group of each kind.
    """

    rows: int
    groups: list[CopyGroup]
    identifiers: list[str] = field(default_factory=list)  # columns that seem to name the rows, and were compared too

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[CopyGroup]:
        return iter(self.groups)

    def __getitem__(self, number: int) -> CopyGroup:
        return self.groups[number]

    def of(self, row: int) -> list[int]:
        """Return the other rows that are copies of this one, of whatever kind."""
        return sorted({other for group in self.groups if row in group.rows for other in group.rows} - {row})

    def to_drop(self, kinds: Sequence[str] = ("exact", "near")) -> NDArray[np.intp]:
        """Return the rows to drop so that only the first row of each group of these kinds is kept."""
        later = {row for group in self.groups if group.kind in kinds for row in group.rows[1:]}
        return np.array(sorted(later), dtype=np.intp)

    def __str__(self) -> str:
        return "\n".join([self.summary(), *map(str, self.groups[:20])])

    def summary(self) -> str:
        """Say in one line how many groups of which kind there are."""
        counts = {kind: [group for group in self.groups if group.kind == kind] for kind in WORDS}
        said = [
            f"{sum(len(group.rows) for group in groups):,} rows in {_counted(len(groups), 'group')} are {WORDS[kind]}"
            for kind, groups in counts.items()
            if groups
        ]
        return f"{_counted(self.rows, 'row')}: {'; '.join(said) or 'no copies'}.{self._advice()}"

    def _advice(self) -> str:
        if not self.identifiers:
            return ""
        return f" {', '.join(self.identifiers)} {SEEM[len(self.identifiers) > 1]} the rows: leave out what does."


def copies(
    X: ModelRows,
    *,
    model: CentralityModel | None = None,
    random_state: int | None = 0,
    progress: bool = False,
) -> Copies:
    """Find exact copies, rows that differ in one column only, and near copies; no threshold is needed.

    Near copies lie so much closer to each other than to their other neighbours that chance hardly does it: on average
    at most 1% of the pairs called so are chance.

    Parameters
    ----------
    X : a frame or an array, with text, dates, categories and gaps as they come; or a list of texts; or a list of
        images: paths, PIL images, pixels or the bytes of files.
    model : a fitted model says how alike rows are; None compares tables column by column, texts by their letters,
        images by their look when small.
    random_state : a seed, by which very many rows are divided into cells that are compared apart.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import copies
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> X[7], X[9], X[11] = X[3], X[5] + 1e-4, X[6]
    >>> X[11, 2] = 0.5
    >>> [(group.kind, group.rows) for group in copies(X)]
    [('exact', (3, 7)), ('one column', (6, 11)), ('near', (5, 9))]
    """
    compared = _comparable(X, model, progress=progress)
    table, hashes = compared.table, CellHashes(compared.table)
    first = hashes.exact()
    distinct = np.flatnonzero(first == np.arange(len(first)))
    groups = [CopyGroup("exact", tuple(rows.tolist())) for rows in groups_alike(first)]
    one_column: set[tuple[int, ...]] = set()
    for column, found in hashes.but_one(distinct):
        for rows in found:
            one_column.add(tuple(rows.tolist()))
            groups.append(_with_differences("one column", rows, table, [column]))
    for rows in _near(compared, distinct, random_state, progress=progress):
        if tuple(rows.tolist()) not in one_column:
            groups.append(_with_differences("near", rows, table, range(table.num_columns)))
    return Copies(table.num_rows, groups, _identifiers(table))


@dataclass(frozen=True)
class _Compared:
    """Hold rows as a table whose cells can be compared, and a function from row numbers to the rows' vectors."""

    table: pa.Table
    vectors: Callable[[NDArray[np.intp]], NDArray[np.float32]]
    far_below: float = FAR_BELOW


def _near(
    compared: _Compared, rows: NDArray[np.intp], random_state: int | None, *, progress: bool
) -> list[NDArray[np.intp]]:
    """Return the groups of near copies among these rows."""
    if len(rows) < FEWEST:
        return []
    try:
        rng, vectors = generator(random_state), compared.vectors(rows)
    except TableError:  # only identifiers are left, which are never near copies
        return []
    return [rows[group] for group in near_copies(vectors, rng, far_below=compared.far_below, progress=progress)]


def _comparable(X: ModelRows, model: CentralityModel | None, *, progress: bool) -> _Compared:
    """Return rows of whatever kind in a form in which they can be compared."""
    items = [] if is_frame(X) or isinstance(X, np.ndarray) or not isinstance(X, Sequence) else list(X)
    by_model = None if model is None else partial(likeness.by_model, model)
    if items and all(item is None or isinstance(item, str) for item in items) and not _are_images(items):
        texts = by_model or likeness.of_texts
        table = pa.table({"text": pa.array(items, pa.string())})
        return _Compared(table, lambda rows: texts([items[row] for row in rows]), FAR_BELOW_OF_TEXTS)
    if items and _is_image(items[0]):
        images = by_model or partial(likeness.of_images, progress=progress)
        table = pa.table({"image": [content_of(item)[0] for item in items]})
        return _Compared(table, lambda rows: images([items[row] for row in rows]))
    table = as_arrow(X)
    if by_model is None:
        return _Compared(table, lambda rows: likeness.of_table(table.take(rows)))
    rows_of = table.take if is_frame(X) else np.asarray(X).__getitem__  # a model of arrays wants no names
    return _Compared(table, lambda rows: by_model(rows_of(rows)))


def _is_image(item: object) -> bool:
    is_pixels = isinstance(item, np.ndarray) and item.dtype == np.uint8 and item.ndim >= 2
    return is_pixels or isinstance(item, str | bytes | Path) or hasattr(item, "convert")  # the last is one of PIL


def _are_images(items: Sequence[Any]) -> bool:
    from centrality.tables.images import IMAGE_SUFFIXES

    return all(isinstance(item, str) and item.lower().endswith(IMAGE_SUFFIXES) for item in items)


def _with_differences(kind: str, rows: NDArray[np.intp], table: pa.Table, columns: Sequence[int]) -> CopyGroup:
    """Return a group with the cells of these columns in which its rows differ."""
    chosen = table.take(rows)
    cells = {table.column_names[j]: chosen.column(j).to_pylist() for j in columns}
    differs = {name: values for name, values in cells.items() if any(value != values[0] for value in values)}
    return CopyGroup(kind, tuple(rows.tolist()), differs)


def _identifiers(table: pa.Table) -> list[str]:
    """Return the columns that look like identifiers: one word or whole number each, hardly ever repeated."""
    columns = zip(table.column_names, table.columns, strict=True)
    return [name for name, column in columns if names_rows(column)] if table.num_columns > 1 else []


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _told_apart(values: Sequence[object]) -> list[str]:
    """Shorten values to a few letters each; texts that then look alike are quoted, from shortly before they differ.

    >>> _told_apart(["oil", "oil ", "gas"])
    ["'oil'", "'oil '", "'gas'"]
    """
    shown = [shortened(number(value)) for value in values]
    texts = [value for value in values if isinstance(value, str)]
    if len(set(shown)) == len(set(map(str, values))) or not texts:
        return shown
    alike = [len(set(letters)) == 1 for letters in zip(*texts, strict=False)]
    start = max([*alike, False].index(False) - LETTERS // 2, 0)
    cut = "…" if start else ""
    return [
        cut + shortened(repr(value[start:])) if isinstance(value, str) else shortened(str(value)) for value in values
    ]
