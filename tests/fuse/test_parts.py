"""A fitted FUSE goes into a file and comes back the same."""

import numpy as np
import pandas as pd
import pytest
from torch import nn

from centrality import FUSE, PaperFUSE, load
from centrality._internal import model_file
from centrality._internal.model_file import ModelFileError
from tests.conftest import quick


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"shared_encoder": False},
        {"noise_scale": [0.2, 0.5, 1.0]},
        {"calibration": "clip", "scaling": "none"},
        {"metric": "cosine", "t": 0.25, "contamination": 0.2, "hidden": [9, 5, 7]},
        {"random_state": np.random.RandomState(0)},
        {"learning_rate": np.float64(1e-3), "batch_size": np.int64(64)},
    ],
    ids=["defaults", "two encoders", "ladder", "as given", "many settings", "generator", "numpy scalars"],
)
def test_a_loaded_model_scores_bit_for_bit_alike(blob, tmp_path, changes):
    model = quick(**changes).fit(blob)
    model.save(tmp_path / "m.safetensors")
    twin = load(tmp_path / "m.safetensors")
    for method in ("raw", "heads", "centrality", "decision_function", "predict"):
        np.testing.assert_array_equal(getattr(twin, method)(blob), getattr(model, method)(blob))
    assert twin.history_ == model.history_
    assert twin.noise_scale_ == model.noise_scale_
    twin.fit(blob)  # and can be fitted anew


def test_feature_names_travel(blob, tmp_path):
    frame = pd.DataFrame(blob, columns=["length", "width"])
    quick().fit(frame).save(tmp_path / "m.safetensors")
    twin = load(tmp_path / "m.safetensors")
    assert twin.feature_names_in_.tolist() == ["length", "width"]
    with pytest.raises(ValueError, match="feature names should match"):
        twin.centrality(frame[["width"]])
    np.testing.assert_array_equal(twin.centrality(frame[["width", "length"]]), twin.centrality(frame))


def test_the_default_model_is_small_and_holds_no_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(5000, 32))
    for shared in (True, False):
        PaperFUSE(max_steps=5, shared_encoder=shared).fit(X).save(tmp_path / "m.safetensors")
        assert (tmp_path / "m.safetensors").stat().st_size < 1_000_000
        _, arrays = model_file.read(tmp_path / "m.safetensors")
        assert arrays.pop("conformal.inliers").shape[1] == 2  # two scores of each row that was left out
        assert arrays.pop("conformal.rows").ndim == 1  # their places among the training rows, for marks
        values = arrays.pop("columns.values")  # of each column by itself, in order: no row can be read off them
        assert (np.diff(values, axis=0) >= 0).all()
        assert max(array.shape[0] for array in arrays.values()) <= 128  # no array as long as the data


def test_an_encoder_of_ones_own_is_asked_for_again(blob, tmp_path):
    path = tmp_path / "m.safetensors"
    model = quick(encoder=nn.Sequential(nn.Linear(2, 6), nn.Tanh())).fit(blob)
    model.save(path)
    with pytest.raises(ModelFileError, match=r"encoder of its own \(Sequential\): pass one"):
        load(path)
    with pytest.raises(ModelFileError, match="the weights do not fit the network"):
        load(path, encoder=nn.Sequential(nn.Linear(2, 7), nn.Tanh()))
    twin = load(path, encoder=nn.Sequential(nn.Linear(2, 6), nn.Tanh()))
    np.testing.assert_array_equal(twin.heads(blob), model.heads(blob))


def test_an_unfitted_model_cannot_be_saved(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        FUSE().save(tmp_path / "m.safetensors")
    assert list(tmp_path.iterdir()) == []
