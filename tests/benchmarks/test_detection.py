"""The figures we publish about detection rest on these."""

import numpy as np
import pytest
from benchmarks.detection import summary
from benchmarks.detection.methods import METHODS
from benchmarks.detection.picture import groups
from benchmarks.detection.protocols import MAX_ROWS, Cell, Result, complete, run, split
from benchmarks.detection.summary import Table

PEERS = [name for name in METHODS if name != "FUSE"]


@pytest.fixture
def folder(tmp_path):
    """Two sets of 60 rows around 0 and three far away."""
    for name in ("one", "two"):
        rng = np.random.default_rng(len(name))
        X = np.concatenate([rng.normal(size=(60, 3)), rng.normal(size=(3, 3)) + 12])
        np.savez(tmp_path / f"{name}.npz", X=X, y=np.repeat([0, 1], [60, 3]))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("method", PEERS)
def test_every_peer_that_learns_from_clean_rows_finds_plain_outliers(folder, method):
    result = run(Cell("one-class", "one", method, 0), folder)
    assert result.note == ""
    assert result.roc > 0.99
    assert result.rows == 30


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in PEERS if name != "GMM"])  # which gives them a component to live in
def test_every_peer_that_learns_from_all_rows_finds_plain_outliers(folder, method):
    result = run(Cell("unsupervised", "one", method, 0), folder)
    assert result.note == ""
    assert result.roc > 0.8
    assert result.rows == 63


def test_one_class_learns_from_half_of_the_normal_rows_and_scores_all_others():
    X, y = np.arange(100.0)[:, None], (np.arange(100) >= 90).astype(int)
    train, scored, labels = split("one-class", X, y, seed=0)
    assert len(train) == 45
    assert train.max() < 90  # no outlier
    assert sorted([*train[:, 0], *scored[:, 0]]) == list(range(100))  # every row once
    np.testing.assert_array_equal(labels, scored[:, 0] >= 90)
    assert (split("one-class", X, y, seed=1)[0] != train).any()


def test_large_sets_are_cut_with_their_share_of_outliers():
    y = (np.arange(3 * MAX_ROWS) % 50 == 0).astype(int)
    X = np.arange(len(y), dtype=float)[:, None]
    train, scored, labels = split("unsupervised", X, y, seed=0)
    assert train is scored
    assert len(train) == len(np.unique(train)) == MAX_ROWS
    assert labels.mean() == pytest.approx(0.02)
    np.testing.assert_array_equal(labels, y[train[:, 0].astype(int)])


@pytest.mark.slow
def test_a_run_goes_on_where_it_stopped(folder):
    cells = [Cell("unsupervised", name, "kNN", seed) for name in ("one", "two") for seed in (0, 1)]
    out = folder / "out" / "cells.csv"
    complete(cells[:3], folder, out, jobs=1)
    before = out.read_text()
    known = complete(cells, folder, out, jobs=2)
    assert set(known) == set(cells)
    assert out.read_text().startswith(before)
    assert len(out.read_text().splitlines()) == 5  # a header, and every cell once


def test_a_cell_that_fails_is_written_down_and_counts_as_chance(folder):
    np.savez(folder / "few.npz", X=np.ones((4, 2)), y=[0, 0, 0, 1])
    result = run(Cell("one-class", "few", "GMM", 0), folder)
    assert result.note.startswith("ValueError")
    assert (result.roc, result.ap) == (0.5, pytest.approx(1 / 3))
    assert "GMM on few, one-class: ValueError" in summary.failures([result])


def table(values) -> Table:
    values = np.array(values)
    return Table("unsupervised", "roc", [f"s{i}" for i in range(len(values))], ["FUSE", "A", "B"], values)


def test_ranks_leads_and_the_worst_set_are_what_they_are_called():
    t = table([[0.9, 0.8, 0.7], [0.5, 0.8, 0.8]])
    assert t.ranks.tolist() == [(1 + 3) / 2, (2 + 1.5) / 2, (3 + 1.5) / 2]
    mean, error = t.lead_over("A")
    assert mean == pytest.approx((0.1 - 0.3) / 2)
    assert error == pytest.approx(np.std([0.1, -0.3], ddof=1) / np.sqrt(2))
    name, drop = t.worst()
    assert (name, drop) == ("s1", pytest.approx(0.3))  # the median peer has .8 there


def test_the_critical_difference_is_demsars():
    """Demšar (2006) tabulates q = 2.343 for three methods at .05: q · √(3 · 4 / (6 N))."""
    assert table(np.zeros((30, 3))).critical_difference == pytest.approx(2.343 * np.sqrt(12 / 180), rel=1e-3)


def test_bars_join_what_lies_within_the_critical_difference():
    assert groups(np.array([1.0, 1.5, 2.4, 5.0]), 1.0) == [(0, 1), (1, 2)]
    assert groups(np.array([1.0, 3.0]), 1.0) == []


def test_the_page_and_the_tables_are_written(folder, capsys):
    results = [
        Result("unsupervised", data, method, 0, rows=63, columns=3, roc=value, ap=value, fit_s=1, score_s=1, note="")
        for data, values in {"wine": (0.9, 0.8), "glass": (0.6, 0.7)}.items()
        for method, value in zip(("FUSE", "kNN"), values, strict=True)
    ]
    published = folder / "published.csv"
    published.write_text(
        "setting,metric,dataset,method,mean,std\n"
        "unsupervised,AUC-ROC,wine,kNN,77,1\nunsupervised,AUC-ROC,glass,kNN,75,1\nunsupervised,AUC-ROC,wbc,kNN,1,1\n"
    )
    summary.write(results, folder, published)
    page = capsys.readouterr().out
    assert "| kNN | 0.7500 | 1.50 | +0.0000 ± 0.1000 |" in page
    assert "| kNN | 0.7600 | 0.7500 |" in page  # published beside ours, on the two sets both know
    assert (folder / "summary.md").read_text() in page
    assert (folder / "critical_difference.png").stat().st_size > 1000
    assert {path.name for path in folder.glob("*.csv")} == {"published.csv", "sets.csv", "summary.csv"}
