import numpy as np
import pytest
from scipy import sparse

from centrality import FUSE, load
from centrality.model.reservoir import Reservoir
from centrality.network.folds import LEARNED_BY_ALL
from tests.conftest import quick
from tests.present import present


def test_the_first_call_is_a_fit(blob):
    first, second = quick().partial_fit(blob), quick().fit(blob)
    np.testing.assert_array_equal(first.raw(blob), second.raw(blob))


@pytest.mark.slow
def test_new_rows_become_typical_and_old_ones_stay_so(blob):
    model = FUSE(random_state=0, max_steps=600).fit(blob)
    elsewhere = np.random.default_rng(1).normal(6, 0.5, size=(600, 2))
    before = model.centrality(elsewhere, t=1).mean(), model.centrality(blob, t=1).mean()
    model.partial_fit(elsewhere)
    assert model.centrality(elsewhere, t=1).mean() > before[0] + 0.3
    assert model.centrality(blob, t=1).mean() > before[1] - 0.3
    assert model.centrality([[20.0, -20.0]], t=1) < model.centrality(np.vstack([blob, elsewhere]), t=1).min()


def test_a_few_rows_take_a_few_steps_and_the_history_goes_on(blob):
    model = quick(max_steps=1000).fit(blob)
    model.partial_fit(blob[:30])  # 30 of 630: 48 of 1000 steps
    assert model.history_["step"][-1] == 1048
    assert len(model.history_["step"]) == len(model.history_["local"])


def test_the_same_seed_goes_on_the_same_way(blob):
    first, second = (quick().fit(blob).partial_fit(blob[:100] + 1).raw(blob) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.slow
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows_go_on_like_dense_ones(make, blob):
    dense, held = (quick().fit(rows).partial_fit(rows[:50]) for rows in (blob, make(blob).tocsr()))
    np.testing.assert_allclose(held.heads(make(blob)), dense.heads(blob), atol=1e-6)
    assert held.history_["step"] == dense.history_["step"]


def test_an_error_leaves_the_model_as_it_was(blob):
    model = quick().fit(blob)
    before = model.raw(blob)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((5, 2), np.nan))
    with pytest.raises(ValueError, match=r"features"):
        model.partial_fit(np.ones((5, 3)))
    np.testing.assert_array_equal(model.raw(blob), before)


def test_calibration_rows_are_dropped_since_another_model_scored_them(blob):
    model = quick(holdout=0.2).fit(blob).partial_fit(blob[:50])
    # All remembered rows are judged again; the 50 that came twice are copies, which calibrate once.
    judged = len(np.unique(model.fitted_.remembered.rows, axis=0))
    assert model.p_values(np.full((1, 2), 9.0)) == [1 / (judged + 1)]


def test_rows_that_come_again_stay_in_their_folds(blob):
    remembered = quick().fit(blob).partial_fit(blob[:50]).fitted_.remembered
    assert remembered.folds is not None
    all_rows = np.asarray(remembered.rows)
    rows, first, again = np.unique(all_rows, axis=0, return_index=True, return_inverse=True)
    assert len(rows) == len(blob) < len(all_rows)
    np.testing.assert_array_equal(remembered.folds, remembered.folds[first][again.ravel()])


def test_a_loaded_model_goes_on_without_the_rows_it_saw(blob, tmp_path):
    quick().fit(blob).save(tmp_path / "model.safetensors")
    model = load(tmp_path / "model.safetensors")
    assert model.fitted_.remembered == Reservoir(None, None, 600)
    model.partial_fit(blob[:60] + 1)
    assert model.fitted_.remembered.seen == 660
    with pytest.raises(ValueError, match="at least 3 rows to compare, got 2"):
        load(tmp_path / "model.safetensors").partial_fit(blob[:2])


@pytest.mark.parametrize("members", [1, 4])
def test_so_few_new_rows_that_none_could_be_left_out_keep_the_p_values(blob, members):
    """They join the folds of the rows before them, so that some network has not seen any of those it judges."""
    model = quick(ensemble=members).fit(blob[:40])
    for n in (1, 2, 3, 4, 5):
        model.partial_fit(blob[-n:] + 0.1)
    assert len(present(model.fitted_.remembered.folds)) == 40 + 15
    judged = len(present(model.fitted_.inliers).units)
    assert 0 < judged <= 55
    assert model.p_values(np.full((1, 2), 90.0)) == [1 / (judged + 1)]


def test_a_model_that_began_with_few_rows_has_p_values_once_enough_have_come(blob):
    model = quick().partial_fit(blob[:5])
    with pytest.raises(ValueError, match="calibration rows"):
        model.p_values(blob[:1])
    for start in range(5, 45, 2):
        model.partial_fit(blob[start : start + 2])
    folds = present(model.fitted_.remembered.folds)
    assert (folds == LEARNED_BY_ALL).sum() >= 5  # the first ones, which every network has learned from
    assert len(present(model.fitted_.inliers).units) == (folds == 0).sum() > 0  # its networks leave out the same rows
    assert model.p_values(np.full((1, 2), 90.0)) == [1 / ((folds == 0).sum() + 1)]


def test_who_loses_the_calibration_rows_is_told(blob, tmp_path):
    quick(ensemble=1).fit(blob).save(tmp_path / "model.safetensors")
    model = load(tmp_path / "model.safetensors")  # it remembers no rows, and of three new ones it can leave out none
    with pytest.warns(UserWarning, match=r"p-values and detect need calibrate\(C\) with fresh rows now"):
        model.partial_fit(blob[:3])
    assert model.fitted_.inliers is None


def test_a_few_new_rows_do_not_take_p_values_away():
    rng = np.random.default_rng(0)
    model = FUSE(random_state=0, max_steps=30).fit(rng.normal(size=(800, 3)))
    for rows in (1, 2, 5):
        model.partial_fit(rng.normal(size=(rows, 3)))
        assert model.p_values([[0.0, 0.0, 0.0]])[0] > 0.5
    assert len(present(model.fitted_.inliers).units) == 808
