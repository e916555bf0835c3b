"""The engine's calibration is that of plain formulas, its derivatives are those of finite differences."""

import importlib

import numpy as np
import pytest

from centrality.engine import engine
from tests.plain_calibration import random_calibration

pytestmark = pytest.mark.numbers
SHAPES = [(1, 1), (1, 5), (2, 2), (6, 1), (6, 5)]  # members, potentials
BUILDS = ("portable", "avx2", "avx512", "neon")


def case(members: int, k: int, n: int = 200):
    rng = np.random.default_rng(members * 10 + k)
    plain = random_calibration(members, k, rng)
    return plain, engine().Calibration(*plain.parts()), 3 * rng.normal(size=(members, n, 1 + k)), rng


@pytest.mark.parametrize(("members", "k"), SHAPES)
def test_members_and_raw_scores_follow_the_formulas(members, k):
    plain, ours, outputs, _ = case(members, k)
    np.testing.assert_allclose(ours.of_members(outputs), plain.of_members(outputs), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.raw(outputs), plain.raw(outputs), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(("members", "k"), SHAPES)
def test_derivatives_are_those_of_finite_differences(members, k):
    plain, ours, outputs, rng = case(members, k, n=20)
    by, step = rng.normal(size=(20, 2)), 1e-6
    found = ours.raw_back(outputs, by)
    for member in range(members):
        for output in range(1 + k):
            ahead, behind = outputs.copy(), outputs.copy()
            ahead[member, :, output] += step
            behind[member, :, output] -= step
            slope = (by * (plain.raw(ahead) - plain.raw(behind))).sum(1) / (2 * step)
            np.testing.assert_allclose(found[member, :, output], slope, atol=1e-6 * (1 + np.abs(slope).max()))


def test_of_each_head_the_member_that_finds_a_row_oddest_decides_and_no_number_overflows():
    plain, ours, outputs, _ = case(6, 1, n=3)
    outputs[2, :, 0], outputs[4, :, 1] = -1e6, -1e6
    pairs = plain.of_members(outputs)
    np.testing.assert_allclose(ours.raw(outputs), np.stack([pairs[2, :, 0], pairs[4, :, 1]], axis=1), rtol=1e-12)
    assert np.isfinite(ours.raw(1e3 * outputs)).all()
    assert np.isfinite(ours.raw_back(1e3 * outputs, np.ones((3, 2)))).all()


@pytest.mark.parametrize(("members", "k"), SHAPES)
def test_a_row_has_the_same_bits_alone_as_in_company(members, k):
    _, ours, outputs, rng = case(members, k)
    by = rng.normal(size=(200, 2))
    whole, back = ours.raw(outputs), ours.raw_back(outputs, by)
    for i in (0, 7, 199):
        own = np.ascontiguousarray(outputs[:, [i]])
        np.testing.assert_array_equal(ours.raw(own), whole[[i]])
        np.testing.assert_array_equal(ours.raw_back(own, by[[i]]), back[:, [i]])


@pytest.mark.parametrize("name", BUILDS)
def test_every_build_gives_the_same_bits(name):
    try:
        build = importlib.import_module(f"centrality.engine.{name}")
    except ImportError:
        pytest.skip(f"The build {name} does not run here.")
    plain, ours, outputs, rng = case(6, 5)
    theirs, by = build.Calibration(*plain.parts()), rng.normal(size=(200, 2))
    np.testing.assert_array_equal(theirs.of_members(outputs), ours.of_members(outputs))
    np.testing.assert_array_equal(theirs.raw(outputs), ours.raw(outputs))
    np.testing.assert_array_equal(theirs.raw_back(outputs, by), ours.raw_back(outputs, by))


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((6, 4, 5)),  # one potential too few
        np.zeros((5, 4, 6)),  # one member too few
        np.zeros((4, 6)),
    ],
)
def test_outputs_of_another_network_are_refused(wrong):
    _, ours, _, _ = case(6, 5)
    with pytest.raises((ValueError, TypeError)):
        ours.raw(wrong)
