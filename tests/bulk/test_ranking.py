"""The ends of a ranking, found in one pass, and the pictures of a model."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from centrality import Chain, load, plots, tables
from centrality.apps.cli import main
from centrality.apps.commands._reading import excerpt
from centrality.apps.commands.rank import sparkline
from centrality.bulk import ranking
from centrality.representations import Series
from tests.conftest import quick


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model of three columns and its rows, in a file of several batches."""
    folder = tmp_path_factory.mktemp("ranking")
    X = np.random.default_rng(0).normal(size=(70_000, 3))
    table = pa.table({"name": [f"row {i}" for i in range(len(X))], "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    tables.write(table, folder / "t.parquet")
    quick(t=0.5).fit(table.slice(0, 2000).select(["a", "b", "c"])).save(folder / "m.safetensors")
    return folder, table


def test_the_ends_are_those_of_sorting_everything(made):
    folder, table = made
    model = load(folder / "m.safetensors")
    ranked = ranking.rank(model, str(folder / "t.parquet"), 0.5, 5)
    n, best, worst = ranked.rows, ranked.best, ranked.worst
    order = np.argsort(-model.centrality(table.select(["a", "b", "c"])), kind="stable")
    assert n == 70_000
    assert [row["row"] for row in best] == order[:5].tolist()
    assert [row["row"] for row in worst] == order[::-1][:5].tolist()
    assert best[0]["holds"]["name"] == f"row {order[0]}"


def test_rank_shows_scores_profiles_and_the_beginning_of_each_row(made, capsys):
    folder, _ = made
    assert main(["rank", str(folder / "m.safetensors"), str(folder / "t.parquet"), "--top", "3", "--t", "1"]) == 0
    shown = capsys.readouterr().out
    assert "The most central of 70,000 rows at t = 1" in shown
    assert shown.count("name=row") == 6
    arguments = ["rank", str(folder / "m.safetensors"), str(folder / "t.parquet"), "--top", "2", "--json"]
    assert main(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert len(result["central"]) == len(result["peripheral"]) == 2
    assert result["central"][0]["centrality"] > result["peripheral"][0]["centrality"]


def test_a_sparkline_rises_with_its_numbers():
    assert sparkline([0, 0.5, 1]) == "▁▅█"


@pytest.mark.parametrize(
    ("holds", "only", "shown"),
    [
        (
            {"id": 1, "text": "first words " * 20},
            ["text"],
            "first words first words first words first words first words…",
        ),
        ({"path": "/photos/" + "x" * 80 + "/cat.png"}, ["path"], "…" + ("x" * 51 + "/cat.png")),
        ({"text": "two\nlines"}, ["text"], "two lines"),
        ({"a": 1.23456789, "b": "x", "c": None, "d": 2, "e": 3}, None, "a=1.235 b=x c=(missing) d=2 ..."),
    ],
)
def test_texts_show_their_first_words_and_paths_their_end(holds, only, shown):
    assert excerpt(holds, only) == shown


def test_a_map_has_a_panel_for_each_t_and_a_profile_a_line_for_each_shown_row():
    rng = np.random.default_rng(0)
    heads = rng.uniform(size=(50, 2))
    figure = plots.homotopy_map(rng.normal(size=(50, 2)), heads, (0.0, 1.0))
    assert [axes.get_title() for axes in figure.axes][:2] == ["t = 0  (global)", "t = 1  (local)"]
    assert len(plots.profile(heads, shown=4).axes[0].lines) == 4 + 4 + 1


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """One long series with a spike, in a file, and a model of its windows."""
    folder = tmp_path_factory.mktemp("windows")
    values = np.sin(np.arange(300) / 3) + 0.01 * np.random.default_rng(0).normal(size=300)
    values[150] = 9.0
    tables.write(pa.table({"value": values}), folder / "t.parquet")
    chain = Chain(Series(window=20, step=10, column="value"), quick(max_steps=200))
    chain.fit(tables.read(folder / "t.parquet")).save(folder / "m.safetensors")
    return folder


def test_moments_of_a_series_are_ranked_by_all_windows_that_hold_them(watched):
    chain = load(watched / "m.safetensors")
    ranked = ranking.rank(chain, str(watched / "t.parquet"), 0.5, 5)
    n, best, worst = ranked.rows, ranked.best, ranked.worst
    assert n == 300
    units = chain.fitted_.units(chain.representation_.transform(tables.read(watched / "t.parquet")))  # of windows
    moments = chain.fitted_.mixing.mixed(chain.representation_.spread(units, 300), 0.5)
    assert moments[best[0]["row"]] == pytest.approx(moments.max(), abs=1e-6)
    assert moments[worst[0]["row"]] == pytest.approx(moments.min(), abs=1e-6)


def test_what_would_cut_a_series_is_refused(watched, tmp_path, capsys):
    model = str(watched / "m.safetensors")
    parquet.write_table(tables.read(watched / "t.parquet"), tmp_path / "t.parquet", row_group_size=100)
    assert main(["score", model, str(tmp_path / "t.parquet"), "-o", f"{tmp_path}/out/", "--split", "100"]) == 2
    assert "is one series to this model, so it cannot be cut: score without --split" in capsys.readouterr().err


def test_files_without_rows_are_said_to_be_empty(made, tmp_path, capsys):
    folder, table = made
    parquet.write_table(table.slice(0, 0), tmp_path / "t.parquet")
    for command in (["rank"], ["score", "-o", str(tmp_path / "s.parquet")]):
        name, *options = command
        assert main([name, str(folder / "m.safetensors"), str(tmp_path / "t.parquet"), *options]) == 2
        assert "is empty: it has 0 rows and 4 columns" in capsys.readouterr().err
    assert not (tmp_path / "s.parquet").exists()
