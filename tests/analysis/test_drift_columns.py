"""Columns against training columns: exact at ties, quiet at rest, and no cell of a training row is kept."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from scipy.stats import ks_2samp, spearmanr

from centrality import FUSE, Chain
from centrality._internal.checks import InputError
from centrality.analysis.drift_columns import PAIRED, VALUES, Constant, Names, TrainingColumns, more_beyond
from centrality.apps.cli import main
from centrality.representations import Table

KINDS = {
    "binary": lambda n, rng: rng.integers(0, 2, (n, 4)).astype(float),
    "ternary": lambda n, rng: rng.integers(0, 3, (n, 4)).astype(float),
    "rare": lambda n, rng: (rng.random((n, 4)) < 0.03).astype(float),
    "Poisson": lambda n, rng: rng.poisson(1.5, (n, 4)).astype(float),
    "90% zeros": lambda n, rng: np.where(rng.random((n, 4)) < 0.9, 0.0, rng.lognormal(size=(n, 4))),
    "normal": lambda n, rng: rng.normal(size=(n, 4)),
    "correlated": lambda n, rng: rng.normal(size=(n, 4)).cumsum(1),
    "Cauchy": lambda n, rng: rng.standard_cauchy(size=(n, 4)),
}


def compared(old: np.ndarray, new: np.ndarray):
    names = [f"x{j}" for j in range(old.shape[1])]
    return TrainingColumns.of(old).compare(new, Names(names, [True] * len(names)))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_any_kind_that_have_not_changed_raise_no_alarm(kind):
    """A third of .05 is each family's share: of 200 samples 3.3 are expected, and over 12 have a chance below 1e-4."""
    rng, alarms = np.random.default_rng(0), np.zeros(2)
    for _ in range(200):
        columns, pairs = compared(KINDS[kind](300, rng), KINDS[kind](300, rng))
        for k, family in enumerate((columns, pairs)):
            alarms[k] += bool(family) and len(family) * min(one.p_value for one in family) <= 0.05 / 3
    assert (alarms <= 12).all()


@pytest.mark.parametrize("kind", ["binary", "Poisson", "90% zeros", "normal"])
def test_the_gap_is_that_of_the_two_samples_up_to_the_share_between_two_values_kept(kind):
    rng = np.random.default_rng(1)
    old, new = KINDS[kind](1000, rng), KINDS[kind](400, rng) + 0.3 * rng.integers(0, 2, 4)
    for column, a, b in zip(compared(old, new)[0], old.T, new.T, strict=True):
        exact = ks_2samp(a, b).statistic
        assert exact - 2 / VALUES <= column.statistic <= exact + 1e-12  # never larger: fewer places are looked at


def test_the_effect_has_the_sign_and_size_of_the_shift():
    rng = np.random.default_rng(2)
    old, new = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)) + np.array([1.0, -1.0])
    up, down = compared(old, new)[0]
    # P(N(1, 1) > N(0, 1)) - P(<) = 2 Phi(1 / sqrt 2) - 1 = .52, known here within four deviations of .02.
    assert up.effect == pytest.approx(0.52, abs=0.08)
    assert down.effect == pytest.approx(-0.52, abs=0.08)
    assert (str(up).startswith("x0 is higher"), str(down).startswith("x1 is lower")) == (True, True)


def test_values_beyond_the_ends_and_another_spread_are_told_apart_from_a_shift():
    rng = np.random.default_rng(3)
    old, few, wide = rng.normal(size=(2000, 1)), rng.normal(size=(300, 1)), 2 * rng.normal(size=(300, 1))
    few[:15] = 9.0
    (beyond,), (spread,) = compared(old, few)[0], compared(old, wide)[0]
    assert beyond.p_value < 1e-6
    assert "unusually high in" in str(beyond)
    assert spread.p_value < 1e-6
    assert "higher" not in str(spread)


def test_a_constant_column_that_begins_to_vary_is_seen():
    constant, varying = np.zeros((300, 1)), np.where(np.arange(300) < 30, 0.25, 0.0)[:, None]
    assert compared(constant, varying)[0][0].p_value < 1e-6
    assert compared(constant, constant)[0][0].p_value == 1.0


def test_the_chance_of_more_rows_beyond_is_that_of_drawing_them_in_this_order():
    # The two outermost of 3 + 2 rows are both new: 2/5 * 1/4.
    assert more_beyond(2, 2, 0, 3) == pytest.approx(0.1)
    assert more_beyond(0, 5, 0, 5) == 1.0


def test_correlations_are_spearmans_and_a_pair_that_changes_is_found():
    rng = np.random.default_rng(4)
    old, new = rng.normal(size=(1000, 2)), rng.normal(size=(400, 2))
    new[:, 1] = 0.9 * new[:, 0] + 0.44 * new[:, 1]
    (pair,) = compared(old, new)[1]
    assert pair.before == pytest.approx(spearmanr(*old.T)[0], abs=0.02)
    assert pair.now == pytest.approx(spearmanr(*new.T)[0], abs=0.03)
    assert pair.p_value < 1e-6
    assert compared(*np.zeros((2, 50, PAIRED + 1)))[1] == ()  # so many columns are not paired


@pytest.mark.parametrize("n", [5, 60, 500])
def test_no_value_of_a_single_row_is_kept(n):
    rows = np.random.default_rng(5).normal(size=(n, 3))
    rows[:, 2] = np.round(rows[:, 2])  # a value that several rows share may be kept
    kept = TrainingColumns.of(rows)
    for j in range(3):
        values, counts = np.unique(rows[:, j], return_counts=True)
        assert not np.isin(kept.values[:, j], values[counts < min(5, n)]).any()


def test_values_that_fall_and_shares_that_are_none_are_refused():
    kept = TrainingColumns.of(np.random.default_rng(6).normal(size=(50, 2)))
    parts = vars(kept)
    with pytest.raises(InputError, match=r"columns.values must rise"):
        TrainingColumns(**parts | {"values": kept.values[::-1]})
    with pytest.raises(InputError, match="must be shares from 0 to 1"):
        TrainingColumns(**parts | {"upto": kept.upto + 1})


@pytest.fixture(scope="module")
def orders():
    """300 orders in one currency, and as many new ones of the same kind."""
    rng = np.random.default_rng(0)

    def draw():
        columns = {"amount": rng.normal(size=300), "days": rng.normal(size=300)}
        return pa.table(columns | {"currency": ["EUR"] * 300, "vat": [0.19] * 300, "note": pa.nulls(300)})

    return draw(), draw()


def replaced(table, name, values):
    return table.set_column(table.column_names.index(name), name, pa.array(values))


@pytest.mark.filterwarnings("ignore:Column:centrality.tables.columns.DataNote")  # scores do not show it
def test_constant_columns_that_change_are_drift_and_said(orders):
    old, new = orders
    model = Chain(Table(), FUSE(random_state=0, max_steps=30)).fit(old)
    assert not model.drift(new).detected()
    drift = model.drift(replaced(replaced(new, "currency", ["USD"] * 300), "vat", [0.07] * 300))
    assert drift.p_value < 1e-6
    assert "currency is no longer always 'EUR' (other in 100% of the rows)" in str(drift)
    assert "vat is no longer always 0.19" in str(drift)


@pytest.mark.filterwarnings("ignore:Column:centrality.tables.columns.DataNote")  # scores do not show it
def test_a_column_that_was_empty_and_is_filled_is_drift(orders):
    old, new = orders
    model = Chain(Table(), FUSE(random_state=0, max_steps=30)).fit(old)
    half = ["urgent"] * 150 + [None] * 150
    assert "note is no longer always missing (other in 50% of the rows)" in str(
        model.drift(replaced(new, "note", half))
    )


def test_the_p_value_of_a_changed_constant_is_that_of_a_draw_without_replacement():
    """Of 2 + 2 rows, one differs: it is among the two new ones with a chance of one half."""
    changed = Constant("currency", "'EUR'", np.array([True, False]))
    assert changed.compare(2).p_value == pytest.approx(0.5)
    assert Constant("currency", "'EUR'", np.array([False, False])).compare(2).p_value == 1.0


@pytest.mark.filterwarnings("ignore:Column:centrality.tables.columns.DataNote")  # scores do not show it
def test_a_new_constant_begins_in_one_window(orders):
    old, new = orders
    model = Chain(Table(), FUSE(random_state=0, max_steps=30)).fit(old)
    later = replaced(new, "currency", ["EUR"] * 200 + ["USD"] * 100)
    assert [window.changed for window in model.drift_report(later, window=100).windows] == [False, False, True]


def test_the_command_says_that_a_constant_changed(orders, tmp_path, capsys):
    old, new = orders
    csv.write_csv(old, tmp_path / "old.csv")
    csv.write_csv(replaced(new, "currency", ["USD"] * 300), tmp_path / "new.csv")
    main(["drift", str(tmp_path / "old.csv"), str(tmp_path / "new.csv")])
    assert "currency is no longer always 'EUR'" in capsys.readouterr().out
