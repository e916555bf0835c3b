"""The engine has no constants of its own where Python has them too: it computes with those that come in."""

import numpy as np
import pytest

from centrality.engine import engine
from centrality.network.engine_backend import trunks_of
from centrality.network.network import Layout
from centrality.network.scaling import KNEE, LIMIT
from tests.engine.cases import BUILDS, network_of
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
def test_a_component_counts_for_nothing_at_the_lowest_level_that_comes_in(build):
    """The degrees of freedom and this level come in: with 4 and p = 3, one component at its mean has its own level."""
    layout, head = Layout(width=3, hidden=(5,), potentials=1), BUILDS[build]
    numbers = {
        "mean": (1, 2, 3),
        "axes": (1, 2, 3, 3),
        "precision": (1, 2, 2, 3),
        "rest": (1, 2, 2),
        "level": (1, 2, 2),
    }
    parts = {name: np.zeros(shape, dtype=np.float32) for name, shape in numbers.items()}
    parts["axes"][:] = np.eye(3)
    parts["precision"][:] = 1.0
    parts["level"][:, :, 1] = -5.0
    bounds = np.zeros((1, 1, 2), dtype=np.float32)
    for degrees, fall in ((0.0, -0.5), (4.0, -3.5 * np.log1p(1 / 4))):
        freedom = np.array([degrees], dtype=np.float32)
        for lowest, count in ((-5.0, 0.0), (-5.1, np.exp(-5.0))):
            members = [trunks_of(network_of(layout), 0)]
            row = np.array([[1.0, 0.0, 0.0]], dtype=np.float32)
            found = head.Model(members, head.Background(*parts.values(), freedom, bounds, lowest)).outputs(row, None)
            assert found[0, 0, -1] == pytest.approx(fall + np.log1p(count), abs=1e-6)


def test_knee_and_limit_of_the_scaling_are_those_that_come_in():
    by, network = engine(), network_of(Layout(width=1, hidden=(5,)))
    one, model = np.ones(1), by.Model([trunks_of(network, 0)], None)

    def outputs(x: float, knee: float, limit: float) -> np.ndarray:
        return model.outputs(np.array([[x]]), by.Scaling(0 * one, one, one, None, None, knee, limit))

    def scaled(z: float) -> np.ndarray:
        return model.outputs(np.array([[z]], dtype=np.float32), None)

    for knee in (KNEE, 2.0):
        np.testing.assert_allclose(outputs(100.0, knee, LIMIT), scaled(knee + np.log1p(100 - knee)), rtol=1e-6)
    np.testing.assert_allclose(outputs(100.0, KNEE, 3.0), scaled(3.0), rtol=1e-6)
