"""Doubtful cells: ties between columns, ways of writing, numbers; severities that mean what they say."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.metrics import average_precision_score

import centrality
from centrality.findings.cells import Tie, log_rarity
from centrality.findings.columns import Column
from centrality.findings.numbers import far_out, predictions


def test_a_severity_in_the_tail_is_one_over_the_share_of_ordinary_numbers_as_far_out():
    """Of exponential distances, exp(-d) are beyond d: in the numbers, and beyond them."""
    distances = np.random.default_rng(0).exponential(size=5000)
    asked = np.array([1.0, 3.0, 6.0, 30.0])
    logs = np.log(far_out(np.concatenate([distances, asked]))[-4:])
    assert np.abs(logs[:3] - asked[:3]).max() < 0.6
    assert 15 < logs[3] < 35


@pytest.mark.parametrize("heavy", [2, 4, 30])
def test_the_farthest_of_heavy_tailed_numbers_are_no_surprise(heavy):
    rng = np.random.default_rng(0)
    surprises = [far_out(np.abs(rng.standard_t(heavy, size=500))).max() >= 5000 for _ in range(40)]
    assert np.mean(surprises) <= 0.15


def test_a_few_wild_numbers_do_not_make_the_tail_heavy():
    distances = np.abs(np.random.default_rng(0).normal(size=1000))
    alone = far_out(np.append(distances, 9.0))[-1]
    among = far_out(np.concatenate([distances, np.full(15, 9.0)]))[-1]
    assert among > 1e3
    assert alone > 1e3


def test_a_column_that_another_determines_is_tied_and_one_at_random_is_not():
    rng = np.random.default_rng(0)
    a, noise = rng.integers(0, 10, 2000), rng.integers(0, 10, 2000)
    assert Tie.fit(a, (a * 7) % 10).strength > 0.95
    assert Tie.fit(a, noise).strength < 0.05


def test_an_exception_to_a_tie_is_as_odd_as_its_value_is_rare_beside_the_other_one():
    a = np.repeat(np.arange(10), 100)
    b = a.copy()
    b[5] = 9
    tie = Tie.fit(a, b)
    log, weight = tie.log_severity(a, b)
    assert 50 < np.exp(log[5]) < 20_000  # one in a hundred rows with this value, or fewer
    assert weight[5] > 0.9
    assert np.exp(log[6]) < 1.1


def test_new_values_are_no_surprise_in_a_column_of_new_values():
    assert log_rarity(np.arange(100)).max() == 0
    assert np.exp(log_rarity(np.array([0] * 99 + [1]))[-1]) == pytest.approx(100)


def test_a_house_that_does_not_fit_its_kind_is_far_off_though_both_values_are_common():
    rng = np.random.default_rng(0)
    new = rng.random(1000) < 0.3
    built = np.where(new, rng.integers(2005, 2020, 1000), rng.integers(1890, 2020, 1000)).astype(float)
    built[np.flatnonzero(new)[0]] = 1893
    heating = np.where(new, "heat pump", "gas")
    table = pa.table({"built": built, "heating": heating, "area": rng.lognormal(5, 0.3, 1000)})
    columns = [Column.of(name, table[name]) for name in table.column_names]
    prediction = next(one for one in predictions(columns) if one.measure.place == 0)
    assert prediction.severity.argmax() == np.flatnonzero(new)[0]
    assert prediction.severity.max() > 3e3


@pytest.mark.data
@pytest.mark.slow
def test_wrong_cells_of_a_real_dirty_table_come_first():
    dirty, clean = (
        pd.read_csv(f"{os.environ['CENTRALITY_DATA']}/dirty_dev/hospital_{kind}.csv", dtype=str, keep_default_na=False)
        for kind in ("dirty", "clean")
    )
    wrong = (dirty.to_numpy() != clean.to_numpy()).ravel()
    doubts = centrality.check(dirty).cells.to_numpy().ravel()
    assert average_precision_score(wrong, doubts) >= 0.9
    assert wrong[np.argsort(-doubts, kind="stable")[: wrong.sum()]].mean() >= 0.85
