"""Read rows for a model: turn them into vectors, and name the feature behind each number of a vector.

`reader_of(model)` gives a fitted model's reader to those who bring it rows: the adapter, the page, the service.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from centrality._checks import InputError, whole_number
from centrality._estimator import CheckedRows, ModelRows, rows_to_score
from centrality.model.explanations import grouped
from centrality.model.fitted import Fitted
from centrality.network.scaling import dense
from centrality.scores.drift import Names
from centrality.scores.magnitudes import without_rounding
from centrality.scores.reasons import Reasons, usual_of_kind
from centrality.tables.columns import DataNote
from centrality.tables.unreadable import MOST, NEW_KIND, Unreadable

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

Matrix = NDArray[np.float64]
FeatureValues: TypeAlias = Sequence[Sequence[object]] | NDArray[np.generic]  # feature by feature, row by row


@dataclass(frozen=True)
class Reading:
    """Say how a model reads a table: which columns, how text files hold them, and what a row is."""

    kind: str  # "numbers", "table", "text", "images" or "series"
    columns: list[str] | None  # None: whatever columns there are, in their order
    types: dict[str, pa.DataType] = field(default_factory=dict)
    one_series: bool = False  # all rows together are one series, scored by its windows
    rows_at_once: int = 4096  # how many rows are best read together
    unreadable: float = MOST  # the share of rows in which a column may fail to be read


@dataclass(frozen=True)
class Features:
    """Name the features of explanations, and say which feature each number of a vector belongs to."""

    names: list[str]
    owner: NDArray[np.intp] | None = None  # (p,) None: every number is a feature of its own


class RowReader(ABC):
    """Reads the rows of one kind of model; a kind defines the abstract methods and overrides others where it must."""

    def __init__(self, fitted: Fitted) -> None:
        self.fitted = fitted

    @abstractmethod
    def vectors(self, X: ModelRows) -> CheckedRows:
        """Return the rows as the network's scaling takes them; a row that has no vector is all NaN."""  # (n, p)

    @abstractmethod
    def reading(self) -> Reading:
        """Say how the model reads a table."""

    @abstractmethod
    def features(self) -> Features | None:
        """Return the features that explanations name; None where the numbers of a vector have no names."""

    @abstractmethod
    def values(self, X: ModelRows, vectors: CheckedRows) -> FeatureValues:
        """Return the values of the rows of X, feature by feature; `vectors` are those of X."""

    def values_of(self, point: Matrix) -> Sequence[object] | NDArray[np.generic]:
        """Return the feature values that a vector encodes: its own numbers, where each number is a feature."""
        point, columns = self.fitted.absolute(point[None])[0], self.fitted.training_scores.columns
        return point if columns is None else without_rounding(point, np.ptp(columns.values, axis=0))

    def examined(self, X: ModelRows) -> tuple[CheckedRows, Unreadable]:
        """Return the `vectors` of the rows, and which of their cells could not be read, without a warning."""
        vectors = self.vectors(X)
        return vectors, Unreadable(vectors.shape[0])

    def given(self) -> list[str]:
        """Return the names of the features that are the context; an empty result without one."""
        context, features = self.fitted.context, self.features()
        if context is None or features is None:
            return []
        owner = self.owner()
        return list(dict.fromkeys(str(features.names[owner[place]]) for place in context.given))

    def new_kinds(self, rows: CheckedRows) -> Unreadable:
        """Count the rows of a kind that was not seen in fitting. Rows come in the user's units."""
        context = self.fitted.context
        count = 0 if context is None else int(context.unseen(rows).sum())
        return Unreadable(rows.shape[0], {", ".join(self.given()): {NEW_KIND: count}} if count else {})

    def relative(self, rows: CheckedRows) -> CheckedRows:
        """Return rows relative to their context, as the fitted model takes them; warn of kinds not seen in fitting."""
        if self.fitted.context is None:
            return rows
        for note in self.new_kinds(rows).notes():
            warnings.warn(note, DataNote, stacklevel=2)
        return self.fitted.relative(rows)

    def by_moment(self, scores: Matrix, length: int) -> Matrix:
        """Return scores of a series' windows as scores of its moments; other models have a score per row already."""
        return scores

    def rows_of(self, length: int) -> NDArray[np.intp]:
        """Return which of so many rows each vector belongs to: one vector per row, except for windows of a series."""
        return np.arange(length)

    def shown(self, X: ModelRows) -> Sequence[object] | None:
        """Return a text or a picture of each vector's row; None where its columns are enough."""
        return None

    def about(self) -> dict[str, Any]:
        """Return facts about how rows are read, as plain values to print."""
        return {}

    def configure(self, **settings: object) -> None:
        """Set options of this machine (caches, devices) that the model has; a model of numbers has none."""
        return

    @contextmanager
    def reading_again(self) -> Iterator[None]:
        """Read a few rows of data that was judged whole: no notes and no limit of unreadable cells in the block."""
        most = self.reading().unreadable
        self.configure(unreadable=1.0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataNote)
                yield
        finally:
            self.configure(unreadable=most)

    def warm_up(self) -> None:
        """Score something now, so that the first request does not wait until libraries and encoders are loaded."""
        self.fitted.heads(np.zeros((1, self.fitted.width)))

    # What follows from the above, for every kind.

    def names_of_vectors(self) -> Names:
        """Return the names of a vector's numbers for reports: those of their features, where features have names."""
        features, width = self.features(), self.fitted.width
        if features is None:
            return Names([f"number {j} of the vector" for j in range(width)], [True] * width)
        if features.owner is None:
            return Names(features.names, [True] * width)
        alone = np.bincount(features.owner, minlength=len(features.names)) == 1
        return Names([features.names[k] for k in features.owner], [bool(alone[k]) for k in features.owner])

    def owner(self) -> NDArray[np.intp]:
        """Return which feature each number of a vector belongs to; without features, each is one by itself."""  # (p,)
        features = self.features()
        return np.arange(self.fitted.width) if features is None or features.owner is None else features.owner

    def by_feature(self, parts: Matrix) -> Matrix:
        """Add up the contributions of the numbers that belong to the same feature."""  # (n, p) -> (n, features)
        features = self.features()
        if features is None or features.owner is None:
            return parts
        return grouped(parts, features.owner, len(features.names))

    def features_with_names(self) -> Features:
        """Return the features that explanations name; raise if they have no names."""
        if (features := self.features()) is None:
            raise InputError(
                f"This model turns {self.reading().kind} into vectors whose numbers have no names: there is nothing to "
                "put into words. `explain` gives their contributions."
            )
        return features

    def require_rows_apart(self) -> None:
        """Raise if the model reads all rows as one series: then no row can be ranked, picked or marked by itself."""
        if self.reading().one_series:
            raise InputError(
                "One row a case was wanted, but this model reads all rows as one series: score it instead."
            )

    def reasons(
        self,
        t: float,
        scores: Matrix,
        parts: Matrix,
        values: FeatureValues,
        vectors: CheckedRows,
        *,
        top: int = 3,
        names: Sequence[str] | None = None,
    ) -> Reasons:
        """Put contributions of the vectors' numbers, (n, p), into words; `values` are those of `values`."""
        features, fitted = self.features_with_names(), self.fitted
        alike = fitted.context is None
        names = features.names if names is None else names
        return Reasons.of(
            t,
            scores,
            self.by_feature(parts),
            names=names,
            values=values,
            typical=[self.values_of(point) for point in fitted.typical] if alike else self.usual(vectors),
            against=fitted.nearest_typical(vectors) if alike else np.arange(vectors.shape[0]),
            top=whole_number("top", top),
        )

    def usual(self, vectors: CheckedRows) -> list[list[object]]:
        """Return the usual values of each row's kind, feature by feature: a range, or the typical value.

        Only for a model that was fitted with a context: a row has no kind otherwise.
        """
        context = self.fitted.context
        assert context is not None
        made = np.asarray(dense(vectors), dtype=np.float64)
        points = (self.fitted.typical_for(made), *context.usual_range(made))
        return [
            [usual_of_kind(*values) for values in zip(*map(self.values_of, three), strict=True)]
            for three in zip(*points, strict=True)
        ]


class NumberReader(RowReader):
    """Reads rows of numbers as they are, by the names of their columns if the training rows had any."""

    def __init__(self, estimator: BaseEstimator, fitted: Fitted) -> None:
        self.fitted, self._estimator = fitted, estimator  # which knows the names and the number of the columns

    def vectors(self, X: ModelRows) -> CheckedRows:
        """Return the rows as they are, checked; given a context, relative to their kinds."""  # (n, p)
        return self.relative(rows_to_score(self._estimator, X))

    def reading(self) -> Reading:
        """Say how the model reads a table: columns of numbers."""
        names = self.fitted.names
        columns = None if names is None else list(names)
        return Reading("numbers", columns, {name: pa.float64() for name in columns or ()})

    def features(self) -> Features:
        """Return the features that explanations name: the columns."""
        return Features(self.fitted.features)

    def values(self, X: ModelRows, vectors: CheckedRows) -> NDArray[np.generic]:
        """Return the rows' values, column by column."""  # (p, n)
        return dense(vectors if self.fitted.context is None else rows_to_score(self._estimator, X)).T


def reader_of(model: "CentralityModel") -> RowReader:
    """Return the reader of a fitted model; raise if it is not fitted."""
    return model._reader()  # noqa: SLF001  (models and their readers are one house)
