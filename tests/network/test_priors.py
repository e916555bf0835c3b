"""A new kind of prior is a class and a line in the table: fitting, loading and exporting know it from there."""

import numpy as np
import pytest
import torch

from centrality import FUSE, load
from centrality.network.mixture import Mixture
from centrality.network.prior import Prior
from centrality.network.priors import PRIORS, fit_prior, prior_for_weights


class Bowl(Prior):
    """Gives -|z|² / (2 + 2η²), the logarithm of one round Gaussian around zero."""

    precision: torch.Tensor  # (k,)

    def __init__(self, scales):
        super().__init__()
        self.register_buffer("precision", torch.empty(scales))

    @classmethod
    def fitted(cls, z, scales, rng):
        bowl = cls(len(scales))
        bowl.precision.copy_(1 / (1 + torch.tensor(scales) ** 2))
        return bowl

    @classmethod
    def for_weights(cls, weights, *, width, scales):
        return cls(scales) if set(weights) == {"precision"} else None

    def forward(self, z, finer=None):
        return -0.5 * z.square().sum(-1, keepdim=True) * self.precision

    def gradient(self, z, by, finer=None):
        return -z * (by * self.precision).sum(-1, keepdim=True)

    def score(self, z, owner):
        return self.gradient(z, owner)

    def needs_float64(self):
        return False

    def as_graph(self, graph, z):
        squares = graph("ReduceSum", graph("Mul", z, z), [1], keepdims=1)
        return graph.as_float64(graph("Mul", squares, -0.5 * self.precision.numpy()))


@pytest.fixture
def bowl(monkeypatch):
    monkeypatch.setitem(PRIORS, "bowl", Bowl)
    monkeypatch.setattr("centrality.network.priors.FOR_CLEAN_ROWS", "bowl")


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(100, 3))


@pytest.mark.usefixtures("bowl")
def test_a_kind_in_the_table_is_fitted_saved_and_loaded(rows, tmp_path):
    model = FUSE(novelty=True, random_state=0, max_steps=5).fit(rows)
    assert isinstance(model.network_.prior, Bowl)
    model.save(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    assert isinstance(again.network_.prior, Bowl)
    np.testing.assert_array_equal(again.raw(rows), model.raw(rows))


@pytest.mark.usefixtures("bowl")
def test_a_kind_in_the_table_is_exported(rows, tmp_path):
    pytest.importorskip("onnxruntime")
    from centrality.onnx import Scorer

    model = FUSE(novelty=True, random_state=0, max_steps=5).fit(rows)
    model.to_onnx(tmp_path / "model.onnx")
    np.testing.assert_allclose(Scorer(tmp_path / "model.onnx").heads(rows), model.heads(rows), atol=1e-6)


def test_each_kind_holds_its_own_weights_and_no_others(rows, monkeypatch):
    monkeypatch.setitem(PRIORS, "bowl", Bowl)
    z, rng = rows.astype(np.float32), np.random.default_rng(0)
    for kind in (Mixture, Bowl):
        weights = kind.fitted(z, [0.5, 1.0], rng).state_dict()
        empty = prior_for_weights(weights, width=3, scales=2)
        assert type(empty) is kind
        assert {name: w.shape for name, w in empty.state_dict().items()} == {n: w.shape for n, w in weights.items()}
    assert prior_for_weights({}, width=3, scales=2) is None


def test_clean_rows_start_from_the_mixture(rows):
    assert isinstance(fit_prior(rows.astype(np.float32), [1.0], np.random.default_rng(0)), Mixture)
