"""--time makes rows moments: rank, detect, score and drift speak of stretches; --follow judges lines as they come."""

import io
import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from centrality import load, tables
from centrality.apps.cli import main
from centrality.series import Stream
from tests.commands.said import as_json
from tests.present import present


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """sensors.csv: two machines a minute apart, one of which runs wild for two hours; m.safetensors: its model."""
    folder = tmp_path_factory.mktemp("series")
    rng, frames = np.random.default_rng(0), []
    for name in ("a", "b"):
        times = pd.date_range("2024-03-01", periods=2500, freq="min")
        load = 50 + 10 * np.sin(np.arange(2500) / 20) + rng.normal(size=2500)
        if name == "b":
            load[1500:1620] = 50 + 5 * rng.normal(size=120)
        frames.append(pd.DataFrame({"timestamp": times, "machine": name, "load": load, "room": 21.0}))
    pd.concat(frames).to_csv(folder / "sensors.csv", index=False)
    frames[0][["timestamp", "load"]].to_csv(folder / "one.csv", index=False)
    save = ["--save", str(folder / "m.safetensors"), "--quiet"]
    assert main(["rank", str(folder / "one.csv"), "--time", "timestamp", *save]) == 0
    return folder


def test_rank_names_the_odd_hour_and_its_machine(folder, capsys):
    assert main(["rank", str(folder / "sensors.csv"), "--time", "timestamp", "--by", "machine", "--top", "3"]) == 0
    said, noted = capsys.readouterr()
    first = said.splitlines()[1]
    assert first.startswith("b  2024-03-02 0")
    assert "↳ load" in said
    assert "Read " in noted
    assert "2 series, one row a minute, 1 channel (load)" in noted
    assert "room left out: the same value all the time." in noted


def test_detect_writes_the_rows_of_events(folder, capsys, tmp_path):
    given = ["--time", "timestamp", "--by", "machine", "-o", tmp_path / "events.csv"]
    found = as_json(capsys, "detect", folder / "sensors.csv", *given)
    assert [event["series"] for event in found["events"]] == ["b"]
    rows = tables.read(tmp_path / "events.csv")
    assert set(rows["machine"].to_pylist()) == {"b"}
    assert set(rows["event"].to_pylist()) == {1}
    assert 3990 <= min(rows["row"].to_pylist()) <= 4120


def test_where_no_stretch_is_odd_enough_detect_names_rank(folder, capsys):
    assert main(["detect", str(folder / "one.csv"), "--time", "timestamp", "--false-positives", "0.001"]) == 0
    assert "`centrality rank` shows the oddest ones all the same." in capsys.readouterr().out


def test_detect_of_series_takes_false_positives_only(folder, capsys):
    assert main(["detect", str(folder / "sensors.csv"), "--time", "timestamp", "--fdr", "0.1"]) == 2
    assert "--false-positives N" in capsys.readouterr().err


def test_score_adds_columns_for_each_row(folder, capsys, tmp_path):
    options = ["-o", tmp_path / "scores.csv", "--p-values", "--explain"]
    scored = as_json(capsys, "score", folder / "m.safetensors", folder / "one.csv", *options)
    assert scored["columns"] == ["centrality", "p_value", "reasons"]
    assert tables.read(tmp_path / "scores.csv").num_rows == 2500


def test_drift_compares_with_a_model_and_with_old_rows(folder, capsys, tmp_path):
    frame = pd.read_csv(folder / "one.csv")
    frame["load"] += 60
    frame.to_csv(tmp_path / "new.csv", index=False)
    for old, options in ((folder / "m.safetensors", []), (folder / "one.csv", ["--time", "timestamp"])):
        compared = as_json(capsys, "drift", old, tmp_path / "new.csv", *options)
        assert compared["changed"]
        assert any("load is higher" in change for change in compared["changes"])


def follow(folder, monkeypatch, capsys, lines, *options):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    assert main(["score", str(folder / "m.safetensors"), "-", "--follow", *map(str, options)]) == 0
    said, noted = capsys.readouterr()
    return [json.loads(line) for line in said.splitlines() if line.startswith("{")], noted


def test_lines_are_judged_as_they_come_and_broken_ones_skipped(folder, monkeypatch, capsys, tmp_path):
    lines = (folder / "one.csv").read_text().splitlines()
    state = tmp_path / "state.json"
    whole, _ = follow(folder, monkeypatch, capsys, lines[:400])
    broken = [*lines[:200], "garbage", "2024-03-01,abc", '{"load": ', *lines[200:300]]
    first, noted = follow(folder, monkeypatch, capsys, broken, "--state", state)
    assert noted.count("skipped") == 3
    assert "line 201 skipped: 2 fields were wanted, got 1" in noted
    as_objects = [json.dumps({"load": float(line.split(",")[1])}) for line in lines[300:400]]
    second, _ = follow(folder, monkeypatch, capsys, as_objects, "--state", state)
    assert [answer["centrality"] for answer in first + second] == [answer["centrality"] for answer in whole]
    assert whole[50]["centrality"] is None
    assert 0 < whole[-1]["p_value"] <= 1


def test_follow_wants_a_model_of_series_and_stdin(folder, capsys):
    assert main(["score", str(folder / "m.safetensors"), str(folder / "one.csv"), "--follow"]) == 2
    assert "give - instead" in capsys.readouterr().err


def test_commands_that_judge_rows_say_what_a_model_of_series_is_for(folder, capsys):
    assert main(["explain", str(folder / "m.safetensors"), str(folder / "one.csv")]) == 2
    assert "is a model of series, and judges moments" in capsys.readouterr().err


def test_check_names_odd_stretches_beside_other_faults(folder, capsys):
    found = as_json(capsys, "check", folder / "sensors.csv", "--time", "timestamp", "--by", "machine")
    stretch = next(item for item in found["findings"] if item["kind"] == "stretch" and item["count"])
    assert stretch["sentence"].startswith("b: 2024-03-02 0")
    assert stretch["columns"] == ["load"]
    assert set(stretch["rows"]) & set(range(4000, 4120))
    assert stretch["severity"] > 1000


def test_a_file_that_looks_like_a_series_is_told_so(folder, capsys):
    assert main(["rank", str(folder / "one.csv"), "--top", "1"]) == 0
    assert "It looks like a series, one row a minute: --time timestamp finds" in capsys.readouterr().err
    assert main(["rank", str(folder / "sensors.csv"), "--top", "1"]) == 0
    assert "looks like a series" in capsys.readouterr().err


def test_lines_that_nobody_expects_are_skipped_and_a_header_may_come_again(folder, monkeypatch, capsys):
    lines = (folder / "one.csv").read_text().splitlines()
    nobody = ["\ufffd\ufffd", "[1, 2]", "{}", '{"load": [1]}', "x" * 200_000 + ",1", '{"load": ' + "[" * 100_000]
    answers, noted = follow(
        folder, monkeypatch, capsys, ["before the header", *lines[:200], *nobody, *lines[:1], *lines[200:205]]
    )
    assert len(answers) == 204
    assert noted.count("skipped") == 1 + len(nobody)
    assert "a header that names load was wanted first" in noted


@pytest.mark.slow
def test_a_process_that_is_killed_goes_on_from_its_file(folder, tmp_path):
    """Killed two seconds after its last line, it has written what it remembers; bytes that are no text are one line."""
    lines = (folder / "one.csv").read_bytes().splitlines()
    command = [sys.executable, "-m", "centrality", "score", str(folder / "m.safetensors"), "-", "--follow"]
    command += ["--state", str(tmp_path / "state.json")]

    def answers(sent: list[bytes], *, kill: bool) -> list[float | None]:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            stdin, stdout = present(process.stdin), present(process.stdout)
            stdin.write(b"\n".join(sent) + b"\n")
            stdin.flush()
            judged = [json.loads(stdout.readline())["centrality"] for _ in range(len(sent) - 2)]  # header, broken
            if kill:
                time.sleep(1.2)
                stdin.write(lines[200] + b"\n")
                stdin.flush()
                judged.append(json.loads(stdout.readline())["centrality"])
                time.sleep(0.5)
                process.kill()
        return judged

    first = answers([*lines[:100], b"\xff\xfe,\xff", *lines[100:200]], kill=True)
    second = answers([lines[0], b"\xff", *lines[201:260]], kill=False)
    model = present(load(folder / "m.safetensors"))
    stream = Stream(model)
    whole = [stream.push({"load": float(line.split(b",")[1])}) for line in lines[1:260]]
    assert first + second == [moment and moment.centrality for moment in whole]


def test_inspect_says_what_is_in_a_model_of_series(folder, capsys):
    assert main(["inspect", str(folder / "m.safetensors")]) == 0
    said = capsys.readouterr().out
    for part in (
        "Timeline, written by",
        "1: load",
        "125 moments",
        "learned from  2,500 moments",
        "differences of each",
    ):
        assert part in said
    facts = as_json(capsys, "inspect", folder / "m.safetensors")
    assert facts["window"] == 125
    assert facts["channels"] == ["load"]
