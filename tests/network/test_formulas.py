"""The formulas that torch and ONNX share, on numbers whose results are known."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal, multivariate_t, special_ortho_group

from centrality.network import formulas
from centrality.network.calibration import squeezed

RNG = np.random.default_rng(0)


def tensors(**arrays):
    return SimpleNamespace(**{name: torch.as_tensor(value) for name, value in arrays.items()})


@pytest.mark.parametrize("degrees", [4.0, 0.0])
def test_a_background_is_the_log_of_a_sum_of_densities(degrees):
    """Components along all axes have the densities of scipy, up to a constant; the last has one axis and a rest."""
    z, mean, axes = (
        RNG.normal(size=(7, 3)),
        RNG.normal(size=(2, 3)),
        np.stack([special_ortho_group.rvs(3, random_state=0)] * 2),
    )
    level, precision = RNG.normal(size=(1, 2)), RNG.uniform(0.5, 2, size=(1, 2, 3))
    member = tensors(mean=mean, axes=axes, precision=precision, rest=np.zeros((1, 2)), level=level)
    member.degrees = degrees
    logs = []
    for c in (0, 1):
        covariance = axes[c].T @ np.diag(1 / precision[0, c]) @ axes[c]
        law = multivariate_t(mean[c], covariance, df=degrees) if degrees else multivariate_normal(mean[c], covariance)
        logs.append(level[0, c] + law.logpdf(z) - law.logpdf(mean[c]))
    (found,) = formulas.background(member, torch.as_tensor(z))
    np.testing.assert_allclose(found, np.logaddexp(*logs), atol=1e-12)


def test_what_the_axes_leave_out_counts_by_the_rest():
    """The axis is the first direction: 3² counts by its precision, 4² by the rest: 2 · 9 + 3 · 16 = 66."""
    member = tensors(
        mean=np.zeros((1, 2)),
        axes=np.array([[[1.0, 0.0]]]),
        precision=np.array([[[2.0]]]),
        rest=np.array([[3.0]]),
        level=np.zeros((1, 1)),
    )
    member.degrees = 0.0
    (found,) = formulas.background(member, torch.tensor([[3.0, 4.0]], dtype=torch.float64))
    assert found.item() == pytest.approx(-33)


def test_what_a_network_adds_has_bounds_and_no_slope_beyond_them():
    added = torch.tensor([[-3.0, 0.5], [0.0, 9.0]], requires_grad=True)
    found = formulas.bounded(torch.tensor([[-1.0, 1.0], [0.0, 2.0]]), added)
    found.sum().backward()
    np.testing.assert_array_equal(found.detach(), [[-1.0, 0.5], [0.0, 2.0]])
    np.testing.assert_array_equal(added.grad, [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("local_weight", [None, 0.5])
def test_units_are_squeezed_as_the_scores_of_a_model_are(local_weight):
    units = np.concatenate([RNG.normal(size=50) * 3, [0, -1e200, 1e200]])
    mixing = SimpleNamespace(local_weight=local_weight)
    found = formulas.squeezed(mixing, torch.as_tensor(units)).numpy()
    np.testing.assert_allclose(found, units if local_weight is None else squeezed(units), atol=1e-15)


def test_marks_add_what_each_column_says_between_its_knots():
    """One column, knots 0, 1, 3, slopes 2 and -1, beginning at 10: at 2 it is 10 + 2 · 1 - 1 · 1."""
    model = tensors(knots=[[0.0, 1.0]], lengths=[[1.0, 2.0]], slopes=[[2.0, -1.0]], start=10.0)
    z = torch.tensor([[-5.0], [0.5], [2.0], [9.0]], dtype=torch.float64)
    np.testing.assert_allclose(formulas.shift_by_marks(model, z), [10, 11, 11, 10])


def test_calibrated_units_are_zero_and_one_at_the_halves_and_one_width_apart_where_these_are_equal():
    model = SimpleNamespace(kind="soft", halves=torch.tensor([[1.0, 3.0], [5.0, 5.0]]))
    of_global, of_local = formulas.calibrated(model, torch.tensor([1.0, 3.0]), torch.tensor([5.0, 6.0]))
    assert of_global.tolist() == [0, 1]
    assert of_local.tolist() == [0, 1]
