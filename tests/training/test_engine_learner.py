import numpy as np

from centrality.training.engine_learner import MEAN_DECAY, SQUARE_DECAY, corrected


def test_rates_of_later_steps_are_the_end_of_all_rates():
    same = np.full(10, 0.3)
    np.testing.assert_array_equal(corrected(same[:4], first=7), corrected(same)[6:])


def test_the_first_step_is_as_long_as_the_rate_whatever_the_gradient():
    """Moments begin at zero: m = 0.1 g and s = 0.001 g², so the corrected m / √s is the gradient's sign."""
    gradient = np.array([1e-3, -1.0, 50.0])
    mean, square = (1 - MEAN_DECAY) * gradient, (1 - SQUARE_DECAY) * gradient**2
    np.testing.assert_allclose(corrected(np.array([0.25])) * mean / np.sqrt(square), [0.25, -0.25, 0.25], rtol=1e-6)
