"""Gradients written out, against those that autograd finds."""

import copy
from itertools import product

import numpy as np
import pytest
import torch

from centrality.network.gaussians import fit_mixture
from centrality.training.gradients import ClosedForm
from centrality.training.losses import Autograd, Batch, Noise
from tests.network.examples import mixture_of
from tests.training.examples import ETAS, WIDTH, batch, fresh

BALANCE = 0.25  # of the global loss, beside the local one


@pytest.mark.parametrize(
    ("shared", "hidden", "scales", "sizes", "members"),
    list(product([True, False], [(5,), (8, 6), (7, 9, 4)], [1, 3], [(6, 7), (6, 0), (0, 7)], [1, 3])),
)
def test_written_out_gradients_equal_autograd_in_float64(shared, hidden, scales, sizes, members):
    network = fresh(hidden, shared=shared, potentials=scales, members=members).double()
    twin = copy.deepcopy(network)
    given = batch(*sizes, members=members, scales=scales, opponents=min(2, sizes[0]))
    expected, found = Autograd(network, BALANCE).losses(given), ClosedForm(twin, BALANCE).losses(given)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    assert (found != 0).tolist() == [size > 0 for size in sizes]
    for (name, ours), theirs in zip(twin.named_parameters(), network.parameters(), strict=True):
        gradient = torch.zeros_like(theirs) if theirs.grad is None else theirs.grad
        torch.testing.assert_close(ours.grad, gradient, rtol=1e-9, atol=1e-12, msg=lambda m, name=name: f"{name}: {m}")


def test_the_balance_weighs_what_the_global_loss_teaches_and_not_what_is_recorded():
    whole, alone, weighed = (fresh((6, 5)).double() for _ in range(3))
    given = batch(6, 7)
    losses = ClosedForm(whole).losses(given)
    ClosedForm(alone).losses(Batch(given.rows[:, given.noised_from :], None, given.drawn, given.noise))
    torch.testing.assert_close(ClosedForm(weighed, BALANCE).losses(given), losses)
    for both, local, found in zip(whole.parameters(), alone.parameters(), weighed.parameters(), strict=True):
        torch.testing.assert_close(found.grad, local.grad + BALANCE * (both.grad - local.grad))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("rows", [3, 40])  # one centre, and many
def test_with_a_prior_too_written_out_gradients_equal_autograd(shared, rows):
    network = fresh((8, 6), shared=shared, potentials=3, members=2).double()
    z = np.random.default_rng(0).normal(size=(rows, WIDTH)).astype(np.float32)
    network.prior = mixture_of(fit_mixture(z, ETAS, np.random.default_rng(0))).double()
    twin, given = copy.deepcopy(network), batch(4, 7, members=2, scales=3, opponents=2)
    expected, found = Autograd(network).losses(given), ClosedForm(twin).losses(given)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(twin.parameters(), network.parameters(), strict=True):
        gradient = torch.zeros_like(theirs) if theirs.grad is None else theirs.grad
        torch.testing.assert_close(ours.grad, gradient, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("hidden", [(32, 32), (128, 128), (40, 24, 16)])
def test_in_float32_gradients_stay_within_rounding_of_float64_autograd(hidden):
    network = fresh(hidden, potentials=3)
    exact = copy.deepcopy(network).double()
    given = batch(32, 48, scales=3, opponents=4)
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
    together = fresh((6, 5), shared=False, potentials=2, members=3).double()
    given = batch(4, 6, members=3, scales=2, opponents=2)
    ClosedForm(together).losses(given)
    for member in range(3):
        alone = fresh((6, 5), shared=False, potentials=2).double()
        for own, all_of_them in zip(alone.parameters(), together.parameters(), strict=True):
            own.data.copy_(all_of_them.data[[member]])
        own_batch = Batch(given.rows[[member]], given.preferred[[member]], given.drawn[[member]], given.noise)
        ClosedForm(alone).losses(own_batch)
        for own, all_of_them in zip(alone.parameters(), together.parameters(), strict=True):
            torch.testing.assert_close(own.grad, all_of_them.grad[[member]], rtol=1e-12, atol=1e-14)


def test_after_closed_form_training_every_parameter_owns_its_memory_again():
    network = fresh((5, 5))
    step = ClosedForm(network)
    flat = step.parameters[0]
    step.finish()
    flat.data.fill_(7.0)
    assert all((parameter != 7.0).all() for parameter in network.parameters())
