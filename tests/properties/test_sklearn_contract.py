import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator
from torch import nn

from tests.conftest import quick


def checks_that_hold():
    """Yield scikit-learn's checks of FUSE, for rows that may hold outliers and for clean ones.

    Clean rows are learned by one network, and its threshold is set on the tenth of them that it has not seen: of the
    rows that it has seen fewer are called outliers than `contamination`, which is said of new rows. So that of all
    checks does not hold.
    """
    for novelty in (False, True):
        estimator = quick(random_state=None, max_steps=50, novelty=novelty)
        for model, check in estimator_checks_generator(estimator):
            name = check.func.__name__
            if not (novelty and name == "check_outliers_fit_predict"):
                yield pytest.param(model, check, id=f"FUSE-novelty={novelty}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(checks_that_hold()))
@pytest.mark.filterwarnings("ignore:The (global|local) head has collapsed")  # three far groups of ten rows, 50 steps
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_a_pipeline_scores_like_its_steps(blob):
    pipeline = make_pipeline(StandardScaler(), quick()).fit(blob)
    scaled = StandardScaler().fit_transform(blob)
    np.testing.assert_array_equal(pipeline.score_samples(blob), quick().fit(scaled).score_samples(scaled))


def test_heads_are_features_for_what_follows(blob):
    union = make_union(StandardScaler(), quick()).fit(blob)
    expected = np.column_stack([StandardScaler().fit_transform(blob), quick().fit(blob).heads(blob)])
    np.testing.assert_array_equal(union.transform(blob), expected)
    assert union.get_feature_names_out().tolist()[-2:] == ["fuse__global", "fuse__local"]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_set_output_gives_named_columns_in_a_frame(blob, kind):
    model = quick().set_output(transform=kind).fit(blob)
    frame = model.transform(blob[:5])
    assert type(frame).__module__.startswith(kind)
    assert list(frame.columns) == ["global", "local"]
    np.testing.assert_array_equal(frame.to_numpy(), model.heads(blob[:5]))


def test_a_grid_search_can_turn_the_dial(blob):
    def like_local(estimator, X, y=None):
        return spearmanr(estimator.score_samples(X), estimator.heads(X)[:, 1])[0]

    search = GridSearchCV(quick(), {"t": [0.0, 1.0], "noise_scale": [0.3, 1.0]}, scoring=like_local, cv=2).fit(blob)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_params_["t"] == 1.0  # there the score is the local one
    again = quick(**search.best_params_).fit(blob)
    np.testing.assert_array_equal(search.best_estimator_.score_samples(blob), again.score_samples(blob))


def test_a_dissimilarity_is_no_metadata_since_a_square_matrix_cannot_be_cut_by_rows():
    assert quick().get_metadata_routing().fit.requests == {}
    assert not hasattr(quick(), "set_fit_request")


def test_a_clone_has_the_settings_and_nothing_learned(blob):
    model = quick(encoder=nn.Linear(2, 4), hidden=(8, 8)).fit(blob)
    copy = clone(model)
    assert copy.hidden == (8, 8)
    assert isinstance(copy.encoder, nn.Linear)
    assert not hasattr(copy, "fitted_")


def test_pickles_score_alike(blob):
    model = quick().fit(blob)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).heads(blob), model.heads(blob))


def test_feature_names_are_remembered_and_checked(blob):
    frame = pd.DataFrame(blob, columns=["length", "width"])
    model = quick().fit(frame)
    assert model.feature_names_in_.tolist() == ["length", "width"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.centrality(frame.rename(columns={"width": "height"}))


def test_words_and_signs_are_those_of_isolation_forest(blob):
    ours, theirs = quick().fit(blob), IsolationForest(random_state=0, contamination=0.1).fit(blob)
    far = np.array([[50.0, 50.0]])
    for model in (ours, theirs):
        assert model.predict(far).tolist() == [-1]
        assert model.decision_function(far) < 0
        assert model.score_samples(far) < model.score_samples(blob).min()
        np.testing.assert_allclose(model.decision_function(blob), model.score_samples(blob) - model.offset_)


def labelled():
    X = np.concatenate([np.random.default_rng(0).normal(size=(190, 2)), np.full((10, 2), 8.0)])
    X[190:] += np.random.default_rng(1).normal(size=(10, 2))
    order = np.random.default_rng(2).permutation(200)  # cross-validation cuts rows as they stand
    return X[order], np.repeat([0, 1], [190, 10])[order]


def test_labels_that_mean_outlier_by_1_are_warned_of_and_turned_round_they_choose_the_best():
    X, y = labelled()
    search = GridSearchCV(quick(max_steps=100), {"t": [0.0, 1.0]}, scoring="roc_auc", cv=2, error_score="raise")
    with pytest.warns(UserWarning, match=r"y is 1 in [\d.]+% of the rows .* upside down: .* Pass 1 - y"):
        search.fit(X, y)
    assert search.best_score_ < 0.2
    search.fit(X, 1 - y)  # a warning would be an error here
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("y", [None, np.repeat([1, -1], [190, 10]), np.arange(200) % 2, np.arange(200), ["a"] * 200])
def test_other_labels_are_nobodys_business(y):
    quick().fit(labelled()[0], y)


def test_the_labels_of_a_classifier_are_left_alone():
    X, y = labelled()
    pipeline = make_pipeline(quick(), LogisticRegression()).fit(X, y)
    assert pipeline.score(X, y) > 0.9
