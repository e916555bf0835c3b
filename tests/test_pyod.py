"""What PyOD asks of its own detectors, asked of ours."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from pyod.models.base import BaseDetector
from pyod.utils.data import generate_data
from scipy.stats import rankdata
from sklearn.base import clone, is_outlier_detector
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from centrality import FUSE
from centrality.pyod import FUSEDetector

SETTINGS = {"max_steps": 300, "hidden": (32, 32), "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    """PyOD's own test data: 200 and 100 rows, a tenth of them outliers, with labels."""
    train, test, y_train, y_test = generate_data(n_train=200, n_test=100, contamination=0.1, random_state=42)
    return train, test, y_train, y_test


@pytest.fixture(scope="module")
def detector(rows):
    return FUSEDetector(contamination=0.1, **SETTINGS).fit(rows[0])


def test_it_is_a_pyod_detector_and_everybody_sees_it(detector):
    assert isinstance(detector, BaseDetector)
    assert is_outlier_detector(detector)


def test_fitting_leaves_what_every_pyod_detector_has(detector):
    assert detector.decision_scores_.shape == detector.labels_.shape == (200,)
    assert detector._mu == pytest.approx(detector.decision_scores_.mean())  # noqa: SLF001  (PyOD's own)
    assert detector._sigma == pytest.approx(detector.decision_scores_.std())  # noqa: SLF001  (PyOD's own)
    assert detector._classes == 2  # noqa: SLF001  (PyOD's own)
    assert set(detector.labels_) == {0, 1}
    np.testing.assert_array_equal(detector.labels_, detector.decision_scores_ > detector.threshold_)
    assert detector.labels_.sum() == 20  # the contamination that was asked for
    assert detector.n_features_in_ == 2


def test_larger_is_more_abnormal_and_the_outliers_are_found(detector, rows):
    train, test, y_train, y_test = rows
    assert roc_auc_score(y_train, detector.decision_scores_) > 0.95
    assert roc_auc_score(y_test, detector.decision_function(test)) > 0.95
    np.testing.assert_array_equal(detector.decision_function(train), detector.decision_scores_)


def test_it_scores_as_fuse_does_with_the_sign_turned(detector, rows):
    train, test, _, _ = rows
    twin = FUSE(contamination=0.1, **SETTINGS).fit(train)
    np.testing.assert_array_equal(detector.decision_function(test), -twin.score_samples(test))
    # Both cut off a tenth of 200 rows; PyOD's quantile and ours lie between the same two of them.
    ends = sorted((-detector.threshold_, twin.offset_))
    assert ((-detector.decision_scores_ > ends[0]) & (-detector.decision_scores_ < ends[1])).sum() <= 1
    scores = twin.score_samples(test)
    clear = (scores < ends[0]) | (scores > ends[1])
    np.testing.assert_array_equal((detector.predict(test) == 1)[clear], (twin.predict(test) == -1)[clear])


def test_predictions_are_0_and_1_by_the_threshold(detector, rows):
    labels = detector.predict(rows[1])
    assert labels.shape == (100,)
    np.testing.assert_array_equal(labels, detector.decision_function(rows[1]) > detector.threshold_)
    labels, confidence = detector.predict(rows[1], return_confidence=True)
    assert confidence.shape == (100,)
    assert ((confidence >= 0) & (confidence <= 1)).all()


@pytest.mark.parametrize("method", ["linear", "unify"])
def test_probabilities_lie_in_0_and_1_and_add_up_to_1(detector, rows, method):
    probabilities = detector.predict_proba(rows[1], method=method)
    assert probabilities.shape == (100, 2)
    assert probabilities.min() >= 0
    assert probabilities.max() <= 1
    np.testing.assert_allclose(probabilities.sum(1), 1)
    order = np.argsort(detector.decision_function(rows[1]))
    assert (np.diff(probabilities[order, 1]) >= 0).all()  # the more abnormal, the more probable
    again, confidence = detector.predict_proba(rows[1], method=method, return_confidence=True)
    np.testing.assert_array_equal(again, probabilities)
    assert confidence.shape == (100,)


def test_an_unknown_way_to_make_probabilities_is_refused(detector, rows):
    with pytest.raises(ValueError, match="is not a valid probability conversion method"):
        detector.predict_proba(rows[1], method="something")


def test_predictions_can_be_rejected_when_confidence_is_low(detector, rows):
    with pytest.warns(UserWarning, match="cost of rejection"):  # PyOD's own default
        labels, (expected, bound, cost) = detector.predict_with_rejection(rows[1], return_stats=True)
    assert set(labels) <= {0, 1, -2}
    assert 0 <= expected <= bound
    assert cost >= 0


def test_fit_predict_gives_the_labels_of_the_training_rows(detector, rows):
    with pytest.warns(FutureWarning, match="fit_predict is deprecated"):  # by PyOD
        labels = FUSEDetector(contamination=0.1, **SETTINGS).fit_predict(rows[0])
    np.testing.assert_array_equal(labels, detector.labels_)


@pytest.mark.parametrize("scoring", ["roc_auc_score", "prc_n_score"])
def test_fit_predict_score_gives_a_good_score(rows, scoring):
    with pytest.warns(FutureWarning, match="fit_predict_score is deprecated"):
        assert FUSEDetector(**SETTINGS).fit_predict_score(rows[1], rows[3], scoring=scoring) > 0.8


def test_ranks_are_those_of_the_scores_among_the_training_scores(detector, rows):
    ranks = detector._predict_rank(rows[0])  # noqa: SLF001  (PyOD's own)
    np.testing.assert_allclose(ranks + 1, rankdata(detector.decision_scores_, method="min"))
    normalized = detector._predict_rank(rows[1], normalized=True)  # noqa: SLF001  (PyOD's own)
    assert ((normalized >= 0) & (normalized <= 1)).all()


def test_a_clone_has_the_settings_and_nothing_learned(detector):
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    assert not hasattr(copy, "decision_scores_")


def test_parameters_are_those_of_fuse_and_can_be_set(detector):
    assert set(detector.get_params()) == set(FUSE().get_params())
    assert FUSEDetector().get_params() == FUSE().get_params() | {"contamination": 0.1}
    assert clone(detector).set_params(t=1.0, contamination=0.2).get_params()["t"] == 1.0
    assert "max_steps=300" in repr(detector)
    with pytest.raises(TypeError, match="steps_max"):
        FUSEDetector(steps_max=3)


@pytest.mark.parametrize("contamination", [0.0, 0.6, -0.1])
def test_a_contamination_that_is_no_share_is_refused(contamination):
    with pytest.raises(ValueError, match=r"contamination must be in \(0, 0.5\]"):
        FUSEDetector(contamination=contamination)


def test_before_fitting_it_says_so(rows):
    for method in ("decision_function", "predict", "predict_proba", "predict_confidence"):
        with pytest.raises(NotFittedError):
            getattr(FUSEDetector(), method)(rows[1])


def test_labels_given_to_fit_are_not_used(detector, rows):
    with pytest.warns(UserWarning, match="y should not be presented in unsupervised learning"):
        told = FUSEDetector(**SETTINGS).fit(rows[0], rows[2])
    np.testing.assert_array_equal(told.decision_scores_, detector.decision_scores_)


def test_pickles_and_frames_score_alike(detector, rows):
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(detector)).decision_function(rows[1]), detector.decision_function(rows[1])
    )
    train, test = (pd.DataFrame(part, columns=["a", "b"]) for part in rows[:2])
    framed = FUSEDetector(**SETTINGS).fit(train)
    np.testing.assert_array_equal(framed.predict_proba(test), detector.predict_proba(rows[1]))


class Above:
    """A thresholder as PyThresh's are: fitted to scores, it leaves labels_ and thresh_."""

    def fit(self, scores):
        self.thresh_ = np.median(scores) + 2 * scores.std()
        self.labels_ = self.predict(scores)

    def predict(self, scores):
        return (scores > self.thresh_).astype(int)


def test_a_thresholder_may_decide_instead_of_a_share(rows):
    detector = FUSEDetector(contamination=Above(), **SETTINGS).fit(rows[0])
    scores = detector.decision_scores_
    np.testing.assert_array_equal(detector.labels_, scores > np.median(scores) + 2 * scores.std())
    assert roc_auc_score(rows[3], detector.predict(rows[1])) > 0.8


def test_it_ends_a_pipeline(rows):
    train, test, _, y_test = rows
    scores = make_pipeline(StandardScaler(), FUSEDetector(**SETTINGS)).fit(train).decision_function(test)
    assert roc_auc_score(y_test, scores) > 0.95


@pytest.mark.slow
def test_without_pyod_the_message_says_how_to_get_it():
    """In a process that cannot find PyOD."""
    script = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'pyod': raise ModuleNotFoundError(name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "import centrality.pyod\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "pip install '.[pyod]'" in done.stderr
