"""Whose scores are larger for what: the guides' one line turns them round where another library wants it.

nonconform is not installed here. What it asks of a detector is written down below: clone, fit, scores that are larger
for outliers, and the share of calibration rows that are at least as odd.
"""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from centrality import FUSE
from tests.conftest import quick

RNG = np.random.default_rng(0)
CLEAN, TESTED = RNG.normal(size=(600, 3)), RNG.normal(size=(100, 3))
TESTED[:20] += 6


class Oddness(FUSE):
    """FUSE with the sign of detectors whose scores are larger for outliers, as docs/guides/nonconform.md has it."""

    def decision_function(self, X):
        return -super().decision_function(X)


def split_conformal_p_values(detector) -> np.ndarray:
    """What a split conformal detector does with a detector whose scores are larger for outliers."""
    fitted = clone(detector).fit(CLEAN[:400])
    calibration, scores = fitted.decision_function(CLEAN[400:]), fitted.decision_function(TESTED)
    return (1 + (calibration >= scores[:, None]).sum(1)) / (1 + len(calibration))


@pytest.mark.parametrize(("kind", "found"), [(FUSE, 0), (Oddness, 20)])
def test_a_detector_for_nonconform_needs_its_sign_turned_round(kind, found):
    p = split_conformal_p_values(kind(novelty=True, max_steps=200, hidden=(16, 16), random_state=0))
    assert (p[:20] < 0.01).sum() == found


def test_a_search_by_roc_auc_wants_labels_of_one_for_typical_rows():
    X, is_outlier = np.concatenate([CLEAN[:180], TESTED[:20]]), np.repeat([0, 1], [180, 20])
    order = RNG.permutation(200)
    search = GridSearchCV(quick(), {"t": [0, 1]}, scoring="roc_auc", cv=2)
    assert search.fit(X[order], 1 - is_outlier[order]).best_score_ > 0.9
    with pytest.warns(UserWarning, match="If 1 means outlier"):
        assert search.fit(X[order], is_outlier[order]).best_score_ < 0.1
