"""Events: thresholds keep the number of false alarms that was asked for, and sentences say what happened."""

import re

import numpy as np
import pandas as pd
import pytest

from centrality import Timeline
from centrality.series.events import Peaks, describe, find_typical, stretches
from centrality.series.reading import read


@pytest.mark.parametrize("asked", [0.05, 0.5])
def test_as_many_ordinary_blocks_are_called_as_asked_for(asked):
    """Scores of independent blocks that follow the curve itself: few blocks, so that its estimate matters."""
    rng, called, series = np.random.default_rng(0), 0, 1500
    for _ in range(series):
        below = rng.uniform(size=30)
        highest = (1 - (-np.log(np.minimum(below, 0.99))) ** 0.15) / 0.15
        highest += 0.5 * np.log(0.01 / np.minimum(1 - below, 0.01))
        scores = np.repeat(highest, 20)
        called += (highest > Peaks.of([scores], 10).threshold(asked, 600)).sum()
    spread = np.sqrt(asked / series)
    assert abs(called / series - asked) < 4 * spread + 0.1 * asked


def test_severity_is_the_inverse_of_the_threshold():
    peaks = Peaks.of([np.random.default_rng(0).normal(size=20_000)], 50)
    for expected in (0.01, 0.1, 1):
        assert peaks.one_in(peaks.threshold(expected, 20_000)) == pytest.approx(20_000 / expected, rel=0.02)


def test_events_do_not_raise_their_own_threshold():
    scores = np.random.default_rng(0).normal(size=20_000)
    quiet = Peaks.of([scores], 50).threshold(0.05, 20_000)
    scores[5000:5300] = 100.0
    assert Peaks.of([scores], 50).threshold(0.05, 20_000) < quiet + 1


def test_two_peaks_are_one_stretch_unless_half_of_the_height_is_lost_between():
    base = np.zeros(100)
    base[20:30], base[35:45], base[30:35] = 10.0, 9.0, 8.0
    assert stretches(base, 5.0) == [(20, 44)]
    base[30:35] = 1.0
    assert stretches(base, 5.0) == [(20, 29), (35, 44)]


def say(values: np.ndarray, first: int, last: int, **columns: object) -> str:
    recording = read(pd.DataFrame({**columns, "load": values}))
    return describe(recording, recording.tracks[0], 0, (first, last), 50)


def test_sentences_name_what_happened():
    rng = np.random.default_rng(0)
    usual = 50 + 5 * rng.normal(size=1000)
    fell, stuck, spike = usual.copy(), usual.copy(), usual.copy()
    fell[500:560] -= 40
    assert say(fell, 500, 559).startswith("load fell from 50.4 to 10.7; ")
    assert "it is usually 4" in say(fell, 500, 559)
    stuck[500:560] = 51.0
    assert say(stuck, 500, 559) == "load hardly moves, at about 51"
    spike[530] = 900.0
    assert say(spike, 500, 559).startswith("load is 900 at 530; otherwise it is usually ")


def test_a_value_is_compared_with_the_same_hours_of_other_days():
    times = pd.date_range("2024-01-01", periods=24 * 30, freq="h")
    values = np.where(times.hour < 12, 10.0, 90.0) + np.random.default_rng(0).normal(size=len(times))
    values[24 * 20 + 3] = 90.0
    sentence = say(values, 24 * 20, 24 * 20 + 10, time=times)
    assert sentence.startswith("load is 90 at 2024-01-21 03:00; at this hour it is usually ")


def test_the_typical_stretch_is_what_the_same_past_led_to():
    """Days of 100 moments, high from 40 to 60: the nearest typical stretches begin at the same place of other days."""
    values = np.where(np.arange(4000) % 100 // 20 == 2, 90.0, 10.0) + np.random.default_rng(0).normal(size=4000)
    values[2040:2060] = 10.0
    recording = read(values)
    scores = np.zeros(len(range(0, 4000 - 124, 3)))  # of windows of 125: all are typical but these
    scores[(2040 - 124) // 3 : 2060 // 3] = 9.0
    places, same_hour = find_typical(recording.tracks[0], 0, (2040, 2059), 125, scores, dated=False)
    assert not same_hour
    assert (np.abs(places % 100 - 40) <= 3).all()
    assert not ((places > 1950) & (places < 2125)).any()
    said = describe(recording, recording.tracks[0], 0, (2040, 2059), 125, typical=places)
    assert re.fullmatch(r"x0 is low, (9\.\d\d?|10(\.\d)?); then it is usually [4-8]\d(\.\d)? to 9\d(\.\d)?", said)


def test_what_is_usual_at_this_hour_comes_from_typical_days():
    times = pd.date_range("2024-01-01", periods=144 * 20, freq="10min")
    values = np.where((times.hour >= 8) & (times.hour < 18), 86.0, 60.0)
    values += np.random.default_rng(0).normal(size=len(times))
    start = 144 * 12 + 60
    values[start : start + 30] = 5.0
    event = Timeline(random_state=0).fit(pd.DataFrame({"time": times, "level": values})).events()[0]
    assert re.fullmatch(
        r"level fell from 8\d(\.\d)? to 5; at this hour it is usually 8\d(\.\d)? to 8\d(\.\d)?", event.sentence
    )
    assert event.window is not None
    assert event.typical is not None
    assert event.window[1] - event.window[0] == event.typical[1] - event.typical[0]
    hours = (event.window[0] - event.typical[0]) / 3600 % 24
    assert min(hours, 24 - hours) <= 0.5


def test_long_series_have_no_more_false_alarms_than_asked_for():
    """Blocks of noise whose highest scores follow the curve: 640 of them, a series of 160,000 moments."""
    rng = np.random.default_rng(0)
    below = rng.uniform(size=(400, 640))
    highest = (1 - (-np.log(np.minimum(below, 0.99))) ** 0.15) / 0.15 + 0.5 * np.log(0.01 / np.minimum(1 - below, 0.01))
    called = sum(int((row > Peaks(np.sort(row), 250).threshold(0.5, 160_000)).sum()) for row in highest)
    assert abs(called / 400 - 0.5) < 4 * np.sqrt(0.5 / 400) + 0.05
