"""The paper's items in their quick variants: their shape, their ranges, and the direction of each claim."""

import json
import runpy
import shutil
import sys
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from paper import ITEMS, cifar, lab, page, runtime, tweeteval
from paper.encoders import encoded
from paper.run import reproduce

from centrality import datasets
from centrality.apps.cli import main
from centrality.apps.commands import reproduce as command
from centrality.metrics import graph_smoothness
from centrality.representations import Images

pytestmark = pytest.mark.filterwarnings("ignore:The global head has collapsed")  # it learns for a moment only

ROOT = Path(__file__).parents[2]
APART = "class separation, distance of AUC from 1/2"


def quick(name: str, folder: Path) -> dict[tuple[str, ...], float]:
    """The table of an item, measured in a moment: {(dataset, method, metric, settings): value}."""
    found = reproduce([name], folder, quick=True, say=lambda _: None)
    rows = lab.read(folder / "results" / f"{name}.csv")
    assert found["measured"] == sum(float(row["value"]) for row in rows if row["metric"] == lab.COUNT)
    assert tuple(rows[0]) == lab.COLUMNS
    assert {row["item"] for row in rows} == {name}
    values = {tuple(row[k] for k in ("dataset", "method", "metric", "settings")): float(row["value"]) for row in rows}
    assert len(values) == len(rows)
    assert np.isfinite(list(values.values())).all()
    text = (folder / "README.md").read_text()
    assert f"`centrality reproduce {name}`" in text
    for picture in (folder / "figures").iterdir():
        assert f"(figures/{picture.name})" in text
        assert 2000 < picture.stat().st_size < 300_000
    return values


def measured(name: str, folder: Path) -> dict[str, lab.Found]:
    """What the cells of an item kept for its figures: {settings: heads, labels, ...}."""
    cells = lab.plan(name, import_module(f"paper.{name}"), folder, quick=True, only=None, again=False).found()
    return {cell.settings: found for cell, found in cells.items()}


def how_often_higher(scores: np.ndarray, of: np.ndarray) -> float:
    """The AUC by its meaning: the share of pairs in which one of these rows scores higher than one of the others."""
    return float(np.mean(np.sign(scores[of][:, None] - scores[~of]) / 2 + 0.5))


def figures(folder: Path) -> set[str]:
    return {path.stem for path in (folder / "figures").iterdir()}


@pytest.mark.slow
def test_contours_lead_from_one_basin_to_four_modes(tmp_path):
    found = quick("contours", tmp_path)
    for settings in ("paper", "default"):
        assert found["Mixture", "t = 0", "middle above the modes", settings] > 0
        assert found["Student-t", "t = 0.5", "distance of the peak to the mean", settings] < 0.7
        assert found["Student-t", "t = 0", "fall with Mahalanobis distance", settings] > 0.8
    assert found["Mixture", "t = 1", "middle above the modes", "default"] < 0
    assert figures(tmp_path) == {"contours_paper", "contours_default"}


@pytest.fixture(scope="module")
def table1(tmp_path_factory):
    """Table 1, measured by one process."""
    return quick("table1", tmp_path_factory.mktemp("table1"))


@pytest.mark.slow
def test_table1_has_all_methods_and_centrality_falls_with_distance(table1):
    found = table1
    methods = {method for dataset, method, metric, _ in found if metric == "Kendall"}
    assert methods == {"Global", "Local", "KDE", "MAH", "POT", "PRO", "SPA", "SPA, not whitened", "Tukey"}
    for (dataset, method, metric, settings), value in found.items():
        if (dataset, metric) == ("Student-t", "Spearman") and method != "Local":
            assert value > 0.9
            assert found[dataset, method, "Kendall", settings] < value  # it counts pairs, not how far they are apart
    # What the printed table shows of Normal: whitening follows the ellipses, the plain depths the distance.
    normal = {method: found["Normal", method, "Spearman", "paper"] for method in methods}
    assert normal["SPA"] < normal["SPA, not whitened"]
    assert normal["MAH"] < normal["Global"]


@pytest.mark.slow
def test_runtime_times_every_method_and_draws_a_figure_for_each_distribution(tmp_path):
    found = quick("runtime", tmp_path)
    times = {(method, metric): v for (_, method, metric, _), v in found.items() if metric.startswith("µs")}
    assert {method for method, _ in times} == {"FUSE", "KDE", "MAH", "POT"}
    assert min(times.values()) > 0
    assert figures(tmp_path) == {"runtime_normal", "runtime_student-t", "runtime_uniform"}


@pytest.mark.data
def test_cifar_measures_smoothness_of_an_embedding(data, tmp_path, monkeypatch):
    name = "ResNet18"  # of both the narrower
    monkeypatch.setattr(cifar, "SETS", {name: cifar.SETS[name]})
    found = quick("cifar", tmp_path)
    scores = np.linspace(0, 1, 100)
    random = graph_smoothness(cifar.airplanes(name, 100, 0), np.random.default_rng(0).permutation(scores))
    for settings in ("paper", "ours", "default"):
        assert 0 < found[name, "Global", "graph smoothness", settings] < random  # neighbours score alike
    # 100 rows and few steps: as smooth as Mahalanobis depth, within a twentieth.
    assert found[name, "Global", "graph smoothness", "ours"] < 1.05 * found[name, "MAH", "graph smoothness", "paper"]
    assert figures(tmp_path) == {"cifar_resnet18"}


@pytest.mark.data
def test_clip_is_used_where_its_weights_are_at_hand(data, clip, monkeypatch):
    monkeypatch.setattr(cifar, "CLIP", "/nowhere/clip")
    assert "CLIP" not in {cell.dataset for cell in cifar.cells(quick=False)}
    monkeypatch.setattr(cifar, "CLIP", clip)
    assert "CLIP" in {cell.dataset for cell in cifar.cells(quick=False)}
    with np.load(datasets.fetch("cifar10_airplane")) as archive:
        images = list(archive["X"][:12])
    Z = encoded(Images(clip), images)
    assert Z.shape == (12, 12)
    np.testing.assert_allclose(
        np.linalg.norm(Z, axis=1), 1, atol=1e-5
    )  # as CLIP gives them: neither centred nor scaled


@pytest.mark.data
def test_mnist_digits_that_look_like_others_are_central(data, tmp_path):
    found = quick("mnist", tmp_path)
    for settings in ("paper", "ours", "default"):
        means = [found["MNIST", "Global", f"mean of digit {d}", settings] for d in range(10)]
        claim = found["MNIST", "Global", "mean of 4, 7, 9 minus mean of 0, 2, 6", settings]
        assert claim == pytest.approx(
            np.mean([means[d] for d in (4, 7, 9)]) - np.mean([means[d] for d in (0, 2, 6)]), abs=1e-3
        )
        assert claim > 0
    assert figures(tmp_path) == {"mnist_paper", "mnist_default"}


@pytest.mark.data
def test_forda_measures_flatness_and_class_separation(data, tmp_path):
    found = quick("forda", tmp_path)
    for settings, kept in measured("forda", tmp_path).items():
        for method, head in zip(("Global", "Local"), kept["heads"].T, strict=True):
            middle = np.sort(head)[75:225]  # of 300
            flat = found["FordA", method, "interquartile range", settings]
            assert flat == pytest.approx(np.ptp(middle), rel=0.02)
            apart = abs(how_often_higher(head, kept["labels"] == 1) - 0.5)
            assert found["FordA", method, APART, settings] == pytest.approx(apart, abs=1e-4)
        # One class lies far from the middle. Chance alone: a deviation of about √(301 / (12 · 150 · 150)) = 0.033.
        assert found["FordA", "Global", APART, settings] > 0.1
    assert figures(tmp_path) == {"forda_paper", "forda_default"}


@pytest.mark.data
def test_tweets_of_opposite_sentiment_lie_apart(data, tmp_path):
    found = quick("tweeteval", tmp_path)
    assert found["MiniLM", "vectors", "AUC of positive against negative along their line", "paper"] > 0.5
    for settings, kept in measured("tweeteval", tmp_path).items():
        for method, head in zip(("Global", "Local"), kept["heads"].T, strict=True):
            counted = how_often_higher(head, kept["labels"] == 1)
            assert found["MiniLM", method, "AUC of neutral against polar", settings] == pytest.approx(counted, abs=1e-4)
    assert figures(tmp_path) == {"tweeteval_minilm_paper", "tweeteval_minilm_default"}


@pytest.mark.data
def test_table3_finds_the_outliers_of_breastw(data, tmp_path):
    found = quick("table3", tmp_path)
    for settings in ("paper", "ours", "default"):
        for method in ("Global", "Local", "FUSE"):
            assert found["Breastw", method, "AUC-ROC", settings] > 0.9
    assert found["Breastw", "LOF", "AUC-ROC", "paper"] < 0.7  # it fails there, as the paper prints
    assert found["Breastw", "IF", "AUC-PRC", "paper"] > 0.9
    assert found["Ionosphere", "Local", "AUC-ROC", "ours"] > found["Ionosphere", "OCSVM", "AUC-ROC", "paper"]


@pytest.mark.data
def test_the_four_schemes_are_measured_alike(data, tmp_path):
    found = quick("schemes", tmp_path)
    for k in (1, 2, 3, 4):
        for settings in ("paper", "ours"):
            assert found["Uniform", f"Scheme {k} (Global)", "Spearman", settings] > 0.8
            assert found["Uniform", f"Scheme {k}", "train s", settings] > 0
        assert found["Ionosphere", f"Scheme {k} (Local)", "AUC-ROC", "ours"] > 0.6
    assert figures(tmp_path) == {"schemes_uniform"}


# The machinery, on an item that counts how often it is measured.


@pytest.fixture
def counted():
    """Two settings of two seeds each; a cell's value is its seed, and every measurement is written down."""
    seen: list[tuple[str, int]] = []

    def measure(settings: str, seed: int) -> dict:
        if len(seen) == stop[0]:
            raise KeyboardInterrupt
        seen.append((settings, seed))
        return {("A", "m"): float(seed)}

    def cells(quick) -> list[lab.Cell]:
        wanted = [(settings, seed) for settings in ("paper", "default") for seed in (0, 2)]
        return [lab.Cell("d", "A", s, seed, partial(measure, s, seed)) for s, seed in wanted]

    stop = [99]
    return SimpleNamespace(MINUTES=8.0, PRINTED={("d", "A", "m"): 0.5}, cells=cells, seen=seen, stop=stop)


def work(item, folder, **options) -> list[lab.Row]:
    task = lab.plan("counted", item, folder, **({"quick": False, "only": None, "again": False} | options))
    for cell in task.unknown():
        task.measure(cell)
    return lab.save(task, folder)


def test_a_run_that_is_stopped_goes_on_where_it_was(counted, tmp_path):
    counted.stop[0] = 3
    with pytest.raises(KeyboardInterrupt):
        work(counted, tmp_path)
    task = lab.plan("counted", counted, tmp_path, quick=False, only=None, again=False)
    assert [(cell.settings, cell.seed) for cell in task.unknown()] == [("default", 2)]
    assert task.minutes() == 8.0 / 4
    counted.stop[0] = 99
    rows = work(counted, tmp_path)
    assert counted.seen == [("paper", 0), ("paper", 2), ("default", 0), ("default", 2)]  # none twice
    means = [row for row in rows if row["metric"] == "m"]
    assert [(row["settings"], row["paper"], row["value"]) for row in means] == [
        ("paper", "0.5", "1"),
        ("default", "0.5", "1"),
    ]
    assert float(means[0]["std"]) == pytest.approx(np.std([0, 2], ddof=1), abs=1e-4)


def test_one_setting_can_be_measured_anew_and_leaves_the_other_rows(counted, tmp_path):
    before = work(counted, tmp_path)
    shutil.rmtree(tmp_path / "cells")  # as in a fresh clone, which has the tables only
    counted.seen.clear()
    after = work(counted, tmp_path, only="default", again=True)
    assert counted.seen == [("default", 0), ("default", 2)]

    def of_paper(rows):
        return [row for row in rows if row["settings"] == "paper"]

    assert of_paper(after) == of_paper(before)
    assert {row["settings"] for row in after} == {"paper", "default"}


def test_claims_hold_or_fail():
    assert page.holds(0.1, "> 0")
    assert not page.holds(-0.1, "> 0")
    assert page.holds(0.4, "< 0.5")
    assert not page.holds(0.5, "< 0.5")


def test_the_pages_are_those_of_the_committed_results():
    for path, text in page.made(ROOT / "paper").items():
        assert path.read_text() == text, f"{path.name} is stale: run centrality reproduce"
    assert {path.stem for path in (ROOT / "paper" / "results").glob("*.csv")} == set(ITEMS)


def test_every_figure_in_the_repository_is_small():
    pictures = list((ROOT / "paper" / "figures").glob("*.png"))
    assert pictures
    assert max(picture.stat().st_size for picture in pictures) < 300_000


# The command.


@pytest.mark.slow
def test_the_command_says_what_it_measured(tmp_path, capsys):
    assert main(["reproduce", "runtime", "--quick", "-o", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["measured"] == 12
    assert said["results"] == [str(tmp_path / "results" / "runtime.csv")]
    assert main(["reproduce", "runtime", "--quick", "-o", str(tmp_path)]) == 0
    assert "All 12 cells are known" in capsys.readouterr().out


@pytest.mark.slow
def test_workers_find_what_one_process_finds(table1, tmp_path):
    assert main(["reproduce", "table1", "--quick", "--workers", "2", "-o", str(tmp_path)]) == 0
    metrics = ("Spearman", "Kendall")
    rows = [row for row in lab.read(tmp_path / "results" / "table1.csv") if row["metric"] in metrics]
    found = {lab._where(row): float(row["value"]) for row in rows}  # noqa: SLF001  (as lab itself tells rows apart)
    assert found == pytest.approx({key: value for key, value in table1.items() if key[2] in metrics}, abs=1e-4)


def test_an_interrupted_command_says_that_it_can_go_on(tmp_path, monkeypatch, capsys):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runtime, "per_sample", stopped)
    assert main(["reproduce", "runtime", "--quick", "-o", str(tmp_path)]) == 130
    assert "interrupted, what was measured is kept: the same command goes on" in capsys.readouterr().err


@pytest.mark.slow
def test_a_missing_data_set_stops_its_item_and_no_other(tmp_path, monkeypatch):
    monkeypatch.delenv("CENTRALITY_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tweeteval.tweets.cache_clear()  # another test may have read them
    said: list[str] = []
    found: Any = reproduce(["tweeteval", "runtime"], tmp_path, quick=True, say=said.append)
    assert found["measured"] == 12
    assert [Path(path).stem for path in found["results"]] == ["runtime"]
    assert "all-MiniLM-L6-v2" in found["missing"]["tweeteval"]
    assert any(line.startswith("tweeteval is left out: The data set tweeteval_minilm") for line in said)
    with pytest.raises(FileNotFoundError, match="tweeteval_minilm was not found"):
        reproduce(["tweeteval"], tmp_path, quick=True, say=said.append)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table9"], "There is no 'table9' in the paper's tables and figures: contours, table1"),
        (["table1", "--only", "mine"], "--only must be paper, ours or default, got 'mine'"),
        (["table1", "--data", "nowhere"], "--data: there is no folder nowhere"),
        (["table1", "--workers", "0"], "--workers must be a whole number of at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_explained(arguments, message, tmp_path, capsys):
    assert main(["reproduce", *arguments, "-o", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


def test_python_m_paper_is_the_same_command(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["paper", "table9"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("paper", run_name="__main__")
    assert ended.value.code == 2
    assert "There is no 'table9' in the paper's tables and figures" in capsys.readouterr().err


def test_without_the_repository_it_says_to_clone_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        command, "__file__", str(tmp_path / "site" / "lib" / "centrality" / "apps" / "commands" / "reproduce.py")
    )
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "table1"]) == 2
    assert "clone it" in capsys.readouterr().err
