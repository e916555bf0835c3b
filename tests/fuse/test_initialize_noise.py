import numpy as np
import pytest

from centrality.fuse.data import TrainingData
from centrality.fuse.initialize import RULES, check_noise_scale, choose_noise_scales, neighbour_distance
from centrality.network.scaling import Scaling


def found(X: np.ndarray) -> float:
    rows = TrainingData(X, Scaling.fit(X, "none"), np.random.default_rng(0), max_values=1 << 20)
    return neighbour_distance(rows, np.random.default_rng(0))


def test_on_a_line_of_even_steps_the_tenth_neighbour_is_five_steps_away():
    assert found(np.arange(1000.0)[:, None]) == pytest.approx(5.0)


def test_the_scale_is_a_length_over_the_root_of_the_dimension():
    line = np.arange(1000.0)[:, None]
    assert found(np.tile(line, 4)) == pytest.approx(5.0)  # distances double, and so does √p


def test_a_set_smaller_than_ten_uses_the_neighbours_it_has():
    assert found(np.array([[0.0], [1.0], [2.0]])) == pytest.approx(2.0)


def test_data_made_mostly_of_duplicates_still_has_a_scale():
    X = np.concatenate([np.zeros((900, 1)), np.arange(1.0, 101.0)[:, None]])
    assert found(X) == pytest.approx(5.0, abs=1.0)
    assert found(np.repeat([[0.0], [2.0]], 50, axis=0)) == pytest.approx(1.0)  # two values: their deviation


def test_a_rule_is_an_entry_in_the_table_and_the_message_names_it(monkeypatch):
    X = np.arange(100.0)[:, None]
    rows = TrainingData(X, Scaling.fit(X, "none"), np.random.default_rng(0), max_values=1 << 20)
    monkeypatch.setitem(RULES, "spread", lambda rows, rng: (float(rows.z.std()),))
    rng = np.random.default_rng(0)
    assert choose_noise_scales(check_noise_scale("spread"), rows, rng) == pytest.approx((X.std(),), rel=1e-6)
    assert choose_noise_scales(check_noise_scale("auto"), rows, rng) == pytest.approx((5.0,))
    assert choose_noise_scales(check_noise_scale([1, 0.5]), rows, rng) == (1.0, 0.5)
    with pytest.raises(ValueError, match="noise_scale must be 'auto', 'spread', a number or a list, got 'width'"):
        check_noise_scale("width")
