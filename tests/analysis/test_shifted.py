"""Calibration where the world has shifted: p-values hold for the rows that come now, and few rows are named."""

import numpy as np
import pytest

from centrality import FUSE
from centrality._internal.checks import InputError
from centrality.analysis.shifted import drawn, estimated_weights


def of_kinds(rng, count, share):
    """Rows of two kinds, a narrow one and a wide one, of which there is this share."""
    wide = rng.random(count) < share
    rows = np.column_stack([rng.normal(size=count) * np.where(wide, 3.0, 0.5), rng.normal(size=count)])
    rows[:, 1] += 8 * wide
    return rows, wide


@pytest.fixture(scope="module")
def model():
    return FUSE(random_state=0, max_steps=300).fit(of_kinds(np.random.default_rng(0), 1500, 0.1)[0])


def test_drawn_rows_have_the_distribution_of_the_new_ones():
    """Of 4,000 rows a tenth is wide; weighed by 9 they are half: .5 ± .03 (three deviations of 800 rows)."""
    wide = of_kinds(np.random.default_rng(1), 4000, 0.1)[1]
    chosen = drawn(np.where(wide, 9.0, 1.0), np.random.default_rng(2))
    assert wide[chosen].mean() == pytest.approx(0.5, abs=0.06)
    assert len(chosen) > 600


def test_weighed_p_values_are_uniform_for_the_rows_that_come_now_and_unweighed_ones_are_not(model):
    """P(p <= .1) is .1: of 2,000 rows and 800 drawn ones, three deviations are .04."""
    rng = np.random.default_rng(3)
    rows, wide = of_kinds(rng, 6000, 0.1)
    new = of_kinds(rng, 2000, 0.5)[0]
    before = (model.calibrate(rows).p_values(new) <= 0.1).mean()
    known = (model.calibrate(rows, weights=np.where(wide, 9.0, 1.0)).p_values(new) <= 0.1).mean()
    estimated = (model.calibrate(rows, like=of_kinds(rng, 1000, 0.5)[0]).p_values(new) <= 0.1).mean()
    assert abs(known - 0.1) <= 0.04
    assert abs(estimated - 0.1) <= 0.06  # weights are estimated, and cut
    assert abs(before - 0.1) > 0.1


def test_where_few_rows_carry_the_weight_a_warning_says_how_many(model):
    rows = np.random.default_rng(4).normal(size=(300, 2))
    weights = np.full(300, 0.001)
    weights[:20] = 1.0
    with pytest.warns(UserWarning, match=r"Few rows carry the weight: 2\d of 300 calibration rows are left"):
        model.calibrate(rows, weights=weights)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": [1.0, 2.0]}, "weights must be 50 numbers from 0 on"),
        ({"weights": np.zeros(50)}, "weights must be 50 numbers from 0 on"),
        ({"weights": np.full(50, np.nan)}, "weights must be 50 numbers from 0 on"),
        ({"weights": np.ones(50), "like": np.zeros((50, 2))}, "One of weights and like was wanted, got both"),
        ({"like": np.zeros((3, 2))}, "like wants at least 10 rows on each side, got 50 and 3"),
    ],
)
def test_weights_that_are_none_are_refused(model, changes, message):
    with pytest.raises(InputError, match=message):
        model.calibrate(np.random.default_rng(5).normal(size=(50, 2)), **changes)
    with pytest.raises(InputError, match="give X, the rows to calibrate on"):
        model.calibrate(**changes)


def test_rows_that_are_the_same_weigh_the_same():
    rng = np.random.default_rng(6)
    weights = estimated_weights(rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)), rng)
    assert weights.min() / np.median(weights) > 0.5
    assert weights.max() / np.median(weights) < 2
