"""Several streams at once: those that changed are called, few others, and a state goes on where it stopped."""

import numpy as np
import pytest

from centrality import FUSE
from centrality._internal.checks import InputError
from centrality.analysis.streams import Streams
from tests.analysis.test_monitor import of_numbers, rows_at_rest

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
