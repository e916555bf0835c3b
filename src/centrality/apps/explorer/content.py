"""What the page shows of rows: columns, items, keys."""

import hashlib
import io
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.checks import InputError, InputTypeError, optional
from centrality._internal.text import shortened
from centrality.representations.block_columns import are_short, are_vectors
from centrality.representations.lists import as_lists
from centrality.tables.binary import IMAGE_SUFFIXES
from centrality.tables.columns import is_number

MOST_LEVELS = 200  # a column of text with more different values than this is text, not a category
LEVEL_COLOURS = 10  # so many the page has for levels; all others share one more
LONGEST_TEXT = 400  # characters of a text that the page gets to see
LOOKED_AT = 1000  # numbers of a column, to know soon that it has fractions
EXACT_IN_FLOAT32 = 2**24  # integers beyond it do not fit float32

Values: TypeAlias = NDArray[np.float32 | np.float64 | np.uint8]
ArrowArray: TypeAlias = pa.Array | pa.ChunkedArray


@dataclass(frozen=True)
class Column:
    """A column; its `kind` is number, date (milliseconds since 1970), category or text."""

    name: str
    kind: Literal["number", "date", "category", "text"]
    values: Values  # numbers and dates with NaN for gaps; codes into `levels`, 0 for gaps
    levels: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()


def columns_of(table: pa.Table, count: int) -> list[Column]:
    """Return the first `count` columns of the table as plain values."""
    return [column_of(name, table[name]) for name in table.column_names[:count]]


def column_of(name: str, values: ArrowArray) -> Column:
    """Return an Arrow array as a column of the most specific kind that fits."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    kind = values.type
    if pa.types.is_dictionary(kind):
        return column_of(name, values.dictionary_decode())
    if pa.types.is_temporal(kind) and not pa.types.is_time(kind) and not pa.types.is_duration(kind):
        moments = values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
        return Column(name, "date", _with_gaps(moments))
    if is_number(kind) and not pa.types.is_boolean(kind):
        plain = _with_gaps(values)
        # Short whole numbers and float32 data are exact as float32. Most columns have a fraction soon.
        is_exact = (
            pa.types.is_float32(kind)
            or pa.types.is_float16(kind)
            or all(
                (np.isnan(numbers) | ((np.abs(numbers) <= EXACT_IN_FLOAT32) & (numbers == np.floor(numbers)))).all()
                for numbers in (plain[:LOOKED_AT], plain)
            )
        )
        return Column(name, "number", plain.astype(np.float32) if is_exact else plain)
    if (words := in_words(values)) is not None:
        return _category_or_text(name, words)
    return _category_or_text(name, values)


def in_words(values: pa.Array) -> pa.Array | None:
    """Return what cells are that no reader wants to see written out; None if they are to be read.

    >>> in_words(pa.array([[0.5] * 384, None, [0.5] * 12])).to_pylist()
    ['vector of 384 numbers', None, 'vector of 12 numbers']
    """
    if are_bytes(values.type):
        return pc.if_else(values.is_valid(), "picture" if _may_be_picture(values) else "bytes", None)
    column = pa.chunked_array([values])
    if not are_vectors(column) or are_short(column):
        return None
    lengths = pc.list_value_length(as_lists(column)).cast(pa.string())
    return pc.binary_join_element_wise("vector of", lengths, "numbers", " ")


def are_bytes(kind: pa.DataType) -> bool:
    """Say whether cells are bytes, also such as Hugging Face's data sets hold pictures in."""
    names = {field.name for field in kind} if pa.types.is_struct(kind) else set()
    return (
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or ("bytes" in names and names <= {"bytes", "path"})
    )


def _may_be_picture(values: pa.Array) -> bool:
    """Say whether the first cell of bytes begins as files of pictures do."""
    first = next((cell for cell in values.to_pylist() if cell is not None), b"")
    content = (first["bytes"] or b"\xff\xd8") if isinstance(first, dict) else first
    return bool(content.startswith((b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF", b"BM", b"II*", b"MM\0*")))


def _with_gaps(values: pa.Array) -> NDArray[np.float64]:
    """Return the values as floats, NaN where one is missing."""
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


def _category_or_text(name: str, values: pa.Array) -> Column:
    """Return the values as a category if they have few distinct values, else as texts."""
    if not pa.types.is_string(values.type) and not pa.types.is_large_string(values.type):
        values = pa.array([None if v is None else str(v) for v in values.to_pylist()], pa.string())
    coded = pc.dictionary_encode(values)
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    levels = coded.dictionary.to_pylist()
    if len(levels) <= min(MOST_LEVELS, max(2, len(values) // 2)):
        order = np.array(sorted(range(len(levels)), key=levels.__getitem__), dtype=np.intp)
        if len(levels) > LEVEL_COLOURS:  # those that get a colour are the most frequent
            counts = np.bincount(coded.indices.drop_null().to_numpy(), minlength=len(levels))
            order = order[np.argsort(-counts[order], kind="stable")]
        new_codes = np.empty(len(levels) + 1, dtype=np.uint8)
        new_codes[0] = 0  # a gap
        new_codes[1 + order] = np.arange(1, len(levels) + 1)
        codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False) + 1
        return Column(name, "category", new_codes[codes], levels=tuple(on_one_line(levels[k]) for k in order))
    texts = tuple("" if text is None else on_one_line(text) for text in values.to_pylist())
    return Column(name, "text", np.empty(0), texts=texts)


def on_one_line(text: str) -> str:
    """Return the text on one line, cut where the page would not show more."""
    return shortened(" ".join(text.split()), LONGEST_TEXT)


def with_folders(table: pa.Table, column: str) -> pa.Table:
    """Add the folder that each file of this column lies in, if there are several: it is often a label."""
    folders = [Path(path).parent.name for path in table[column].to_pylist()]
    if "folder" in table.column_names or len(set(folders)) < 2:
        return table
    return table.append_column("folder", pa.array(folders, pa.string()))


def from_common_folder(table: pa.Table) -> pa.Table:
    """Write paths as seen from the folder that holds them all: a folder may be moved, or named from elsewhere."""
    for place, name in enumerate(table.column_names):
        texts = table[name].to_pylist()
        if all(isinstance(text, str) and _is_image(text) for text in texts):
            paths = [Path(text).resolve() for text in texts]
            above = os.path.commonpath(paths)
            short = [str(path.relative_to(above)) for path in paths]
            table = table.set_column(place, name, pa.array(short, pa.string()))
    return table


THUMBNAIL_SIDE = 96  # pixels, at most
FULL_SIDE = 2000  # pixels of a picture in full: more than a screen shows
CURVE_POINTS = 64
_File = TypeVar("_File", bytes, str)
ITEM_KINDS = "images (paths, PIL images or arrays), texts, series (one array a row), or a table"


@dataclass(frozen=True)
class Items:
    """What each row looks like; `kind` is picture, text, series, or "" where a row has only columns."""

    kind: str = ""
    texts: tuple[str, ...] = ()
    curves: NDArray[np.uint8] | None = None  # (n, CURVE_POINTS), each between its own smallest and largest value
    picture: Callable[[int], bytes] | None = None  # a PNG or JPEG file by row number
    full: Callable[[int], bytes] | None = None  # the same, as large as it is
    whole: Callable[[int], str] | None = None  # a text that was not cut
    column: str = "item"  # what the texts are called
    shape: tuple[int, int] | None = None  # height and width of grey pictures, or 1 and the length of series

    def take(self, rows: NDArray[np.intp]) -> "Items":
        """Return the items of these rows, in this order."""

        def of_these(of_all: Callable[[int], _File] | None) -> Callable[[int], _File] | None:
            return None if of_all is None else lambda i: of_all(int(rows[i]))

        return replace(
            self,
            texts=tuple(self.texts[i] for i in rows) if self.texts else (),
            curves=None if self.curves is None else self.curves[rows],
            picture=of_these(self.picture),
            full=of_these(self.full),
            whole=of_these(self.whole),
        )


def items_of(items: Collection[object], n: int) -> Items:
    """Return the pictures, texts or series of n rows."""
    if len(items) != n:
        raise InputError(f"items must hold one thing for each of the {n:,} rows, got {len(items):,}.")
    if isinstance(items, np.ndarray) and items.dtype != object:
        if items.ndim == 2:
            curves = np.stack([curve(row) for row in items.astype(float)])
            return Items("series", curves=curves, shape=(1, items.shape[1]))
        if items.ndim not in (3, 4):
            raise InputTypeError(f"items must be {ITEM_KINDS}; got an array of shape {items.shape}.")
        pictures = items
        low = float(np.nanmin(pictures))  # over all pictures, so that they can be compared
        high = float(np.nanmax(pictures))

        def picture(row: int, side: int = THUMBNAIL_SIDE) -> bytes:
            return thumbnail(_grey_levels(pictures[row], low, high), side)

        height, width, *channels = pictures.shape[1:]
        shape = (height, width) if channels in ([], [1]) else None
        return Items("picture", picture=picture, full=lambda row: picture(row, FULL_SIDE), shape=shape)
    things: list[Any] = items.to_pylist() if isinstance(items, pa.Array | pa.ChunkedArray) else list(items)
    first = next((thing for thing in things if thing is not None), None)
    if isinstance(first, str) and not _is_image(first):
        texts = tuple(on_one_line(str(thing)) for thing in things)
        return Items("text", texts=texts, whole=lambda row: str(things[row]))
    is_file = isinstance(first, str | Path | bytes) or hasattr(first, "thumbnail")
    if not is_file and isinstance(first, np.ndarray | Sequence) and np.ndim(first) == 1:
        return Items("series", curves=np.stack([curve(np.asarray(thing, dtype=float)) for thing in things]))
    if is_file or (isinstance(first, np.ndarray) and first.ndim in (2, 3)):
        return Items(
            "picture", picture=lambda row: thumbnail(things[row]), full=lambda row: thumbnail(things[row], FULL_SIDE)
        )
    raise InputTypeError(f"items must be {ITEM_KINDS}; got a list of {type(first).__name__}.")


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGE_SUFFIXES) and Path(name).is_file()


def thumbnail(item: object, side: int = THUMBNAIL_SIDE) -> bytes:
    """Return a picture of the item, no side longer than this, as the bytes of a file: PNG if it is tiny, else JPEG."""
    image = optional("PIL.Image", "explore")
    if isinstance(item, np.ndarray):
        opened = image.fromarray(_grey_levels(np.squeeze(item)))
    else:
        opened = (
            image.open(io.BytesIO(item) if isinstance(item, bytes) else item) if not hasattr(item, "save") else item
        )
    opened = opened.convert("L" if opened.mode in ("1", "L", "I;16") else "RGB")
    opened.thumbnail((side, side))
    file = io.BytesIO()
    if opened.width * opened.height <= 32 * 32:
        opened.save(file, "PNG", optimize=True)
    else:
        opened.save(file, "JPEG", quality=80)
    return file.getvalue()


def _grey_levels(values: NDArray[Any], low: float | None = None, high: float | None = None) -> NDArray[np.uint8]:
    """Return bytes as they are; rescale other numbers so that their lowest is 0 and their highest 255."""
    if values.dtype == np.uint8:
        return values
    low = float(np.nanmin(values)) if low is None else low
    high = float(np.nanmax(values)) if high is None else high
    return np.asarray(np.nan_to_num((values - low) * (255 / (high - low or 1.0))).round(), dtype=np.uint8)


def curve(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return a series as CURVE_POINTS heights from 0 to 255; gaps are interpolated."""
    finite = np.isfinite(values)
    if not finite.any():
        return np.full(CURVE_POINTS, 128, dtype=np.uint8)
    at = np.linspace(0, len(values) - 1, CURVE_POINTS)
    heights = np.interp(at, np.flatnonzero(finite), values[finite])
    low = heights.min()
    high = heights.max()
    scaled = (heights - low) * (255 / (high - low)) if high > low else np.full(CURVE_POINTS, 128.0)
    return np.asarray(scaled.round(), dtype=np.uint8)


LETTERS = b"abcdefghijklmnopqrstuvwxyz234567"
BETWEEN = "\x1f"  # stands between two cells
GAP = "\x00"  # stands for a cell without a value


def row_keys(table: pa.Table, column: str | None = None) -> tuple[str, ...]:
    """Return a key for each row: its cell in a column that tells all rows apart, else a fingerprint of all its cells.

    Rows whose cells are all equal are told apart by their order: the second one's key ends in "-2".

    >>> import pyarrow as pa
    >>> row_keys(pa.table({"id": [7, 9], "size": [1.5, 2.5]}), "id")
    ('7', '9')
    """
    if column is None:  # the cells of each row as one text; the order of the columns does not matter

        def texts(name: str) -> pa.ChunkedArray:
            cells = table[name]
            if pa.types.is_timestamp(cells.type):  # so that texts do not depend on the unit of the file format
                cells = cells.cast(pa.timestamp("us", cells.type.tz), safe=False)
            return cell_texts(cells)

        with ThreadPoolExecutor(os.cpu_count()) as threads:  # Arrow lets others compute meanwhile
            columns = list(threads.map(texts, sorted(table.column_names)))
        between = pa.scalar(BETWEEN, pa.large_string())
        joined = pc.binary_join_element_wise(*[*columns, between], null_handling="replace", null_replacement=GAP)
        return fingerprints(joined.cast(pa.large_binary()).to_pylist())
    cells = cell_texts(tables.select(table, [column])[column]).to_pylist()
    first: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if not cell:
            raise InputError(f"A key needs a value in each row, but {column!r} has none in row {row:,}. {_INSTEAD}")
        if (before := first.setdefault(cell, row)) != row:
            raise InputError(
                f"A key is another in each row, but {column!r} has {cell!r} in rows {before:,} and {row:,}. {_INSTEAD}"
            )
    return tuple(cells)


_INSTEAD = "Name another column, or none: rows are then known by all their cells."


class LazyKeys(Sequence[str]):
    """Keys that are computed when the first of them is asked for: those of a million rows take seconds."""

    def __init__(self, count: int, compute: Callable[[], tuple[str, ...]]) -> None:
        self._count = count
        self._compute = compute
        self._keys: tuple[str, ...] | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, row: Any) -> Any:
        with self._lock:
            if self._keys is None:
                self._keys = self._compute()
        return self._keys[row]


def fingerprints(rows: Iterable[bytes]) -> tuple[str, ...]:
    """Return a text of twelve letters and digits for each row's bytes; repeats get a number at the end."""
    digests = b"".join([hashlib.blake2b(row, digest_size=10).digest() for row in rows])
    first_eight = np.frombuffer(digests, dtype=np.uint8).reshape(-1, 10)[:, :8].tobytes()
    # The first sixty bits as twelve letters and digits, as `base64.b32encode` writes them.
    bits = np.frombuffer(first_eight, dtype=">u8").astype(np.uint64)
    places = np.arange(59, 0, -5, dtype=np.uint64)
    letters = np.frombuffer(LETTERS, dtype=np.uint8)[((bits[:, None] >> places) & np.uint64(31)).astype(np.intp)]
    keys: list[str] = letters.view("S12")[:, 0].astype(str).tolist()
    if len(set(keys)) == len(keys):
        return tuple(keys)
    repeats: Counter[str] = Counter()
    for k, text in enumerate(keys):
        repeats[text] += 1
        keys[k] = text if repeats[text] == 1 else f"{text}-{repeats[text]}"
    return tuple(keys)


def cell_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells as texts; missing ones stay missing."""
    if pa.types.is_dictionary(column.type):
        return cell_texts(column.cast(column.type.value_type))
    try:
        return column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, records, bytes that are no text
        return pa.chunked_array(
            [[None if cell is None else str(cell) for cell in column.to_pylist()]], pa.large_string()
        )
