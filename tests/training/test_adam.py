import numpy as np
import pytest
import torch

from centrality.training.adam import Adam
from centrality.training.rates import corrected


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_every_step_is_that_of_torchs_adam(weight_decay):
    g = torch.Generator().manual_seed(0)
    start = [torch.randn(shape, dtype=torch.float64, generator=g) for shape in ((3, 4), (5,))]
    ours, theirs = ([tensor.clone().requires_grad_() for tensor in start] for _ in range(2))
    falling = np.linspace(0.1, 0.01, 20)
    adam, reference = Adam(ours, weight_decay), torch.optim.Adam(theirs, weight_decay=weight_decay)
    for rate, plain in zip(corrected(falling), falling, strict=True):
        for own, other in zip(ours, theirs, strict=True):
            drawn = torch.randn(own.shape, dtype=torch.float64, generator=g)
            own.grad = drawn + drawn.sign()  # none below 1
            other.grad = own.grad.clone()
        adam.step(torch.tensor([rate], dtype=torch.float64))
        reference.param_groups[0]["lr"] = float(plain)
        reference.step()
    for own, other, before in zip(ours, theirs, start, strict=True):
        # Torch adds its 1e-8 to the corrected root, we to the root, which is at least √0.001 times a gradient: updates
        # are 4e-7 of themselves apart at most, and 20 of them, of 0.1 or so, 1e-6. Rates are rounded to float32: 6e-8.
        torch.testing.assert_close(own, other, rtol=0, atol=1e-6)
        assert (own != before).all()


def test_rates_of_later_steps_are_the_end_of_all_rates():
    same = np.full(10, 0.3)
    np.testing.assert_array_equal(corrected(same[:4], first=7), corrected(same)[6:])


def test_the_first_step_is_as_long_as_the_rate_whatever_the_gradient():
    """Moments begin at zero: m = 0.1 g and s = 0.001 g², so the corrected m / √s is the gradient's sign."""
    parameter = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    parameter.grad = torch.tensor([1e-3, -1.0, 50.0], dtype=torch.float64)
    Adam([parameter], 0.0).step(torch.from_numpy(corrected(np.array([0.25]))).double())
    torch.testing.assert_close(
        parameter.detach(), torch.tensor([-0.25, 0.25, -0.25], dtype=torch.float64), rtol=1e-3, atol=0
    )


def test_a_parameter_without_a_gradient_stays():
    still, moved = (torch.ones(2, requires_grad=True) for _ in range(2))
    moved.grad = torch.ones(2)
    Adam([still, moved], 0.1).step(torch.tensor([0.5]))
    assert (still == 1).all()
    assert (moved < 1).all()
