"""The losses, against numbers worked out by hand."""

import dataclasses

import numpy as np
import pytest
import torch

from centrality.training.losses import Autograd, Batch, Noise, global_loss, local_loss, opponent_positions
from tests.training.examples import WIDTH, batch, fresh, generator

pytestmark = pytest.mark.numbers


class Quadratic(torch.nn.Module):
    """A potential whose score is known: l(z) = -|z|²/2 has the gradient -z."""

    def logit(self, z):
        return -z.square().sum(2)

    def potentials(self, z):
        return -0.5 * z.square().sum(2, keepdim=True)


def pair(first: torch.Tensor, second: torch.Tensor, preferred: torch.Tensor) -> Batch:
    return Batch(torch.cat([first, second])[None], preferred[None, None], None, None)


def test_the_global_loss_of_equal_logits_is_log_2():
    same = torch.randn(5, WIDTH, generator=generator())
    loss = global_loss(Quadratic(), pair(same, same, torch.rand(5, generator=generator())))
    assert float(loss) == pytest.approx(np.log(2), rel=1e-6)


def test_the_global_loss_is_least_where_the_logit_difference_matches_the_preference():
    first, second = torch.zeros(1, WIDTH), torch.full((1, WIDTH), 0.5)  # logits 0 and -1
    losses = [
        float(global_loss(Quadratic(), pair(first * s, second * s, torch.sigmoid(torch.tensor([1.0])))))
        for s in (0.5, 1.0, 2.0)
    ]
    assert losses[1] == min(losses)
    p = 1 / (1 + np.exp(-1))
    assert losses[1] == pytest.approx(-p * np.log(p) - (1 - p) * np.log(1 - p), rel=1e-6)


def test_as_its_second_opponent_each_first_candidate_faces_the_next_second_one():
    rows = torch.zeros(1, 6, WIDTH)
    rows[0, :, 0] = torch.tensor([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])  # logits of the seconds: -1, -4, -9
    given = Batch(rows, torch.ones(1, 2, 3), None, None)
    leads = np.array([1, 4, 9, 4, 9, 1.0])
    assert float(global_loss(Quadratic(), given)) == pytest.approx(np.log1p(np.exp(-leads)).mean(), rel=1e-5)


def test_the_local_loss_is_half_the_mean_square_of_score_plus_noise_over_eta():
    drawn, eta = torch.tensor([[[0.5, -1.0]]]), torch.tensor([[2.0]])
    noisy = torch.tensor([[[1.0, 2.0]]]) + eta * drawn
    # z + ε = (2, 0); score = (-2, 0); noise/η = (.25, -.5); residual = (-1.75, -.5)
    given = Batch(noisy, None, drawn, Noise(eta, torch.ones(1, 1), torch.ones(1, 1)))
    assert local_loss(Quadratic(), given).item() == pytest.approx(0.5 * (1.75**2 + 0.5**2) / 2)


def test_each_noise_scale_teaches_only_its_own_potential():
    network = fresh((6,), potentials=3).double()
    given = batch(0, 9, scales=3)
    only_first = torch.zeros_like(given.noise.owner)
    only_first[:, 0] = 1
    Autograd(network).losses(
        Batch(given.rows, None, given.drawn, Noise(given.noise.eta, only_first, given.noise.weight))
    )
    gradient = network.local_head.weight.grad[0]
    assert gradient[0].abs().max() > 0
    assert gradient[1:].abs().max() == 0


def test_gradients_are_those_of_the_last_batch_alone():
    network = fresh((6,)).double()
    step, given = Autograd(network), batch(4, 6)
    step.losses(given)
    once = network.local_head.weight.grad.clone()
    step.losses(given)
    torch.testing.assert_close(network.local_head.weight.grad, once)


@pytest.mark.parametrize("missing", ["noise", "drawn"])
def test_without_noise_there_is_no_local_loss(missing):
    given = dataclasses.replace(batch(4, 6), **{missing: None})
    assert local_loss(Quadratic(), given).tolist() == [0]


def test_who_meets_whom_is_worked_out_on_the_device_of_the_rows():
    assert [index.device.type for index in opponent_positions(3, 2, torch.device("meta"))] == ["meta", "meta"]
