"""Stream: moments are judged as they come, by the last window, and a restart goes on where it stopped."""

import numpy as np
import pytest

from centrality import Timeline
from centrality._internal.checks import InputError
from centrality.series import Stream
from tests.present import present


def season(count: int, first: int = 0) -> np.ndarray:
    moments = np.arange(first, first + count)
    both = np.column_stack([np.sin(moments / 9), np.cos(moments / 9)])
    return both + np.random.default_rng(first).normal(0, 0.1, (count, 2))


@pytest.fixture(scope="module")
def model() -> Timeline:
    return Timeline(random_state=0).fit(season(1600))


def test_the_newest_window_is_judged_as_fit_judges_it(model):
    stream, values = Stream(model), season(1600)
    answers = [stream.push(row.tolist()) for row in values]
    assert answers[: model.window_] == [None] * model.window_
    one = model._prepare(model._judged[0])[0]
    from centrality.series.parts import Oddness

    whole = Oddness.of(model._parts, model._window_scores(one)).whole
    starts = np.arange(0, 1600 - model.window_ + 1, 3)
    late = [place for place, start in enumerate(starts) if start > 0]
    expected = model._latest.p_values(whole)[late]
    seen = [answers[starts[place] + model.window_ - 1].p_value for place in late]
    np.testing.assert_allclose(seen, expected, atol=1e-3)


def test_an_odd_moment_is_told_with_its_channel(model):
    stream = Stream(model)
    for row in season(400, first=5000):
        usual = stream.push(dict(zip(model.channels_, row, strict=True)))
    odd = present(stream.push([float(row[0]), 6.0]))
    usual = present(usual)
    assert odd.centrality < usual.centrality
    assert odd.p_value <= usual.p_value
    assert odd.channels[0][0] == "x1"


def test_a_restart_goes_on_where_it_stopped(model, tmp_path):
    values = season(500, first=3000)
    whole = Stream(model)
    expected = [whole.push(row.tolist()) for row in values]
    first = Stream(model)
    for row in values[:300]:
        first.push(row.tolist())
    first.save(tmp_path / "state.json")
    second = Stream(model)
    second.restore(tmp_path / "state.json")
    assert [second.push(row.tolist()) for row in values[300:]] == expected[300:]


def test_a_missing_value_is_the_last_one_until_the_channel_is_silent(model):
    stream = Stream(model)
    for row in season(300):
        stream.push(row.tolist())
    assert stream.push([0.1, None]) is not None
    for _ in range(100):
        answer = stream.push([None, None])
    assert answer is None


def test_series_do_not_mix(model):
    alone, together = Stream(model), Stream(model)
    for row in season(300):
        expected = alone.push(row.tolist(), "a")
        answer = together.push(row.tolist(), "a")
        together.push((5 * row).tolist(), "b")
    assert answer == expected


def test_what_is_no_moment_is_refused(model, tmp_path):
    stream = Stream(model)
    with pytest.raises(InputError, match="2 values were wanted"):
        stream.push([1.0])
    with pytest.raises(InputError, match="Numbers were wanted"):
        stream.push(["a", 1.0])
    with pytest.raises(InputError, match="The channel 'x1' was wanted"):
        stream.push({"x0": 1.0})
    for state in ("{}", '{"channels": ["x0", "x1"], "series": {"a": {"rows": [[1.0]], "silent": [0, 0]}}}', "\x00"):
        (tmp_path / "state.json").write_text(state)
        with pytest.raises(InputError, match="is no state of a stream"):
            stream.restore(tmp_path / "state.json")
    (tmp_path / "state.json").write_text('{"channels": ["load"], "series": {}}')
    with pytest.raises(InputError, match="remembers other channels: load"):
        stream.restore(tmp_path / "state.json")
    (tmp_path / "state.json").write_text("{}")
    with pytest.raises(InputError, match="is no state of a stream"):
        stream.restore(tmp_path / "state.json")


def test_a_wrong_moment_is_not_remembered(model):
    stream = Stream(model)
    with pytest.raises(InputError, match="2 values were wanted"):
        stream.push("ab", "new")
    with pytest.raises(InputError, match="2 values were wanted"):
        stream.push(5.0, "new")
    assert not stream._series


def test_of_too_many_series_the_longest_silent_is_forgotten(model):
    stream = Stream(model, most_series=2)
    for name in ("a", "b", "a", "c"):
        stream.push([0.0, 0.0], name)
    assert list(stream._series) == ["a", "c"]


def test_a_stream_goes_on_with_a_newer_model_of_the_same_channels(model):
    old, new = Stream(model), Stream(Timeline(random_state=1).fit(season(1600, first=1600)))
    for row in season(300):
        old.push(row.tolist())
    new.continue_from(old)
    assert new.push([0.0, 1.0]) is not None
    other = Stream(Timeline(random_state=0).fit(season(1600)[:, :1]))
    other.continue_from(old)
    assert other.push([0.0]) is None
