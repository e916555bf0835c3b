"""Timeline: odd stretches are found, in any channel, and what cannot be judged is said."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import Timeline, load
from centrality._internal import model_file
from centrality._internal.checks import InputError
from centrality.series import windows
from centrality.series.windows import cover, shapes, starts_of
from tests.present import present


def season(count: int = 4000, seed: int = 0, noise: float = 0.1) -> np.ndarray:
    return np.sin(np.arange(count) / 9) + np.random.default_rng(seed).normal(0, noise, count)


def hits(events, first: int, last: int) -> bool:
    return any(event.start <= last + 63 and event.end >= first - 63 for event in events)


@pytest.fixture(scope="module")
def stuck() -> Timeline:
    values = season()
    values[2400:2460] = 2.0
    return Timeline(random_state=0).fit(values)


@pytest.fixture(scope="module")
def machines() -> Timeline:
    """Six channels, of which the fourth does something else from 2000 on for a hundred moments; one state, one idle."""
    values = np.column_stack([season(seed=seed) * (seed + 1) for seed in range(6)])
    values[2000:2100, 3] = np.random.default_rng(9).normal(0, 4, 100)
    names = [f"s{place}" for place in range(6)]
    table = dict(zip(names, values.T, strict=True)) | {"on": np.arange(4000) // 500 % 2, "idle": np.full(4000, 7.0)}
    return Timeline(random_state=0).fit(pd.DataFrame(table))


def test_the_stuck_stretch_is_the_only_event(stuck):
    events = stuck.events()
    assert len(events) == 1
    assert hits(events, 2400, 2460)
    assert events[0].severity > 4000
    assert events[0].sentence.startswith("x0 ")
    assert "false alarms expected" in str(events)
    json.dumps(events.as_dict())


def test_the_stretch_is_the_least_central_and_the_least_likely(stuck):
    centrality, p_values = stuck.centrality(), stuck.p_values()
    assert 2300 < centrality.argmin() < 2560
    assert p_values[2430] < 0.02
    assert centrality.min() >= 0
    assert centrality.max() <= 1
    assert np.median(centrality) == pytest.approx(0.5, abs=0.01)


def test_more_false_alarms_call_more(stuck):
    assert len(stuck.events(false_alarms=5)) >= len(stuck.events(false_alarms=0.5)) >= len(stuck.events())


def test_a_file_judges_as_the_model_did(stuck, tmp_path):
    stuck.save(tmp_path / "m.safetensors")
    again, other = load(tmp_path / "m.safetensors"), season(seed=5)
    assert isinstance(again, Timeline)
    np.testing.assert_allclose(again.centrality(other), stuck.centrality(other), rtol=0, atol=1e-12)
    assert again.events(other).threshold == stuck.events(other).threshold
    with pytest.raises(InputError, match="give the rows to judge"):
        again.centrality()


def test_a_file_without_its_parts_is_refused(stuck, tmp_path):
    stuck.save(tmp_path / "m.safetensors")
    header, arrays = model_file.read(tmp_path / "m.safetensors")
    model_file.write(tmp_path / "less.safetensors", header, {k: v for k, v in arrays.items() if k != "peaks"})
    with pytest.raises(model_file.ModelFileError, match="a Timeline needs: KeyError"):
        load(tmp_path / "less.safetensors")


def test_the_same_seed_gives_the_same_scores(stuck):
    values = season()
    values[2400:2460] = 2.0
    np.testing.assert_array_equal(Timeline(random_state=0).fit(values).centrality(), stuck.centrality())


def test_the_unit_of_a_channel_does_not_matter(stuck):
    values = season()
    values[2400:2460] = 2.0
    other = Timeline(random_state=0).fit(1e6 * values - 3e7)
    np.testing.assert_allclose(other.centrality(), stuck.centrality(), atol=0.02)


def test_the_channel_to_blame_is_named(machines):
    events = machines.events()
    assert hits(events, 2000, 2100)
    assert events[0].channels[0][0] == "s3"
    assert events[0].channels[0][1] > 0.5
    blame = machines.blame()
    assert blame.shape == (4000, 6)
    assert blame[2050].argmax() == 3
    np.testing.assert_allclose(blame.sum(1)[blame.sum(1) > 0], 1)


def test_states_are_not_judged_and_constants_left_out_with_a_note(machines):
    assert machines.channels_ == tuple(f"s{place}" for place in range(6))
    assert machines.context_ == ("on",)
    assert any("idle left out: the same value" in note for note in machines.notes_)
    assert any("on not judged: two values" in note for note in machines.notes_)


def test_a_series_of_two_values_alone_is_judged():
    values = (np.arange(4000) // 20 % 2).astype(float)
    values[2000:2200] = 1.0
    assert hits(Timeline(random_state=0).fit(values).events(false_alarms=0.5), 2000, 2200)


def test_a_spike_of_a_billion_hides_no_other_stretch():
    values = season()
    values[1000] = 1e9
    values[2400:2460] = 2.0
    events = Timeline(random_state=0).fit(values).events(false_alarms=0.5)
    assert hits(events, 1000, 1000)
    assert hits(events, 2400, 2460)


def test_a_trend_and_a_level_shift_are_no_error():
    values = season() + np.arange(4000) / 500
    assert np.isfinite(Timeline(random_state=0).fit(values).centrality()).all()
    values = season()
    values[2000:] += 10
    assert len(Timeline(random_state=0).fit(values).events(false_alarms=1)) <= 3


def test_gaps_are_bridged_or_not_judged():
    values = season()
    values[500:520] = np.nan
    values[1000:1200] = np.nan
    centrality = Timeline(random_state=0).fit(values).centrality()
    assert np.isfinite(centrality[500:520]).all()
    assert np.isnan(centrality[1000:1200]).all()
    assert np.isfinite(centrality[[999, 1200]]).all()


def test_a_dead_channel_leaves_the_others_judged():
    values = np.column_stack([season(seed=seed) for seed in range(3)])
    values[3000:, 2] = np.nan
    values[2400:2460, 0] = 3.0
    model = Timeline(random_state=0).fit(values)
    assert np.isfinite(model.centrality()).all()
    assert model.events()[0].channels[0][0] == "x0"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.full(1000, np.nan), "same value all the time"),
        (np.full(1000, 3.0), "same value all the time"),
        (np.arange(2.0), "at least 100 moments was wanted, got 2"),
        (np.arange(9.0), "at least 100 moments"),
    ],
)
def test_too_little_is_refused_aloud(values, message):
    with pytest.raises(InputError, match=message):
        Timeline().fit(values)


def test_a_short_history_is_judged_as_it_was_learned():
    """Its windows have fewer moments than there are cosines; what these leave is weighed in fitting as in scoring."""
    model = Timeline(random_state=0).fit(season(110, noise=1.0))
    assert model.window_ == 13
    rows = model._windows_to_learn(model._parts[0], model._prepare(present(model._judged)[0]))
    learned = model._parts[0].model.fitted_.scaling
    assert np.median(np.abs((rows[:, -1] - learned.center[-1]) / rows[:, -1].std())) < 1


def test_wrong_settings_are_refused():
    with pytest.raises(InputError, match="window must be a whole number"):
        Timeline(window=5000).fit(season())
    with pytest.raises(InputError, match="t must lie between"):
        Timeline(t=2).fit(season())
    with pytest.raises(InputError, match="needs a time column"):
        Timeline(random_state=0).fit(season(400)).events(per="day")
    with pytest.raises(InputError, match="false_alarms must be a number above 0"):
        Timeline(random_state=0).fit(season(400)).events(false_alarms=0)


def test_rows_that_fill_no_window_are_refused(stuck):
    with pytest.raises(InputError, match="At least 125 moments, a window, were wanted to judge, got 10"):
        stuck.centrality(np.arange(10.0))


def test_a_failed_fit_leaves_the_model_as_it_was(stuck):
    before = stuck.centrality()
    with pytest.raises(InputError):
        stuck.fit(np.arange(9.0))
    np.testing.assert_array_equal(stuck.centrality(), before)


def test_by_judges_each_machine_in_its_own_scale():
    rows = [season(2000, seed) * scale + level for seed, (scale, level) in enumerate([(1, 0), (50, 900), (3, -7)])]
    rows[1][1200:1260] = 1000.0
    table = pa.table({"machine": np.repeat(["a", "b", "c"], 2000), "value": np.concatenate(rows)})
    model = Timeline(by="machine", random_state=0).fit(table)
    events = model.events()
    assert [event.series for event in events] == ["b"]
    assert 3100 < events[0].rows[0] < events[0].rows[-1] < 3400  # of the table, in which b begins at 2000


def test_per_day_counts_the_days():
    times = pd.date_range("2024-01-01", periods=3000, freq="10min")
    model = Timeline(random_state=0).fit(pd.DataFrame({"time": times, "value": season(3000)}))
    days = 3000 / 144
    in_all = model.events(false_alarms=0.1 * days).threshold
    assert model.events(false_alarms=0.1, per="day").threshold == pytest.approx(in_all, rel=1e-3)


def test_an_update_learns_what_has_become_usual(stuck, tmp_path):
    stuck.save(tmp_path / "m.safetensors")
    model, later = load(tmp_path / "m.safetensors"), 3 * season(seed=3)
    before = np.nanmedian(model.centrality(later))
    for _ in range(3):
        model.update(later)
    assert np.nanmedian(model.centrality(later)) > before


def test_drift_tells_the_same_from_another(stuck):
    assert not stuck.drift(season(seed=8))["changed"]
    moved = stuck.drift(season(seed=8) + 4)
    assert moved["changed"]
    assert any("x0 is higher" in change for change in moved["changes"])


def test_the_figure_has_a_panel_a_channel_and_shades_events(machines):
    figure = machines.plot()
    assert [axes.get_ylabel() for axes in figure.axes] == [*machines.channels_, "centrality"]
    assert len(figure.axes[0].patches) == len(machines.events())


def test_windows_far_apart_are_judged_alike_whatever_block_they_are_in(stuck, monkeypatch):
    values = season(seed=4)
    whole = stuck.centrality(values)
    monkeypatch.setattr("centrality.series.timeline.AT_ONCE", 100)
    np.testing.assert_allclose(stuck.centrality(values), whole, atol=1e-6)


def test_shapes_hold_the_energy_of_a_window():
    signal = np.random.default_rng(0).normal(size=400)
    starts = starts_of(400, 125)
    rows = shapes(signal, starts, 125).astype(float)
    left = np.exp(rows[:, -1]) - windows.FLOOR * np.sqrt(125)
    energy = np.array([(signal[start : start + 125] ** 2).sum() for start in starts])
    np.testing.assert_allclose((rows[:, :-1] ** 2).sum(1) + left**2, energy, rtol=1e-5)


def test_a_moment_has_the_mean_of_the_windows_over_it():
    scores = np.array([1.0, np.nan, 5.0])
    np.testing.assert_array_equal(cover(scores[:, None], 5, 3)[:, 0], [1, 1, 3, 5, 5])


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most", "missed"), [("nyc_taxi", 6, []), ("machine_temperature_system_failure", 10, [0])]
)
def test_labelled_stretches_of_nab_are_among_the_oddest(data, name, most, missed):
    labels = json.loads((data / "extra" / "nab" / "anomaly_windows.json").read_text())
    frame = pd.read_csv(data / "extra" / "nab" / f"{name}.csv.gz")
    events = list(Timeline(random_state=0).fit(frame).events(false_alarms=20))[:most]
    labelled = next(windows for file, windows in labels.items() if name in file)
    found = []
    for label in labelled:
        start, end = (pd.Timestamp(time).timestamp() for time in label)
        found.append(any(event.start <= end and event.end >= start for event in events))
    assert found == [place not in missed for place in range(len(labelled))]


def test_many_series_side_by_side_are_judged_as_one_by_one(stuck):
    rows = [season(1500, seed) for seed in range(3)]
    table = pa.table({"machine": np.repeat(["a", "b", "c"], 1500), "x0": np.concatenate(rows)})
    together = Timeline(by="machine", random_state=0).fit(table)
    alone = together.centrality(table.slice(1500, 1500))
    np.testing.assert_allclose(together.centrality()[1500:3000], alone, atol=1e-6)


def test_an_update_speaks_of_the_new_rows_and_keeps_what_was_usual(stuck, tmp_path):
    stuck.save(tmp_path / "m.safetensors")
    model = load(tmp_path / "m.safetensors")
    later = season(2000, seed=7)
    model.update(later)
    assert len(model.centrality()) == 2000
    assert not len(model.events())
    assert hits(model.events(np.where((np.arange(4000) > 2400) & (np.arange(4000) < 2460), 2.0, season())), 2400, 2460)
    model.save(tmp_path / "m2.safetensors")
    again = load(tmp_path / "m2.safetensors")
    np.testing.assert_array_equal(again.centrality(later), model.centrality(later))


def test_the_figure_draws_what_is_typical_beside_an_event(stuck):
    event, figure = stuck.events()[0], stuck.plot()
    assert event.typical is not None
    broken = [line for line in figure.axes[0].lines if line.get_label() == "typical"]
    assert len(broken) == len(stuck.events())
