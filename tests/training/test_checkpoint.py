"""A fit that is interrupted and goes on ends where an uninterrupted one does, bit for bit."""

import numpy as np
import pytest
import torch
from scipy import sparse
from torch import nn

from centrality import FUSE, load
from centrality.training import checkpoint as saved
from centrality.training.engine_learner import EngineLearner
from centrality.training.torch_learner import TorchLearner
from tests.conftest import quick


@pytest.fixture(autouse=True)
def saved_at_once(monkeypatch):
    monkeypatch.setattr(saved, "SECONDS_BETWEEN_SAVES", 0.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


class Dropout(nn.Module):
    """An encoder that draws from torch's own generator while it trains, and keeps running means."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.inside = nn.Sequential(nn.Linear(2, 8), nn.GELU(), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 4))

    def forward(self, x):
        return self.inside(x)


def before_steps(patch, do) -> None:
    """Do something before steps are taken, told how many: by the engine, a member's at once, or by torch, one."""
    train, by_autograd = EngineLearner._train_member, TorchLearner._take_step

    def by_engine(self, member, heads, batches, rates, losses):
        if heads != "global":  # which follows the local one, with the same batches
            do(len(rates))
        train(self, member, heads, batches, rates=rates, losses=losses)

    def by_torch(self, batches, step, rate):
        do(1)
        return by_autograd(self, batches, step, rate)

    patch.setattr(EngineLearner, "_train_member", by_engine)
    patch.setattr(TorchLearner, "_take_step", by_torch)


def interrupt(monkeypatch, model: FUSE, X, after: int, **options) -> None:
    """Fit until this many checkpoints have been written, then Ctrl-C in the middle of the following steps."""
    written, save = [], saved.Checkpoint.save

    def counted(self, state, done):
        save(self, state, done)
        written.append(done)

    def stop(_):
        if len(written) == after:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(saved.Checkpoint, "save", counted)
        before_steps(patch, stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, **options)
    assert not hasattr(model, "fitted_")


@pytest.fixture(params=["the engine", "torch"])
def teacher(request):
    if request.param == "torch":
        request.getfixturevalue("torch_trains")


@pytest.mark.slow
@pytest.mark.usefixtures("teacher")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ensemble": 2, "shared_encoder": False, "noise_scale": [0.5, 1.0]},
        {"encoder": Dropout()},
        {"metric": lambda a, b: np.abs(a[:, None] - b[None]).sum(2)},
        {"holdout": 0.2, "scheme": 4},
        {"epochs": 4, "max_steps": None, "batch_size": 64},
    ],
    ids=["defaults", "ensemble", "encoder", "metric", "holdout", "epochs"],
)
def test_an_interrupted_fit_goes_on_to_the_same_bits(monkeypatch, blob, path, settings):
    plain = quick(checkpoint=None, **settings).fit(blob)
    model = quick(checkpoint=path, **settings)
    interrupt(monkeypatch, model, blob, after=2)
    assert path.exists()
    model.fit(blob)
    assert not path.exists()  # the fit is over
    np.testing.assert_array_equal(model.raw(blob), plain.raw(blob))
    for which, name in ((model, "a"), (plain, "b")):
        which.save(path.with_name(name))
    assert path.with_name("a").read_bytes() == path.with_name("b").read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("teacher")
def test_it_goes_on_where_it_was_and_not_from_the_start(monkeypatch, blob, path):
    model = quick(checkpoint=path, ensemble=1)
    interrupt(monkeypatch, model, blob, after=3)
    taken = list[int]()
    before_steps(monkeypatch, taken.append)
    model.fit(blob)
    assert sum(taken) == 60 - 3 * 6  # quick() takes 60 steps, drawn six at a time


def test_rows_drawn_anew_while_training_are_drawn_again(monkeypatch, path):
    X = np.random.default_rng(0).normal(size=(5000, 2))
    monkeypatch.setattr("centrality.fuse.settings.HELD_VALUES", 2048)  # 1024 of the 5000 rows are held at a time
    plain = quick().fit(X)
    model = quick(checkpoint=path)
    interrupt(monkeypatch, model, X, after=7)
    np.testing.assert_array_equal(model.fit(X).raw(X), plain.raw(X))


def test_a_fit_without_a_seed_goes_on_with_the_seed_it_drew(monkeypatch, blob, path):
    model = quick(random_state=None, checkpoint=path)
    interrupt(monkeypatch, model, blob, after=1)
    kept = path.read_bytes()
    first = model.fit(blob).raw(blob)
    path.write_bytes(kept)
    np.testing.assert_array_equal(quick(random_state=None, checkpoint=path).fit(blob).raw(blob), first)


@pytest.mark.parametrize("change", ["rows", "kind", "matrix", "settings"])
def test_a_checkpoint_of_something_else_is_refused(monkeypatch, blob, path, change):
    D = np.abs(blob[:, :1] - blob[:, 0])
    interrupt(monkeypatch, quick(checkpoint=path), blob, after=1, dissimilarity=D)
    kept = path.read_bytes()
    model, X = quick(checkpoint=path), blob.copy()
    if change == "rows":
        X[300, 1] += 1e-9
    elif change == "kind":
        X = sparse.csr_matrix(X)
    elif change == "matrix":
        D = 2 * D
    else:
        model.set_params(learning_rate=1e-3)
    wrong = "a fit with learning_rate=0.004, this one has 0.001" if change == "settings" else "a fit of other data"
    with pytest.raises(ValueError, match=f"belongs to {wrong}. Fit as before, or remove the file to begin anew."):
        model.fit(X, dissimilarity=D)
    assert path.read_bytes() == kept


def test_what_does_not_matter_to_training_may_change(monkeypatch, blob, path):
    interrupt(monkeypatch, quick(checkpoint=path), blob, after=1)
    model = quick(checkpoint=path, t=0.1, contamination=0.3).fit(blob)
    np.testing.assert_array_equal(model.raw(blob), quick().fit(blob).raw(blob))


def test_a_model_file_is_no_checkpoint_and_keeps_no_path_to_one(blob, path):
    quick(checkpoint=path).fit(blob).save(path)
    assert load(path).checkpoint is None
    with pytest.raises(ValueError, match="is a PaperFUSE model, not a checkpoint: name another file"):
        quick(checkpoint=path).fit(blob)


def test_a_damaged_checkpoint_and_a_missing_folder_are_said_before_training(blob, path, tmp_path):
    path.write_bytes(b"half a file")
    with pytest.raises(ValueError, match="is not a model file"):
        quick(checkpoint=path).fit(blob)
    with pytest.raises(FileNotFoundError, match="no/such"):
        quick(checkpoint=tmp_path / "no" / "such").fit(blob)


def test_nothing_is_saved_before_it_is_time(monkeypatch, blob, path):
    monkeypatch.setattr(saved, "SECONDS_BETWEEN_SAVES", 3600.0)
    interrupt(monkeypatch, quick(checkpoint=path), blob, after=2)
    assert not path.exists()
