"""Find groups of copies, exact and near."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from centrality._internal.checks import InputError, generator
from centrality._internal.input import ModelRows
from centrality._internal.text import LETTERS, number, shortened
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.network.scaling import Scaling
from centrality.representations import Table
from centrality.representations.base import as_arrow, is_frame
from centrality.representations.images import content_of, decode
from centrality.representations.table import names_rows
from centrality.selection.duplicates import FAR_BELOW, FEWEST, CellHashes, groups_alike, near_copies
from centrality.selection.rank import are_finite_numbers
from centrality.tables.columns import TableError, numbers

if TYPE_CHECKING:
    from PIL.Image import Image


TEXT_WIDTH = 1024  # numbers that stand for a text
PIXELS = 16  # the side of the small picture that stands for an image

Floats = NDArray[np.float32]


def likeness_by_model(model: CentralityModel, X: ModelRows) -> Floats:
    """Return rows as the scaled vectors that a fitted model's networks take."""
    return model.fitted_.scaling.apply(reader_of(model).vectors(X))


def of_table(table: pa.Table) -> Floats:
    """Return the rows of a table in comparable units: finite numbers by standard deviations, else as `Table` reads.

    Robust units would be wrong: in a column that is 0 except in a few rows, the noise of copies would set the unit.
    """
    if not are_finite_numbers(table):
        return np.asarray(Table(unreadable=1.0).fit_transform(table), dtype=np.float32)
    matrix = numbers(table).astype(np.float64)
    scaled = Scaling.fit(matrix, "standard").scaled(matrix)
    scaled -= np.median(scaled, axis=0)  # float32 is the finest there, and most rows are
    return scaled.astype(np.float32)


def of_texts(texts: Sequence[str | None]) -> Floats:
    """Return texts as counts of their sequences of three to five letters; case and spaces do not count."""
    from sklearn.feature_extraction.text import HashingVectorizer

    # Signed hashing is a random projection: it keeps angles within a few per cent.
    letters = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=TEXT_WIDTH, dtype=np.float32)
    plain = [" ".join((text or "").lower().split()) for text in texts]
    return np.asarray(letters.transform(plain).toarray(), dtype=np.float32)


def of_images(images: Sequence[Any], *, progress: bool = False) -> Floats:
    """Return images as small pictures, which hardly change when an image is encoded or resized anew."""
    return np.stack([_small(_decoded(image)) for image in tqdm(images, disable=not progress, leave=False)])


def _decoded(image: object) -> "Image":
    try:
        return decode(content_of(image)[1])
    except (OSError, ValueError, SyntaxError) as error:  # PIL raises each of these on damaged files
        name = str(image) if isinstance(image, str | Path) else "An image"
        raise InputError(f"{name} cannot be read as an image: {error}. Leave it out, or mend it.") from None


def _small(picture: "Image") -> Floats:
    from PIL.Image import Resampling

    small = picture.resize((PIXELS, PIXELS), Resampling.BOX)
    return np.asarray(small, dtype=np.float32).ravel() / np.float32(255)


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
            f"{name} {' | '.join(_distinguish(values[:SHOWN]))}" for name, values in list(self.differs.items())[:SHOWN]
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
    by_model = None if model is None else partial(likeness_by_model, model)
    if items and all(item is None or isinstance(item, str) for item in items) and not _are_images(items):
        texts = by_model or of_texts
        table = pa.table({"text": pa.array(items, pa.string())})
        return _Compared(table, lambda rows: texts([items[row] for row in rows]), FAR_BELOW_OF_TEXTS)
    if items and _is_image(items[0]):
        images = by_model or partial(of_images, progress=progress)
        table = pa.table({"image": [content_of(item)[0] for item in items]})
        return _Compared(table, lambda rows: images([items[row] for row in rows]))
    table = as_arrow(X)
    if by_model is None:
        return _Compared(table, lambda rows: of_table(table.take(rows)))
    rows_of = table.take if is_frame(X) else np.asarray(X).__getitem__  # a model of arrays wants no names
    return _Compared(table, lambda rows: by_model(rows_of(rows)))


def _is_image(item: object) -> bool:
    is_pixels = isinstance(item, np.ndarray) and item.dtype == np.uint8 and item.ndim >= 2
    return is_pixels or isinstance(item, str | bytes | Path) or hasattr(item, "convert")  # the last is one of PIL


def _are_images(items: Sequence[Any]) -> bool:
    from centrality.tables.binary import IMAGE_SUFFIXES

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


def _distinguish(values: Sequence[object]) -> list[str]:
    """Shorten values to a few letters each; texts that then look alike are quoted, from shortly before they differ.

    >>> _distinguish(["oil", "oil ", "gas"])
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
