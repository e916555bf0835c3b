"""Find groups of copies among rows, texts or images: exact ones, and near ones."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from centrality._internal.checks import InputError, InputTypeError, generator
from centrality._internal.input import ModelRows
from centrality._internal.text import LETTERS, number, shortened
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.network.scaling import Scaling
from centrality.representations import Table
from centrality.representations.base import as_arrow, is_frame
from centrality.representations.dates import learn_format, read_dates, zone_of
from centrality.representations.identifiers import BEYOND_DOUBLES, names_rows
from centrality.representations.images import CORRUPT, SkippedImages, content_of, decode
from centrality.selection.coincidence import expected_by_chance
from centrality.selection.duplicates import FAR_BELOW, FEWEST, CellHashes, groups_alike, near_copies
from centrality.selection.rank import are_finite_numbers
from centrality.tables.binary import IMAGE_SUFFIXES
from centrality.tables.columns import TableError, first_few, is_text, numbers

TEXT_WIDTH = 1024  # numbers of the vector of a text
PIXELS = 16  # the side of the small picture by which an image is compared

Floats = NDArray[np.float32]


def likeness_by_model(model: CentralityModel, X: ModelRows) -> Floats:
    """Return the scaled vectors of rows, as the networks of a fitted model take them."""
    return model.fitted_.scaling.apply(reader_of(model).vectors(X))


def vectors_of_table(table: pa.Table) -> tuple[Floats, NDArray[np.intp]]:
    """Return the rows of a table in comparable units, and the column that each of their features belongs to.

    A table of finite numbers is divided by standard deviations. Robust units would be wrong: in a column that is 0 in
    nearly all rows, the noise of copies would set the unit. Other tables are read by `Table`, but with each date as one
    number: as parts of a calendar, two days that follow one another may differ more than two that share a weekday.
    """
    # Dates, also those written as text, become seconds since 1970.
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        format = learn_format(column.cast(pa.string()))[0] if is_text(column.type) else None
        is_moment = pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)
        if format is not None or is_moment:
            moments, _ = read_dates(column, format, zone_of(column, format))
            seconds = np.where(np.isnat(moments), np.nan, moments.astype(np.int64) / 1e6)
            table = table.set_column(place, name, pa.chunked_array([pa.array(seconds, from_pandas=True)]))
    if not are_finite_numbers(table):
        reader = Table(unreadable=1.0, blocks=False)
        try:
            vectors = np.asarray(reader.fit_transform(table), dtype=np.float32)
        except TableError:  # all columns are identifiers, and no two rows are near in those
            return np.zeros((table.num_rows, 0), dtype=np.float32), np.zeros(0, dtype=np.intp)
        names, owner = reader.origins()
        return vectors, np.array([table.column_names.index(name) for name in names])[owner]
    for place, name in enumerate(table.column_names):
        if not pa.types.is_integer(table[name].type):
            continue
        # Doubles round whole numbers above 2**53: the least of them is subtracted first.
        values = table[name].to_numpy()
        if max(abs(int(values.min())), abs(int(values.max()))) >= BEYOND_DOUBLES:
            differences = (values - values.min()).view(np.uint64)  # right even where the difference overflows int64
            table = table.set_column(place, name, pa.chunked_array([differences]))
    matrix = numbers(table).astype(np.float64)
    scaled = Scaling.fit(matrix, "standard").scaled(matrix)
    scaled -= np.median(scaled, axis=0)  # where most rows are, since float32 is finest near 0
    return scaled.astype(np.float32), np.arange(table.num_columns)


def of_texts(texts: Sequence[str | None]) -> Floats:
    """Return the counts of sequences of three to five letters in each text; case and extra spaces do not matter."""
    from sklearn.feature_extraction.text import HashingVectorizer

    # Signed hashing is a random projection, which keeps angles within a few per cent.
    letters = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 5), n_features=TEXT_WIDTH, dtype=np.float32)
    plain = [" ".join((text or "").lower().split()) for text in texts]
    return np.asarray(letters.transform(plain).toarray(), dtype=np.float32)


def of_images(images: Sequence[Any], skipped: SkippedImages | None = None, *, progress: bool = False) -> Floats:
    """Return the pixels of each image made small: they hardly change when an image is resized or encoded again.

    An image that cannot be read is all NaN.
    """
    from PIL.Image import Resampling

    skipped = SkippedImages("refuse") if skipped is None else skipped
    small = np.full((len(images), 3 * PIXELS**2), np.nan, dtype=np.float32)
    for place, image in enumerate(tqdm(images, disable=not progress, leave=False)):
        with skipped.caught(image, place):
            picture = decode(content_of(image)[1]).resize((PIXELS, PIXELS), Resampling.BOX)
            small[place] = np.asarray(picture, dtype=np.float32).ravel() / np.float32(255)
    return small


SHOWN = 4  # differing columns in the line of a group, and values of each
FAR_BELOW_OF_TEXTS = 0.5  # instead of FAR_BELOW: the distance of texts grows as the root of the letters changed
SEEM = ("was compared too, but seems to name", "were compared too, but seem to name")
WORDS = {"exact": "exact copies", "one column": "the same but for one column", "near": "near copies"}


@dataclass(frozen=True)
class CopyGroup:
    """Rows that are copies of each other, and the cells in which they differ; for images, also their names.

    >>> print(CopyGroup("one column", (3, 7), {"price": [100, 101]}))
    one column  rows 3, 7: price 100 | 101
    """

    kind: str  # "exact", "one column" or "near"
    rows: tuple[int, ...]
    differs: dict[str, list[object]] = field(default_factory=dict)  # for each differing column, the rows' values
    names: tuple[str, ...] = ()  # of the files, if the rows are images

    def __str__(self) -> str:
        rows = self.numbers() if self.names else f"rows {self.numbers()}"
        return f"{self.kind}  {rows}" + (f": {self.differences()}" if self.differs else "")

    def numbers(self) -> str:
        """Write the numbers of the rows, or the names of the images, in one line; of many, the first few."""
        rows = self.names or [f"{row:,}" for row in self.rows]
        return ", ".join(rows[: 2 * SHOWN]) + ("" if len(rows) <= 2 * SHOWN else ", ...")

    def differences(self) -> str:
        """Write the differing cells in one line; of many, the first few."""
        cells = [
            f"{name} {' | '.join(_distinguish(values[:SHOWN]))}" for name, values in list(self.differs.items())[:SHOWN]
        ]
        more = len(self.differs) - len(cells)
        return "; ".join(cells) + (f" and {more} more columns" if more > 0 else "")


@dataclass(frozen=True)
class Copies:
    """The groups of copies among so many rows: exact ones, then those that differ in one column, then near ones.

    Print it, or take the groups one by one. A row may be in a group of each kind.
    """

    rows: int
    groups: list[CopyGroup]
    identifiers: list[str] = field(default_factory=list)  # columns that seem to name the rows but were compared, too
    skipped: list[str] = field(default_factory=list)  # images that could not be read

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[CopyGroup]:
        return iter(self.groups)

    def __getitem__(self, number: int) -> CopyGroup:
        return self.groups[number]

    def of(self, row: int) -> list[int]:
        """Return the rows that are copies of this one, of any kind."""
        return sorted({other for group in self.groups if row in group.rows for other in group.rows} - {row})

    def to_drop(self, kinds: Sequence[str] = ("exact", "near")) -> NDArray[np.intp]:
        """Return the rows to drop so that of each group of these kinds only the first row is left."""
        later = {row for group in self.groups if group.kind in kinds for row in group.rows[1:]}
        return np.array(sorted(later), dtype=np.intp)

    def __str__(self) -> str:
        return "\n".join([self.summary(), *map(str, self.groups[:20])])

    def summary(self) -> str:
        """Say in one line how many groups of which kind there are."""
        counts = {kind: [group for group in self.groups if group.kind == kind] for kind in WORDS}
        parts = [
            f"{sum(len(group.rows) for group in groups):,} rows in {_counted(len(groups), 'group')} are {WORDS[kind]}"
            for kind, groups in counts.items()
            if groups
        ]
        text = f"{_counted(self.rows, 'row')}: {'; '.join(parts) or 'no copies'}."
        if self.identifiers:
            text += f" {', '.join(self.identifiers)} {SEEM[len(self.identifiers) > 1]} the rows: leave out what does."
        if self.skipped:
            text += f" {_counted(len(self.skipped), 'image')} could not be read: {first_few(self.skipped)}."
        return text


def copies(
    X: ModelRows,
    *,
    model: CentralityModel | None = None,
    corrupt: str = "refuse",
    random_state: int | None = 0,
    progress: bool = False,
) -> Copies:
    """Find exact copies, rows that differ in one column only, and near copies; no threshold is needed.

    Near copies lie so much closer to each other than to their other neighbours that chance hardly does it: on average
    at most 1% of the pairs called so are chance. In a table, cells that many rows share (a date, a category, a count)
    make no two rows near: what counts is how near those that share them lie in the rest.

    Parameters
    ----------
    X : a frame or an array, with text, dates, categories and gaps as they come; or a list of texts; or a list of
        images: paths, PIL images, pixels or the bytes of files.
    model : a fitted model says how alike rows are; None compares tables column by column, texts by their letters,
        images by their look when small.
    corrupt : what to do with an image that cannot be read: "refuse" raises and names it, "skip" compares the others.
    random_state : the seed for dividing very many rows into cells, within which rows are compared.

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
    compared = _comparable(X, model, SkippedImages(corrupt), progress=progress)
    table = compared.table
    hashes = CellHashes(table)
    first_equal = hashes.exact()
    distinct = np.flatnonzero(first_equal == np.arange(len(first_equal)))
    groups = [_group("exact", rows, compared, []) for rows in groups_alike(first_equal)]
    one_column: set[tuple[int, ...]] = set()
    for column, groups_of_column in hashes.but_one(distinct):
        for rows in groups_of_column:
            one_column.add(tuple(rows.tolist()))
            groups.append(_group("one column", rows, compared, [column]))
    for rows in _near_groups(compared, hashes, distinct, random_state, progress=progress):
        if tuple(rows.tolist()) not in one_column:
            groups.append(_group("near", rows, compared, range(table.num_columns)))
    names = table.column_names
    identifiers = [name for name in names if names_rows(table[name])] if len(names) > 1 else []
    return Copies(table.num_rows, groups, identifiers, sorted(set(compared.skipped.names)))


# From row numbers to the rows' vectors, and the column that each number of a vector belongs to; None if to no column.
Vectors = Callable[[NDArray[np.intp]], tuple[Floats, NDArray[np.intp] | None]]


@dataclass(frozen=True)
class _Compared:
    """Rows of any kind as they are compared: cell by cell, and by their vectors unless these are NaN."""

    table: pa.Table
    vectors: Vectors
    skipped: SkippedImages  # those that could not be read
    far_below: float = FAR_BELOW
    images: Sequence[Any] = ()


def _near_groups(
    compared: _Compared, hashes: CellHashes, rows: NDArray[np.intp], random_state: int | None, *, progress: bool
) -> list[NDArray[np.intp]]:
    """Return the groups of near copies among these rows."""
    if len(rows) < FEWEST:
        return []
    vectors, feature_column = compared.vectors(rows)
    has_vector = ~np.isnan(vectors).any(1)
    rows = rows[has_vector]
    vectors = vectors[has_vector]
    rng = generator(random_state)
    by_chance = None
    if feature_column is not None:
        by_chance = partial(
            expected_by_chance, cells=hashes.cells(rows), feature_column=feature_column, Z=vectors, rng=rng
        )
    groups = near_copies(vectors, rng, far_below=compared.far_below, by_chance=by_chance, progress=progress)
    return [rows[group] for group in groups]


def _comparable(X: ModelRows, model: CentralityModel | None, skipped: SkippedImages, *, progress: bool) -> _Compared:
    """Return rows of any kind as they are compared."""
    if isinstance(X, str | bytes):
        raise InputTypeError(f"Several items were wanted, for example a list, got one {type(X).__name__}.")
    if skipped.corrupt not in CORRUPT:
        raise InputError(f"corrupt must be one of {', '.join(CORRUPT)}, got {skipped.corrupt!r}.")
    items = [] if is_frame(X) or isinstance(X, np.ndarray) or not isinstance(X, Sequence) else list(X)
    by_model = None if model is None else partial(likeness_by_model, model)
    if _are_images(items):
        images = by_model or partial(of_images, skipped=skipped, progress=progress)
        keys = []
        for number, item in enumerate(items):
            keys.append(f"{number} cannot be read")  # replaced below if it can; else it is a copy of no other image
            with skipped.caught(item, number):
                keys[number], _ = content_of(item)
        table = pa.table({"image": keys})
        return _Compared(table, lambda rows: (images([items[row] for row in rows]), None), skipped, images=items)
    if items and all(item is None or isinstance(item, str) for item in items):
        texts = by_model or of_texts
        table = pa.table({"text": pa.array(items, pa.string())})
        return _Compared(table, lambda rows: (texts([items[row] for row in rows]), None), skipped, FAR_BELOW_OF_TEXTS)
    table = as_arrow(X)
    # Each list or structure becomes a short text that equal ones have in common.
    cells = table
    for place, (name, column) in enumerate(zip(table.column_names, table.columns, strict=True)):
        if pa.types.is_nested(column.type) and not pa.types.is_dictionary(column.type):
            short = [
                None if cell is None else f"{len(cell)} values {hashlib.sha256(repr(cell).encode()).hexdigest()[:12]}"
                for cell in column.to_pylist()
            ]
            cells = cells.set_column(place, name, pa.array(short, pa.string()))
    if by_model is None:
        return _Compared(cells, lambda rows: vectors_of_table(table.take(rows)), skipped)
    rows_of = table.take if is_frame(X) else np.asarray(X).__getitem__  # a model fitted on arrays takes arrays
    return _Compared(cells, lambda rows: (by_model(rows_of(rows)), None), skipped)


def _are_images(items: Sequence[Any]) -> bool:
    """Say whether a list holds images: paths, pixels, bytes of files, PIL images.

    Texts are paths of images if most of them end like one, or if all else in the list are images. One photo.heic alone
    does not turn a list of words into one of images.
    """
    texts = [item for item in items if isinstance(item, str)]
    others = [item for item in items if item is not None and not isinstance(item, str)]
    if not others:
        return 2 * sum(text.lower().endswith(IMAGE_SUFFIXES) for text in texts) > len(texts)
    for item in others:
        is_pixels = isinstance(item, np.ndarray) and item.dtype == np.uint8 and item.ndim >= 2
        is_stored = isinstance(item, dict) and "bytes" in item  # as Hugging Face's data sets store images
        is_pil = hasattr(item, "convert")
        if not (is_pixels or is_stored or is_pil or isinstance(item, bytes | Path)):
            return False
    return True


def _group(kind: str, rows: NDArray[np.intp], compared: _Compared, columns: Sequence[int]) -> CopyGroup:
    """Return a group with the cells in these columns, where its rows differ, or with the names of its images."""
    if compared.images:
        names = []
        for row in rows:
            image = compared.images[row]
            path = image.get("path") if isinstance(image, dict) else image
            names.append(str(path) if isinstance(path, str | Path) else f"image {row}")
        return CopyGroup(kind, tuple(rows.tolist()), names=tuple(names))
    chosen = compared.table.take(rows)
    differs: dict[str, list[object]] = {}
    for j in columns:
        try:
            values = list(chosen.column(j).to_pylist())
        except (OverflowError, ValueError):  # Python has no dates beyond the year 9999
            values = [None if np.isnat(moment) else str(moment) for moment in chosen.column(j).to_numpy()]
        if any(value != values[0] for value in values):
            differs[chosen.column_names[j]] = values
    return CopyGroup(kind, tuple(rows.tolist()), differs)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _distinguish(values: Sequence[object]) -> list[str]:
    """Shorten values; where texts would look alike, quote them from shortly before the first letter that differs.

    >>> _distinguish(["oil", "oil ", "gas"])
    ["'oil'", "'oil '", "'gas'"]
    """
    short = [shortened(number(value)) for value in values]
    texts = [value for value in values if isinstance(value, str)]
    if len(set(short)) == len(set(map(str, values))):
        return short
    if not texts:
        return [shortened(str(value)) for value in values]  # with all digits
    shortest = min(map(len, texts))
    same = next((place for place in range(shortest) if len({text[place] for text in texts}) > 1), shortest)
    start = max(same - LETTERS // 2, 0)
    cut = "…" if start else ""
    return [
        cut + shortened(repr(value[start:])) if isinstance(value, str) else shortened(str(value)) for value in values
    ]
