"""The engine has no constants of its own where Python has them too: it computes with those that come in."""

import numpy as np
import pytest

from centrality.engine import engine
from centrality.network.network import Layout
from centrality.network.scaling import KNEE, LIMIT
from centrality.network.scorer import EngineScorer
from tests.engine.cases import BUILDS, network_of, prior_of
from tests.engine.test_odd_input import STEPS, job


def one_step(**changes: float) -> dict[str, np.ndarray]:
    asked = job(**changes)
    for name in ("positions", "noise", "rates", "losses"):
        asked[name] = asked[name][: STEPS - 1].copy()
    engine().train(**asked)
    return asked


def test_adams_constants_are_those_that_come_in():
    """Moments begin at zero, so after one step they are (1 - β₁) g and (1 - β₂) g²: the step is a matter of ε."""
    gradient, rate = one_step(mean_decay=0.0)["mean"].astype(np.float64), 1e-3
    found = one_step(mean_decay=0.75, square_decay=0.36, smallest_root=0.5)
    np.testing.assert_allclose(found["mean"], 0.25 * gradient, rtol=1e-6)
    np.testing.assert_allclose(found["square"], 0.64 * gradient**2, rtol=1e-6, atol=1e-30)
    step = rate * 0.25 * gradient / (0.8 * np.abs(gradient) + 0.5)
    np.testing.assert_allclose(found["values"], job()["values"] - step, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("build", BUILDS)
def test_no_gaussian_of_the_prior_is_lower_than_what_comes_in(build):
    """Rows are so far away that half a squared distance, 1.5e30, times any precision is lower than either."""
    layout, head = Layout(width=3, hidden=(5,), potentials=2), BUILDS[build]
    parts, far = prior_of(3, 2), np.full((4, 3), 1e15, dtype=np.float32)
    for lowest in (-1e20, -1e25):
        members = [[EngineScorer(network_of(layout), head)._trunk(0, 0)]]
        found = head.Model(members, head.Mixture(*parts.values(), lowest)).outputs(far, None)
        np.testing.assert_allclose(found[:, :, 1:], lowest, rtol=1e-4)


def test_knee_and_limit_of_the_scaling_are_those_that_come_in():
    by, network = engine(), network_of(Layout(width=1, hidden=(5,)))
    one, model = np.ones(1), by.Model([[EngineScorer(network, by)._trunk(0, 0)]], None)

    def outputs(x: float, knee: float, limit: float) -> np.ndarray:
        return model.outputs(np.array([[x]]), by.Scaling(0 * one, one, one, None, None, knee, limit))

    def scaled(z: float) -> np.ndarray:
        return model.outputs(np.array([[z]], dtype=np.float32), None)

    for knee in (KNEE, 2.0):
        np.testing.assert_allclose(outputs(100.0, knee, LIMIT), scaled(knee + np.log1p(100 - knee)), rtol=1e-6)
    np.testing.assert_allclose(outputs(100.0, KNEE, 3.0), scaled(3.0), rtol=1e-6)
