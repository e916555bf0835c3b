"""The losses, against numbers worked out by hand."""

import numpy as np
import pytest
import torch

from centrality.torch.losses import Noise, global_loss, local_loss
from tests.torch.examples import networks_of

pytestmark = pytest.mark.numbers
WIDTH = 4


class Quadratic:
    """A potential whose score is known: l(z) = -|z|²/2 has the gradient -z."""

    def logit(self, z):
        return -z.square().sum(2)

    def potentials(self, z):
        return -0.5 * z.square().sum(2, keepdim=True)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def compared(first: torch.Tensor, second: torch.Tensor, preferred: torch.Tensor) -> float:
    return global_loss(Quadratic(), torch.cat([first, second])[None], preferred[None, None]).item()


def test_the_global_loss_of_equal_logits_is_log_2():
    same = torch.randn(5, WIDTH, generator=generator())
    assert compared(same, same, torch.rand(5, generator=generator())) == pytest.approx(np.log(2), rel=1e-6)


def test_the_global_loss_is_least_where_the_logit_difference_matches_the_preference():
    first, second = torch.zeros(1, WIDTH), torch.full((1, WIDTH), 0.5)  # logits 0 and -1
    matching = torch.sigmoid(torch.tensor([1.0]))
    losses = [compared(first * s, second * s, matching) for s in (0.5, 1.0, 2.0)]
    assert losses[1] == min(losses)
    p = 1 / (1 + np.exp(-1))
    assert losses[1] == pytest.approx(-p * np.log(p) - (1 - p) * np.log(1 - p), rel=1e-6)


def test_as_its_second_opponent_each_first_candidate_faces_the_next_second_one():
    rows = torch.zeros(1, 6, WIDTH)
    rows[0, :, 0] = torch.tensor([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])  # logits of the seconds: -1, -4, -9
    leads = np.array([1, 4, 9, 4, 9, 1.0])
    found = global_loss(Quadratic(), rows, torch.ones(1, 2, 3)).item()
    assert found == pytest.approx(np.log1p(np.exp(-leads)).mean(), rel=1e-5)


def test_the_local_loss_is_half_the_mean_square_of_score_plus_noise_over_eta():
    drawn, eta = torch.tensor([[[0.5, -1.0]]]), torch.tensor([[2.0]])
    noisy = torch.tensor([[[1.0, 2.0]]]) + eta * drawn
    # z + ε = (2, 0); score = (-2, 0); noise/η = (.25, -.5); residual = (-1.75, -.5)
    for weight in (1.0, 3.0):
        noise = Noise(drawn, eta, torch.full((1, 1), weight), torch.ones(1, 1))
        expected = weight * 0.5 * (1.75**2 + 0.5**2) / 2
        assert local_loss(Quadratic(), noisy, noise).item() == pytest.approx(expected)


def test_each_noise_scale_teaches_only_its_own_potential():
    network = networks_of(width=WIDTH, hidden=(6,), potentials=3)
    rows, drawn = torch.randn(2, 1, 9, WIDTH, generator=generator())
    only_first = torch.tensor([1.0, 0.0, 0.0]).expand(9, 3)
    local_loss(network, rows, Noise(drawn, torch.ones(9, 1), torch.ones(9, 1), only_first)).sum().backward()
    assert network.local_head.weight.grad is not None
    gradient = network.local_head.weight.grad[0]
    assert gradient[0].abs().max() > 0
    assert gradient[1:].abs().max() == 0


def test_members_learn_as_if_each_were_alone():
    together = networks_of(width=WIDTH, hidden=(6, 5), shared=False, potentials=2, members=3)
    rows, drawn = torch.randn(2, 3, 6, WIDTH, generator=generator())
    preferred = torch.rand(3, 2, 3, generator=generator())
    noise = Noise(drawn, torch.full((6, 1), 0.5), torch.ones(6, 1), torch.eye(2).repeat(3, 1))
    (global_loss(together, rows, preferred) + local_loss(together, rows, noise)).sum().backward()
    for member in range(3):
        alone, its = networks_of(width=WIDTH, hidden=(6, 5), shared=False, potentials=2), [member]
        for own, all_of_them in zip(alone.parameters(), together.parameters(), strict=True):
            own.data.copy_(all_of_them.data[its])
        its_noise = Noise(drawn[its], noise.eta, noise.weight, noise.owner)
        (global_loss(alone, rows[its], preferred[its]) + local_loss(alone, rows[its], its_noise)).sum().backward()
        for own, all_of_them in zip(alone.parameters(), together.parameters(), strict=True):
            if own.grad is not None:  # no loss feels the biases of the local head
                assert all_of_them.grad is not None
                torch.testing.assert_close(own.grad, all_of_them.grad[its], rtol=1e-4, atol=1e-6)
