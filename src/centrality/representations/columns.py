"""Encode columns of a table: numbers, categories, words.

An encoder gives its column a block of numbers that is centred on the training rows and has a total variance of about
one, so that every column weighs alike, however many numbers encode it; the rarity of a text has one more. What an
encoder learned is a few JSON values and arrays: encoding a saved model's rows runs the same code on them.

A cell that cannot be read, or holds what never occurred in fitting, must not look typical: an encoder says which cells
are so, and puts them `FAR` deviations off.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._internal.arrays import without_rounding
from centrality._internal.checks import warn_caller
from centrality._internal.text import number
from centrality.analysis.report import about_wild_cells, wild_cells
from centrality.network.scaling import Scaling
from centrality.tables.columns import (
    BEYOND_ALL,
    CHANGED,
    FILLED,
    NEW_GAP,
    NEW_VALUE,
    NO_NUMBER,
    NO_UNIT,
    TWO_NUMBERS,
    TableError,
    is_text,
)
from centrality.tables.written_numbers import NumberFormat

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer


JUMP = 20.0  # times the median of fitting: a column of numbers so much larger or smaller may be of another unit
ENOUGH_TO_TELL = 20  # rows of which nearly all lie beyond those of fitting
NEARLY_ALL = 0.9  # of the rows: a placeholder or a late entry among the rows of a new month hides nothing
FAR = 6.0  # deviations from the mean at which a cell unlike any in fitting is put

Block = NDArray[np.float64]  # (n, numbers that stand for the column)
Mask = NDArray[np.bool_]  # (n,)


@dataclass
class Cells:
    """A column's cells as numbers, where values are missing, and which cells have which fault."""

    block: Block
    gaps: Mask
    faults: dict[str, Mask]


class ColumnEncoder:
    """Encodes the cells of one column; a subclass is a dataclass of what it learned in fitting."""

    kind: str  # the name of this kind of column in a model file

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        """Return the values encoded as numbers, and which cells are faulty; `name` is used in messages."""
        raise NotImplementedError

    def encode_as_new(self, name: str, values: pa.ChunkedArray) -> Cells:
        """Encode the values of fitting, each as if it had not been among them: by what the others say alone."""
        return self.encode(name, values)

    def outlying_code(self) -> NDArray[np.float64]:
        """Return the numbers that encode a value unlike any in fitting."""
        raise NotImplementedError

    def names(self, name: str) -> list[str]:
        """Return names for the numbers that encode the column of this name."""
        raise NotImplementedError

    def describe(self) -> str:
        """Describe in words how the column is encoded."""
        raise NotImplementedError

    def typical(self, z: NDArray[np.floating]) -> object:
        """Return the value that these numbers encode; None where it cannot be decoded."""
        return None

    def to_show(self, values: pa.ChunkedArray) -> list[object]:
        """Return the values as people see them."""
        return list(values.to_pylist())

    def gap_share(self) -> float:
        """Return the share of the rows of fitting that had no value."""
        return float(getattr(self, "missing", 0.0))

    def type(self) -> pa.DataType:
        """Return the type in which a text file is to be parsed, so that `encode` reads it as in fitting."""
        return pa.string()


@dataclass
class LeftOut(ColumnEncoder):
    """Leaves out a column that carries no information."""

    why: str
    value: str | None = None  # the one that all rows of fitting had
    is_empty: bool = False  # no row of fitting had any
    kind = "left out"

    @classmethod
    def constant(cls, value: float | str) -> "LeftOut":
        """Leave out a column of one value, which is kept to tell when it changes."""
        return cls(f"every value is {value!r}" if isinstance(value, str) else f"every value is {value:g}", str(value))

    @classmethod
    def empty(cls) -> "LeftOut":
        """Leave out a column without a value."""
        return cls("every value is missing", is_empty=True)

    def is_watched(self) -> bool:
        """Say whether new values of the column may differ from what all of fitting were."""
        return self.is_empty or self.value is not None

    def changes(self, values: pa.ChunkedArray) -> dict[str, Mask]:
        """Say which values are not what all of fitting were; numbers are compared as such, however they are written."""
        if self.is_empty:
            return {FILLED: mask_of(values.is_valid())}
        texts = texts_of(values)
        same = mask_of(pc.equal(texts, self.value).fill_null(False))  # noqa: FBT003
        number = NumberFormat().read(pa.array([self.value]))[0][0]
        if not np.isnan(number):
            same |= NumberFormat().read(texts)[0] == number
        return {CHANGED: ~same}

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        return Cells(np.empty((len(values), 0)), np.zeros(len(values), dtype=bool), {})

    def outlying_code(self) -> NDArray[np.float64]:
        return np.empty(0)

    def names(self, name: str) -> list[str]:
        return []

    def describe(self) -> str:
        return f"left out: {self.why}"


def beyond_all(x: NDArray[Any], ends: Sequence[float]) -> Mask:
    """Return the cells beyond one of the ends of fitting if nearly all cells that hold a number are, else none."""
    count = int((~np.isnan(x)).sum())
    if ends and count >= ENOUGH_TO_TELL:
        for outside in (x > ends[1], x < ends[0]):
            if outside.sum() >= NEARLY_ALL * count:
                return outside
    return np.zeros(len(x), dtype=bool)


def texts_of(values: pa.ChunkedArray) -> pa.Array:
    """Return the values as text."""
    return values.cast(pa.string()).combine_chunks()


def mask_of(values: pa.Array | pa.ChunkedArray) -> Mask:
    """Return an Arrow array of booleans as a numpy array."""
    return np.asarray(values, dtype=bool)


@dataclass
class Numbers(ColumnEncoder):
    """Encodes numbers as rows of numbers are scaled; a missing one becomes the median, and is marked beside it."""

    missing: float  # the share of the training rows without a value
    writing: NumberFormat | None = None  # how they are written, if they are text
    clock: bool = False  # they are times of day, in seconds
    center: float = 0.0
    weight: float = 0.0  # 0: all values were equal, and only gaps count
    far: float = FAR  # where a cell is put that cannot be read: no nearer than any number of fitting
    ends: list[float] = field(default_factory=list)  # the least and the greatest number of fitting
    kind = "numbers"
    _present: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)  # until they are scaled

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray, writing: NumberFormat | None = None) -> "Numbers | LeftOut":
        """Read the column; its scale is set by `scale_together`, once all columns of numbers are read."""
        x, unreadable = _floats(name, values, writing)
        present = x[~np.isnan(x)]
        if len(present) == 0:
            return LeftOut.empty()
        missing = 1 - (len(present) + int(unreadable.sum())) / len(x)
        if (present == present[0]).all() and missing == 0:
            return LeftOut.constant(float(present[0]))
        with np.errstate(over="ignore"):
            if np.isinf(np.ptp(present)):
                raise TableError(
                    f"Column {name!r}: numbers of at most 1e307 were wanted, got {np.abs(present).max():g}."
                )
        if cells := int(wild_cells(present[:, None])[0]):
            warn_caller(about_wild_cells(name, cells))
        ends = [float(present.min()), float(present.max())]
        clock = pa.types.is_time(values.type)
        return cls(missing, writing, clock, center=float(present[0]), ends=ends, _present=present)

    def numbers(self, name: str, values: pa.ChunkedArray) -> NDArray[np.float64]:
        """Return the values as numbers, NaN where one is missing or cannot be read."""
        return _floats(name, values, self.writing)[0]

    def is_whole(self, kind: pa.DataType) -> bool:
        """Say whether the numbers were written as whole ones, without a unit: as identifiers are."""
        if self.writing is None:
            return bool(pa.types.is_integer(kind))
        return not (self.writing.decimals or self.writing.before or self.writing.after)

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        x, unreadable = _floats(name, values, self.writing)
        absent = np.isnan(x)
        gaps = absent & ~unreadable
        z = self.scaling().scaled(np.where(absent, self.center, x)[:, None])[:, 0]
        faults = {NO_NUMBER: unreadable}
        writing = self.writing or NumberFormat()
        if unreadable.any():
            two = np.zeros(len(unreadable), dtype=bool)
            two[unreadable] = writing.two_readings(texts_of(values).filter(pa.array(unreadable)))
            faults |= {NO_NUMBER: unreadable & ~two, TWO_NUMBERS: two}
        if (writing.before or writing.after) and self.center and not absent.all():
            size = float(np.nanmedian(np.abs(x))) / abs(self.center)
            jumps = not 1 / JUMP < size < JUMP
            if jumps and (not is_text(values.type) or writing.without_unit(texts_of(values))):
                faults[NO_UNIT] = ~absent  # fractions in a column of per cent, say
        if NO_UNIT not in faults:
            faults[BEYOND_ALL] = beyond_all(x, self.ends)
        if self.missing:
            return Cells(np.column_stack([z, gaps - self.missing]), gaps, faults)
        return Cells(z[:, None], gaps, faults | {NEW_GAP: gaps})

    def outlying_code(self) -> NDArray[np.float64]:
        return np.array([self.far, 1 - self.missing] if self.missing else [self.far])

    def typical(self, z: NDArray[np.floating]) -> float | str | None:
        """Return the number that these encode, written as the column's are; None for a missing one."""
        if self.missing and z[1] > 0.5 - self.missing:
            return None
        point = self.scaling().unscaled(np.array([[z[0]]], dtype=np.float64)).item()
        x = float(without_rounding(point, 1 / self.weight if self.weight else 1.0))
        if self.clock:
            return f"{int(x) // 3600:02d}:{int(x) // 60 % 60:02d}"
        return x if self.writing is None else self.writing.write(x)

    def type(self) -> pa.DataType:
        if self.clock:
            return pa.time32("s")
        return pa.float64() if self.writing is None else pa.string()

    def names(self, name: str) -> list[str]:
        return [name, f"{name} missing"] if self.missing else [name]

    def describe(self) -> str:
        gaps = f"; {self.missing:.1%} missing: filled with the median and marked" if self.missing else ""
        how = " of seconds since midnight" if self.clock else ""
        how = how if self.writing is None else f" written as {self.writing.example()}"
        if self.weight == 0:
            return f"number{how}, always {number(self.center)}{gaps}"
        spread = 1 / self.weight
        return f"number{how}, scaled (median {number(self.center)}, spread {number(spread)}){gaps}"

    def take_values(self) -> NDArray[np.float64]:
        """Return the values of fitting, and forget them."""
        assert self._present is not None
        values = self._present
        self._present = None
        return values

    def scaling(self) -> Scaling:
        """Return how the numbers are centred and weighed."""
        return replace(Scaling.none(1), center=np.array([self.center]), weight=np.array([self.weight]))


def scale_together(columns: Sequence[Numbers]) -> None:
    """Set the scales of a table's columns of numbers, by the rule for rows of numbers: like columns share a unit."""
    varying = [(column, values) for column in columns if (values := column.take_values()).min() < values.max()]
    if not varying:
        return
    scaling = Scaling.of_columns([values for _, values in varying])
    for (column, values), center, weight in zip(varying, scaling.center.tolist(), scaling.weight.tolist(), strict=True):
        column.center = center
        column.weight = weight
        column.far = max(FAR, float(column.scaling().scaled(values[:, None]).max()))


def _floats(
    name: str, values: pa.ChunkedArray, writing: NumberFormat | None
) -> tuple[NDArray[np.float64], Mask]:  # (n,), (n,)
    """Return the values as numbers, NaN where missing, and which cells are not numbers; raise if one is infinite."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if is_text(values.type):
        return (writing or NumberFormat()).read(values.cast(pa.string()))
    if pa.types.is_time(values.type):
        values = pc.divide(values.cast(pa.time64("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
    try:
        x = np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"Column {name!r} held numbers when the model was fitted, here it is {values.type}: {error}"
        ) from None
    if np.isinf(x).any():
        raise TableError(f"Column {name!r}: finite numbers were wanted, got infinity in {int(np.isinf(x).sum())} rows.")
    return x, np.zeros(len(x), dtype=bool)


RARE = 0.005  # categories below this share of the rows are taken together
FEW = 0.05  # those taken together are odd themselves where they are no more of the rows than that
OTHER = "(other)"  # the level that stands for rare ones
MISSING = "(missing)"  # the level that stands for gaps


@dataclass
class Categories(ColumnEncoder):
    """Encodes categories by one column for each. Rare ones share a column; a missing value is a category of its own."""

    levels: list[str]
    shares: list[float]
    rare: list[str]  # those that share a column
    in_order: bool = False  # the levels are ranges or limits, from the lowest to the highest
    other: str = OTHER  # the level that stands for the rare ones
    kind = "categories"
    _once: list[str] = field(default_factory=list, repr=False, compare=False)  # levels of one row of fitting alone

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray, order: Sequence[str] = ()) -> "Categories | LeftOut":
        """Learn the levels and their shares; `order` is that of levels which have one."""
        counts = {v["values"]: v["counts"] for v in texts_of(values).fill_null(MISSING).value_counts().to_pylist()}
        if len(counts) == 1:
            only = next(iter(counts))
            return LeftOut.empty() if only == MISSING else LeftOut.constant(only)
        total = sum(counts.values())
        once = [level for level, count in counts.items() if count == 1]
        rare = [level for level, count in counts.items() if count < RARE * total and level != MISSING]
        other = OTHER
        while other in counts:  # which some write themselves
            other = f"({other})"
        if len(rare) > 1:
            counts[other] = sum(counts.pop(level) for level in rare)
        place = {level: k for k, level in enumerate(order)}
        levels = sorted(counts, key=lambda level: (place.get(level, len(place)), level))
        shares = [counts[level] / total for level in levels]
        return cls(levels, shares, rare if other in counts else [], bool(order), other, once)

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        texts = texts_of(values)
        gaps = mask_of(texts.is_null())
        texts = texts.fill_null(MISSING)
        codes = pc.index_in(texts, pa.array(self.levels, pa.string()))
        unseen = mask_of(codes.is_null()) & ~mask_of(pc.is_in(texts, pa.array(self.rare, pa.string())))
        shares = np.array(self.shares)
        block = np.tile(-shares, (len(texts), 1))
        level = codes.fill_null(self._rarest()).to_numpy()
        block[np.arange(len(texts)), level] += 1
        block *= (self._stretch() / self._deviation())[level, None]
        return Cells(block, gaps, {NEW_GAP: unseen & gaps, NEW_VALUE: unseen & ~gaps})

    def encode_as_new(self, name: str, values: pa.ChunkedArray) -> Cells:
        cells = self.encode(name, values)
        alone = mask_of(pc.is_in(texts_of(values).fill_null(MISSING), pa.array(self._once, pa.string())))
        return replace(cells, faults={NEW_GAP: alone & cells.gaps, NEW_VALUE: alone & ~cells.gaps})

    def outlying_code(self) -> NDArray[np.float64]:
        """Return a point in the direction of the rarest category, but farther off."""
        z = np.eye(len(self.levels))[self._rarest()] - np.array(self.shares)
        return np.asarray(FAR * z / np.linalg.norm(z))

    def gap_share(self) -> float:
        return self.shares[self.levels.index(MISSING)] if MISSING in self.levels else 0.0

    def _rarest(self) -> int:
        return self.levels.index(self.other) if self.rare else int(np.argmin(self.shares))

    def _deviation(self) -> float:
        shares = np.array(self.shares)
        return float(np.sqrt((shares * (1 - shares)).sum()))

    def _stretch(self) -> NDArray[np.float64]:  # (levels,)
        """Return the factor by which each level is put farther off than its share alone would put it; 1 for most.

        Among several levels, one that hardly occurs, perhaps a typing error, is no farther from the rest than they
        are from each other. It is put as far off as a number that is as rare: by √(-2 log share) deviations.
        """
        shares = np.array(self.shares)
        distances = np.linalg.norm(np.eye(len(shares)) - shares, axis=1) / self._deviation()
        rare = shares < [FEW if self.rare and level == self.other else RARE for level in self.levels]
        return np.where(rare, np.maximum(np.sqrt(-2 * np.log(shares)) / distances, 1.0), 1.0)

    def typical(self, z: NDArray[np.floating]) -> str:
        return self.levels[int(np.argmax(z * self._deviation() + np.array(self.shares)))]

    def names(self, name: str) -> list[str]:
        return [f"{name} {level}" for level in self.levels]

    def describe(self) -> str:
        shared = f", rare ones (under {RARE:.1%} of the rows) taken together" if self.rare else ""
        gap = ", missing being one of them" if MISSING in self.levels else ""
        named = [level for level in self.levels if level not in (self.other, MISSING)]
        order = f" from {named[0]!r} to {named[-1]!r}" if self.in_order and named else ""
        return f"category, {len(self.levels)} levels{order}{gap}{shared}"


NGRAMS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 4)}  # of letters, within words
COMPONENTS = 30  # numbers that encode a column of words, beside the rarity
LONG = 4  # letters of the n-grams whose rarity counts: shorter ones are common in many languages
MANY = 50  # n-grams of a text beyond which their number adds no weight

Column = NDArray[np.float64]  # (n,)


@dataclass
class Words(ColumnEncoder):
    """Encodes free text and categories of many values by the main components of their character n-grams.

    N-grams that few texts have lie outside all components: a text of them alone, in another language say, would be
    encoded like the average text. So one more number, the text's rarity, says how rare its n-grams are, and weighs as
    much as all components.
    """

    vocabulary: list[str]
    idf: NDArray[np.float64]
    components: NDArray[np.float32]  # (COMPONENTS, vocabulary)
    center: NDArray[np.float64]
    factor: float
    distinct: int  # how many different texts there were
    missing: float  # the share of rows without one
    rarest: float = 0.0  # idf of an n-gram that two texts have; those of fewer texts count as this
    usual_idf: float = 0.0  # the mean idf of the n-grams of the training texts
    deviation: float = 0.0  # of the rarity in fitting; 0: all texts were as rare, and no number says how rare one is
    marks_gaps: bool = False  # one more number says where there is no text, as some rows of fitting had none
    kind = "words"
    _vectorizer: "CountVectorizer | None" = field(default=None, repr=False, compare=False)

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray) -> "Words":
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = cls._texts(values)
        vectorizer = TfidfVectorizer(**NGRAMS)
        weighted = vectorizer.fit_transform(texts.fill_null("").to_pylist()).astype(np.float32)
        vocabulary = vectorizer.get_feature_names_out().tolist()
        if min(weighted.shape) > COMPONENTS:
            components = TruncatedSVD(COMPONENTS, random_state=0).fit(weighted).components_.astype(np.float32)
        else:  # so few that each may be a component
            components = np.eye(min(COMPONENTS, len(vocabulary)), len(vocabulary), dtype=np.float32)
        distinct = pc.count_distinct(texts).as_py()
        missing = texts.null_count / len(texts)
        words = cls(vocabulary, vectorizer.idf_, components, np.zeros(len(components)), 1.0, distinct, missing)
        words.marks_gaps = missing > 0
        counts = words._counts(texts)
        projected = words._projected(counts, words.idf)
        words.center = projected.mean(0)
        words.factor = float(np.sqrt(projected.var(0).sum())) or 1.0
        words.rarest = float(np.log((1 + len(texts)) / 3) + 1)  # scikit-learn's idf where two texts have the n-gram
        mean_idf, weights = words._mean_idf(texts, counts, words.idf)
        if weights.any():
            words.usual_idf = float(np.average(mean_idf, weights=weights))
            words.deviation = float(((mean_idf - words.usual_idf) * weights).std())
        return words

    @staticmethod
    def _texts(values: pa.ChunkedArray) -> pa.Array:
        """Return the texts; one of blanks alone is a gap."""
        texts = texts_of(values)
        return pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), pa.scalar(None, pa.string()), texts)

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        texts = self._texts(values)
        return self._encoded(texts, self._counts(texts), self.idf)

    def encode_as_new(self, name: str, values: pa.ChunkedArray) -> Cells:
        texts = self._texts(values)
        n = len(texts)
        counts = self._counts(texts)
        texts_with = np.maximum(np.rint((1 + n) / np.exp(self.idf - 1)) - 1, 1)  # the inverse of scikit-learn's idf
        counts.data[texts_with[counts.indices] == 1] = 0  # no other text has the n-gram: to a new one it is unknown
        return self._encoded(texts, counts, np.log(n / texts_with) + 1)  # the idf without the text itself

    def _encoded(self, texts: pa.Array, counts: "csr_matrix", idf: Column) -> Cells:
        projected = self._projected(counts, idf)
        gaps = mask_of(texts.is_null())
        faults = {NEW_VALUE: (projected == 0).all(1) & ~gaps}
        if self.missing == 0:
            faults[NEW_GAP] = gaps
        block = (projected - self.center) / self.factor
        if self.marks_gaps:
            block = np.column_stack([block, gaps - self.missing])
        if self.deviation:
            mean_idf, weights = self._mean_idf(texts, counts, idf)
            block = np.column_stack([block, (mean_idf - self.usual_idf) * weights / self.deviation])
        return Cells(block, gaps, faults)

    def outlying_code(self) -> NDArray[np.float64]:
        return np.asarray(FAR * np.eye(len(self.names("")))[-1 if self.deviation else 0])

    def _counts(self, texts: pa.Array) -> "csr_matrix":  # (n, vocabulary)
        """Count the known n-grams of each text."""
        if self._vectorizer is None:
            from sklearn.feature_extraction.text import CountVectorizer

            self._vectorizer = CountVectorizer(**NGRAMS, vocabulary=self.vocabulary, dtype=np.float64)
        return self._vectorizer.transform(texts.fill_null("").to_pylist())

    def _projected(self, counts: "csr_matrix", idf: Column) -> Block:
        """Project the n-grams, weighted by their idf and brought to unit length, onto the components."""
        from sklearn.preprocessing import normalize

        weighted = counts.copy()
        weighted.data *= idf[weighted.indices]
        return np.asarray(normalize(weighted, copy=False) @ self.components.T.astype(np.float64))

    def _mean_idf(self, texts: pa.Array, counts: "csr_matrix", idf: Column) -> tuple[Column, Column]:
        """Return the mean idf of each text's n-grams of four letters, known or not, and how much it weighs.

        A mean of few n-grams is often far from the usual by chance: it weighs by the root of their number.
        """
        all_texts = texts.fill_null("").to_pylist()
        number = np.array([sum(len(word) - 1 for word in text.lower().split()) for text in all_texts], dtype=np.float64)
        less = np.maximum(self.rarest - idf, 0.0) * [len(ngram) == LONG for ngram in self.vocabulary]
        mean_idf = self.rarest - counts @ less / np.maximum(number, 1)
        return mean_idf, np.sqrt(np.minimum(number, MANY))

    def names(self, name: str) -> list[str]:
        components = [f"{name} {k}" for k in range(len(self.components))]
        components += [f"{name} missing"] if self.marks_gaps else []
        return [*components, f"{name} rarity"] if self.deviation else components

    def describe(self) -> str:
        rarity = ", and how rare these are" if self.deviation else ""
        n = len(self.components)
        return f"text of {self.distinct} different values: {n} components of character n-grams{rarity}"
