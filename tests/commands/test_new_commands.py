"""The commands that answer a question by themselves: detect, explain, drift, datasets, version, completion."""

import json
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from centrality import FUSE, Chain, commands, load, tables
from centrality.cli import main
from centrality.commands._display import aligned, coloured, shows_colour
from centrality.commands._examples import EXAMPLES
from centrality.commands._parser import parser
from centrality.datasets import houses
from centrality.representations import Series


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(600, 3))
    X[-2:] = [[9, 0, 0], [0, -12, 0]]
    return pa.table({"length": X[:, 0], "width": X[:, 1], "height": X[:, 2]})


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("commands")
    tables.write(rows, folder / "rows.csv")
    model = FUSE(random_state=0, max_steps=150, holdout=0.5).fit(rows.slice(0, 598))
    model.save(folder / "m.safetensors")
    return folder


def said(capsys, *arguments) -> str:
    assert main([str(a) for a in arguments]) == 0
    return capsys.readouterr().out


def as_json(capsys, *arguments):
    return json.loads(said(capsys, *arguments, "--json"))


def test_detect_names_the_planted_rows_first_and_writes_them_with_their_scores(folder, capsys, tmp_path):
    model, data = folder / "m.safetensors", folder / "rows.csv"
    result = as_json(capsys, "detect", model, data, "--false-positives", "2", "-o", tmp_path / "odd.csv")
    assert {found["row"] for found in result["found"][:2]} == {598, 599}
    expected = load(model).detect(tables.read(data), false_positives=2)
    assert result["outliers"] == expected.sum()
    written = tables.read(tmp_path / "odd.csv")
    assert written["row"].to_pylist() == [found["row"] for found in result["found"]]
    assert written.column_names == ["length", "width", "height", "row", "centrality", "p_value", "reasons"]


def test_detect_says_the_rule_and_takes_one_only(folder, capsys):
    text = said(capsys, "detect", folder / "m.safetensors", folder / "rows.csv", "--contamination", "0.01")
    assert "6 of 600 rows are outliers at t = 0.5 (contamination=0.01" in text
    with pytest.raises(SystemExit) as stopped:
        main(["detect", "m", "d", "--fdr", "0.1", "--false-positives", "3"])
    assert stopped.value.code == 2


def test_when_nothing_is_found_it_is_said_how_odd_the_oddest_row_is_and_what_would_find_more(folder, capsys):
    text = said(capsys, "detect", folder / "m.safetensors", folder / "rows.csv", "--fdr", "0.01")
    assert "0 of 600 rows are outliers" in text
    assert "The oddest row has the p-value 0.003, compared with 299 calibration rows." in text  # 1 / 300


def test_explain_gives_the_contributions_of_the_library_for_the_rows_asked_for(folder, capsys):
    model = folder / "m.safetensors"
    result = as_json(capsys, "explain", model, folder / "rows.csv", "--rows", "599,0", "--top", "1", "--t", "1")
    assert [row["row"] for row in result["rows"]] == [599, 0]
    assert [reason["feature"] for reason in result["rows"][0]["reasons"]] == ["width"]
    expected = load(model).explain(tables.read(folder / "rows.csv").slice(599), t=1)[0, 1]
    assert result["rows"][0]["reasons"][0]["contribution"] == pytest.approx(expected, abs=1e-5)


def test_without_rows_explain_takes_the_oddest(folder, capsys):
    result = as_json(capsys, "explain", folder / "m.safetensors", folder / "rows.csv")
    assert {row["row"] for row in result["rows"][:2]} == {598, 599}
    assert "contribution" in said(capsys, "explain", folder / "m.safetensors", folder / "rows.csv")


def test_explain_refuses_a_row_that_is_not_there(folder, capsys):
    assert main(["explain", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--rows", "600"]) == 2
    assert "--rows counts from 0 to 599 here, got 600." in capsys.readouterr().err


def test_rows_are_also_called_by_a_text_that_only_they_hold(folder, rows, capsys, tmp_path):
    ids = pa.array([f"H{i + 596}" for i in range(600)])
    tables.write(rows.append_column("id", ids).append_column("town", pa.array(["Oslo"] * 600)), tmp_path / "t.csv")
    result = as_json(capsys, "explain", folder / "m.safetensors", tmp_path / "t.csv", "--rows", "H1195,0", "--top", "1")
    assert [row["row"] for row in result["rows"]] == [599, 0]
    for wrong, found in (("H9", "none holds it"), ("Oslo", r"600 rows hold it, the first are [0, 1, 2]")):
        assert main(["explain", str(folder / "m.safetensors"), str(tmp_path / "t.csv"), "--rows", wrong]) == 2
        message = f"a number from 0 to 599 was wanted, or a text that one row holds, got {wrong}: {found}."
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["rank", "detect", "explain"])
def test_one_t_is_wanted_where_there_is_one_answer(folder, capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([command, str(folder / "m.safetensors"), str(folder / "rows.csv"), "--t", "0,1"])
    assert ended.value.code == 2
    assert "one number from 0 (global) to 1 (local) was wanted, got 0,1; score --t takes several" in (
        capsys.readouterr().err
    )


def test_drift_finds_a_shift_in_the_second_half_only_and_draws_it(folder, rows, capsys, tmp_path):
    shifted = np.column_stack([column.to_numpy() for column in rows.slice(0, 500).columns])
    shifted[250:] += 3
    tables.write(pa.table(dict(zip(rows.column_names, shifted.T, strict=True))), tmp_path / "new.csv")
    picture = tmp_path / "drift.png"
    arguments = ["drift", folder / "m.safetensors", tmp_path / "new.csv", "--window", "250", "--plot", picture]
    result = as_json(capsys, *arguments)
    assert [window["changed"] for window in result["windows"]] == [False, True]
    assert result["changed"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert said(capsys, *arguments).startswith("The data has changed.")


@pytest.mark.slow
def test_a_file_has_not_drifted_from_itself(folder, capsys):
    result = as_json(capsys, "drift", folder / "rows.csv", folder / "rows.csv")
    assert not result["changed"]
    assert result["rows"] == 300  # the half that the model was fitted on is not compared with the other


@pytest.mark.slow
def test_drift_between_two_files_of_mixed_columns_is_found(capsys, tmp_path):
    table = houses().drop_columns(["house"])
    price = pa.array(table["price"].to_numpy() * 3)
    later = table.set_column(table.column_names.index("price"), "price", price)
    tables.write(table.slice(0, 600), tmp_path / "old.parquet")
    tables.write(later.slice(600, 300), tmp_path / "new.parquet")
    assert as_json(capsys, "drift", tmp_path / "old.parquet", tmp_path / "new.parquet")["changed"]


def test_few_old_rows_are_refused(folder, rows, capsys, tmp_path):
    tables.write(rows.slice(0, 20), tmp_path / "old.csv")
    assert main(["drift", str(tmp_path / "old.csv"), str(folder / "rows.csv")]) == 2
    assert "at least 80 rows" in capsys.readouterr().err


def test_datasets_are_listed_and_written_and_every_command_takes_their_names(capsys, tmp_path):
    listed = as_json(capsys, "datasets")
    assert {"houses", "wine"} <= set(listed["bundled"])
    assert "breastw" in listed["published"]
    assert "bundled (no download)" in said(capsys, "datasets")
    assert "1,200 rows, 9 columns" in said(capsys, "datasets", "houses", "-o", tmp_path / "houses.csv")
    assert tables.read(tmp_path / "houses.csv").num_rows == 1200
    assert main(["datasets", "hovses", "-o", str(tmp_path / "x.csv")]) == 2
    assert tables.read("iris").column_names == ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def test_depths_are_listed_with_a_sentence_each(capsys):
    listed = as_json(capsys, "depth", "--list")["depths"]
    assert listed["halfspace"].startswith("Computes halfspace depth")
    assert "zonoid" in said(capsys, "depth", "--list")
    assert main(["depth"]) == 2


def test_version_names_the_libraries(capsys):
    found = as_json(capsys, "version")
    assert found["numpy"] == np.__version__
    assert found["python"] == sys.version.split()[0]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell, capsys):
    script = said(capsys, "completion", shell)
    assert all(name in script for name in commands.ALL)
    assert "false-positives" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_bash_completes_a_command_an_option_and_a_file(capsys, tmp_path, monkeypatch):
    (tmp_path / "houses.csv").touch()
    monkeypatch.chdir(tmp_path)
    script = said(capsys, "completion", "bash")
    for words, expected in (
        (["centrality", "expl"], "explain explore"),
        (["centrality", "rank", "--to"], "--top"),
        (["centrality", "rank", "hou"], "houses.csv"),
    ):
        given = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{given}; _shtab_centrality; echo ${{COMPREPLY[@]}}"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected


@pytest.mark.parametrize(("name", "example"), [(name, e) for name, lines in EXAMPLES.items() for e in lines])
def test_every_command_has_an_example_that_parses(name, example):
    words = shlex.split(example.partition(">>")[0])
    assert words[:2] == ["centrality", name]
    parser().parse_args(words[1:])
    assert set(EXAMPLES) == set(commands.ALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detetc", "a", "b"], "there is no command 'detetc'; did you mean detect?"),
        (["rank", "m", "d", "--topp", "3"], "there is no option --topp; did you mean --top?"),
        (["rank", "m", "d", "e"], "too many arguments: e"),
        (["fit", "d.csv", "-o", "m.pkl"], "a model file ends in .safetensors, got m.pkl: try -o m.safetensors"),
    ],
)
def test_a_mistake_is_answered_with_what_was_probably_meant(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_verbose_says_how_long_it_took_and_quiet_hides_notes(folder, capsys):
    main(["rank", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--top", "1", "--verbose"])
    told = capsys.readouterr().err
    assert "m.safetensors" in told.splitlines()[0]
    assert "top=1" in told.splitlines()[0]
    assert "centrality: done in" in told
    for option, noted in ((None, True), ("--quiet", False)):
        arguments = ["detect", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--fdr", "0.004"]
        assert main([*arguments, option] if option else arguments) == 0
        assert ("note: Nothing can be called an outlier" in capsys.readouterr().err) is noted


def test_colour_is_for_terminals_without_no_color(monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert shows_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not shows_colour(Terminal())


def test_a_table_is_aligned():
    lines = aligned(["name", "n"], [["a", "1"], ["long one", "10"]], left=(0,))
    assert [coloured(line, colour=False) for line in lines] == [
        "name       n",
        "a          1",
        "long one  10",
    ]


def test_windows_of_one_event_stand_once_in_a_ranking(capsys, tmp_path):
    series = np.sin(np.arange(2000) / 5)
    series[700:720] += 4  # one event, and another
    series[1500:1520] -= 4
    model = Chain(Series(window=60, step=20), FUSE(random_state=0, max_steps=100))
    model.fit(pa.table({"value": series})).save(tmp_path / "m.safetensors")
    tables.write(pa.table({"value": series}), tmp_path / "series.csv")
    ranked = as_json(capsys, "rank", tmp_path / "m.safetensors", tmp_path / "series.csv", "--top", "2")
    moments = sorted(row["row"] for row in ranked["peripheral"])
    assert 640 <= moments[0] < 780
    assert 1440 <= moments[1] < 1580


def test_python_m_centrality_runs_the_command_line():
    done = subprocess.run([sys.executable, "-m", "centrality", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("centrality ")
