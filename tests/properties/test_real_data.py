"""FUSE with its defaults on real outlier sets: it learns something, and its scores stay apart."""

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr
from sklearn.metrics import pairwise_distances, roc_auc_score

from centrality import FUSE, PaperFUSE

SETS = ["wine", "breastw", "letter", "InternetAds", "thyroid", "mammography"]


def rows_of(data, name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(data / "adbench_dev" / f"{name}.npz") as archive:
        return archive["X"], archive["y"]


@pytest.mark.data
@pytest.mark.parametrize("name", SETS)
def test_training_beats_initialisation_and_scores_do_not_collapse(data, name):
    X = rows_of(data, name)[0][:, :: 5 if name == "InternetAds" else 1]  # of 1555 columns every fifth tells as much
    untrained = PaperFUSE(max_steps=1, learning_rate=1e-12, random_state=0).fit(X)
    trained = FUSE(random_state=0).fit(X)
    few = np.random.default_rng(0).permutation(len(X))[:1000]
    D = pairwise_distances(untrained.fitted_.scaling.apply(X[few]))
    preferred = -rankdata(D, axis=0).mean(1)  # how often a row is nearer to an anchor than another row is
    before, after = (spearmanr(model.raw(X[few])[:, 0], preferred)[0] for model in (untrained, trained))
    assert after > max(before, 0.9)
    assert trained.report().learned == {"global": True, "local": True}
    heads = trained.heads(X)
    different_rows = len(np.unique(X, axis=0))
    for head in heads.T:
        assert len(np.unique(head)) > 0.95 * different_rows
        low, high = np.quantile(head, [0.05, 0.95])
        assert high - low > 0.1


@pytest.mark.data
def test_outliers_of_breastw_and_ionosphere_are_found_without_labels(data):
    X, y = rows_of(data, "breastw")
    assert roc_auc_score(y, -FUSE(random_state=0).fit(X).centrality(X)) > 0.95
    X, y = rows_of(data, "Ionosphere")
    assert roc_auc_score(y, -FUSE(random_state=0).fit(X).centrality(X, t=1)) > 0.88


@pytest.mark.data
def test_the_papers_settings_separate_breastw_as_the_paper_says(data):
    with np.load(data / "paper" / "breastw_bouman.npz") as archive:
        X, y = archive["X"], archive["y"].ravel()
    train = np.random.default_rng(0).permutation(len(X))[: 3 * len(X) // 5]
    test = np.setdiff1d(np.arange(len(X)), train)
    scores = FUSE.as_in_paper("outlier", noise_scale=2.0, random_state=0).fit(X[train]).centrality(X[test])
    assert roc_auc_score(y[test], -scores) > 0.97
