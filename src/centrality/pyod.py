"""Offer FUSE as a PyOD detector: with PyOD's names, signs (larger is more abnormal) and base class.

This needs PyOD: pip install '.[pyod]' in a clone
"""

import inspect
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from centrality._internal.checks import optional
from centrality._internal.input import RowsLike
from centrality.fuse import FUSE

BaseDetector: Any = optional("pyod.models.base", "pyod").BaseDetector


class FUSEDetector(BaseDetector):
    """Says how untypical each row is: FUSE with PyOD's names and signs.

    It takes every parameter of `centrality.FUSE`, by name, with the same defaults, except that `contamination` comes
    first and is 0.1 as everywhere in PyOD (a PyThresh object is fine too).

    Attributes
    ----------
    decision_scores_ : (n,) minus FUSE's `score_samples` of the training rows: larger is more abnormal.
    threshold_, labels_ : by `contamination`, as in every PyOD detector; labels are 1 for outliers.
    detector_ : the fitted FUSE.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality.pyod import FUSEDetector
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> detector = FUSEDetector(contamination=0.05, random_state=0, max_steps=200).fit(X)
    >>> int(detector.labels_.sum())
    10
    >>> detector.predict(np.array([[0.0, 0.0], [9.0, 9.0]]))
    array([0, 1])
    """

    decision_scores_: NDArray[np.float64]
    labels_: NDArray[np.int_]
    threshold_: float

    def __init__(self, contamination: object = 0.1, **settings: object) -> None:
        super().__init__(contamination=contamination)
        arguments = inspect.signature(FUSE).bind(**settings)  # a TypeError for a name that FUSE does not know
        arguments.apply_defaults()
        for name, value in arguments.arguments.items():
            if name != "contamination":
                setattr(self, name, value)

    def fit(self, X: RowsLike, y: object = None) -> Self:
        """Learn what is typical of the rows of X; `y` is ignored."""
        self._set_n_classes(y)
        settings = self.get_params(deep=False)
        if not isinstance(self.contamination, int | float):
            settings["contamination"] = "auto"  # PyThresh decides afterwards
        self.detector_ = FUSE(**settings).fit(X)
        self.n_features_in_ = self.detector_.n_features_in_
        self.decision_scores_ = -self.detector_.score_samples(X)
        self._process_decision_scores()
        return self

    def decision_function(self, X: RowsLike) -> NDArray[np.float64]:  # (n,)
        """Return minus FUSE's `score_samples` of each row: larger is more abnormal."""
        check_is_fitted(self, ["decision_scores_", "threshold_", "labels_"])
        return -self.detector_.score_samples(X)


# PyOD and scikit-learn read the parameters from the signature: those of FUSE need not be written down again.
_INIT = inspect.signature(FUSEDetector.__init__)
_FIRST = [_INIT.parameters["self"], _INIT.parameters["contamination"]]
_OTHERS = [parameter for name, parameter in inspect.signature(FUSE).parameters.items() if name != "contamination"]
FUSEDetector.__init__.__signature__ = _INIT.replace(parameters=[*_FIRST, *_OTHERS])  # type: ignore[attr-defined]
