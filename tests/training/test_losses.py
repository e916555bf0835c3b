"""Both ways to the gradients, against each other and against numbers worked out by hand."""

import copy
import dataclasses
from itertools import product

import numpy as np
import pytest
import torch

from centrality.network.network import build
from centrality.network.prior import Prior
from centrality.training.gradients import ClosedForm
from centrality.training.losses import Autograd, Batch, Noise, global_loss, local_loss, meetings_of

BALANCE = 0.25  # of the global loss, beside the local one
WIDTH = 4
ETAS = [0.3, 1.0, 2.0]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def batch(b: int = 0, r: int = 0, members: int = 1, scales: int = 1, meetings: int = 1) -> Batch:
    """b pairs that meet as often, and r noised rows, whichever there are."""
    g = generator(1)
    rows = torch.randn(members, 2 * b + r, WIDTH, dtype=torch.float64, generator=g)
    preferred = torch.rand(members, meetings, b, dtype=torch.float64, generator=g) if b else None
    drawn = torch.randn(members, r, WIDTH, dtype=torch.float64, generator=g) if r else None
    owner = torch.eye(scales, dtype=torch.float64)[torch.arange(r) % scales]
    eta = owner @ torch.tensor(ETAS, dtype=torch.float64)[:scales, None]
    return Batch(rows, preferred, drawn, Noise(eta, owner, eta**1.5) if r else None)


class Quadratic(torch.nn.Module):
    """A potential whose score is known: l(z) = -|z|²/2 has the gradient -z."""

    def logit(self, z):
        return -z.square().sum(2)

    def potentials(self, z):
        return -0.5 * z.square().sum(2, keepdim=True)


@pytest.mark.parametrize(
    ("shared", "hidden", "scales", "sizes", "members"),
    list(product([True, False], [(5,), (8, 6), (7, 9, 4)], [1, 3], [(6, 7), (6, 0), (0, 7)], [1, 3])),
)
def test_written_out_gradients_equal_autograd_in_float64(shared, hidden, scales, sizes, members):
    network = build(WIDTH, hidden, None, shared, scales, generator(), members).double()
    twin = copy.deepcopy(network)
    given = batch(*sizes, members=members, scales=scales, meetings=min(2, sizes[0]))
    expected, found = Autograd(network, BALANCE).losses(given), ClosedForm(twin, BALANCE).losses(given)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert (found != 0).tolist() == [size > 0 for size in sizes]
    for (name, ours), theirs in zip(twin.named_parameters(), network.parameters(), strict=True):
        gradient = torch.zeros_like(theirs) if theirs.grad is None else theirs.grad
        torch.testing.assert_close(ours.grad, gradient, rtol=1e-9, atol=1e-12, msg=lambda m, name=name: f"{name}: {m}")


def test_the_balance_weighs_what_the_global_loss_teaches_and_not_what_is_recorded():
    whole, alone, weighed = (build(WIDTH, (6, 5), None, True, 1, generator()).double() for _ in range(3))
    given = batch(6, 7)
    losses = ClosedForm(whole).losses(given)
    ClosedForm(alone).losses(Batch(given.rows[:, given.split :], None, given.drawn, given.noise))
    torch.testing.assert_close(ClosedForm(weighed, BALANCE).losses(given), losses)
    for both, local, found in zip(whole.parameters(), alone.parameters(), weighed.parameters(), strict=True):
        torch.testing.assert_close(found.grad, local.grad + BALANCE * (both.grad - local.grad))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("rows", [3, 40])  # one centre, and many
def test_with_a_prior_too_written_out_gradients_equal_autograd(shared, rows):
    network = build(WIDTH, (8, 6), None, shared, 3, generator(), 2).double()
    z = np.random.default_rng(0).normal(size=(rows, WIDTH)).astype(np.float32)
    network.prior = Prior.fitted(z, ETAS, np.random.default_rng(0)).double()
    twin, given = copy.deepcopy(network), batch(4, 7, members=2, scales=3, meetings=2)
    expected, found = Autograd(network).losses(given), ClosedForm(twin).losses(given)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(twin.parameters(), network.parameters(), strict=True):
        gradient = torch.zeros_like(theirs) if theirs.grad is None else theirs.grad
        torch.testing.assert_close(ours.grad, gradient, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("hidden", [(32, 32), (128, 128), (40, 24, 16)])
def test_in_float32_gradients_stay_within_rounding_of_float64_autograd(hidden):
    network = build(WIDTH, hidden, None, True, 3, generator())
    exact = copy.deepcopy(network).double()
    given = batch(32, 48, scales=3, meetings=4)
    single = Batch(
        given.rows.float(),
        given.preferred.float(),
        given.drawn.float(),
        Noise(*map(torch.Tensor.float, vars(given.noise).values())),
    )
    ClosedForm(network).losses(single)
    Autograd(exact).losses(given)
    for ours, theirs in zip(network.parameters(), exact.parameters(), strict=True):
        if theirs.grad is not None and theirs.grad.norm() > 1e-12:  # no loss feels the projection's bias
            assert (ours.grad - theirs.grad).norm() < 1e-5 * theirs.grad.norm()


def test_members_learn_as_if_each_were_alone():
    together = build(WIDTH, (6, 5), None, False, 2, generator(), 3).double()
    given = batch(4, 6, members=3, scales=2, meetings=2)
    ClosedForm(together).losses(given)
    for member in range(3):
        alone = build(WIDTH, (6, 5), None, False, 2, generator()).double()
        for own, all_of_them in zip(alone.parameters(), together.parameters(), strict=True):
            own.data.copy_(all_of_them.data[[member]])
        own_batch = Batch(given.rows[[member]], given.preferred[[member]], given.drawn[[member]], given.noise)
        ClosedForm(alone).losses(own_batch)
        for own, all_of_them in zip(alone.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(own.grad, all_of_them.grad[[member]], rtol=1e-12, atol=1e-14)


def test_after_closed_form_training_every_parameter_owns_its_memory_again():
    network = build(WIDTH, (5, 5), None, True, 1, generator())
    step = ClosedForm(network)
    flat = step.parameters[0]
    step.finish()
    flat.data.fill_(7.0)
    assert all((parameter != 7.0).all() for parameter in network.parameters())


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


def test_in_its_second_meeting_each_first_candidate_faces_the_next_second_one():
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
    network = build(WIDTH, (6,), None, True, 3, generator()).double()
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
    network = build(WIDTH, (6,), None, True, 1, generator()).double()
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
    assert [index.device.type for index in meetings_of(3, 2, torch.device("meta"))] == ["meta", "meta"]
