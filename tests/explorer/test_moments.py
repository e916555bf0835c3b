"""Series on the page: rows are moments, a timeline stands below the map, and odd stretches are what Python says."""

import base64

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import Timeline, check
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.apps.explorer.moments import view_of_moments
from centrality.apps.explorer.payload import pack
from tests.explorer.pages import exported, settle, unpacked

HOURS = 4000
ODD = slice(2500, 2560)  # where the load stands still


def sensors() -> pa.Table:
    """Two channels with a daily course, of which one stands still once; times are texts and not in order."""
    rng = np.random.default_rng(0)
    day = 2 * np.pi * np.arange(HOURS) / 24
    load, heat = 10 + 3 * np.sin(day) + rng.normal(0, 0.2, HOURS), 50 + 5 * np.cos(day) + rng.normal(0, 0.2, HOURS)
    load[ODD] = 25.0
    times = pd.date_range("2024-01-01", periods=HOURS, freq="h").strftime("%Y-%m-%d %H:%M")
    frame = pd.DataFrame({"when": times, "load": load, "heat": heat, "site": "north"})
    return pa.Table.from_pandas(frame.iloc[np.r_[100:HOURS, :100]], preserve_index=False)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return sensors()


@pytest.fixture(scope="module")
def view(table):
    return view_of_moments(Timeline("when", random_state=0).fit(table), table, fitted_here=True, on="pca")


def test_rows_are_those_of_the_file_with_the_scores_of_the_timeline(table, view):
    centrality = Timeline("when", random_state=0).fit(table).centrality()
    np.testing.assert_allclose(view.centrality(0.5), centrality[view.rows])
    np.testing.assert_allclose(view.centrality(0.0), view.centrality(1.0))
    odd = np.argsort(view.centrality(0.5))[:40] + 100  # the file begins with hour 100
    assert ((odd > ODD.start - 130) & (odd < ODD.stop + 130)).all()  # a window is 125 moments long


def test_the_page_gets_times_as_dates_and_channels_as_numbers(view):
    header, arrays = unpacked(pack(view, pictures=False, reasons=False))
    assert header["timeline"] == {"time": "when", "by": "", "channels": ["load", "heat"]}
    columns = {column["name"]: column for column in header["columns"]}
    kinds = {"when": "date", "load": "number", "heat": "number", "site": "category"}
    assert {name: column["kind"] for name, column in columns.items()} == kinds
    first = pd.Timestamp(arrays["get"](columns["when"]["values"])[0], unit="ms")
    assert first == pd.Timestamp("2024-01-01") + pd.Timedelta(hours=100)
    assert header["findings"] == "ask"
    assert not header["jobs"]


def test_its_findings_are_those_of_check(table, view):
    wanted = check(table, time="when").as_dict()["findings"]
    assert view.jobs.findings()["findings"] == wanted
    stretch = next(one for one in wanted if one["kind"] == "stretch" and one["count"])
    assert stretch["columns"][0] == "load"


def test_reasons_share_what_a_moment_lacks_among_the_channels(view):
    odd = int(np.argmin(view.centrality(0.5)))
    found = view.reasons(np.array([odd]))
    at = found.at(view.mixing, 0.5)[0]
    assert at.sum() == pytest.approx(view.centrality(0.5)[odd] - view.centrality(0.5).max())
    assert at[0] < at[1] <= 0  # the load is to blame


def test_a_table_with_one_row_for_each_channel_is_refused_with_what_to_do():
    rng = np.random.default_rng(0)
    times = np.repeat(pd.date_range("2024-01-01", periods=300, freq="min"), 2)
    long = pa.table({"time": times, "name": ["a", "b"] * 300, "value": rng.normal(size=600)})
    with pytest.raises(InputError, match="pivot the table"):
        view_of_moments(Timeline("time", random_state=0).fit(long), long)


def test_the_command_exports_a_page_with_a_timeline(table, tmp_path, capsys):
    path = tmp_path / "sensors.csv"
    table.to_pandas().to_csv(path, index=False)
    arguments = ["explore", str(path), "--time", "when", "--map", "pca", "--export", str(tmp_path / "page.html")]
    assert main(arguments) == 0
    data = (tmp_path / "page.html").read_text().split('id="centrality-data">')[1].split("<")[0]
    header, _ = unpacked(base64.b64decode(data))
    assert header["timeline"]["channels"] == ["load", "heat"]
    assert any(one["kind"] == "stretch" for one in header["findings"]["findings"])
    assert main([*arguments, "--given", "site"]) == 2
    assert "leave out --time, or --given" in capsys.readouterr().err


@pytest.mark.browser
def test_a_stretch_is_opened_beside_a_typical_one_and_time_is_brushed_both_ways(open_page, view, tmp_path):
    tab = open_page(exported(view, tmp_path), panel="findings")
    assert tab.locator(".dial").is_hidden()
    tab.locator(".timeline .events button").first.click()
    settle(tab)
    assert tab.locator(".finding[aria-expanded=true]").count() == 1
    assert "Grey: a typical stretch" in tab.locator(".timeline figcaption").inner_text()
    tab.get_by_role("button", name="whole time").click()
    box = tab.locator(".timeline .field").bounding_box()
    tab.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 20, steps=4)
    tab.mouse.up()
    tab.locator(".selection").wait_for()  # once it is let go: the page must not move under the pointer
    settle(tab)
    share = float(tab.locator(".selection .said").first.inner_text().split(",")[-1].rstrip("%"))
    assert share == pytest.approx(25, abs=1)  # of the time, so of its rows
    first = tab.get_by_role("slider", name="First moment selected")
    assert first.get_attribute("aria-valuetext").startswith("2024-02-1")  # a quarter of 4,000 hours: 42 days
    tab.get_by_role("button", name="clear").click()
    settle(tab)
    assert tab.locator(".timeline .band").is_hidden()
