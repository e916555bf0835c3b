"""Scoring on a GPU from end to end: it computes what the host computes; where there is a GPU, all of it runs."""

import numpy as np
import pytest
import torch

from centrality import FUSE
from centrality.model.on_device import OnDevice, exact_products
from centrality.network.torch_scorer import TorchScorer

SETTINGS = {
    "default": {},
    "clip": {"calibration": "clip"},
    "one noise scale": {"noise_scale": 1.0},
    "ensemble": {"ensemble": 3},
    "clean": {"novelty": True},
    "unscaled": {"scaling": "none"},
}
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.fixture(scope="module", params=SETTINGS)
def model(request):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)) * (1, 1, 30, 1, 1)
    X[:, 4] = np.exp(2 * X[:, 4])  # heavy tails, which are bent
    return FUSE(random_state=0, max_steps=60, hidden=(16, 16), **SETTINGS[request.param]).fit(X)


def rows(n=300):
    """Rows among those learned from, and some far beyond."""
    return np.random.default_rng(1).normal(size=(n, 5)) * np.array([1, 1, 30, 1, 1]) * np.geomspace(1, 1e4, n)[:, None]


def test_what_a_gpu_computes_is_what_the_host_computes(model):
    """The same tensors on a CPU. Heads and mixtures are promised to 1e-5 in any company: tests/promise.py."""
    fitted, Q = model.fitted_, rows()
    there = OnDevice(TorchScorer(fitted.network, "cpu").folded, fitted.scaling, fitted.calibration, "cpu")
    units = there._units(there._raw(there._network(there._scaled(torch.from_numpy(Q)))))
    np.testing.assert_allclose(there._squeezed(units).numpy(), fitted.heads(Q), atol=1e-5)
    t = np.array([0.0, 0.3, 1.0])
    mixed = there._squeezed(there._mixed(units, t)).numpy()
    np.testing.assert_allclose(mixed, fitted.centrality(Q, t.tolist()), atol=1e-5)
    unbounded, wanted = there._mixed(units, np.array(0.5))[:, 0].numpy(), fitted.scores(Q, 0.5)
    np.testing.assert_allclose(unbounded, wanted, atol=3e-5, rtol=3e-5)


def test_products_are_exact_inside_and_as_the_user_has_them_after():
    torch.set_float32_matmul_precision("high")
    try:
        with exact_products():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_model_on_a_cpu_leaves_nothing_to_a_gpu(model):
    assert model.fitted_.on_gpu is None
    assert model.fitted_.tensor_on_gpu(torch.zeros(3, 5)) is None


@GPU
def test_tensors_and_arrays_score_alike_on_a_gpu_and_on_the_cpu(model):
    Q, on_gpu = rows().astype(np.float32), model.with_fitted(model.fitted_.on("cuda"))
    for given in (Q, torch.from_numpy(Q).cuda()):
        np.testing.assert_allclose(on_gpu.heads(given), model.heads(Q), atol=1e-5)
        np.testing.assert_allclose(on_gpu.centrality(given, 0.3), model.centrality(Q, 0.3), atol=1e-5)
