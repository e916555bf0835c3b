"""The scores of a fitted model: networks, then calibration, then the dial."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality._estimator import rows_to_score
from centrality.model.blocks import in_blocks
from centrality.network.network import Network
from centrality.network.scaling import Scaling
from centrality.network.scorer import Scorer
from centrality.scores.calibration import Calibration, blend, checked_t
from centrality.scores.drift import Drift, TrainingScores


class Scored:
    """What an estimator with a network, a scaling and a calibration says of rows; each method is one forward pass."""

    t: float
    network_: Network
    if TYPE_CHECKING:
        _scorer: Scorer
        _scaling: Scaling
        _calibration: Calibration
        _training_scores: TrainingScores | None

    def raw(self, X: Any) -> NDArray[np.float64]:
        """(n, 2) uncalibrated global logit g and local potential l, as in the paper."""
        X = rows_to_score(self, X)
        return self._in_blocks(X, self._calibration.raw)

    def heads(self, X: Any) -> NDArray[np.float64]:
        """(n, 2) global and local centrality, each in [0, 1]; `blend(heads, t)` mixes them."""
        X = rows_to_score(self, X)
        return self._in_blocks(X, self._calibration.heads_of)

    def centrality(self, X: Any, t: float | Sequence[float] | None = None) -> NDArray[np.float64]:
        """How central each row is, in [0, 1], at the model's own t or at these: (n,), or (n, len(t)) for a list."""
        t = self.t if t is None else t
        checked_t(t)  # before the work, not after it
        X = rows_to_score(self, X)
        return self._in_blocks(X, lambda outputs: blend(self._calibration.heads_of(outputs), t))

    def standard_error(self, X: Any, t: float | None = None) -> NDArray[np.float64]:
        """(n,) how far `centrality` may be off for another draw of networks: its standard error over the ensemble."""
        X = rows_to_score(self, X)
        t = self.t if t is None else t
        checked_t(t)
        if (members := self.network_.members) < 2:
            raise InputError(
                f"A standard error needs an ensemble of at least 2, this model has {members}: FUSE(ensemble=5), say."
            )

        def error(outputs: NDArray[Any]) -> NDArray[np.float64]:
            each = np.stack([blend(heads, t) for heads in self._calibration.heads_of_each(outputs)])
            return np.asarray(each.std(0, ddof=1) / np.sqrt(members))

        return self._in_blocks(X, error)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The heads mixed at the model's own t before they are bent into [0, 1]: larger means more normal.

        Ranks like `centrality` among typical rows; far outliers keep their distances, which ranks them better.
        """
        X = rows_to_score(self, X)
        return self._in_blocks(X, self._scores_of)

    def _scores_of(self, outputs: NDArray[Any]) -> NDArray[np.float64]:
        return blend(self._calibration.unbent(self._calibration.raw(outputs)), self.t)

    def drift(self, X: Any) -> Drift:
        """Do these rows score as the training rows did? A two-sample test and an effect size for each head."""
        heads = self.heads(X)
        if self._training_scores is None:
            raise InputError("This model was saved before training scores were kept: fit it again to ask for drift.")
        return self._training_scores.compare(heads)

    def _in_blocks(self, X: Any, finish: Callable[[NDArray[Any]], NDArray[Any]]) -> NDArray[Any]:
        return in_blocks(self._scorer, self._scaling, X, finish)
