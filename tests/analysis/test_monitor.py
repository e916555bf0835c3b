"""A monitor of a stream: quiet at rest for as long as one looks, and quick to say what changed and since when."""

import numpy as np
import pytest

from centrality import FUSE, Chain
from centrality._internal.checks import InputError
from centrality.analysis.monitor import Monitor, Streams
from centrality.representations import Table
from tests.conftest import quick

HIGHER = np.array([0, 2])  # a column that has moved by two deviations


def of_numbers(*, seed=0, alpha=0.05, every=None, calibration=200, columns=1):
    """A monitor of scores that are drawn uniformly, and of columns that are normal: no model in between."""
    rng = np.random.default_rng(1000 + seed)
    edges = [np.linspace(-2, 2, 41)] * columns

    def read(rows):
        return np.column_stack([rows[:, 0]] * 3), rows[:, 1:]

    names = [f"x{k}" for k in range(columns)]
    scores = np.column_stack([rng.random(calibration)] * 3)
    return Monitor(read, scores, edges, names, alpha=alpha, every=every, random_state=seed)


def rows_at_rest(seed, count):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random(count), rng.normal(size=count)])


@pytest.fixture(scope="module")
def model():
    return FUSE(random_state=0, max_steps=200).fit(np.random.default_rng(0).normal(size=(800, 3)))


def test_alarms_at_rest_are_as_rare_as_promised():
    """Asked for 20% ever, of 60 streams of 1,000 rows 12 may give an alarm; three standard deviations more are 21."""
    alarms = [of_numbers(seed=k, alpha=0.2).update(rows_at_rest(k, 1000)).alarm for k in range(60)]
    assert sum(alarms) <= 21


def test_the_money_of_bets_is_one_on_average():
    """What Ville's inequality rests on: after 20 rows at rest, the evidence of 1,000 streams is 1 on average."""
    found = [of_numbers(seed=k).update(rows_at_rest(k, 20)).evidence / (0.5 / 3) for k in range(300)]
    mean_of_largest = np.mean(found)  # of four statistics, the one with the most: so 1 and somewhat more
    assert 0.9 < mean_of_largest < 3.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: rows * [1, 1] + [0, 1], "x0 is higher"),
        (lambda rows: rows * [1, 1] - [0, 1], "x0 is lower"),
        (lambda rows: rows * [1, 3], "x0 is farther out"),
        (lambda rows: rows * [1, 0.2], "x0 is closer to the middle"),
        (lambda rows: rows * [0.3, 1], "centrality is lower"),
    ],
)
def test_it_says_what_changed_and_about_from_which_row_on(change, said):
    monitor = of_numbers()
    assert not monitor.update(rows_at_rest(0, 600)).alarm
    watch = monitor.update(change(rows_at_rest(1, 400)))
    assert watch.alarm
    assert said in watch.changes
    assert 600 < watch.row < 800
    assert 540 <= watch.since <= watch.row
    assert str(watch).startswith(f"Alarm at row {watch.row}")


def test_it_is_the_same_however_the_rows_are_cut():
    rows = np.concatenate([rows_at_rest(0, 300), rows_at_rest(1, 300) + HIGHER])
    once = of_numbers().update(rows)
    monitor = of_numbers()
    for part in np.array_split(rows, 7):
        watch = monitor.update(part)
    assert watch == once


def test_a_saved_state_goes_on_as_if_it_had_never_stopped(tmp_path, model):
    rng = np.random.default_rng(1)
    rows = np.concatenate([rng.normal(size=(200, 3)), rng.normal(size=(200, 3)) + 1])
    whole = model.monitor(random_state=0).update(rows)
    first = model.monitor(random_state=0)
    first.update(rows[:250])
    first.save(tmp_path / "state")
    assert (tmp_path / "state").stat().st_size < 100_000
    assert model.monitor(state=tmp_path / "state").update(rows[250:]) == whole
    assert whole.alarm


def test_a_state_of_another_model_or_promise_is_refused(tmp_path, model):
    model.monitor(random_state=0).save(tmp_path / "state")
    with pytest.raises(InputError, match="a promise cannot change"):
        model.monitor(alpha=0.5, state=tmp_path / "state")
    other = quick().fit(np.random.default_rng(0).normal(size=(100, 2)))
    with pytest.raises(InputError, match="is no state of a monitor of this model"):
        other.monitor(state=tmp_path / "state")


def test_a_monitor_that_starts_again_gives_one_alarm_for_each_change_and_few_at_rest():
    """At rest, at most one stream in five may alarm within 1,000 rows of 5,000; three deviations more are 13 of 30."""
    assert sum(of_numbers(seed=k, every=5000).update(rows_at_rest(k, 1000)).alarm for k in range(30)) <= 13
    monitor = of_numbers(every=5000)
    assert not monitor.update(rows_at_rest(0, 500)).alarm
    assert monitor.update(rows_at_rest(1, 200) + HIGHER).alarm
    assert not monitor.update(rows_at_rest(2, 300) + HIGHER).alarm  # the new level is the usual one now
    assert monitor.update(rows_at_rest(3, 200)).alarm


def test_a_stream_that_is_odd_from_its_first_row_on_is_noticed_by_its_scores(model):
    watch = model.monitor(random_state=0).update(3 * np.random.default_rng(2).normal(size=(300, 3)))
    assert watch.alarm
    assert "centrality is lower" in watch.changes


def test_a_table_is_watched_by_its_columns():
    rng = np.random.default_rng(0)

    def table(count, share):
        return {"amount": rng.normal(size=count), "kind": rng.choice(["a", "b"], count, p=[1 - share, share])}

    pd = pytest.importorskip("pandas")
    model = Chain(Table(), FUSE(random_state=0, max_steps=50)).fit(pd.DataFrame(table(500, 0.3)))
    monitor = model.monitor(random_state=0)
    assert not monitor.update(pd.DataFrame(table(300, 0.3))).alarm
    watch = monitor.update(pd.DataFrame(table(600, 0.7)))
    assert watch.alarm
    assert any(change.startswith("kind is") for change in watch.changes)


SHIFT = np.array([0, 1.5])  # of the column


def streams(fdr=0.1):
    return Streams(lambda place: of_numbers(seed=place), fdr=fdr)


def test_streams_that_change_are_called_and_hardly_any_other():
    """30 streams, every third changes: of those called, 10% may be at rest; so 2 beside those ten at most."""
    watched = streams()
    for day in range(4):
        for name in range(30):
            shift = SHIFT * (day >= 2 and name % 3 == 0)
            watch = watched.update(f"pump {name}", rows_at_rest(100 * name + day, 200) + shift)
            assert watch.name == f"pump {name}"
    changed = {int(name.removeprefix("pump ")) for name in watched.changed}
    assert {name for name in range(30) if name % 3 == 0} <= changed
    assert len(changed) <= 12


def test_more_evidence_is_wanted_of_later_streams_and_less_once_others_have_changed():
    watched = streams(fdr=0.1)
    first = watched.update("a", rows_at_rest(0, 100))
    second = watched.update("b", rows_at_rest(1, 100))
    assert first.wanted == pytest.approx(np.pi**2 / 0.6)
    assert second.wanted == pytest.approx(4 * first.wanted)
    watched.update("a", rows_at_rest(2, 200) + 4 * SHIFT)
    assert watched.changed == ["a"]
    assert watched.update("b", rows_at_rest(3, 10)).wanted == pytest.approx(second.wanted / 2)
    assert "b: no change after 110 rows" in str(watched.update("b", np.empty((0, 2))))


def test_a_state_of_several_streams_goes_on_where_it_stopped(tmp_path):
    whole = streams()
    parts = streams()
    for day in range(3):
        for name in ("a", "b"):
            rows = rows_at_rest(day, 100) + SHIFT * (name == "b" and day == 2)
            expected = whole.update(name, rows)
            parts.save(tmp_path / "s.watch")
            parts = streams()
            parts.load(tmp_path / "s.watch")
            found = parts.update(name, rows)
            assert found.evidence == expected.evidence
    assert parts.changed == whole.changed == ["b"]
    with pytest.raises(InputError, match=r"was begun with fdr=0.1: a promise cannot change"):
        streams(fdr=0.2).load(tmp_path / "s.watch")
    of_numbers().save(tmp_path / "one.watch")
    with pytest.raises(InputError, match="is no state of several streams"):
        streams().load(tmp_path / "one.watch")


def test_a_model_watches_several_streams(tmp_path):
    rng = np.random.default_rng(0)
    model = FUSE(random_state=0, max_steps=150).fit(rng.normal(size=(600, 2)))
    watched = model.streams(fdr=0.1)
    watched.update("a", rng.normal(size=(200, 2)))
    watch = watched.update("b", np.concatenate([rng.normal(size=(200, 2)), rng.normal(size=(300, 2)) + 1]))
    assert watched.changed == ["b"]
    assert str(watch).startswith("b has changed: ")
    watched.save(tmp_path / "s.watch")
    assert model.streams(fdr=0.1, state=tmp_path / "s.watch").changed == ["b"]
