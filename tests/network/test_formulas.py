"""The formulas that torch and ONNX share, on numbers whose results are known."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from centrality.network import formulas
from centrality.scores.mixing import squeezed

RNG = np.random.default_rng(0)


def tensors(**arrays):
    return SimpleNamespace(**{name: torch.as_tensor(value) for name, value in arrays.items()})


def test_a_mixture_is_the_log_of_a_weighted_sum_of_gaussians():
    z, mean, centres = RNG.normal(size=(7, 3)), RNG.normal(size=3), RNG.normal(size=(4, 3))
    level, precision = RNG.normal(size=(2, 4)), RNG.uniform(0.5, 2, size=(2, 4))  # of two noise scales
    prior = tensors(mean=mean, centres=centres, level=level, precision=precision)
    square = np.square(z[:, None] - mean - centres).sum(2)
    for scale, found in enumerate(formulas.mixture(prior, torch.as_tensor(z))):
        expected = logsumexp(level[scale] - 0.5 * precision[scale] * square, axis=1)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_shape_with_the_identity_for_its_map_falls_with_the_distance_to_its_mean():
    z, mean = RNG.normal(size=(5, 2)), np.array([[1.0, -2.0]])
    shape = tensors(mean=mean, map=np.eye(2)[None], rest=np.zeros(1), weight=np.array([[1.0, 3.0]]))
    fall = -np.sqrt(1 + np.square(z - mean).sum(1))
    np.testing.assert_allclose(formulas.shaped(shape, torch.as_tensor(z))[0], fall[:, None] * [1, 3], atol=1e-12)


def test_what_a_map_leaves_out_counts_by_the_rest():
    """The map keeps only the first direction; of the others, each counts with factor `rest`."""
    z = np.array([[3.0, 4.0]])  # rest |z|² - |Mz|² = 2 · 25 - 1 · 9 = 41 for M = (1, 0)
    shape = tensors(mean=np.zeros((1, 2)), map=np.array([[[1.0, 0.0]]]), rest=np.array([2.0]), weight=np.ones((1, 1)))
    assert formulas.shaped(shape, torch.as_tensor(z)).item() == pytest.approx(-np.sqrt(42))


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
