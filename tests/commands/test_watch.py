"""centrality watch: rows as they come, a state between runs, and an exit status for scripts."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from centrality import FUSE
from centrality.apps.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of two columns, a day at rest, and a day on which one of them has moved."""
    folder = tmp_path_factory.mktemp("watch")
    rng = np.random.default_rng(0)

    def day(count, shift=0.0):
        return pa.table({"a": rng.normal(size=count) + shift, "b": rng.normal(size=count)})

    FUSE(random_state=0, max_steps=100).fit(day(500).to_pandas()).save(folder / "m.safetensors")
    csv.write_csv(day(400), folder / "rest.csv")
    csv.write_csv(day(400, shift=1.0), folder / "moved.csv")
    return folder


def test_days_go_on_from_a_state_and_an_alarm_has_a_status(folder, tmp_path, capsys):
    options = [str(folder / "m.safetensors"), "--state", str(tmp_path / "state"), "--fail-on-alarm"]
    assert main(["watch", options[0], str(folder / "rest.csv"), *options[1:]]) == 0
    assert "No alarm after 400 rows" in capsys.readouterr().out
    assert main(["watch", options[0], str(folder / "moved.csv"), *options[1:], "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["alarm"]
    assert result["alarms"][0]["changes"][0].startswith("a is higher")
    assert 400 <= result["alarms"][0]["row"] < 600


def test_a_stream_is_watched_to_its_end(folder, capsys, monkeypatch):
    with (folder / "rest.csv").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["watch", str(folder / "m.safetensors"), "-", "--every", "100000"]) == 0
    assert "No alarm after 400 rows" in capsys.readouterr().out


def test_a_promise_that_is_none_is_refused_in_a_line(folder, capsys):
    assert main(["watch", str(folder / "m.safetensors"), str(folder / "rest.csv"), "--alpha", "2"]) == 2
    assert "alpha must be" in capsys.readouterr().err


def test_several_streams_of_a_file_are_told_apart_by_a_column(folder, tmp_path, capsys):
    days = [csv.read_csv(folder / name) for name in ("rest.csv", "rest.csv", "moved.csv")]
    both = pa.concat_tables([days[0], days[1], days[2]])
    pumps = pa.array(["left"] * 400 + ["right"] * 800)
    csv.write_csv(both.append_column("pump", pumps), tmp_path / "pumps.csv")
    command = ["watch", str(folder / "m.safetensors"), str(tmp_path / "pumps.csv"), "--by", "pump"]
    assert main([*command, "--state", str(tmp_path / "state"), "--fail-on-alarm"]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("right has changed: a is higher")
    assert second.startswith("left: no change after 400 rows")
    assert main([*command, "--state", str(tmp_path / "state"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"][0] == "right"
    assert main([*command, "--every", "1000"]) == 2
    assert "--every is for one stream" in capsys.readouterr().err
    assert main([*command[:3], "--fdr", ".1"]) == 2
    assert "--by COLUMN was wanted" in capsys.readouterr().err
