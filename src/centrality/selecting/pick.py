"""Pick rows: the most typical or the oddest, a few that represent all, or those to label first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError, generator, whole_number
from centrality._estimator import CheckedRows, ModelRows
from centrality.model.blocks import over_vectors
from centrality.model.fitted import Fitted
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.scores.mixing import one_t
from centrality.selecting.grouping import Labels, codes_of, interleaved, shares_of
from centrality.selecting.spreading import sample_for, spread

KINDS = ("typical", "diverse", "representative", "odd", "to label")
# The share of the rows, the least central, that represents nothing; of rows to label fewer: a rare class is no outlier.
OUTLYING = {"representative": 0.05, "to label": 0.01}


def select(
    model: CentralityModel,
    X: ModelRows,
    k: int,
    what: str = "diverse",
    *,
    by: Labels | None = None,
    t: float | None = None,
    random_state: int | None = 0,
    progress: bool = False,
) -> NDArray[np.intp]:  # (k,)
    """Return the positions of k rows of X, the best first: every prefix is a good choice for its size.

    Parameters
    ----------
    what : which rows.

        - "typical": the most central ones.
        - "odd": the least central ones.
        - "diverse": rows that cover all rows, odd ones too: the mean distance to the nearest of them is small.
        - "representative": rows that cover the others as "diverse" does, but for the 5% least central: no outliers.
        - "to label": what a classifier learns the most from: all rows but the 1% least central are covered, those far
          from what is chosen before others, so that rare classes and borders have their share.
    by : a column of X, or one value for each row: k is shared evenly among these groups, and they take turns.
    t : from 0, global, to 1, local; None is the model's own.
    random_state : the seed of what covers; the same seed picks the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import FUSE, select
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = FUSE(random_state=0, max_steps=100).fit(X)
    >>> odd = select(model, X, 5, "odd")
    >>> bool(np.linalg.norm(X[odd], axis=1).min() > np.median(np.linalg.norm(X, axis=1)))
    True
    """
    reader_of(model).require_rows_apart()
    vectors = reader_of(model).vectors(X)
    rows = np.flatnonzero(~np.isnan(vectors).all(1)) if isinstance(vectors, np.ndarray) else np.arange(vectors.shape[0])
    groups = codes_of(X, by, vectors.shape[0])[rows]
    t = one_t(model.t if t is None else t)
    return Picker(model.fitted_, vectors, t, what, generator(random_state), progress).pick_by(groups, rows, k)


@dataclass(frozen=True)
class Picker:
    """Picks rows of one kind among those it is given."""

    fitted: Fitted
    vectors: CheckedRows
    t: float
    what: str
    rng: np.random.Generator
    progress: bool = False

    def __post_init__(self) -> None:
        if self.what not in KINDS:
            raise InputError(f"what must be one of {', '.join(map(repr, KINDS))}, got {self.what!r}.")

    def pick_by(self, groups: NDArray[np.intp], rows: NDArray[np.intp], k: int) -> NDArray[np.intp]:
        """Return k of these rows, divided evenly among their groups and interleaved, the best first."""
        shares = shares_of(whole_number("k", k, at_most=len(rows)), np.bincount(groups))
        return interleaved([self.pick(rows[groups == g], int(share)) for g, share in enumerate(shares)])

    def pick(self, rows: NDArray[np.intp], k: int) -> NDArray[np.intp]:
        """Return k of these rows, the best first."""
        if self.what in ("typical", "odd"):
            order = np.argsort(self._scores(rows), kind="stable")
            return np.asarray(rows[order[::-1] if self.what == "typical" else order][:k])
        sample = sample_for(k, rows, self.rng)
        Z = self.fitted.scaling.apply(self.vectors[sample])
        weight = None if self.what == "diverse" else self._weights(sample)
        chosen = spread(Z, k, self.rng, weight, squared=self.what == "to label", progress=self.progress)
        return np.asarray(sample[chosen])

    def _scores(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        return over_vectors(self.vectors[rows], lambda block: self.fitted.scores(block, self.t))

    def _weights(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return 0 for rows that are outlying among these, and 1 for the others."""
        scores = self._scores(rows)
        return (scores >= np.quantile(scores, OUTLYING[self.what])).astype(np.float32)
