"""Read users' rows for a model: numbers as they are, other rows by a representation.

`reader_of(model)` returns the reader of a fitted model. Whatever feeds rows to a model uses it: files, the page, the
service.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from centrality._internal.arrays import without_rounding
from centrality._internal.checks import InputError, warn_caller, whole_number
from centrality._internal.input import CheckedRows, ModelRows, rows_to_score
from centrality.analysis.drift import threshold_in_words
from centrality.analysis.drift_columns import Constant, Names
from centrality.analysis.reasons import Reason, Reasons, usual_of_kind
from centrality.model.explain import sum_by_feature
from centrality.model.fitted import FittedModel
from centrality.network.scaling import dense
from centrality.tables.columns import MOST, NEW_GAP, NEW_KIND, NEW_VALUE, CellIssues, DataNote, checked_share

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel
    from centrality.representations.base import Representation


Matrix = NDArray[np.float64]
FeatureValues: TypeAlias = Sequence[Sequence[object]] | NDArray[np.generic]  # for each feature, its value in each row


@dataclass(frozen=True)
class Reading:
    """How a model reads a table: which columns, of which types, and what a row is."""

    kind: str  # "numbers", "table", "text", "images" or "series"
    columns: list[str] | None  # None for all columns of the table, in its order
    types: dict[str, pa.DataType] = field(default_factory=dict)  # that columns of text files are read as
    one_series: bool = False  # whether all rows together are one series, scored by its windows
    rows_at_once: int = 4096  # how many rows are best read together
    unreadable: float = MOST  # the largest share of unreadable cells that a column may have
    watched: Sequence[str] = ()  # optional columns, constant in fitting, of which only a change is reported


@dataclass(frozen=True)
class Features:
    """The names of the features of explanations, and which feature each number of a vector belongs to."""

    names: list[str]
    owner: NDArray[np.intp] | None = None  # (p,) None if every number is a feature of its own


class RowReader(ABC):
    """Reads the rows of one kind of model; a kind defines the abstract methods and overrides others where it must."""

    def __init__(self, fitted: FittedModel) -> None:
        self.fitted = fitted

    @abstractmethod
    def vectors(self, X: ModelRows) -> CheckedRows:  # (n, p)
        """Return the vectors of the rows, as the fitted model takes them; a row without a vector is all NaN."""

    @abstractmethod
    def input_spec(self) -> Reading:
        """Say how the model reads a table."""

    @abstractmethod
    def features(self) -> Features | None:
        """Return the features that explanations name; None where the numbers of a vector have no names."""

    @abstractmethod
    def values(self, X: ModelRows, vectors: CheckedRows) -> FeatureValues:
        """Return the values of the rows of X, feature by feature; `vectors` are the vectors of X."""

    def blocks(self) -> list[str]:
        """Return the features that are pictures, long texts or vectors."""
        return []

    def blocks_to_blame(self, vectors: CheckedRows) -> dict[str, NDArray[np.object_]]:
        """Return, for each pair of parts by name, which of them is odd by itself and explains the pair; else None."""
        return {}

    def values_of(self, point: Matrix) -> Sequence[object] | NDArray[np.generic]:
        """Return the value of each feature that a vector stands for: by default, the vector's own numbers."""
        point = self.fitted.absolute(point[None])[0]
        columns = self.fitted.training_scores.columns
        if columns is None:
            return point
        with np.errstate(over="ignore"):  # the spread of a column of the largest floats is infinite
            return without_rounding(point, np.ptp(columns.values, axis=0))

    def vectors_and_issues(self, X: ModelRows) -> tuple[CheckedRows, CellIssues]:
        """Return the vectors of the rows, and which of their cells could not be read, without a warning."""
        vectors = self.vectors(X)
        return vectors, CellIssues(vectors.shape[0])

    def given(self) -> list[str]:
        """Return the names of the context columns; an empty list without a context."""
        context = self.fitted.context
        features = self.features()
        if context is None or features is None:
            return []
        owner = self.owner()
        return list(dict.fromkeys(str(features.names[owner[place]]) for place in context.given))

    def new_kinds(self, rows: CheckedRows) -> CellIssues:
        """Count the rows, given in the user's units, whose context did not occur in fitting."""
        context = self.fitted.context
        count = 0 if context is None else int(context.unseen(rows).sum())
        return CellIssues(rows.shape[0], {", ".join(self.given()): {NEW_KIND: count}} if count else {})

    def relative(self, rows: CheckedRows) -> CheckedRows:
        """Return rows relative to their context, as the fitted model takes them; warn of new contexts."""
        if self.fitted.context is None:
            return rows
        for note in self.new_kinds(rows).notes():
            warn_caller(note, DataNote)
        return self.fitted.relative(rows)

    def windows_to_time(self, scores: Matrix, length: int) -> Matrix:
        """Turn scores of a series' windows into scores of its moments; other models have scores of rows already."""
        return scores

    def rows_of(self, length: int) -> NDArray[np.intp]:
        """Return the row that each vector belongs to, of `length` rows; a window of a series has its first row."""
        return np.arange(length)

    def shown(self, X: ModelRows) -> Sequence[object] | None:
        """Return a text or a picture for each vector's row; None if its columns say all."""
        return None

    def has_constants(self) -> bool:
        """Say whether columns were left out because they had one value in all training rows."""
        return False

    def constants(self, X: ModelRows) -> list[Constant]:
        """Return the columns that had one value in all training rows and have another one somewhere in X."""
        return []

    def about(self) -> dict[str, Any]:
        """Return facts about how rows are read, as plain values to print."""
        return {}

    def configure(self, **settings: object) -> None:
        """Set options of the reader that depend on this machine, such as caches and devices; some readers have none."""
        return

    @contextmanager
    def suppress_issues(self) -> Iterator[None]:
        """Read without notes and without a limit of unreadable cells: for parts of data already checked as a whole."""
        unreadable = self.input_spec().unreadable
        self.configure(unreadable=1.0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataNote)
                yield
        finally:
            self.configure(unreadable=unreadable)

    def warm_up(self) -> None:
        """Score something now, so that the first request does not wait until libraries and encoders are loaded."""
        self.fitted.heads(np.zeros((1, self.fitted.width)))

    # The rest is the same for every kind.

    def names_of_vectors(self) -> Names:
        """Return the names of a vector's numbers for reports: those of their features, if features have names."""
        features = self.features()
        if features is None:
            width = self.fitted.width
            return Names([f"number {j} of the vector" for j in range(width)], [True] * width)
        owner = self.owner()
        single = np.bincount(owner, minlength=len(features.names)) == 1
        return Names([features.names[k] for k in owner], [bool(single[k]) for k in owner])

    def about_threshold(self, heads: Matrix, t: float) -> str:
        """Say whether the threshold at t calls a larger share of these rows outliers than of the calibration rows."""
        fitted = self.fitted
        if fitted.inliers is None or not fitted.knows_offset_for(t):
            return ""
        calibration = fitted.mixing.squeeze(fitted.inlier_scores(t))
        threshold = float(fitted.mixing.squeeze(np.array(fitted.offset_for(t))))
        return threshold_in_words(threshold, fitted.mixing(heads, t), calibration)

    def owner(self) -> NDArray[np.intp]:  # (p,)
        """Return which feature each number of a vector belongs to; without features, every number is one."""
        features = self.features()
        return np.arange(self.fitted.width) if features is None or features.owner is None else features.owner

    def by_feature(self, contributions: Matrix) -> Matrix:  # (n, p) -> (n, features)
        """Add up the contributions of the numbers that belong to the same feature."""
        features = self.features()
        if features is None or features.owner is None:
            return contributions
        return sum_by_feature(contributions, features.owner, len(features.names))

    def features_with_names(self) -> Features:
        """Return the features that explanations name; raise if they have no names."""
        features = self.features()
        if features is None:
            raise InputError(
                f"This model turns {self.input_spec().kind} into vectors whose numbers have no names: there is nothing "
                "to put into words. `explain` gives their contributions."
            )
        return features

    def require_rows_apart(self) -> None:
        """Raise if the model reads all rows as one series: then no row can be ranked, picked or marked by itself."""
        if self.input_spec().one_series:
            raise InputError(
                "One row a case was wanted, but this model reads all rows as one series: score it instead."
            )

    def reasons(
        self,
        t: float,
        scores: Matrix,
        contributions: Matrix,
        values: FeatureValues,
        vectors: CheckedRows,
        *,
        top: int = 3,
        names: Sequence[str] | None = None,
    ) -> Reasons:
        """Put contributions of the vectors' numbers, (n, p), into words, by the rows' `values`, feature by feature."""
        features = self.features_with_names()
        if self.fitted.context is None:
            typical: Sequence[Sequence[object] | NDArray[np.generic]]
            typical = [self.values_of(point) for point in self.fitted.typical]
            nearest = self.fitted.nearest_typical(vectors)
        else:
            typical = self.typical_in_context(vectors)
            nearest = np.arange(vectors.shape[0])
        return Reasons.of(
            t,
            scores,
            self.by_feature(contributions),
            names=features.names if names is None else names,
            values=values,
            typical=typical,
            against=nearest,
            top=whole_number("top", top),
        )

    def typical_in_context(self, vectors: CheckedRows) -> list[list[object]]:
        """Return for each row what is typical in its context, feature by feature: a range, or the typical value."""
        context = self.fitted.context
        assert context is not None
        rows = np.asarray(dense(vectors), dtype=np.float64)
        low, high = context.usual_range(rows)
        typical = self.fitted.typical_for(rows)
        return [
            list(map(usual_of_kind, self.values_of(typical[k]), self.values_of(low[k]), self.values_of(high[k])))
            for k in range(len(rows))
        ]


class NumberReader(RowReader):
    """Reads rows of numbers as they are, by the names of their columns if the training rows had any."""

    def __init__(self, estimator: BaseEstimator, fitted: FittedModel) -> None:
        super().__init__(fitted)
        self._estimator = estimator  # it knows how many columns there are, and their names

    def vectors(self, X: ModelRows) -> CheckedRows:  # (n, p)
        """Return the rows as they are, checked; with a context, relative to it."""
        return self.relative(rows_to_score(self._estimator, X))

    def input_spec(self) -> Reading:
        """Say how the model reads a table: columns of numbers."""
        names = self.fitted.names
        columns = None if names is None else list(names)
        return Reading("numbers", columns, {name: pa.float64() for name in columns or ()})

    def features(self) -> Features:
        """Return the features that explanations name: the columns."""
        return Features(self.fitted.features)

    def values(self, X: ModelRows, vectors: CheckedRows) -> NDArray[np.generic]:  # (p, n)
        """Return the rows' values, column by column."""
        return dense(vectors if self.fitted.context is None else rows_to_score(self._estimator, X)).T


def reader_of(model: "CentralityModel") -> RowReader:
    """Return the reader of a fitted model; raise if it is not fitted."""
    return model._reader()  # noqa: SLF001  (a model and its reader belong together)


def _require_rows(vectors: NDArray[Any]) -> None:
    if not len(vectors):
        raise InputError("At least one row was wanted, got 0 rows.")


SHARED_WORDS = "words that other rows have"


class RepresentationReader(RowReader):
    """Reads tables, texts, images or series as a fitted representation does."""

    def __init__(self, representation: "Representation", fitted: FittedModel) -> None:
        super().__init__(fitted)
        self._representation = representation

    def vectors(self, X: ModelRows) -> NDArray[Any]:  # (n, p)
        """Return the vectors of the rows, as the fitted model takes them; a row without a vector is all NaN."""
        if self.fitted.context is None:
            vectors = np.asarray(self._representation.transform(X))
            _require_rows(vectors)
            return vectors
        vectors, issues = self.vectors_and_issues(X)
        _require_rows(vectors)
        issues.require_few(self.input_spec().unreadable)
        for note in issues.notes():
            warn_caller(note, DataNote)
        return vectors

    def vectors_and_issues(self, X: ModelRows) -> tuple[NDArray[Any], CellIssues]:
        """Return the vectors of the rows, as the fitted model takes them, and which cells could not be read.

        A new value in a context column is not reported where the row is already reported as one of a new context.
        """
        vectors, issues = self._representation.examined(X)
        new_contexts = self.new_kinds(vectors)
        context_columns = self.given()
        cells: dict[str, dict[str, int]] = {}
        for name, counts in issues.cells.items():
            new_values = sum(counts.get(issue, 0) for issue in (NEW_VALUE, NEW_GAP))
            if name in context_columns and new_values <= new_contexts.count():
                counts = {issue: count for issue, count in counts.items() if issue not in (NEW_VALUE, NEW_GAP)}
            if counts:
                cells[name] = dict(counts)
        relative = np.asarray(self.fitted.relative(np.asarray(vectors)))
        return relative, CellIssues(issues.rows, cells) + replace(new_contexts, rows=0)  # each row counts once

    def input_spec(self) -> Reading:
        """Say how the model reads a table: as its representation does."""
        representation = self._representation
        return Reading(
            representation.kind,
            representation.columns_,
            representation.types(),
            one_series=representation.windowed,
            rows_at_once=representation.rows_at_once,
            unreadable=checked_share(getattr(representation, "unreadable", MOST)),
            watched=representation.watched(),
        )

    def constants(self, X: ModelRows) -> list[Constant]:
        """Return the columns that had one value in all training rows and have another one somewhere in X."""
        values = self._representation.constants()
        changed = self._representation.changed_constants(X) if values else {}
        return [Constant(name, values[name], changed[name]) for name in changed]

    def about(self) -> dict[str, Any]:
        """Return which representation reads the rows, how it encodes each column, and which columns are doubtful."""
        representation = self._representation
        return {
            "representation": type(representation).__name__,
            "reads": representation.describe(),
            "doubts": representation.doubts(),
        }

    def warm_up(self) -> None:
        """Load the encoder, where there is one, and score something."""
        self._representation.warm_up()
        super().warm_up()

    def configure(self, **settings: object) -> None:
        """Set those options of the representation that depend on this machine, such as caches and devices."""
        options = self._representation.get_params(deep=False)
        self._representation.set_params(
            **{name: value for name, value in settings.items() if value is not None and name in options}
        )

    def features(self) -> Features | None:
        """Return the features that the representation's numbers come from; None if these have no names."""
        origins = self._representation.origins()
        if origins is None:
            return None
        names, owner = origins
        return Features(names, owner)

    def has_constants(self) -> bool:
        """Say whether columns were left out because they had one value in all training rows."""
        return bool(self._representation.constants())

    def values_of(self, point: NDArray[np.float64]) -> Sequence[object]:
        """Return the value of each feature that a vector stands for."""
        return self._representation.typical(self.fitted.absolute(point[None])[0])

    def values(self, X: ModelRows, vectors: CheckedRows) -> FeatureValues:
        """Return the rows' values, feature by feature."""
        return self._representation.values(X)

    def reasons(
        self,
        t: float,
        scores: Matrix,
        contributions: Matrix,
        values: FeatureValues,
        vectors: CheckedRows,
        *,
        top: int = 3,
        names: Sequence[str] | None = None,
    ) -> Reasons:
        """Put contributions into words; if a text is odd mostly by its rare words, say that other rows lack them.

        What a pair of parts contributes is the contribution of one of them where that is odd by itself.
        """
        contributions = self._of_blocks(contributions, vectors)
        reasons = super().reasons(t, scores, contributions, values, vectors, top=top, names=names)
        features = self.features_with_names().names
        rarities = self._representation.rarities()  # by feature, the number of a vector that measures rare words
        number_by_name = {
            name: rarities[feature]
            for name, feature in zip(names or features, features, strict=True)
            if feature in rarities
        }

        def is_by_rare_words(reason: Reason, parts: Matrix) -> bool:
            number = number_by_name.get(reason.feature)
            return number is not None and bool(parts[number] < reason.contribution / 2)

        rows = [
            [
                replace(reason, typical=SHARED_WORDS) if is_by_rare_words(reason, parts) else reason
                for reason in reasons_of_row
            ]
            for parts, reasons_of_row in zip(contributions, reasons.rows, strict=True)
        ]
        return replace(reasons, rows=rows)

    def blocks(self) -> list[str]:
        """Return the features that are pictures, long texts or vectors."""
        return self._representation.block_names()

    def blocks_to_blame(self, vectors: CheckedRows) -> dict[str, NDArray[np.object_]]:
        """Return, for each pair of parts by name, which of them is odd by itself and explains the pair; else None."""
        if not self._representation.pairs():
            return {}
        return self._representation.blocks_to_blame(np.asarray(self.fitted.absolute(np.asarray(dense(vectors)))))

    def _of_blocks(self, contributions: Matrix, vectors: CheckedRows) -> Matrix:
        """Return the contributions, those of pairs put down to the part that explains them."""
        to_blame = self.blocks_to_blame(vectors)
        if not to_blame:
            return contributions
        names = self.features_with_names().names
        first_number = {name: int(np.flatnonzero(self.owner() == names.index(name))[0]) for name in names}
        contributions = contributions.copy()
        for pair, blamed in to_blame.items():
            for name in set(blamed) - {None}:
                rows = (blamed == name) & (contributions[:, first_number[pair]] < 0)
                contributions[rows, first_number[name]] += contributions[rows, first_number[pair]]
                contributions[rows, first_number[pair]] = 0.0
        return contributions

    def windows_to_time(self, scores: NDArray[np.float64], length: int) -> NDArray[np.float64]:
        """Turn scores of windows into scores of moments, if the rows are one series."""
        return self._representation.spread(scores, length) if self._representation.windowed else scores

    def rows_of(self, length: int) -> NDArray[np.intp]:
        """Return the row that each vector belongs to, of `length` rows; a window of a series has its first row."""
        return self._representation.rows_of(length)

    def shown(self, X: ModelRows) -> Sequence[object] | None:
        """Return the text, image or curve of each vector."""
        return self._representation.shown(X)
