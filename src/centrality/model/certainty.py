"""How sure, how bad, how many: what can be said of scores beside the scores, and with which promise."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from centrality._internal.checks import InputError, fraction, generator
from centrality._internal.input import CheckedRows, ModelRows
from centrality.analysis import conformal
from centrality.analysis.certificate import Certificate, OddShare, most_ordinary, odd_share
from centrality.analysis.monitor import Monitor, Streams
from centrality.analysis.stability import Stability
from centrality.model.display import FittedAttributes
from centrality.model.fitted import map_valid_rows
from centrality.model.reader import RowReader
from centrality.model.refits import refit_on_parts
from centrality.model.reservoir import MOST_OVERLAP
from centrality.network.calibration import checked_t, one_t
from centrality.network.scaling import dense

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

MOST_WATCHED = 50  # of more columns than these, a monitor watches none, only the scores

Matrix = NDArray[np.float64]


class Certainty(FittedAttributes, ABC):
    """The methods of a model that say how sure, how bad and how many; `CentralityModel` has them all."""

    @abstractmethod
    def _reader(self) -> RowReader: ...

    @abstractmethod
    def _units(self, X: ModelRows) -> Matrix: ...

    @abstractmethod
    def _map_rows(self, X: ModelRows, work: Callable[[CheckedRows], Matrix]) -> Matrix: ...

    @abstractmethod
    def p_values(
        self, X: ModelRows, t: float | Sequence[float] | None = None, *, random_state: int | None = None
    ) -> Matrix:
        """Say how surprising each row would be among the calibration rows."""

    def severity(self, X: ModelRows, t: float | Sequence[float] | None = None) -> Matrix:
        """Say one in how many ordinary rows is as odd as each row: (n,), or (n, len(t)) for a list.

        40 means that about every fortieth ordinary row scores as low. Among the m calibration rows this is counted: it
        is 1 / p. Numbers above m + 1 are extrapolated from the scores of the lowest calibration rows, and end at
        10 (m + 1). `centrality.analysis.severity.in_words` writes a severity, and says where it is extrapolated.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> from centrality.analysis.severity import in_words
        >>> model = FUSE(random_state=0, max_steps=200).fit(np.random.default_rng(0).normal(size=(1000, 2)))
        >>> [in_words(number, calibration_rows=1000) for number in model.severity([[0.0, 0.0], [9.0, 9.0]])]
        ['1 in 1', 'less than 1 in 10,000 (extrapolated)']
        """

        return self._against_calibration_rows(
            X, t, lambda rows, at, scores: rows.severity(self.fitted_.mixing, at, scores)
        )

    def p_value_intervals(self, X: ModelRows, t: float | None = None, *, confidence: float = 0.95) -> Matrix:
        """Return between which shares of ordinary rows that score as low each p-value lies, (n, 2).

        A p-value is an estimate from m calibration rows. The interval is exact (Clopper and Pearson): it holds the true
        share with at least this confidence, for each row by itself.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> model = FUSE(random_state=0, max_steps=200).fit(np.random.default_rng(0).normal(size=(900, 2)))
        >>> model.p_values([[9.0, 9.0]]).round(4), model.p_value_intervals([[9.0, 9.0]]).round(4)
        (array([0.0011]), array([[0.    , 0.0041]]))
        """
        confidence = fraction("confidence", confidence)
        at = one_t(self.t if t is None else t)
        p = self.p_values(X, at)
        return conformal.p_value_intervals(p, len(self.fitted_.inlier_scores(at)), confidence)

    def stands_apart(self, X: ModelRows, t: float | None = None) -> NDArray[np.bool_]:
        """Say which rows of X are too odd for the tail of the others: for a file by itself, which tells no error rate.

        Among themselves rows have the p-values 1/n, 2/n, ..., whatever they are, so `detect` calls none of them. Here a
        tail is fitted to the scores of the others instead, which is an assumption: of clean files of 1,200 rows 8% have
        such a row. Rows that the model was fitted on, in their order, are scored by networks that were
        trained without them.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> X = np.random.default_rng(0).normal(size=(1000, 2))
        >>> X[:2] = [9.0, 9.0], [-9.0, 9.0]
        >>> np.flatnonzero(FUSE(random_state=0, max_steps=200).fit(X).stands_apart(X)).tolist()
        [0, 1]
        """
        check_is_fitted(self)
        return self.fitted_.stands_apart(self._units(X), one_t(self.t if t is None else t))

    def certificate(
        self,
        rows: ModelRows,
        *,
        among: int | ModelRows | None = None,
        t: float | None = None,
        confidence: float = 0.95,
    ) -> Certificate:
        """Say how many of these rows are ordinary at most, in whatever way they were chosen: print it.

        `among` are all rows that they were chosen from, or how many; without it, as many as the model was fitted to.
        The more there were to choose from, the less is certain. It holds if calibration rows and ordinary rows are
        exchangeable: exactly after `calibrate` or with `holdout`, approximately right after `fit`.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> rng = np.random.default_rng(0)
        >>> model = FUSE(random_state=0, max_steps=200).fit(rng.normal(size=(1000, 2)))
        >>> new = rng.normal(size=(500, 2))
        >>> new[:60] += 9
        >>> lowest = np.argsort(model.score_samples(new))[:62]
        >>> certificate = model.certificate(new[lowest], among=new)
        >>> certificate.at_least >= 50
        True
        """
        check_is_fitted(self)
        t = one_t(self.t if t is None else t)
        confidence = fraction("confidence", confidence)
        m = len(self.fitted_.inlier_scores(t))
        chosen = self.fitted_.ranks(self._units(rows), t)
        if among is None:
            among = max(len(chosen), self.fitted_.remembered.seen)
        if isinstance(among, int | np.integer):
            if among < len(chosen):
                raise InputError(f"among must be at least the {len(chosen):,} rows that were chosen, got {among}.")
            pool = np.concatenate([chosen, np.full(int(among) - len(chosen), m)])
        else:
            pool = self.fitted_.ranks(self._units(among), t)
        return Certificate(len(chosen), most_ordinary(chosen, pool, m, confidence), len(pool), m, confidence)

    def odd_share(self, X: ModelRows, *, t: float | None = None, confidence: float = 0.95) -> OddShare:
        """Say what share of these rows is odd, without marks: print it.

        A share of `at_least` rows holds with this confidence if calibration rows and ordinary rows are exchangeable:
        exactly after `calibrate` or with `holdout`, approximately right after `fit`; `about` is an estimate. Odd rows
        that score as ordinary ones do are in neither. Of the rows that the model was fitted on nothing can be told.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> rng = np.random.default_rng(0)
        >>> model = FUSE(random_state=0, max_steps=200).fit(rng.normal(size=(1000, 2)))
        >>> new = rng.normal(size=(1000, 2))
        >>> new[:60] += 9
        >>> 40 <= model.odd_share(new).at_least <= 60
        True
        """
        vectors = self._reader().vectors(X)
        confidence = fraction("confidence", confidence)
        t = one_t(self.t if t is None else t)
        m = len(self.fitted_.inlier_scores(t))
        units = map_valid_rows(vectors, self.fitted_.units)
        calibrated_on_training_rows = self.fitted_.calibration_rows().rows is not None
        if calibrated_on_training_rows and (
            self.fitted_.held_out_units(units) is not units
            or self.fitted_.remembered.estimated_overlap(vectors) > MOST_OVERLAP
        ):
            return OddShare(len(units), None, None, confidence)
        return odd_share(self.fitted_.ranks(units, t), m, confidence)

    def standard_error(self, X: ModelRows, t: float | None = None) -> Matrix:
        """Say how much `centrality` would change with other random numbers: its standard error.

        The networks of an ensemble show it. A model of one network is trained again eight times, as by `stability`, on
        the training rows that it remembers, which takes some seconds; a model from a file remembers none.
        """
        t = one_t(self.t if t is None else t)
        reader = self._reader()
        remembered = self.fitted_.remembered.rows
        if self.fitted_.network.members > 1 or remembered is None:
            return self._map_rows(X, lambda rows: self.fitted_.standard_error(rows, t))
        return refit_on_parts(
            cast("CentralityModel", self), remembered, reader.vectors(X), t, generator(0)
        ).standard_error

    def stability(
        self, X: ModelRows, rows: ModelRows | None = None, *, t: float | None = None, random_state: int | None = 0
    ) -> Stability:
        """Train again, each time on another four fifths of X, and say how much the scores of `rows` change: print it.

        X are the training rows; without `rows`, these are scored. The result has the `standard_error` of each row,
        the `places` in the ranking that a row may have, and `p_value_intervals` for other random numbers, too.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> X[7] = [9.0, 9.0]
        >>> stability = FUSE(random_state=0, max_steps=100).fit(X).stability(X)
        >>> stability.places(np.array([7])).tolist()
        [[1, 1]]
        """
        reader = self._reader()
        if self.fitted_.context is not None:
            raise InputError("A model with given columns is an ensemble: its standard_error tells how stable it is.")
        vectors = reader.vectors(X)
        scored = vectors if rows is None else reader.vectors(rows)
        return refit_on_parts(
            cast("CentralityModel", self), vectors, scored, one_t(self.t if t is None else t), generator(random_state)
        )

    def monitor(
        self,
        *,
        alpha: float = 0.05,
        every: float | None = None,
        state: str | PathLike[str] | None = None,
        t: float | None = None,
        random_state: int | None = None,
    ) -> Monitor:
        """Watch rows that come one after another: `update(rows)` gives a value with `alarm`.

        It watches the scores, among the calibration rows and the rows so far, and up to 50 columns, among the rows so
        far.

        While rows are exchangeable, an alarm is ever given with probability `alpha` at most, however long and however
        often one looks. With `every` the monitor starts again after each alarm instead: the chance of a false one
        within T rows is at most T / `every`. `state` is a file that `save` wrote, from which to go on.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> rng = np.random.default_rng(0)
        >>> model = FUSE(random_state=0, max_steps=200).fit(rng.normal(size=(500, 2)))
        >>> monitor = model.monitor(random_state=0)
        >>> monitor.update(rng.normal(size=(300, 2))).alarm
        False
        >>> monitor.update(rng.normal(size=(300, 2)) + 1).alarm
        True
        """
        check_is_fitted(self)
        reader = self._reader()
        t = one_t(self.t if t is None else t)
        mixing = self.fitted_.mixing
        columns = self.fitted_.training_scores.columns
        watched = columns is not None and columns.values.shape[1] <= MOST_WATCHED

        def with_mixture(units: Matrix) -> Matrix:
            return np.column_stack([mixing.centrality(units, t), mixing.squeeze(units)])

        def read(rows: Any) -> tuple[Matrix, Matrix]:
            vectors = reader.vectors(rows)
            values = np.asarray(dense(vectors), dtype=np.float64) if watched else np.empty((vectors.shape[0], 0))
            return with_mixture(map_valid_rows(vectors, self.fitted_.units)), values

        inliers = self.fitted_.inliers
        monitor = Monitor(
            read,
            np.empty((0, 3)) if inliers is None else with_mixture(inliers.units),
            [np.unique(edges) for edges in columns.values.T] if columns is not None and watched else [],
            reader.names_of_vectors().of_columns if watched else [],
            alpha=alpha,
            every=every,
            random_state=random_state,
        )
        if state is not None:
            monitor.load(state)
        return monitor

    def streams(
        self,
        *,
        fdr: float = 0.05,
        state: str | PathLike[str] | None = None,
        t: float | None = None,
        random_state: int | None = 0,
    ) -> Streams:
        """Watch several streams of rows by their names: `update(name, rows)` gives a value with `changed`.

        Each has a monitor of its own. Of the streams called changed, a share of `fdr` at most is not, on average,
        however long and however often one looks. `state` is a file that `save` wrote, from which to go on.

        >>> import numpy as np
        >>> from centrality import FUSE
        >>> rng = np.random.default_rng(0)
        >>> model = FUSE(random_state=0, max_steps=200).fit(rng.normal(size=(500, 2)))
        >>> streams = model.streams()
        >>> for name, shift in (("pump 1", 0), ("pump 2", 1)):
        ...     for rows in (rng.normal(size=(300, 2)), rng.normal(size=(300, 2)) + shift):
        ...         watch = streams.update(name, rows)
        >>> streams.changed
        ['pump 2']
        """
        streams = Streams(
            lambda place: self.monitor(t=t, random_state=None if random_state is None else random_state + place),
            fdr=fdr,
        )
        if state is not None:
            streams.load(state)
        return streams

    def _against_calibration_rows(
        self,
        X: ModelRows,
        t: float | Sequence[float] | None,
        compare: Callable[[conformal.CalibrationRows, float, Matrix], Matrix],
    ) -> Matrix:
        """Call `compare(calibration_rows, t, scores of X at t)` for each t: (n,), or (n, len(t)) for a list of t."""
        check_is_fitted(self)
        dial = checked_t(self.t if t is None else t)
        calibration_rows = self.fitted_.calibration_rows()  # raises before the work if there are none
        units = self._units(X)
        columns = [
            compare(calibration_rows, at, self.fitted_.mixing.mixed(units, at))
            for at in map(float, np.atleast_1d(dial))
        ]
        return columns[0] if dial.ndim == 0 else np.column_stack(columns)
