"""Encode a column of words: free text, or categories of many values."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.representations._column_cells import FAR, Block, Cells, ColumnEncoder, mask_of, texts_of
from centrality.tables.unreadable import NEW_GAP, NEW_VALUE

COMPONENTS = 30  # numbers that encode a column of words


@dataclass
class Words(ColumnEncoder):
    """Encodes free text and categories of many values by the main components of their character n-grams (skrub)."""

    vocabulary: list[str]
    idf: NDArray[np.float64]
    components: NDArray[np.float32]  # (COMPONENTS, vocabulary)
    center: NDArray[np.float64]
    factor: float
    distinct: int  # how many different texts there were
    missing: float  # the share of rows without one
    kind = "words"
    _vectorizer: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray) -> "Words":
        pd = optional("pandas", "table")
        texts = texts_of(values)
        encoder = optional("skrub", "table").StringEncoder(n_components=COMPONENTS, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few different texts: fewer components, which is what is wanted
            encoder.fit_transform(pd.Series(texts.fill_null("").to_pylist(), dtype="str", name=name))
        vectorizer = encoder.vectorizer_
        vocabulary = sorted(vectorizer.vocabulary_, key=vectorizer.vocabulary_.__getitem__)
        svd = getattr(encoder, "tsvd_", None)
        identity = np.eye(min(COMPONENTS, len(vocabulary)), len(vocabulary))
        components = np.asarray(identity if svd is None else svd.components_, dtype=np.float32)
        words = cls(
            vocabulary,
            vectorizer.idf_,
            components,
            np.zeros(len(components)),
            1.0,
            pc.count_distinct(texts).as_py(),
            texts.null_count / len(texts),
        )
        raw = words._projected(texts)
        words.center, words.factor = raw.mean(0), float(np.sqrt(raw.var(0).sum())) or 1.0
        return words

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        texts = texts_of(values)
        projected, gaps = self._projected(texts), mask_of(pc.is_null(texts))
        faults = {NEW_VALUE: (projected == 0).all(1) & ~gaps & mask_of(pc.not_equal(texts.fill_null(""), ""))}
        if self.missing == 0:
            faults[NEW_GAP] = gaps
        return Cells((projected - self.center) / self.factor, gaps, faults)

    def far_off(self) -> NDArray[np.float64]:
        return np.asarray(FAR * np.eye(len(self.components))[0])

    def _projected(self, texts: pa.Array) -> Block:
        """Project the weighted n-grams of the texts onto the components."""
        if self._vectorizer is None:
            from sklearn.feature_extraction.text import TfidfVectorizer

            # These are the settings of skrub's StringEncoder.
            self._vectorizer = TfidfVectorizer(ngram_range=(3, 4), analyzer="char_wb", vocabulary=self.vocabulary)
            self._vectorizer.idf_ = self.idf
        weights = self._vectorizer.transform(texts.fill_null("").to_pylist())
        return np.asarray(weights @ self.components.T.astype(np.float64))

    def names(self, name: str) -> list[str]:
        return [f"{name} {k}" for k in range(len(self.components))]

    def describe(self) -> str:
        return f"text of {self.distinct} different values: {len(self.components)} components of character n-grams"
