"""Encode a column of words: free text, or categories of many values."""

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.representations._column_cells import FAR, Block, Cells, ColumnEncoder, mask_of, texts_of
from centrality.tables.unreadable import NEW_GAP, NEW_VALUE

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

COMPONENTS = 30  # numbers that encode a column of words, beside the rarity
LONG = 4  # letters of the n-grams whose rarity counts: shorter ones are common in many languages
MANY = 50  # n-grams of a text beyond which their number adds no weight

Column = NDArray[np.float64]  # (n,)


@dataclass
class Words(ColumnEncoder):
    """Encodes free text and categories of many values by the main components of their character n-grams (skrub).

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
        distinct, missing = pc.count_distinct(texts).as_py(), texts.null_count / len(texts)
        words = cls(vocabulary, vectorizer.idf_, components, np.zeros(len(components)), 1.0, distinct, missing)
        counts = words._counts(texts)
        projected = words._projected(counts)
        words.center, words.factor = projected.mean(0), float(np.sqrt(projected.var(0).sum())) or 1.0
        words.rarest = float(np.log((1 + len(texts)) / 3) + 1)  # scikit-learn's idf where two texts have the n-gram
        mean_idf, weights = words._mean_idf(texts, counts)
        if weights.any():
            words.usual_idf = float(np.average(mean_idf, weights=weights))
            words.deviation = float(((mean_idf - words.usual_idf) * weights).std())
        return words

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        texts = texts_of(values)
        counts = self._counts(texts)
        projected, gaps = self._projected(counts), mask_of(pc.is_null(texts))
        faults = {NEW_VALUE: (projected == 0).all(1) & ~gaps & mask_of(pc.not_equal(texts.fill_null(""), ""))}
        if self.missing == 0:
            faults[NEW_GAP] = gaps
        block = (projected - self.center) / self.factor
        if self.deviation:
            mean_idf, weights = self._mean_idf(texts, counts)
            block = np.column_stack([block, (mean_idf - self.usual_idf) * weights / self.deviation])
        return Cells(block, gaps, faults)

    def far_off(self) -> NDArray[np.float64]:
        return np.asarray(FAR * np.eye(len(self.names("")))[-1 if self.deviation else 0])

    def _counts(self, texts: pa.Array) -> "csr_matrix":  # (n, vocabulary)
        """Count the known n-grams of each text."""
        if self._vectorizer is None:
            from sklearn.feature_extraction.text import CountVectorizer

            # These are the settings of skrub's StringEncoder.
            self._vectorizer = CountVectorizer(
                ngram_range=(3, 4), analyzer="char_wb", vocabulary=self.vocabulary, dtype=np.float64
            )
        return self._vectorizer.transform(texts.fill_null("").to_pylist())

    def _projected(self, counts: "csr_matrix") -> Block:
        """Project the n-grams, weighted by their idf and brought to unit length, onto the components."""
        from sklearn.preprocessing import normalize

        weighted = counts.copy()
        weighted.data *= self.idf[weighted.indices]
        return np.asarray(normalize(weighted, copy=False) @ self.components.T.astype(np.float64))

    def _mean_idf(self, texts: pa.Array, counts: "csr_matrix") -> tuple[Column, Column]:
        """Return the mean idf of each text's n-grams of four letters, known or not, and how much it weighs.

        A mean of few n-grams is often far from the usual by chance: it weighs by the root of their number.
        """
        all_texts = texts.fill_null("").to_pylist()
        number = np.array([sum(len(word) - 1 for word in text.lower().split()) for text in all_texts], dtype=np.float64)
        less = np.maximum(self.rarest - self.idf, 0.0) * [len(ngram) == LONG for ngram in self.vocabulary]
        mean_idf = self.rarest - counts @ less / np.maximum(number, 1)
        return mean_idf, np.sqrt(np.minimum(number, MANY))

    def names(self, name: str) -> list[str]:
        components = [f"{name} {k}" for k in range(len(self.components))]
        return [*components, f"{name} rarity"] if self.deviation else components

    def describe(self) -> str:
        rarity = ", and how rare these are" if self.deviation else ""
        n = len(self.components)
        return f"text of {self.distinct} different values: {n} components of character n-grams{rarity}"
