"""Encode texts by their letters, and images by their edges and colours: nothing has to be downloaded.

They see spelling, words and shapes, not meaning. A trained encoder sees more.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, optional
from centrality._internal.model_file import Arrays

if TYPE_CHECKING:
    from PIL.Image import Image

BUCKETS = 4096  # places that n-grams are hashed to
NUMBERS = 256  # of a text: so many sums of places
SIZE = 64  # pixels of an image's side
CELL = 8  # pixels of a cell's side
TURNS = 9  # directions of edges
COLOURS = 4  # squares along a side whose mean colour is taken

# Brightness, red against green, blue against yellow: in grey pictures the last two do not vary, so that a red one
# among them is odd. The columns are orthonormal: distances between pictures are those of red, green and blue.
OPPONENTS = np.array([[1, 1, -1], [1, -1, -1], [1, 0, 2]]) / np.sqrt([3, 2, 6])

Matrix = NDArray[np.float64]

_FOLDED = np.tile(np.eye(NUMBERS), (BUCKETS // NUMBERS, 1))  # (BUCKETS, NUMBERS)


class NgramEncoder:
    """Turns texts into sums of hashed character n-grams, which weigh more the fewer training texts have them.

    Main components of the training texts would be shorter, but n-grams that only texts of another kind have lie outside
    all of them, so that such texts would look typical.
    """

    fingerprint = f"ngrams {BUCKETS} {NUMBERS} 1"

    def __init__(self, weight: Matrix | None = None) -> None:
        self._weight = weight  # (BUCKETS,)

    def fit(self, texts: Sequence[str]) -> None:
        """Learn how rare each n-gram is."""
        if len(texts) < 2:
            raise InputError(f"At least two texts were wanted to learn from, got {len(texts)}.")
        present = np.bincount(self._counts(texts).indices, minlength=BUCKETS)
        self._weight = np.log((1 + len(texts)) / (1 + present)) + 1.0

    def __call__(self, texts: list[str], /) -> NDArray[np.float32]:  # (n, NUMBERS)
        """Return one vector for each text: signed sums of n-grams, weighted by the logarithm of their counts."""
        assert self._weight is not None  # the representation fits it, or restores it
        counts = self._counts(texts)
        counts.data = np.sign(counts.data) * np.log1p(np.abs(counts.data)) * self._weight[counts.indices]
        return np.asarray(counts @ _FOLDED, dtype=np.float32)

    def state(self) -> Arrays:
        """Return the learned arrays, for a model file."""
        assert self._weight is not None
        return {"weight": self._weight}

    @classmethod
    def restored(cls, arrays: Arrays) -> "NgramEncoder":
        """Return the encoder with these arrays, the inverse of `state`; raise if the array has another shape."""
        if (weight := arrays["weight"]).shape != (BUCKETS,):
            raise InputError(f"An encoder of n-grams has {BUCKETS} weights, got shape {weight.shape}.")
        return cls(weight)

    @staticmethod
    def _counts(texts: Sequence[str]) -> Any:  # (n, BUCKETS) sparse
        from sklearn.feature_extraction.text import HashingVectorizer

        return HashingVectorizer(analyzer="char_wb", ngram_range=(2, 5), n_features=BUCKETS, norm=None).transform(texts)


class GradientEncoder:
    """Turns images into the directions of their edges, cell by cell, and the mean colours of their parts."""

    fingerprint = f"gradients {SIZE} {CELL} {TURNS} {COLOURS} 2"

    def __call__(self, pictures: "list[Image]", /) -> NDArray[np.float32]:  # (n, d)
        """Return one vector for each picture."""
        bilinear = optional("PIL.Image", "images").Resampling.BILINEAR
        row, column = np.indices((SIZE, SIZE)) // CELL
        cells = SIZE // CELL
        side = SIZE // COLOURS
        vectors = []
        for picture in pictures:
            pixels = np.asarray(picture.resize((SIZE, SIZE), bilinear), dtype=np.float64) / 255
            colours = pixels.reshape(COLOURS, side, COLOURS, side, 3).mean((1, 3)) - 0.5
            # The strength of edges of each direction in each cell; a cell with edges has unit length.
            down, across = np.gradient(pixels.mean(2))
            angle = np.arctan2(down, across) % np.pi
            turn = np.minimum((angle * (TURNS / np.pi)).astype(np.intp), TURNS - 1)
            place = (row * cells + column) * TURNS + turn
            edges = np.bincount(place.ravel(), np.hypot(down, across).ravel(), minlength=cells * cells * TURNS)
            edges = edges.reshape(cells, cells, TURNS)
            length = np.sqrt(np.square(edges).sum(2, keepdims=True) + 0.01)  # faint edges stay faint
            vectors.append(np.concatenate([(edges / length / cells).ravel(), (colours @ OPPONENTS).ravel()]))
        return np.stack(vectors).astype(np.float32)
