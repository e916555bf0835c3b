"""Encode a column of words: free text, or categories of many values."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.representations._column_cells import FAR, Block, Cells, ColumnEncoder, mask_of, texts_of
from centrality.tables.unreadable import NEW_GAP, NEW_VALUE

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

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
    kind = "words"
    _vectorizer: "CountVectorizer | None" = field(default=None, repr=False, compare=False)

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray) -> "Words":
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        texts = texts_of(values)
        vectorizer = TfidfVectorizer(**NGRAMS)
        weighted = vectorizer.fit_transform(texts.fill_null("").to_pylist()).astype(np.float32)
        vocabulary = vectorizer.get_feature_names_out().tolist()
        if min(weighted.shape) > COMPONENTS:
            components = TruncatedSVD(COMPONENTS, random_state=0).fit(weighted).components_.astype(np.float32)
        else:  # so few that each may be a component
            components = np.eye(min(COMPONENTS, len(vocabulary)), len(vocabulary), dtype=np.float32)
        distinct, missing = pc.count_distinct(texts).as_py(), texts.null_count / len(texts)
        words = cls(vocabulary, vectorizer.idf_, components, np.zeros(len(components)), 1.0, distinct, missing)
        counts = words._counts(texts)
        projected = words._projected(counts, words.idf)
        words.center, words.factor = projected.mean(0), float(np.sqrt(projected.var(0).sum())) or 1.0
        words.rarest = float(np.log((1 + len(texts)) / 3) + 1)  # scikit-learn's idf where two texts have the n-gram
        mean_idf, weights = words._mean_idf(texts, counts, words.idf)
        if weights.any():
            words.usual_idf = float(np.average(mean_idf, weights=weights))
            words.deviation = float(((mean_idf - words.usual_idf) * weights).std())
        return words

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        texts = texts_of(values)
        return self._encoded(texts, self._counts(texts), self.idf)

    def encode_as_new(self, name: str, values: pa.ChunkedArray) -> Cells:
        texts = texts_of(values)
        n, counts = len(texts), self._counts(texts)
        texts_with = np.maximum(np.rint((1 + n) / np.exp(self.idf - 1)) - 1, 1)  # the inverse of scikit-learn's idf
        counts.data[texts_with[counts.indices] == 1] = 0  # no other text has the n-gram: to a new one it is unknown
        return self._encoded(texts, counts, np.log(n / texts_with) + 1)  # the idf without the text itself

    def _encoded(self, texts: pa.Array, counts: "csr_matrix", idf: Column) -> Cells:
        projected, gaps = self._projected(counts, idf), mask_of(pc.is_null(texts))
        faults = {NEW_VALUE: (projected == 0).all(1) & ~gaps & mask_of(pc.not_equal(texts.fill_null(""), ""))}
        if self.missing == 0:
            faults[NEW_GAP] = gaps
        block = (projected - self.center) / self.factor
        if self.deviation:
            mean_idf, weights = self._mean_idf(texts, counts, idf)
            block = np.column_stack([block, (mean_idf - self.usual_idf) * weights / self.deviation])
        return Cells(block, gaps, faults)

    def far_off(self) -> NDArray[np.float64]:
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
        return [*components, f"{name} rarity"] if self.deviation else components

    def describe(self) -> str:
        rarity = ", and how rare these are" if self.deviation else ""
        n = len(self.components)
        return f"text of {self.distinct} different values: {n} components of character n-grams{rarity}"
