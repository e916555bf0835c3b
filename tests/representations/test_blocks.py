"""Blocks of numbers: how rare one is, its main components, whether two go together, which rows are alike."""

import numpy as np
import pytest

from centrality.representations.blocks import (
    DRAWN_IN,
    FARTHEST,
    Agreement,
    MainComponents,
    Rarity,
    agreements,
    nearest_rows,
    severity_of,
)


def test_one_in_so_many_rows_has_the_deviations_that_say_so():
    """Of 10,000 rows whose oddness is 1 to 10,000, one in ten is as odd as 9,001."""
    rarity = Rarity.of(np.arange(1.0, 10_001.0))
    np.testing.assert_allclose(severity_of(rarity.deviations(np.array([9001.0, 5001.0]))), [10, 2], rtol=0.02)


def test_an_exponential_tail_goes_on_as_it_is_and_ends_at_the_farthest():
    """P(oddness > x) = e^-x: one in e^10 is as odd as 10. Quantiles of 100,000 draws lie within 5% of the true ones."""
    rarity = Rarity.of(np.random.default_rng(0).exponential(size=100_000))
    assert rarity.deviations(np.array([10.0]))[0] == pytest.approx(np.sqrt(20), rel=0.05)
    assert rarity.deviations(np.array([1e9]))[0] == FARTHEST


def test_odd_rows_among_those_of_fitting_do_not_hide_each_other():
    """Two in a hundred lie far out: one in fifty by count, but the tail of the others goes on far below that."""
    oddness = np.concatenate([np.random.default_rng(0).exponential(size=980), np.full(20, 50.0)])
    assert severity_of(Rarity.of(oddness).deviations(np.array([50.0])))[0] > 1e6


def test_rows_that_are_all_alike_are_not_odd():
    rarity = Rarity.of(np.ones(100))
    assert rarity.deviations(np.ones(1))[0] == 0


def test_main_components_have_variance_one_and_find_what_lies_outside_of_them():
    rng = np.random.default_rng(0)
    flat = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 40)) + 0.01 * rng.normal(size=(500, 40))
    main = MainComponents.of(flat)
    np.testing.assert_allclose(main.components(flat).var(0), 1, rtol=1e-6)
    beside = flat[:1] + rng.normal(size=40)
    assert main.oddness(beside)[0] > 10 * main.oddness(flat).max()


def test_a_row_of_fitting_is_measured_as_if_it_had_not_been_there():
    """The spread that a row is measured by is that of all others, up to the mean, which moves by 1/n of the row."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    rows[0] = 6.0
    rows -= rows.mean(0)
    others = rows[1:]
    spread = others.T @ others / 60
    expected = rows[0] @ np.linalg.solve(spread, rows[0])
    assert MainComponents.of(rows).oddness(rows, as_new=True)[0] == pytest.approx(expected, rel=1e-6)


def paired(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two blocks of which one number is shared but for noise of a tenth of its variance."""
    first, second = rng.normal(size=(n, 5)), rng.normal(size=(n, 4))
    second[:, 2] = np.sqrt(0.9) * first[:, 1] + np.sqrt(0.1) * second[:, 2]
    return first, second


def test_blocks_that_do_not_go_together_are_rare_though_each_is_ordinary():
    rng = np.random.default_rng(0)
    first, second = paired(1000, rng)
    agreement = Agreement.of(first, second)
    assert agreement is not None
    assert agreement.correlations[0] == pytest.approx(np.sqrt(0.9), abs=0.03)  # three standard errors, 3 (1 - .9)/√1000
    usual = np.zeros((1, 5)), np.zeros((1, 4))
    apart = np.eye(1, 5, 1) * 2, np.eye(1, 4, 2) * -2
    ordinary, odd = (agreement.deviations(*blocks)[0] for blocks in (usual, apart))
    assert odd > 4 > 2 > ordinary


def test_blocks_that_say_nothing_of_each_other_make_no_pair():
    rng = np.random.default_rng(1)
    found = {"a": rng.normal(size=(400, 5)), "b": rng.normal(size=(400, 5)), "empty": np.empty((400, 0))}
    assert agreements(found, dict.fromkeys(found, np.ones(400, dtype=bool))) == {}


def test_few_rows_say_nothing_of_two_blocks():
    assert Agreement.of(*paired(40, np.random.default_rng(0))) is None


def test_rows_of_fitting_go_together_as_badly_as_by_what_other_rows_say():
    """With hardly more rows than numbers, directions fit their own rows: left out, these look as new ones do."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(300, 40)), rng.normal(size=(300, 40))
    second[:, 0] = 0.9 * first[:, 0] + np.sqrt(1 - 0.81) * second[:, 0]
    agreement = Agreement.of(first, second)
    assert agreement is not None
    assert agreement.as_new(first, second).mean() > agreement.deviations(first, second).mean()


def test_one_wild_component_does_not_decide_how_blocks_go_together():
    first, second = paired(1000, np.random.default_rng(0))
    agreement = Agreement.of(first, second)
    assert agreement is not None
    far, wild = first[:1].copy(), first[:1].copy()
    far[0, 0] = DRAWN_IN
    wild[0, 0] = 1e9
    np.testing.assert_array_equal(agreement.deviations(far, second[:1]), agreement.deviations(wild, second[:1]))


def test_the_nearest_rows_come_first_and_the_row_itself_is_left_out():
    places = np.array([[0.0], [1.0], [3.0], [7.0]])
    np.testing.assert_array_equal(nearest_rows(places[[1, 3]], places, 2), [[0, 2], [2, 1]])
