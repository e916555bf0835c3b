"""The losses, against the paper's in tests/reference and numbers worked out by hand."""

import numpy as np
import pytest
import torch

from centrality.torch.networks import Noise, global_loss, local_loss
from tests.reference import algorithm
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


class OneNetwork:
    """The reference's heads as an ensemble of one."""

    def __init__(self) -> None:
        self.theta = algorithm.Heads(WIDTH, 8, np.random.default_rng(0))

    def logit(self, z):
        return self.theta.g(z[0])[None]

    def potentials(self, z):
        return self.theta.l(z[0])[None, :, None]


def test_the_global_loss_is_the_papers():
    network, (x1, x2) = OneNetwork(), torch.randn(2, 5, WIDTH, generator=generator(), dtype=torch.float64)
    preferred = torch.rand(5, generator=generator(), dtype=torch.float64)
    found = global_loss(network, torch.cat([x1, x2])[None], preferred[None, None])
    torch.testing.assert_close(found[0], algorithm.global_loss(network.theta, x1, x2, preferred))


def test_the_local_loss_is_the_papers_divided_by_the_columns():
    """Its weight stands before the mean over columns, where the paper has their sum."""
    network, (z, drawn) = OneNetwork(), torch.randn(2, 5, WIDTH, generator=generator(), dtype=torch.float64)
    eta = torch.full((5, 1), 2.0)
    for weight in (1.0, 3.0):
        noise = Noise(drawn[None], eta, torch.full((5, 1), weight), torch.ones(5, 1))
        found = local_loss(network, (z + eta * drawn)[None], noise)
        expected = algorithm.local_loss(network.theta, z, eta * drawn, 2.0)
        torch.testing.assert_close(found[0], weight * expected / WIDTH)


def test_as_its_second_opponent_each_first_candidate_faces_the_next_second_one():
    rows = torch.zeros(1, 6, WIDTH)
    rows[0, :, 0] = torch.tensor([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])  # logits of the seconds: -1, -4, -9
    leads = np.array([1, 4, 9, 4, 9, 1.0])
    found = global_loss(Quadratic(), rows, torch.ones(1, 2, 3)).item()
    assert found == pytest.approx(np.log1p(np.exp(-leads)).mean(), rel=1e-5)


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
