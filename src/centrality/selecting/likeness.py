"""Turn rows of any kind into vectors that are close for similar rows, without a trained model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from centrality._checks import InputError
from centrality._estimator import ModelRows
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.network.scaling import Scaling
from centrality.representations import Table
from centrality.representations._vision import content_of, decode
from centrality.selecting.suited import are_finite_numbers
from centrality.tables.columns import numbers

if TYPE_CHECKING:
    from PIL.Image import Image

TEXT_WIDTH = 1024  # numbers that stand for a text
PIXELS = 16  # the side of the small picture that stands for an image

Floats = NDArray[np.float32]


def by_model(model: CentralityModel, X: ModelRows) -> Floats:
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
