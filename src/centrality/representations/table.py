"""Turn the columns of a table into numbers."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from centrality._internal.checks import warn_caller, whole_number
from centrality._internal.input import unchanged_on_failure
from centrality._internal.model_file import Arrays
from centrality.representations.base import ItemsLike, Representation, State, as_arrow
from centrality.representations.block_columns import (
    BLOCKS,
    PICTURE_NAME,
    BlockEncoder,
    LongTexts,
    Pictures,
    VectorBlock,
    are_long_texts,
    are_short,
    are_vectors,
    may_be_pictures,
)
from centrality.representations.blocks import (
    USUAL,
    WEIGHT,
    BlockCells,
    MixedRows,
    blame,
    in_words,
    part_of,
    severity_of,
)
from centrality.representations.columns import (
    Categories,
    Cells,
    ColumnEncoder,
    LeftOut,
    Numbers,
    Words,
    scale_together,
)
from centrality.representations.dates import WITHOUT_MARKS, Dates, are_days, learn_format
from centrality.representations.identifiers import FEW_ROWS, NEARLY_ALL, identifiers, too_long_to_measure
from centrality.representations.images import GRADIENTS, Images
from centrality.representations.lists import Vectors
from centrality.representations.spellings import about_spellings
from centrality.tables.columns import (
    MORE_GAPS,
    MOST,
    NEW_GAP,
    READ_SO,
    CellIssues,
    TableError,
    checked_share,
    first_few,
    is_list,
    is_number,
    is_text,
    require,
)
from centrality.tables.written_numbers import ENOUGH, NumberFormat, learn_writing, ordered_levels, usual_decimal_mark

if TYPE_CHECKING:
    import torch

MOST_GAPS = 0.5  # a share of gaps above this is said, if it is more than that of fitting
TIMES_MORE = 3.0  # by this factor
LATEST_YEAR = 2261  # a column whose mean is later was stored in a wrong unit
MOST_SPELLINGS = 20_000  # different texts that are compared


IDENTIFIER = "all different, and like an identifier: leave it out if it is one"
LOST = "if it is no identifier, what it says is lost"
MARKED_DIGITS = r"^[^\p{L}]*[0-9][^\p{L}]*[^\p{L}0-9][^\p{L}]*$"  # digits and marks, no letter: 73:20, 5'11", 12 ± 3
LIKE_NUMBERS = (
    "nearly all cells are digits and marks, yet read as text: if they are amounts, write them as plain numbers"
)
ENCODERS: dict[str, Any] = {kind.kind: kind for kind in (LeftOut, Numbers, Categories, Dates, Words, Vectors)}


class Table(Representation):
    """Turns a table of mixed columns into vectors in which every column weighs alike.

    Numbers, also as people write them ($1,234.50, 12.5%, 12 kg, n/a), and booleans are scaled by median and spread;
    dates become calendar features; text of few different values is a category, text of many becomes components
    of its character n-grams, and how rare these are; lists of equally many numbers are vectors. Missing values are kept
    as information: marked beside the others, a category of their own among categories. No row is dropped. `describe`
    says how each column was read, `doubts` where that may not be what was meant.

    A cell that cannot be read (no date in a column of dates) or is like none in fitting (a gap where there was none, an
    unseen category, a row with more gaps than any had) lies far off, so that it counts against its row, and a
    `DataNote` says how many there are. A column with too many of them is an error.

    Parameters
    ----------
    cardinality : text with more different values than this is no category.
    unreadable : the share of the rows in which a column may fail so; beyond it, `transform` raises. 1 never does.
    blocks : read pictures, long texts and lists of eight numbers or more as blocks that weigh as one thing each, and
        compare them with the rest of their row. Without, texts are words, and lists are numbers.
    images : what encodes pictures, as for `Images`.
    folder : where the paths of pictures begin, if not where the program runs.
    cache : a folder that keeps vectors of pictures, as for `Images`.
    vectors : a column of lists of numbers, such as embeddings, that is the representation: every number counts, and no
        other column is learned from but those that a model takes as context (`given`). None reads all columns.

    Attributes
    ----------
    columns_ : the columns it reads, by name; others are ignored, in whatever order they come.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from centrality.representations import Table
    >>> rows = pa.table({"smokes": ["no", "yes", "no", None], "rent": ["€ 1.217,00", "€ 980,50", "-", "€ 765,00"]})
    >>> table = Table().fit(rows)
    >>> table.describe()["smokes"]
    'category, 3 levels, missing being one of them'
    >>> print(table.describe()["rent"].partition(", scaled")[0])
    number written as € 1.234,50
    """

    _context: tuple[str, ...] = ()  # columns that a model takes as context

    kind = "table"
    spellings = ("table",)

    def __init__(
        self,
        *,
        cardinality: int = 40,
        unreadable: float = MOST,
        blocks: bool = True,
        images: "str | torch.nn.Module" = GRADIENTS,
        folder: str | None = None,
        cache: str | None = None,
        vectors: str | None = None,
    ) -> None:
        self.cardinality = cardinality
        self.unreadable = unreadable
        self.blocks = blocks
        self.images = images
        self.folder = folder
        self.cache = cache
        self.vectors = vectors

    def read_context(self, names: Sequence[str]) -> None:
        self._context = tuple(names)

    def fit(self, X: ItemsLike, y: object = None) -> Self:
        """Decide what each column is, and learn its scale or its categories."""
        table = as_arrow(X)
        with unchanged_on_failure(self):
            whole_number("cardinality", self.cardinality)
            checked_share(self.unreadable)
            if table.num_rows == 0:
                raise TableError("Rows were wanted, the table has none.")
            self._doubts: dict[str, str] = {}
            texts = [column.cast(pa.string()) for column in table.itercolumns() if is_text(column.type)]
            mark = usual_decimal_mark(texts)
            if self.vectors is not None:
                require(table.column_names, [self.vectors, *self._context])
            self._encoders = {name: self._choose_encoder(name, table[name], mark) for name in table.column_names}
            self._leave_out_identifiers(table)
            # All numbers of vectors or texts count where there is no other column that they could drown.
            if self.vectors is None and len(self._columns_read()) == 1:
                [name] = self._columns_read()
                if isinstance(self._encoders[name], VectorBlock) and is_list(table[name].type):
                    self._encoders[name] = Vectors.fit(name, table[name])
                elif isinstance(self._encoders[name], LongTexts):
                    self._encoders[name] = Words.fit(name, table[name].cast(pa.string()))
            scale_together([encoder for encoder in self._encoders.values() if isinstance(encoder, Numbers)])
            self.columns_ = self._columns_read()
            self.n_features_in_ = table.num_columns
            # The largest number of gaps in a row; blocks have none, and take long to encode.
            blocks = {name for name, encoder in self._encoders.items() if isinstance(encoder, BlockEncoder)}
            encoded = {name: self._encode(name, table[name]) for name in self.columns_ if name not in blocks}
            self._most_gaps = int(self._gaps(encoded).max(initial=0)) if encoded else 0
            self._mixed = MixedRows.of(self._encoded_as_new(table)) if blocks else None
            if not self.get_feature_names_out().size:
                columns = "; ".join(f"{name!r} is {how}" for name, how in list(self.describe().items())[:5])
                raise TableError(f"Nothing in this table varies: {columns}. Give columns that do.")
        return self

    def transform(self, X: ItemsLike) -> NDArray[np.float32]:  # (n, q)
        """Return the rows as numbers; those of each column have a variance of about one in total."""
        vectors, unreadable = self.examined(X)
        unreadable.require_few(checked_share(self.unreadable))
        unreadable.warn()
        return vectors

    def examined(self, X: ItemsLike) -> tuple[NDArray[np.float32], CellIssues]:
        check_is_fitted(self)
        table = as_arrow(X)
        if table.num_rows == 0:
            raise TableError("At least one row was wanted, got 0 rows.")
        require(table.column_names, self.columns_ or [])
        encoded = self._encoded(table)
        pairs = [] if self._mixed is None else [self._mixed.numbers(encoded)]
        vectors, counts = self._joined(encoded, self._most_gaps, pairs)
        for name, cells in encoded.items():
            share = float(cells.gaps.mean())
            share_of_fitting = self._encoders[name].gap_share()
            if 0 < share_of_fitting < share / TIMES_MORE and share > MOST_GAPS and len(cells.gaps) >= FEW_ROWS:
                counts[name] = counts.get(name, {}) | {MORE_GAPS: int(cells.gaps.sum())}
        for name, constant in self._watched().items():
            if name in table.schema.names:
                changes = {fault: int(where.sum()) for fault, where in constant.changes(table[name]).items()}
                counts |= {name: changes} if any(changes.values()) else {}
        return vectors, CellIssues(table.num_rows, counts)

    def watched(self) -> list[str]:
        return list(self._watched())

    def _watched(self) -> dict[str, LeftOut]:
        """Return what is known of the columns that were constant or empty in fitting."""
        check_is_fitted(self)
        left_out = {name: encoder for name, encoder in self._encoders.items() if isinstance(encoder, LeftOut)}
        return {name: encoder for name, encoder in left_out.items() if encoder.is_watched()}

    def transform_as_new(self, X: ItemsLike) -> NDArray[np.float32]:
        encoded = self._encoded_as_new(as_arrow(X))
        pairs = [] if self._mixed is None else [self._mixed.numbers(encoded, as_new=True)]
        for cells in encoded.values():
            if cells.gaps.sum() == 1:  # without its row, the column had none
                cells.faults[NEW_GAP] = cells.faults.get(NEW_GAP, False) | cells.gaps
        most_of_others = np.sort(self._gaps(encoded))[-2:][0]
        return self._joined(encoded, int(most_of_others), pairs)[0]

    def _encoded_as_new(self, table: pa.Table) -> dict[str, Cells]:
        """Return the cells of fitting, each as if it had not been among the others."""
        return {name: self._encoders[name].encode_as_new(name, table[name]) for name in self._columns_read()}

    def severities(self, X: ItemsLike) -> dict[str, NDArray[np.float64]]:
        """Say of each block, and of each two that say something of each other, one in how many rows is as odd.

        A block is a picture, a long text or a vector; all other columns together are one. NaN where a block is missing.
        Without blocks, the result is empty.
        """
        check_is_fitted(self)
        require(as_arrow(X).column_names, self.columns_ or [])
        return {} if self._mixed is None else self.by_part(X)[0]

    def by_part(self, X: ItemsLike) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        """Return the `severities` of rows and, by column, where they lie, like ones near each other: by one reading.

        A column has as many numbers as its encoding, of a variance of about one in total; a block its main components.
        """
        check_is_fitted(self)
        table = as_arrow(X)
        require(table.column_names, self.columns_ or [])
        encoded = self._encoded(table)
        self._joined(encoded, self._most_gaps, [])  # puts cells that cannot be read far off
        by_block = {} if self._mixed is None else self._mixed.by_block(encoded)
        places = {}
        for name, cells in encoded.items():
            encoder = self._encoders[name]
            if isinstance(encoder, BlockEncoder) and isinstance(cells, BlockCells):
                places[name] = encoder.place(cells.components)
            else:
                places[name] = cells.block
        return {name: severity_of(off) for name, off in by_block.items()}, places

    def block_kinds(self) -> dict[str, str]:
        """Return the columns that are read as blocks, each with its kind: pictures, long texts or vector block."""
        check_is_fitted(self)
        encoders = self._encoders.items()
        return {name: encoder.kind for name, encoder in encoders if isinstance(encoder, BlockEncoder)}

    def pictures(self, X: ItemsLike) -> dict[str, list[object]]:
        """Return by column what can be opened as a picture, a path or bytes, for each row; None where there is none."""
        check_is_fitted(self)
        table = as_arrow(X)
        by_column = {}
        for name, encoder in self._encoders.items():
            if isinstance(encoder, Pictures):
                encoder.use(self._images(), self.folder)
                by_column[name] = encoder.items(table[name])
        return by_column

    def block_names(self) -> list[str]:
        return [name for name, encoder in self._encoders.items() if isinstance(encoder, BlockEncoder | Vectors)]

    def pairs(self) -> list[tuple[str, str]]:
        return [] if self._mixed is None else list(self._mixed.pairs)

    def blocks_to_blame(self, vectors: NDArray[np.floating]) -> dict[str, NDArray[np.object_]]:
        pairs = self.pairs()
        deviations = np.asarray(vectors, dtype=np.float64) / WEIGHT + USUAL  # of the numbers of blocks and pairs
        first = dict(zip(self.columns_ or [], np.cumsum([0, *self._widths()]).tolist(), strict=False))
        of_blocks = {name: deviations[:, first[name]] for pair in pairs for name in pair if name in first}
        return blame(of_blocks, {pair: deviations[:, k - len(pairs)] for k, pair in enumerate(pairs)})

    def places(self, X: ItemsLike, block: str | None = None) -> NDArray[np.float64]:
        check_is_fitted(self)
        blocks = list(self.block_kinds())
        if block is not None and block not in blocks:
            choices = first_few(blocks) if blocks else "none: no column holds pictures, long texts or vectors"
            raise TableError(
                f"block must be a column of pictures, long texts or vectors, got {block!r}. There are {choices}."
            )
        places = self.by_part(X)[1]
        return np.concatenate(list(places.values()), axis=1) if block is None else places[block]

    def places_around(
        self, query: object, among: ItemsLike, block: str | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        check_is_fitted(self)
        is_phrase = isinstance(query, str) and re.search(PICTURE_NAME, query) is None
        kind, parts = (
            (LongTexts, "long texts to look for a phrase") if is_phrase else (Pictures, "pictures to look for one")
        )
        columns = {name: encoder for name, encoder in self._encoders.items() if isinstance(encoder, kind)}
        if not columns:
            raise TableError(f"A column of {parts} was wanted, but this model reads none.")
        block = next(iter(columns)) if block is None and len(columns) == 1 else block
        if block is None or block not in columns:
            names = first_few(list(columns))
            raise TableError(f"block must be a column of {parts}, got {block!r}. There are {names}.")
        encoder = columns[block]
        if isinstance(encoder, Pictures):
            encoder.use(self._images(), self.folder)
        return encoder.place_of(block, query), self.places(among, block)

    def _joined(
        self, encoded: dict[str, Cells], most_gaps: int, pairs: list[NDArray[np.float64]]
    ) -> tuple[NDArray[np.float32], dict[str, dict[str, int]]]:
        """Return the columns' numbers side by side, faulty cells far off; and how many cells have which fault."""
        too_many = self._gaps(encoded) > most_gaps
        counts: dict[str, dict[str, int]] = {}
        for name, cells in encoded.items():
            faults = cells.faults | {NEW_GAP: cells.faults.get(NEW_GAP, False) | (cells.gaps & too_many)}
            far_off = [where for fault, where in faults.items() if fault not in READ_SO]
            cells.block[np.logical_or.reduce(far_off)] = self._encoders[name].outlying_code()
            if faulty := {fault: int(where.sum()) for fault, where in faults.items() if where.any()}:
                counts[name] = faulty
        blocks = [cells.block for cells in encoded.values()]
        return np.concatenate([*blocks, *pairs], axis=1).astype(np.float32), counts

    def _encoded(self, table: pa.Table) -> dict[str, Cells]:
        """Return the cells of the columns that are read, by the columns' names."""
        return {name: self._encode(name, table[name]) for name in self._columns_read()}

    def _encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        encoder = self._encoders[name]
        if isinstance(encoder, Pictures):
            encoder.use(self._images(), self.folder)
        try:
            return encoder.encode(name, values)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableError(
                f"Column {name!r} ({encoder.describe()}) cannot be read from {values.type}: {error}"
            ) from None

    @staticmethod
    def _gaps(encoded: dict[str, Cells]) -> NDArray[np.int64]:  # (n,)
        """Count the columns in which each row has no value."""
        return np.asarray(np.sum([cells.gaps for cells in encoded.values()], axis=0, dtype=np.int64))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        check_is_fitted(self)
        names = [part for name, encoder in self._encoders.items() for part in encoder.names(name)]
        return np.array(names + self._pair_names(), dtype=object)

    def _pair_names(self) -> list[str]:
        return [] if self._mixed is None else self._mixed.names()

    def origins(self) -> tuple[list[str], NDArray[np.intp]]:
        widths = self._widths() + [1] * len(self._pair_names())
        return list(self.columns_ or []) + self._pair_names(), np.repeat(np.arange(len(widths)), widths)

    def measurements(self) -> NDArray[np.bool_]:
        first = np.cumsum([0, *self._widths()[:-1]])
        measured = np.zeros(sum(self._widths()) + len(self._pair_names()), dtype=bool)
        measured[first] = [isinstance(self._encoders[name], Numbers) for name in self.columns_ or []]
        return measured

    def values(self, X: ItemsLike) -> list[list[object]]:
        table = as_arrow(X)
        values: list[list[object]] = [self._encoders[name].to_show(table[name]) for name in self.columns_ or []]
        if self._pair_names():
            severities = self.severities(table)
            values += [list(map(in_words, severities[name])) for name in self._pair_names()]
        return values

    def typical(self, z: NDArray[np.floating]) -> list[object]:
        blocks = np.split(z[: sum(self._widths())], np.cumsum(self._widths())[:-1])
        of_columns = zip(self.columns_ or [], blocks, strict=True)
        return [self._encoders[name].typical(block) for name, block in of_columns] + [None] * len(self._pair_names())

    def rarities(self) -> dict[str, int]:
        ends = np.cumsum(self._widths()).tolist()
        texts = {name: self._encoders[name] for name in self.columns_ or []}
        return {
            name: end - 1
            for (name, encoder), end in zip(texts.items(), ends, strict=True)
            if isinstance(encoder, LongTexts) or (isinstance(encoder, Words) and encoder.deviation)
        }

    def _widths(self) -> list[int]:
        """Return how many numbers encode each column."""
        return [len(self._encoders[name].names(name)) for name in self.columns_ or []]

    def describe(self) -> dict[str, str]:
        check_is_fitted(self)
        return {name: encoder.describe() for name, encoder in self._encoders.items()}

    def constants(self) -> dict[str, str]:
        return {name: encoder.why.removeprefix("every value is ") for name, encoder in self._watched().items()}

    def changed_constants(self, X: ItemsLike) -> dict[str, NDArray[np.bool_]]:
        table = as_arrow(X)
        return {
            name: np.logical_or.reduce(list(column.changes(table[name]).values()))
            for name, column in self._watched().items()
            if name in table.schema.names
        }

    def doubts(self) -> dict[str, str]:
        check_is_fitted(self)
        return dict(self._doubts)

    def types(self) -> dict[str, pa.DataType]:
        names = {*self._columns_read(), *self.watched()}
        return {name: encoder.type() for name, encoder in self._encoders.items() if name in names}

    def state(self) -> tuple[State, Arrays]:
        check_is_fitted(self)
        arrays: Arrays = {}
        columns: State = {}
        for number, (name, encoder) in enumerate(self._encoders.items()):
            columns[name], learned = _to_state(encoder)
            arrays |= {f"{number}.{key}": array for key, array in learned.items()}
        plain: State = {"columns": columns}
        if self._mixed is not None:
            plain["mixed"], learned = self._mixed.state()
            arrays |= {f"mixed.{key}": array for key, array in learned.items()}
        return plain | {"most_gaps": self._most_gaps, "doubts": self._doubts}, arrays

    def restore(self, state: State, arrays: Arrays) -> Self:
        self._encoders = {}
        for number, (name, plain) in enumerate(state["columns"].items()):
            encoder = _from_state(plain, part_of(arrays, f"{number}."))
            if isinstance(encoder, Pictures):
                encoder.use(self._images(), self.folder)
            self._encoders[name] = encoder
        self.columns_ = self._columns_read()
        self.n_features_in_ = len(self._encoders)
        self._most_gaps = int(state["most_gaps"])
        self._doubts = dict(state["doubts"])
        self._mixed = MixedRows.restored(state["mixed"], part_of(arrays, "mixed.")) if "mixed" in state else None
        return self

    def _columns_read(self) -> list[str]:
        """Return the names of the columns that are not left out."""
        return [name for name, encoder in self._encoders.items() if encoder.kind != "left out"]

    def _leave_out_identifiers(self, table: pa.Table) -> None:
        """Leave out whole numbers that surely name the rows, if anything else is left; doubt those that may."""
        of_numbers = {name: encoder for name, encoder in self._encoders.items() if isinstance(encoder, Numbers)}

        def numbers_of(name: str, step: int) -> NDArray[np.float64]:
            values = table[name] if step == 1 else table[name].take(pa.array(np.arange(0, table.num_rows, step)))
            return of_numbers[name].numbers(name, values)

        suspects = identifiers(list(of_numbers), table.num_rows, numbers_of)
        sure = [name for name, is_one in suspects.items() if is_one and of_numbers[name].is_whole(table[name].type)]
        others = [name for name in self._columns_read() if name not in sure]
        for name in suspects:
            if name in sure and others:
                self._encoders[name] = LeftOut("it looks like an identifier: whole numbers, which hardly come again")
                self._doubts.setdefault(name, LOST)
            else:
                self._doubts.setdefault(name, IDENTIFIER)

    def _choose_encoder(self, name: str, values: pa.ChunkedArray, decimal_mark: str) -> ColumnEncoder:
        """Return a fitted encoder for what the column holds; `decimal_mark` is that of the other columns' numbers."""
        if name == self.vectors:
            encoder = Vectors.fit(name, values) if are_vectors(values) else LeftOut(f"it holds {values.type}")
            if isinstance(encoder, LeftOut):
                wanted = f"vectors: lists of numbers, such as embeddings, were wanted in column {name!r}"
                raise TableError(f"{wanted}, but {encoder.why}. Name another column.")
            return encoder
        if self.vectors is not None and name not in self._context:
            return LeftOut(f"it comes along with the vectors of {self.vectors!r}")
        if self.blocks and are_vectors(values) and not are_short(values):
            return VectorBlock.fit(name, values)
        if self.blocks and may_be_pictures(values):
            pictures = Pictures.fit(name, values, self._images(), self.folder)
            if not (is_text(values.type) and isinstance(pictures, LeftOut) and pictures.value is None):
                return pictures
            self._doubts[name] = pictures.why  # then they are names
        kind = values.type
        chosen_as_category = pa.types.is_dictionary(kind)
        if chosen_as_category:
            kind = kind.value_type
            values = values.cast(kind)
            if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
                return self._choose_code(name, values.cast(pa.string()))
        if pa.types.is_null(kind):
            return LeftOut.empty()
        if pa.types.is_integer(kind) and are_days(values):
            return Dates.fit(name, values, WITHOUT_MARKS)
        if pa.types.is_integer(kind) and too_long_to_measure(values):  # as text: every digit counts
            return self._choose_code(name, values.cast(pa.string()))
        if is_number(kind) or pa.types.is_decimal(kind) or pa.types.is_time(kind):
            return Numbers.fit(name, values)
        if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
            dates = Dates.fit(name, values, None)
            if isinstance(dates, Dates) and dates.means[0] > LATEST_YEAR:
                year = f"its dates are about the year {dates.means[0]:.0f}"
                self._doubts[name] = f"{year}: were milliseconds stored as seconds?"
            return dates
        if is_text(kind):
            texts = values.cast(pa.string())
            few = pc.count_distinct(texts).as_py() <= self.cardinality
            if chosen_as_category and few:
                return Categories.fit(name, texts)
            return self._choose_for(name, texts, decimal_mark)
        if is_list(kind) and is_number(kind.value_type):
            return Vectors.fit(name, values)
        wanted = "numbers, dates, categories, text or lists of numbers were wanted"
        raise TableError(f"Column {name!r} holds {kind}: {wanted}. Leave it out.")

    def _images(self) -> Images:
        """Return what encodes pictures, by the settings of this machine."""
        return Images(self.images, cache=self.cache)

    def _choose_for(self, name: str, texts: pa.ChunkedArray, decimal_mark: str) -> ColumnEncoder:
        """Return a fitted encoder for a column of text: of dates, of numbers, of categories or of words."""
        different = pc.count_distinct(texts).as_py()  # without the missing ones
        format, doubt = learn_format(texts)
        if format is not None:
            if doubt:
                self._doubts[name] = doubt
                warn_caller(f"Column {name!r}: {doubt}. Write dates as 2024-01-31 to be sure.")
            return Dates.fit(name, texts, format)
        writing, doubt = learn_writing(texts, decimal_mark)
        if different <= self.cardinality and (order := ordered_levels(texts)):
            if writing is not None and different > 1:
                self._doubts[name] = (
                    f"{' and '.join(map(repr, order[:2]))} are read as categories of an order, not as numbers"
                )
            return Categories.fit(name, texts, order)
        if doubt:
            self._doubts[name] = doubt
        if writing is not None and different > 1:
            if doubt:
                warn_caller(f"Column {name!r}: {doubt}.")
            return Numbers.fit(name, texts, writing)
        like_numbers = pc.mean(pc.match_substring_regex(texts, MARKED_DIGITS)).as_py() or 0
        if different > self.cardinality and like_numbers >= ENOUGH:
            self._doubts.setdefault(name, LIKE_NUMBERS)
        return self._choose_code(name, texts)

    def _choose_code(self, name: str, texts: pa.ChunkedArray) -> ColumnEncoder:
        """Return a fitted encoder for codes or words: categories if they are few, nothing if they name the rows."""
        different = pc.count_distinct(texts).as_py()
        if different <= MOST_SPELLINGS and (doubt := about_spellings(texts)):
            self._doubts.setdefault(name, doubt)
        if different <= self.cardinality:
            return Categories.fit(name, texts)
        one_word = not pc.any(pc.match_substring(texts, " ")).as_py()
        if one_word and len(texts) >= FEW_ROWS and different >= NEARLY_ALL * len(texts):
            self._doubts.setdefault(name, LOST)
            rows = "every row" if different == len(texts) else "nearly every row"
            return LeftOut(f"it looks like an identifier: one word, different in {rows}")
        if self.blocks and are_long_texts(texts) and (long_texts := LongTexts.fit(name, texts)) is not None:
            return long_texts
        return Words.fit(name, texts)


def _to_state(encoder: ColumnEncoder) -> tuple[State, Arrays]:
    """Return an encoder as JSON values and arrays."""
    if isinstance(encoder, BlockEncoder):
        return encoder.state()
    values = {name: value for name, value in vars(encoder).items() if not name.startswith("_")}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in values.items() if name not in arrays}
    if plain.get("writing") is not None:
        plain["writing"] = asdict(plain["writing"])
    return {"kind": encoder.kind, **plain}, arrays


def _from_state(state: State, arrays: Arrays) -> ColumnEncoder:
    """Return the encoder with this state: the inverse of `_to_state`."""
    if state["kind"] in BLOCKS:
        return BLOCKS[state["kind"]].restored(state, arrays)
    values: State = {name: value for name, value in state.items() if name != "kind"} | arrays
    if values.get("writing") is not None:
        values["writing"] = NumberFormat(**values["writing"])
    encoder: ColumnEncoder = ENCODERS[state["kind"]](**values)
    return encoder
