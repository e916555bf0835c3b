import numpy as np
import pytest

from centrality.training.history import empty_history, record_stretches, require_finite
from tests.training.test_batches import PLAN


def test_the_history_is_the_first_step_then_means_over_stretches_that_cover_all_steps():
    losses = np.stack([np.arange(100.0), 2 * np.arange(100.0)], 1)
    history = empty_history()
    record_stretches(history, losses)
    assert history["step"] == [1, *range(2, 101, 2)]  # 50 stretches of two steps
    assert history["global"] == [0.0, *(k + 0.5 for k in range(0, 100, 2))]
    assert history["local"] == [2 * loss for loss in history["global"]]


def test_a_single_step_is_a_single_line():
    history = empty_history()
    record_stretches(history, np.array([[0.5, 2.0]]))
    assert history == {"step": [1], "global": [0.5], "local": [2.0]}


@pytest.mark.parametrize(
    ("losses", "said"),
    [([[1.0, 1.0], [1.0, np.inf]], "local loss is inf"), ([[np.nan, 1.0]], "global loss is nan")],
)
def test_a_loss_that_is_no_number_says_whose_it_is_and_what_to_do(losses, said):
    with pytest.raises(FloatingPointError, match=rf"the {said} after 9 steps. A smaller learning_rate than 0.001"):
        require_finite(np.array(losses), 9, PLAN)
    require_finite(np.ones((3, 2)), 9, PLAN)
