"""How tables become series: times found, sorted, merged, evened out, and every row knows its moment."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality._internal.checks import InputError
from centrality.series.reading import BRIDGED, find_series, find_time, read
from centrality.tables import TableError

MINUTE = 60.0


def minutes(count: int, start: str = "2024-03-01") -> pd.DatetimeIndex:
    return pd.date_range(start, periods=count, freq="min")


def test_a_column_of_dates_is_found_and_gives_the_step() -> None:
    table = pa.table({"value": np.arange(50.0), "when": minutes(50).astype(str)})
    assert find_time(table) == "when"
    recording = read(table)
    assert recording.tracks[0].step == MINUTE
    assert recording.channels == ("value",)
    assert not recording.notes


def test_the_index_of_a_pandas_frame_is_its_time() -> None:
    recording = read(pd.DataFrame({"value": np.arange(50.0)}, index=minutes(50)))
    assert recording.dated
    assert recording.tracks[0].step == MINUTE
    assert read(pd.Series(np.arange(50.0), index=minutes(50), name="value")).channels == ("value",)


def test_rows_out_of_order_are_sorted_and_scores_come_back_in_the_order_of_the_file() -> None:
    values = np.arange(60.0)
    order = np.random.default_rng(0).permutation(60)
    table = pa.table({"time": minutes(60)[order], "value": values[order]})
    recording = read(table)
    assert recording.tracks[0].values[:, 0].tolist() == values.tolist()
    assert recording.of_rows([recording.tracks[0].values])[:, 0].tolist() == values[order].tolist()
    assert "sorted" in recording.notes[0]


def test_rows_of_the_same_moment_are_averaged_with_a_note() -> None:
    times = minutes(50).append(minutes(50)[10:12])
    recording = read(pa.table({"time": times, "value": [*np.zeros(50), 2.0, 4.0]}))
    assert recording.tracks[0].values[10:12, 0].tolist() == [1.0, 2.0]
    assert any("averaged (2 rows)" in note for note in recording.notes)


def test_times_in_unlike_zones_are_instants() -> None:
    texts = ["2024-01-01 00:00+00:00", "2024-01-01 02:00+01:00", "2024-01-01 02:00+00:00", "2024-01-01 05:00+02:00"]
    recording = read(pa.table({"time": texts, "value": [0.0, 1.0, 2.0, 3.0]}))
    assert recording.tracks[0].values[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert recording.tracks[0].step == 3600.0


def test_an_hour_that_comes_twice_is_told() -> None:
    hours = pd.date_range("2024-10-26", periods=60, freq="30min")
    twice = hours[:10].append(hours[8:])  # clocks go back by an hour
    assert any("clocks go back" in note for note in read(pa.table({"t": twice, "value": np.arange(62.0)})).notes)


def test_short_gaps_are_bridged_and_long_ones_part_the_series() -> None:
    times = minutes(300)
    kept = np.r_[0:100, 110:200, 200 + BRIDGED + 20 : 300]
    recording = read(pa.table({"time": times[kept], "value": np.arange(300.0)[kept]}))
    track = recording.tracks[0]
    assert len(track.times) == 200 + (BRIDGED + 1) + len(kept[kept >= 200])
    assert np.isnan(track.values[100:110, 0]).all()
    assert track.times[110] - track.times[0] == 110 * MINUTE
    assert any("bridge" in note for note in recording.notes)
    assert any("part the series (1)" in note for note in recording.notes)


def test_a_date_of_9999_makes_no_long_series() -> None:
    times = [*minutes(200).astype(str), "2161-01-01 00:00:00"]
    recording = read(pa.table({"time": times, "value": np.arange(201.0)}))
    assert len(recording.tracks[0].times) < 300
    assert any("in the future" in note for note in recording.notes)


def test_months_of_unlike_lengths_are_even_steps() -> None:
    months = pd.date_range("2010-01-01", periods=120, freq="MS")
    recording = read(pa.table({"month": months, "value": np.arange(120.0)}))
    assert len(recording.tracks[0].times) == 120
    assert not recording.notes


def test_jolted_times_move_to_their_moment() -> None:
    jolts = np.random.default_rng(0).uniform(-0.1, 0.1, 200)
    times = pd.to_datetime((np.arange(200) + jolts) * 60.0, unit="s")
    assert len(read(pa.table({"time": times, "value": np.arange(200.0)})).tracks[0].times) == 200


def test_uneven_times_of_events_are_averaged_step_by_step_with_a_note() -> None:
    seconds = np.cumsum(np.random.default_rng(0).exponential(60, 500))
    recording = read(pa.table({"time": pd.to_datetime(seconds, unit="s"), "value": np.ones(500)}))
    assert any("uneven" in note for note in recording.notes)
    values = recording.tracks[0].values
    assert (values[np.isfinite(values)] == 1.0).all()


def test_numbers_since_1970_are_dates() -> None:
    recording = read(pa.table({"timestamp": 1_700_000_000 + 60 * np.arange(50), "value": np.arange(50.0)}))
    assert recording.dated
    assert recording.written(recording.tracks[0].times[0]) == "2023-11-14 22:13:20"
    assert any("seconds since 1970" in note for note in recording.notes)


def test_one_row_for_each_time_and_name_becomes_a_channel_a_name() -> None:
    times = np.repeat(minutes(40), 2)
    table = pa.table({"time": times, "sensor": ["b", "a"] * 40, "value": np.arange(80.0)})
    recording = read(table)
    assert recording.channels == ("a", "b")
    assert recording.tracks[0].values[:2].tolist() == [[1.0, 0.0], [3.0, 2.0]]
    assert read(table, channels=("a", "b")).tracks[0].values.shape == (40, 2)


def test_by_gives_one_series_for_each_machine() -> None:
    table = pa.table({"time": [*minutes(30), *minutes(20)], "machine": ["x"] * 30 + ["y"] * 20, "v": np.arange(50.0)})
    recording = read(table, by="machine")
    assert [(track.name, len(track.times)) for track in recording.tracks] == [("x", 30), ("y", 20)]
    rows = recording.of_rows([track.values for track in recording.tracks])
    assert rows[:, 0].tolist() == list(range(50))


def test_numbers_written_as_text_are_read_and_what_is_none_is_a_gap() -> None:
    texts = [f"{value:.1f}" for value in np.arange(100.0)]
    texts[7] = "error"
    recording = read(pa.table({"time": minutes(100), "value": texts, "comment": ["ok"] * 100}))
    assert recording.channels == ("value",)
    assert np.isnan(recording.tracks[0].values[7, 0])
    assert any("'error'" in note for note in recording.notes)
    assert any("comment left out" in note for note in recording.notes)


def test_without_times_rows_are_moments_in_their_order() -> None:
    recording = read(np.arange(20.0))
    assert recording.time is None
    assert recording.written(3.0) == "3"


def test_rows_without_a_time_are_not_judged() -> None:
    times = [*minutes(40).astype(str)]
    times[5] = None
    recording = read(pa.table({"time": times, "value": np.arange(40.0)}))
    rows = recording.of_rows([track.values[:, 0] for track in recording.tracks])
    assert np.flatnonzero(np.isnan(rows)).tolist() == [5]
    assert any("Rows without a time" in note for note in recording.notes)


def test_errors_say_what_was_wanted() -> None:
    words = pa.table({"name": ["one", "two"] * 20, "value": np.arange(40.0)})
    with pytest.raises(TableError, match="holds no dates"):
        read(words, time="name")
    with pytest.raises(TableError, match="Missing column: 'nme'"):
        read(words, time="nme")
    with pytest.raises(TableError, match="no column holds any"):
        read(pa.table({"word": ["one", "two"] * 20}))
    with pytest.raises(InputError, match="no two different times"):
        read(pa.table({"time": [minutes(1)[0]] * 40, "value": np.arange(40.0)}))


def test_a_table_looks_like_a_series_if_its_rows_follow_each_other_evenly() -> None:
    even = pa.table({"time": minutes(200), "value": np.arange(200.0)})
    assert find_series(even) == ("time", "a minute")
    assert find_series(even.slice(0, 50)) is None
    shuffled = even.take(np.random.default_rng(0).permutation(200))
    assert find_series(shuffled) is None
    assert find_series(pa.table({"value": np.arange(200.0)})) is None


def test_clocks_that_go_forward_leave_a_gap_and_zones_leave_none() -> None:
    zoned = pd.date_range("2024-03-30", periods=96, freq="30min", tz="Europe/Berlin")  # an hour is missing on the 31st
    values = np.arange(96.0)
    instants = read(pd.DataFrame({"time": zoned, "value": values}))
    assert instants.tracks[0].values[:, 0].tolist() == values.tolist()
    assert not instants.notes
    clocks = read(pd.DataFrame({"time": zoned.tz_localize(None), "value": values}))
    assert len(clocks.tracks[0].values) == 98
    assert any("bridge moments without a row (2)" in note for note in clocks.notes)


def test_an_hour_that_comes_twice_is_put_down_to_clocks_only_in_months_in_which_they_go_back() -> None:
    for night, is_told in (("2024-10-27", True), ("2024-01-07", False)):
        hours = pd.date_range(night, periods=200, freq="h").to_series().reset_index(drop=True)
        hours[3:] -= pd.Timedelta(hours=1)  # from two to three twice
        notes = read(pd.DataFrame({"time": hours, "value": np.arange(200.0)})).notes
        assert any("clocks go back" in note for note in notes) == is_told


def test_even_rows_are_the_series_itself_without_a_copy() -> None:
    values = np.arange(1000.0)
    recording = read(pa.table({"time": minutes(1000), "value": values}))
    assert np.shares_memory(recording.tracks[0].values, values)
    assert recording.rows_are_moments
    assert recording.tracks[0].times.tolist() == [1709251200.0 + MINUTE * place for place in range(1000)]


def test_rows_of_an_event_are_found_whatever_their_order() -> None:
    order = np.random.default_rng(0).permutation(60)
    machine = np.repeat(["x", "y"], 30)
    table = pa.table({"time": minutes(30).append(minutes(30))[order], "machine": machine[order], "v": np.arange(60.0)})
    recording = read(table, by="machine")
    number = [track.name for track in recording.tracks].index("y")
    assert sorted(order[recording.rows_of(number, 10, 12)].tolist()) == [40, 41, 42]


def test_series_of_unlike_steps_are_told() -> None:
    times = [*minutes(120), *pd.date_range("2024-03-01", periods=120, freq="h")]
    recording = read(
        pa.table({"time": times, "machine": ["x"] * 120 + ["y"] * 120, "v": np.arange(240.0)}), by="machine"
    )
    assert any("unlike steps, from 60 to 3600" in note for note in recording.notes)


def test_numbers_in_texts_of_pandas_are_read() -> None:
    frame = pd.DataFrame({"time": minutes(200), "value": pd.Series([f"{v:.1f} kW" for v in range(200)], dtype="str")})
    assert read(frame).tracks[0].values[:3, 0].tolist() == [0.0, 1.0, 2.0]
