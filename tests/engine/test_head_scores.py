"""From rows to scores in one call of the engine: the same numbers as step by step."""

from dataclasses import replace

import numpy as np
import pytest

from centrality._internal.checks import InputError
from centrality.engine import engine
from centrality.network.calibration import LINEAR, SOFT, SOFT_IF_CLEAN, Calibration
from centrality.network.engine_backend import EngineScorer, NetworkScorer
from centrality.network.network import Layout
from centrality.network.scaling import Scaling
from tests.engine.cases import BUILDS, network_of, rows_of
from tests.pairwise import pairwise

pytestmark = pytest.mark.numbers


def case(members: int, potentials: int, background: bool, mixing: object, build: str | None = None):
    layout = Layout(width=17, hidden=(20, 33), shared=members == 1, members=members, potentials=potentials)
    network = network_of(layout, background=background)
    scorer = EngineScorer(network, engine() if build is None else BUILDS[build])
    rng = np.random.default_rng(1)

    def rising(*shape: int) -> np.ndarray:
        return np.sort(rng.normal(size=(*shape, 2)), axis=-1)

    calibration = Calibration(
        "clip" if mixing is LINEAR else "soft",
        potentials=rising(members, network.potentials),
        members=rising(members, 2),
        ends=rising(2),
        halves=rising(2),
        mixing=mixing,
    )
    X = 3 * rows_of(17, 200, seed=9).astype(np.float64)
    return scorer, Scaling.fit(X, "auto"), calibration, X


@pytest.mark.parametrize(
    ("members", "potentials", "background", "mixing", "dtype"),
    pairwise([1, 2], [1, 5], [False, True], [LINEAR, SOFT, SOFT_IF_CLEAN], [np.float32, np.float64]),
)
def test_one_call_gives_the_bits_of_outputs_raw_scores_and_units_one_after_another(
    members, potentials, background, mixing, dtype
):
    scorer, scaling, calibration, X = case(members, potentials, background, mixing)
    for rows in (X.astype(dtype), X[:1].astype(dtype)):
        raw = calibration.raw(scorer.of_rows(rows, scaling))
        np.testing.assert_array_equal(scorer.raw(rows, scaling, calibration), raw)
        np.testing.assert_array_equal(scorer.head_scores(rows, scaling, calibration), calibration.units(raw))
        for t in (0.0, 0.3, 1.0):
            mixtures = mixing.mixed(calibration.units(raw), t)
            for squeezed, expected in ((False, mixtures), (True, mixing.squeeze(mixtures))):
                found = scorer.mixtures(scaling, calibration, t, rows, squeezed=squeezed)
                np.testing.assert_array_equal(found, expected)


def test_every_build_gives_the_same_bits_of_scores():
    found = []
    for build in BUILDS:
        scorer, scaling, calibration, X = case(2, 5, True, SOFT, build)
        found.append(scorer.mixtures(scaling, calibration, 0.3, X, squeezed=True).view(np.uint64).tolist())
        values = np.random.default_rng(0).standard_cauchy(1000) * 10.0 ** np.arange(-5, 5).repeat(100)
        found[-1] += BUILDS[build].squeeze(values).view(np.uint64).tolist()
    assert all(bits == found[0] for bits in found)


def test_what_is_squeezed_is_the_cube_root_of_the_formula():
    u = np.concatenate([np.linspace(-9, 9, 2001), 10.0 ** np.arange(1, 90), -(10.0 ** np.arange(1, 90))])
    size = np.abs(u).astype(np.longdouble)
    expected = np.where(u <= 0, 0.5 / (1 + size), 0.5 + 0.5 * size / np.cbrt(1 + size**3))
    np.testing.assert_allclose(engine().squeeze(u), expected.astype(np.float64), rtol=4e-16)
    assert engine().squeeze(np.array([-np.inf, np.inf])).tolist() == [0.5e-100, 1.0]


def test_outputs_that_are_no_numbers_are_those_of_a_damaged_model():
    _, scaling, calibration, X = case(2, 5, False, SOFT)
    network = network_of(Layout(width=17, hidden=(20, 33), shared=False, members=2, potentials=5))
    weights = {**network.weights, "local_head.bias": np.full((2, 5), np.inf, dtype=np.float32)}
    scorer = EngineScorer(replace(network, weights=weights), engine())
    for ask in (EngineScorer.raw, NetworkScorer.raw, EngineScorer.head_scores, NetworkScorer.head_scores):
        with pytest.raises(InputError, match="its weights are damaged or out of range"):
            ask(scorer, X, scaling, calibration)
    with pytest.raises(InputError, match="its weights are damaged or out of range"):
        scorer.mixtures(scaling, calibration, 0.5, X, squeezed=True)
