"""Encode columns whose cells are many numbers each: pictures, long texts, vectors.

Each gives one number, for how odd the cell is; its main components serve to compare it with the rest of its row, see
`blocks.py`. A cell that is missing, or a picture that cannot be read, says nothing: its row is scored by the rest.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.model_file import Arrays
from centrality.representations.base import as_column
from centrality.representations.blocks import (
    FARTHEST,
    USUAL,
    WEIGHT,
    BlockCells,
    Column,
    MainComponents,
    Mask,
    Matrix,
    Rarity,
    State,
    part_of,
)
from centrality.representations.columns import ColumnEncoder, LeftOut, mask_of, texts_of
from centrality.representations.embedding import require_same
from centrality.representations.images import Images, Memory
from centrality.representations.lists import as_lists
from centrality.tables.columns import (
    ABSENT,
    EMPTY,
    FEWEST_NUMBERS,
    NO_PICTURE,
    NO_VECTOR,
    TableError,
    is_list,
    is_number,
    is_text,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

FEWEST_TEXTS = 500  # fewer are encoded by their n-grams: so few texts have few words in common
MANY_WORDS = 8  # of a usual text of a column of long ones
ENOUGH = 0.95  # the share of a column's cells that must be of a kind
PICTURE_NAME = r"(?i)\.(png|jpe?g|webp|gif|bmp|tiff?)$"
WRITTEN_VECTOR = r"^\s*\[\s*[-+]?[0-9.][-+0-9.eE,\s]*\]\s*$"


@dataclass
class Contents:
    """What a column's cells hold as vectors, (n, d), zeros where there is nothing, and which cells have which fault."""

    vectors: Matrix
    present: Mask
    faults: dict[str, Mask]
    rarity: Column | None = None  # of a text's words


class BlockEncoder(ColumnEncoder):
    """Encodes a column of blocks by how odd each is; a subclass reads the cells."""

    main: MainComponents
    rarity: Rarity
    missing: float
    says_nothing = "it is no such vector"

    def contents(self, name: str, values: pa.ChunkedArray, *, as_new: bool = False) -> Contents:
        """Read the cells; `as_new`: each as if it had not been among those of fitting."""
        raise NotImplementedError

    def learn(self, contents: Contents) -> None:
        """Learn main components and how rare an oddness is, from the contents of fitting as if new."""
        self.main = MainComponents.of(contents.vectors[contents.present])
        self.missing = 1 - float(contents.present.mean())
        self.rarity = Rarity.of(self._oddness(contents, as_new=True)[contents.present])

    def _oddness(self, contents: Contents, *, as_new: bool) -> Column:
        return self.main.oddness(contents.vectors, as_new=as_new)

    def encode(self, name: str, values: pa.ChunkedArray) -> BlockCells:
        return self._encoded(self.contents(name, values), as_new=False)

    def encode_as_new(self, name: str, values: pa.ChunkedArray) -> BlockCells:
        return self._encoded(self.contents(name, values, as_new=True), as_new=True)

    def _encoded(self, contents: Contents, *, as_new: bool) -> BlockCells:
        present = contents.present
        deviations = np.where(present, self.rarity.deviations(self._oddness(contents, as_new=as_new)), USUAL)
        components = self.main.components(contents.vectors) * present[:, None]
        block = WEIGHT * (deviations - USUAL)[:, None]
        if self.missing:
            block = np.column_stack([block, ~present - self.missing])
        faults = {fault: where for fault, where in contents.faults.items() if fault != ABSENT or not self.missing}
        return BlockCells(block, np.zeros(len(present), dtype=bool), faults, components, present, deviations)

    def outlying_code(self) -> NDArray[np.float64]:
        code = WEIGHT * (FARTHEST / 2 - USUAL)
        return np.array([code, -self.missing] if self.missing else [code])

    def place(self, components: Matrix) -> Matrix:  # (n, k)
        """Return where cells lie, by components of a variance of one in total: like cells are near each other."""
        return np.asarray(components * (self.main.spreads / np.linalg.norm(self.main.spreads)))

    def place_of(self, name: str, query: object) -> Matrix:  # (1, k)
        """Return where a phrase or a picture lies that is no cell of the column; raise if it says nothing."""
        cell = np.empty(1, dtype=object)
        cell[0] = str(query) if isinstance(query, Path) else query
        contents = self.contents(name, pa.chunked_array([as_column(name, cell)]))
        if not contents.vectors.any():
            raise TableError(f"{cell[0]!r:.60} is like nothing in column {name!r}: {self.says_nothing}.")
        return self.place(self.main.components(contents.vectors))

    def names(self, name: str) -> list[str]:
        return [name, f"{name} missing"] if self.missing else [name]

    def gap_share(self) -> float:
        return 0.0  # a gap is no fault here

    def gaps_in_words(self) -> str:
        return f"; {self.missing:.1%} missing: such rows are scored by the rest" if self.missing else ""

    def state(self) -> tuple[State, Arrays]:
        """Return what was learned, as JSON values and arrays."""
        main, main_arrays = self.main.state()
        rarity, rarity_arrays = self.rarity.state()
        plain = {"kind": self.kind, "missing": self.missing, "main": main, "rarity": rarity}
        arrays = {f"main.{name}": array for name, array in main_arrays.items()}
        return plain, arrays | {f"rarity.{name}": array for name, array in rarity_arrays.items()}

    @classmethod
    def restored(cls, state: State, arrays: Arrays) -> Self:
        """Return the encoder with this state."""
        encoder = cls()
        encoder.missing = float(state["missing"])
        encoder.main = MainComponents.restored(state["main"], part_of(arrays, "main."))
        encoder.rarity = Rarity.restored(state["rarity"], part_of(arrays, "rarity."))
        return encoder


@dataclass
class VectorBlock(BlockEncoder):
    """Encodes lists of equally many numbers, such as embeddings."""

    kind = "vector block"

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray) -> "VectorBlock | LeftOut":
        lengths = Counter(pc.list_value_length(as_lists(values)).drop_null().to_pylist())
        (length, times), *others = lengths.most_common() or [(1, 0)]
        if length == 0 or times < ENOUGH * lengths.total():
            raise TableError(
                f"Column {name!r}: lists of equally many numbers were wanted, got {times:,} of {length}"
                + (f" and {others[0][1]:,} of {others[0][0]}" if others else "")
                + ": they come from different encoders, or are no vectors. "
                "Leave the column out, or encode all rows alike."
            )
        encoder = cls(_width=length)
        contents = encoder.contents(name, values)
        if (contents.vectors[contents.present] == contents.vectors[contents.present][:1]).all():
            return LeftOut("every vector is the same") if contents.present.any() else LeftOut.empty()
        encoder.learn(contents)
        return encoder

    _width: int = field(default=0, repr=False)

    def contents(self, name: str, values: pa.ChunkedArray, *, as_new: bool = False) -> Contents:
        lists = as_lists(values)
        present = mask_of(lists.is_valid())
        width = self._width or len(self.main.center)
        right_length = mask_of(pc.equal(pc.list_value_length(lists), width).fill_null(False))  # noqa: FBT003
        vectors = np.zeros((len(lists), width))
        flat = lists.filter(pa.array(right_length)).flatten().to_numpy(zero_copy_only=False)
        vectors[right_length] = flat.reshape(-1, width)
        finite = np.isfinite(vectors).all(1)
        vectors[~finite] = 0.0
        readable = right_length & finite
        return Contents(vectors, readable, {NO_VECTOR: present & ~readable, ABSENT: ~present})

    def describe(self) -> str:
        return f"vector of {len(self.main.center)} numbers, weighed as one{self.gaps_in_words()}"

    def to_show(self, values: pa.ChunkedArray) -> list[object]:
        return [f"of {len(self.main.center)} numbers" if cell else None for cell in values.is_valid().to_pylist()]


def are_vectors(values: pa.ChunkedArray) -> bool:
    """Say whether the cells are lists of numbers, also such as are written as text.

    >>> are_vectors(pa.chunked_array([["[0.1, -2]", "[3e-2,4]"]])), are_vectors(pa.chunked_array([["[red]"]]))
    (True, False)
    """
    if is_list(values.type):
        return is_number(values.type.value_type)
    return is_text(values.type) and _share(values, WRITTEN_VECTOR) >= ENOUGH


def are_short(values: pa.ChunkedArray) -> bool:
    """Say whether the lists hold so few numbers that each is a column of its own, such as places on a map."""
    lengths = pc.list_value_length(as_lists(values)).drop_null()
    return not len(lengths) or (pc.max(lengths).as_py() < FEWEST_NUMBERS)


def _share(values: pa.ChunkedArray, pattern: str) -> float:
    return float(pc.mean(pc.match_substring_regex(values.drop_null().cast(pa.string()), pattern)).as_py() or 0.0)


# Pictures.


def may_be_pictures(values: pa.ChunkedArray) -> bool:
    """Say whether the cells may be pictures: bytes, or names of picture files."""
    kind = values.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return True
    if pa.types.is_struct(kind):  # as Hugging Face's data sets hold images
        return {"bytes"} <= {field.name for field in kind} <= {"bytes", "path"}
    return is_text(kind) and len(values) > 0 and _share(values, PICTURE_NAME) >= ENOUGH


@dataclass
class Pictures(BlockEncoder):
    """Encodes pictures by what an encoder of `Images` sees."""

    kind = "pictures"
    says_nothing = "it cannot be read as a picture, or shows nothing"
    fingerprint: str = ""  # of the encoder

    _images: Images | None = field(default=None, repr=False, compare=False)
    _folder: str | None = field(default=None, repr=False, compare=False)
    _memory: Memory = field(default_factory=Memory, repr=False, compare=False)

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray, images: Images, folder: str | None) -> "Pictures | LeftOut":
        encoder = cls(_images=images, _folder=folder)
        contents = encoder.contents(name, values)
        with_content = contents.vectors[contents.present]
        if not len(with_content):
            example = ""
            if is_text(values.type):
                example = f", such as {values.drop_null()[0].as_py()!r}: paths are taken from {folder or Path.cwd()}"
            return LeftOut(f"none of its pictures could be read{example}")
        if (with_content == with_content[:1]).all():
            return LeftOut("every picture is the same")
        encoder.learn(contents)
        return encoder

    def use(self, images: Images, folder: str | None) -> None:
        """Read pictures from this folder, by the settings of this machine."""
        self._folder = folder
        if self._images is None or self._images.get_params() != images.get_params():
            self._images = images

    def contents(self, name: str, values: pa.ChunkedArray, *, as_new: bool = False) -> Contents:
        assert self._images is not None
        items = self.items(values)
        encoded, fingerprint = self._images.vectors_or_none(items, self._memory if self._images.cache is None else None)
        if self.fingerprint:
            require_same(self.fingerprint, fingerprint, str(self._images.model))
        self.fingerprint = fingerprint
        width = next((len(vector) for vector in encoded if vector is not None), 0)
        width = len(self.main.center) if hasattr(self, "main") else width
        vectors = np.zeros((len(items), width))
        readable = np.array([vector is not None for vector in encoded], dtype=bool)
        if readable.any():
            vectors[readable] = np.stack([vector for vector in encoded if vector is not None])
        empty = readable & ~vectors.any(1)
        vectors[empty] = 0.0
        absent = np.array([item is None for item in items], dtype=bool)
        return Contents(
            vectors, readable & ~empty, {NO_PICTURE: ~readable & ~absent, EMPTY: empty, ABSENT: absent & ~readable}
        )

    def items(self, values: pa.ChunkedArray) -> list[object]:
        """Return what can be opened as a picture, a path or bytes, for each cell; None for a gap."""
        items: list[object] = values.to_pylist()
        if is_text(values.type) and self._folder is not None:  # paths begin there, or else here
            for i, path in enumerate(items):
                beside = Path(self._folder, str(path or ""))
                items[i] = str(beside) if path is not None and beside.exists() else path
        return items

    def to_show(self, values: pa.ChunkedArray) -> list[object]:
        if is_text(values.type):
            return list(values.to_pylist())
        return ["picture" if cell else None for cell in values.is_valid().to_pylist()]

    def describe(self) -> str:
        model = self._images.model if self._images is not None else "gradients"
        how = "by its edges and colours" if model == "gradients" else f"as {model} sees it"
        numbers = len(self.main.center)
        return f"picture, {how}: {numbers} numbers, weighed as one{self.gaps_in_words()}"

    def state(self) -> tuple[State, Arrays]:
        plain, arrays = super().state()
        return plain | {"fingerprint": self.fingerprint}, arrays

    @classmethod
    def restored(cls, state: State, arrays: Arrays) -> Self:
        encoder = super().restored(state, arrays)
        encoder.fingerprint = state["fingerprint"]
        return encoder


# Long texts.

WORD = re.compile(r"\w+")
FEWEST_TEXTS_WITH = 2  # texts that must have a word
MOST_WORDS = 30_000
UNKNOWN = -1  # the place of a word that few texts of fitting have
TOPICS = 100  # main components of words
LETTERS = 4  # bytes of the sequences whose rarity counts: a word of another language has those of no other text
PLACES = 1 << 17  # that sequences are hashed to
MULTIPLIER = np.uint32(2654435761)  # spreads sequences over the places: 2^32 divided by the golden ratio
BYTES_TOGETHER = 1 << 22


def are_long_texts(texts: pa.ChunkedArray) -> bool:
    """Say whether a column holds texts of many words, hardly any of them twice.

    >>> are_long_texts(pa.chunked_array([["Oslo", "Rome"] * 50]))
    False
    """
    texts_present = texts.drop_null()
    if len(texts_present) < FEWEST_TEXTS or len(texts_present.unique()) < len(texts_present) / 2:
        return False
    words = pc.count_substring_regex(pc.utf8_trim_whitespace(texts_present), r"\s+")
    return bool(pc.quantile(words, 0.5)[0].as_py() >= MANY_WORDS - 1)


@dataclass
class LongTexts(BlockEncoder):
    """Encodes long texts by main components of their words, and by how rare these are."""

    kind = "long texts"
    says_nothing = "none of its words is in the texts of fitting"
    vocabulary: list[str] = field(default_factory=list)
    times: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # texts that have each word
    topics: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    texts: int = 0  # of fitting
    with_sequence: NDArray[np.int32] = field(
        default_factory=lambda: np.zeros(PLACES, dtype=np.int32)
    )  # texts, by place
    of_topics: Rarity | None = None
    of_words: Rarity | None = None

    _places: dict[str, int] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray) -> "LongTexts | None":
        """Learn words and topics; None if hardly a word comes again."""
        from sklearn.decomposition import TruncatedSVD

        texts = texts_of(values).fill_null("").to_pylist()
        words_of = [set(WORD.findall(text.lower())) for text in texts]
        counts = Counter(word for words in words_of for word in words)
        common = [(word, n) for word, n in counts.most_common(MOST_WORDS) if n >= FEWEST_TEXTS_WITH]
        if len(common) < 3:
            return None
        encoder = cls(vocabulary=sorted(word for word, _ in common), texts=len(texts))
        encoder.times = np.array([counts[word] for word in encoder.vocabulary], dtype=np.int64)
        matrix, _ = encoder._counts(texts)
        topics = min(TOPICS, len(encoder.vocabulary) - 1, len(texts) - 1)
        svd = TruncatedSVD(topics, random_state=0, n_iter=3)
        encoder.topics = svd.fit(encoder._weighted(matrix, encoder._idf())).components_.astype(np.float32)
        for text, places in _sequences(texts):
            pairs = np.sort(text * PLACES + places)
            once = pairs[np.diff(pairs, prepend=-1) > 0] % PLACES
            encoder.with_sequence += np.bincount(once, minlength=PLACES).astype(np.int32)
        contents = encoder.contents(name, values, as_new=True)
        encoder.learn(contents)
        return encoder

    def learn(self, contents: Contents) -> None:
        assert contents.rarity is not None
        present = contents.present
        main = MainComponents.of(contents.vectors[present])
        self.of_topics = Rarity.of(main.oddness(contents.vectors, as_new=True)[present])
        self.of_words = Rarity.of(contents.rarity[present])
        super().learn(contents)

    def _oddness(self, contents: Contents, *, as_new: bool) -> Column:
        assert self.of_topics is not None
        assert self.of_words is not None
        assert contents.rarity is not None
        by_topics = self.of_topics.deviations(self.main.oddness(contents.vectors, as_new=as_new))
        return np.square(np.maximum(by_topics, self.of_words.deviations(contents.rarity)))

    def contents(self, name: str, values: pa.ChunkedArray, *, as_new: bool = False) -> Contents:
        cells = texts_of(values)
        texts = cells.fill_null("").to_pylist()
        matrix, lengths = self._counts(texts)
        if as_new:
            matrix.data[self.times[matrix.indices] <= FEWEST_TEXTS_WITH] = 0  # which the others do not have so often
        vectors = np.asarray(self._weighted(matrix, self._idf()) @ self.topics.T.astype(np.float64))
        sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors = vectors / np.where(sizes > 0, sizes, 1.0)
        # The mean rarity of each text's sequences of letters.
        others = self.with_sequence - 1 if as_new else self.with_sequence
        idf = np.log((1 + self.texts) / np.maximum(others, 1))
        sums = np.zeros(len(texts))
        counts = np.zeros(len(texts))
        for text, places in _sequences(texts):
            sums += np.bincount(text, idf[places], minlength=len(texts))
            counts += np.bincount(text, minlength=len(texts))
        absent = mask_of(cells.is_null())
        faults = {ABSENT: absent, EMPTY: ~absent & (lengths == 0)}
        return Contents(vectors, lengths > 0, faults, sums / np.maximum(counts, 1))

    def _counts(self, texts: list[str]) -> "tuple[csr_matrix, Column]":  # (n, vocabulary), (n,)
        """Count the known words of each text, and all of its words."""
        from scipy.sparse import csr_matrix

        if not self._places:
            self._places = {word: place for place, word in enumerate(self.vocabulary)}
        places_of_words: list[int] = []
        lengths = []
        for text in texts:
            words = WORD.findall(text.lower())
            lengths.append(len(words))
            places_of_words.extend(map(self._places.get, words, repeat(UNKNOWN)))
        places = np.array(places_of_words, dtype=np.int64)
        in_vocabulary = places != UNKNOWN
        ends = np.concatenate([[0], np.cumsum(in_vocabulary)])[np.cumsum([0, *lengths])]
        shape = len(texts), len(self.vocabulary)
        matrix = csr_matrix((np.ones(int(in_vocabulary.sum())), places[in_vocabulary], ends), shape=shape)
        matrix.sum_duplicates()
        return matrix, np.array(lengths, dtype=np.float64)

    def _idf(self) -> Column:
        return np.asarray(np.log((1 + self.texts) / (1 + self.times)) + 1)

    @staticmethod
    def _weighted(counts: "csr_matrix", idf: Column) -> "csr_matrix":
        """Return counts on a logarithmic scale, weighted by rarity and brought to unit length."""
        from sklearn.preprocessing import normalize

        weighted = counts.copy()
        weighted.data = np.where(counts.data > 0, 1 + np.log(np.maximum(counts.data, 1)), 0) * idf[counts.indices]
        return normalize(weighted, copy=False)

    def describe(self) -> str:
        numbers = f"{len(self.topics)} main components of its words, and how rare its letters are"
        return f"long text: {numbers}, weighed as one{self.gaps_in_words()}"

    def state(self) -> tuple[State, Arrays]:
        assert self.of_topics is not None
        assert self.of_words is not None
        plain, arrays = super().state()
        for name, rarity in (("of_topics", self.of_topics), ("of_words", self.of_words)):
            plain[name], learned = rarity.state()
            arrays |= {f"{name}.{key}": array for key, array in learned.items()}
        plain |= {"vocabulary": self.vocabulary, "texts": self.texts}
        return plain, arrays | {"times": self.times, "topics": self.topics, "with_sequence": self.with_sequence}

    @classmethod
    def restored(cls, state: State, arrays: Arrays) -> Self:
        encoder = super().restored(state, arrays)
        encoder.vocabulary = list(state["vocabulary"])
        encoder.texts = int(state["texts"])
        encoder.times = arrays["times"]
        encoder.topics = arrays["topics"]
        encoder.with_sequence = arrays["with_sequence"]
        if len(encoder.times) != len(encoder.vocabulary):
            raise InputError(f"Each word has a number, got {len(encoder.vocabulary)} and {len(encoder.times)}.")
        encoder.of_topics = Rarity.restored(state["of_topics"], part_of(arrays, "of_topics."))
        encoder.of_words = Rarity.restored(state["of_words"], part_of(arrays, "of_words."))
        return encoder


def _sequences(texts: list[str]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield which text has which sequences of letters, by their places; many texts at a time."""
    first = 0
    while first < len(texts):
        parts: list[bytes] = []
        size = 0
        while first + len(parts) < len(texts) and size < BYTES_TOGETHER:
            parts.append(b" " + b" ".join(texts[first + len(parts)].lower().encode().split()) + b" ")
            size += len(parts[-1])
        letters = np.frombuffer(b"".join([*parts, bytes(LETTERS)]), dtype=np.uint8).astype(np.uint32)
        owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        code = np.zeros(len(owner), dtype=np.uint32)
        for k in range(LETTERS):
            code |= letters[k : len(owner) + k] << np.uint32(8 * k)
        inside = owner[: len(owner) - LETTERS + 1] == owner[LETTERS - 1 :]
        places = ((code * MULTIPLIER) >> np.uint32(15)).astype(np.int64)[: len(inside)]
        yield first + owner[: len(inside)][inside], places[inside]
        first += len(parts)


BLOCKS: dict[str, type[BlockEncoder]] = {kind.kind: kind for kind in (VectorBlock, Pictures, LongTexts)}
