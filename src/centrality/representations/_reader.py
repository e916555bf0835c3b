"""Read rows for a Chain by its representation."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._estimator import CheckedRows, ModelRows
from centrality.model.fitted import Fitted
from centrality.model.reader import Features, FeatureValues, Reading, RowReader
from centrality.representations._base import Representation
from centrality.scores.reasons import Reasons
from centrality.tables.columns import DataNote
from centrality.tables.unreadable import MOST, NEW_GAP, NEW_VALUE, Unreadable, checked_share

SHARED_WORDS = "words that other rows have"


class RepresentationReader(RowReader):
    """Reads tables, texts, images or series as a fitted representation does."""

    def __init__(self, representation: Representation, fitted: Fitted) -> None:
        super().__init__(fitted)
        self._representation = representation

    def vectors(self, X: ModelRows) -> NDArray[Any]:  # (n, p)
        """Return the rows' vectors as the networks take them; a row that could not be represented is all NaN."""
        if self.fitted.context is None:
            return np.asarray(self._representation.transform(X))
        vectors, unreadable = self.examined(X)
        unreadable.require_few(self.reading().unreadable)
        for note in unreadable.notes():
            warnings.warn(note, DataNote, stacklevel=2)
        return vectors

    def examined(self, X: ModelRows) -> tuple[NDArray[Any], Unreadable]:
        """Return the rows' vectors as the networks take them, and which cells the representation could not read."""
        vectors, unreadable = self._representation.examined(X)
        new = replace(self.new_kinds(vectors), rows=0)  # of the rows that are counted already
        said = self._without_new_contexts(unreadable, new.count())
        return np.asarray(self.fitted.relative(np.asarray(vectors))), said + new

    def _without_new_contexts(self, unreadable: Unreadable, new: int) -> Unreadable:
        """Leave out the faults of new values in context columns, if they are already counted as rows of new kinds.

        They do not count against the row, which is compared with what all kinds have in common.
        """
        cells: dict[str, dict[str, int]] = {}
        for name, faults in unreadable.cells.items():
            told = name in self.given() and sum(faults.get(fault, 0) for fault in (NEW_VALUE, NEW_GAP)) <= new
            kept = {fault: count for fault, count in faults.items() if not (told and fault in (NEW_VALUE, NEW_GAP))}
            cells |= {name: kept} if kept else {}
        return Unreadable(unreadable.rows, cells)

    def reading(self) -> Reading:
        """Say how the model reads a table: as its representation does."""
        representation = self._representation
        return Reading(
            representation.kind,
            representation.columns_,
            representation.types(),
            one_series=representation.windowed,
            rows_at_once=representation.rows_at_once,
            unreadable=checked_share(getattr(representation, "unreadable", MOST)),
        )

    def about(self) -> dict[str, Any]:
        """Return which representation reads the rows, how it encodes each column, and which columns are doubtful."""
        read = self._representation
        return {"representation": type(read).__name__, "reads": read.describe(), "doubts": read.doubts()}

    def warm_up(self) -> None:
        """Load the encoder, where there is one, and score something."""
        self._representation.warm_up()
        super().warm_up()

    def configure(self, **settings: object) -> None:
        """Set options of this machine (caches, devices) that the representation has."""
        known = self._representation.get_params(deep=False)
        self._representation.set_params(
            **{name: value for name, value in settings.items() if value is not None and name in known}
        )

    def features(self) -> Features | None:
        """Return the features that explanations name: those behind the representation's numbers, if they have names."""
        origins = self._representation.origins()
        return None if origins is None else Features(*origins)

    def values_of(self, point: NDArray[np.float64]) -> Sequence[object]:
        """Return the values that a vector encodes, feature by feature."""
        return self._representation.typical(self.fitted.absolute(point[None])[0])

    def values(self, X: ModelRows, vectors: CheckedRows) -> FeatureValues:
        """Return the rows' values, feature by feature."""
        return self._representation.values(X)

    def reasons(
        self,
        t: float,
        scores: NDArray[np.float64],
        parts: NDArray[np.float64],
        values: FeatureValues,
        vectors: CheckedRows,
        *,
        top: int = 3,
        names: Sequence[str] | None = None,
    ) -> Reasons:
        """Put contributions into words; of a text that counts mostly for its rare words, say that these are rare."""
        found = super().reasons(t, scores, parts, values, vectors, top=top, names=names)
        rarities, features = self._representation.rarities(), self.features_with_names().names
        places = {
            shown: rarities[name] for shown, name in zip(names or features, features, strict=True) if name in rarities
        }
        rows = [
            [
                replace(reason, typical=SHARED_WORDS)
                if reason.feature in places and row[places[reason.feature]] < reason.contribution / 2
                else reason
                for reason in reasons
            ]
            for row, reasons in zip(parts, found.rows, strict=True)
        ]
        return replace(found, rows=rows)

    def by_moment(self, scores: NDArray[np.float64], length: int) -> NDArray[np.float64]:
        """Return scores of a series' windows as scores of its moments, where the rows are one series."""
        return self._representation.spread(scores, length) if self._representation.windowed else scores

    def rows_of(self, length: int) -> NDArray[np.intp]:
        """Return which of so many rows each vector belongs to; for a window of a series, its first row."""
        return self._representation.rows_of(length)

    def shown(self, X: ModelRows) -> Sequence[object] | None:
        """Return the texts, images or curves behind the vectors."""
        return self._representation.shown(X)
