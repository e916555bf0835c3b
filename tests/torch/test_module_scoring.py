"""Scoring with torch: a network's outputs and slopes, and rows from end to end as on a GPU."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from torch import nn

from centrality import PaperFUSE
from centrality.model.interface import with_fitted
from centrality.network.network import Layout, build
from centrality.torch.module import DeviceScorer, TorchScorer, exact_products
from centrality.torch.networks import build_around_encoder, to_train
from tests.conftest import quick

GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("encoder", [None, nn.Sequential(nn.Linear(3, 7), nn.Tanh())])
def test_outputs_along_lines_and_their_way_back_are_those_of_autograd(shared, members, encoder):
    generator, rng = torch.Generator().manual_seed(0), np.random.default_rng(0)
    layout = Layout(width=3, hidden=(8, 6), encoder=encoder, shared=shared, potentials=2, members=members)
    network = build(layout, rng) if encoder is None else build_around_encoder(layout, rng)
    start, step = torch.randn(2, 5, 3, generator=generator)
    at = torch.rand(5, 4, generator=generator)
    places = (start[:, None] + at[:, :, None] * step[:, None]).reshape(20, 3).requires_grad_()
    expected = to_train(network, "cpu").eval()(places)
    by = torch.randn(members, 5, 4, 3, generator=generator)
    (slopes,) = torch.autograd.grad(expected, places, by.reshape(members, 20, 3))
    scorer = TorchScorer(network, "cpu")
    outputs, back = scorer.along(start.numpy(), step.numpy(), at.numpy())
    np.testing.assert_allclose(outputs, expected.detach().view(members, 5, 4, 3), rtol=1e-5, atol=1e-5)
    for _ in range(2):  # it can be asked again, by other derivatives
        np.testing.assert_allclose(back(by.numpy()), slopes.view(5, 4, 3).sum(1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(scorer(places.detach().numpy()), expected.detach(), rtol=1e-5, atol=1e-5)


class Alone(nn.Module):
    """An encoder that notes how many threads are in it at once."""

    inside, most = 0, 0

    def forward(self, rows):
        Alone.inside += 1
        Alone.most = max(Alone.most, Alone.inside)
        rows = rows @ torch.eye(rows.shape[1])
        Alone.inside -= 1
        return rows


def test_blocks_that_several_threads_bring_are_computed_one_at_a_time():
    """Torch has threads of its own: as many again, and all would wait for one another."""
    layout = Layout(width=400, hidden=(1,), encoder=Alone())
    scorer = TorchScorer(build_around_encoder(layout, np.random.default_rng(0)), "cpu")
    z = np.random.default_rng(0).normal(size=(500, 400)).astype(np.float32)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(scorer, [z] * 20))
    assert Alone.most == 1
    assert all((each == found[0]).all() for each in found)


def test_a_scorer_that_is_pickled_scores_as_before():
    scorer = TorchScorer(build(Layout(width=3, hidden=(8,)), np.random.default_rng(0)), "cpu")
    z = np.ones((4, 3), dtype=np.float32)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(scorer))(z), scorer(z))


def test_rows_go_through_block_by_block_whether_arrays_or_tensors(blob, monkeypatch):
    monkeypatch.setattr("centrality.torch.module.ROWS_AT_ONCE", 7)
    module = quick(novelty=True).fit(blob).to_torch()
    there, rows = DeviceScorer(module, "cpu"), torch.from_numpy(blob[:50])
    fixed = blob[:50].copy()
    fixed.flags.writeable = False
    for given in (rows, blob[:50], np.asfortranarray(blob[:50]), fixed):
        np.testing.assert_allclose(there.units(given), module.units(rows), rtol=1e-12)


def test_a_tensor_that_lies_on_the_cpu_is_left_to_the_engine(blob):
    fitted = quick(novelty=True).fit(blob).fitted_
    assert fitted.tensor_on_gpu(torch.from_numpy(blob)) is None
    assert vars(fitted).get("_by_device") is None  # nothing was built for it


def test_products_are_exact_inside_and_as_the_user_has_them_after():
    torch.set_float32_matmul_precision("high")
    try:
        with exact_products():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")


@GPU
@pytest.mark.parametrize("settings", [{}, {"novelty": True}, {"calibration": "clip", "noise_scale": 1.0}])
def test_tensors_and_arrays_score_alike_on_a_gpu_and_on_the_cpu(blob, settings):
    model, Q = PaperFUSE(random_state=0, max_steps=60, **settings).fit(blob), (blob + 0.01).astype(np.float32)
    on_gpu, there = with_fitted(model, model.fitted_.on("cuda")), torch.from_numpy(Q).cuda()
    for found in (on_gpu.heads(Q), on_gpu.heads(there), model.heads(there)):
        np.testing.assert_allclose(found, model.heads(Q), atol=1e-5)
    np.testing.assert_allclose(model.centrality(there, 0.3), model.centrality(Q, 0.3), atol=1e-5)
