"""Moved code computes and says what was recorded before the move (`record.py`); it leaves the repository with it.

    python -m tests.frozen.record                 record; commit record.json
    python -m pytest tests/frozen                 compare: to the bit on a machine like that of the recording

Without a record there is nothing to compare. CENTRALITY_FROZEN=numbers compares floats to 1e-9 on that machine, too.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.frozen import record

CLOSE = 1e-9  # relative to one and the number: on another machine, where sums may be added up in another order

pytestmark = pytest.mark.skipif(
    not record.RECORD.exists(), reason="nothing was recorded: python -m tests.frozen.record"
)


def differences(name: str, before: Any, now: Any, *, to_the_bit: bool) -> Iterator[str]:
    """Yield a line for everything below `name` that is not as it was."""
    if type(before) is not type(now) and not (isinstance(before, int | float) and isinstance(now, int | float)):
        yield f"{name}: was {shortened(before)}, is {shortened(now)}"
    elif isinstance(before, dict) and "floats" in before and "floats" in now:
        yield from differences_of_floats(name, before, now, to_the_bit=to_the_bit)
    elif isinstance(before, dict) and not to_the_bit and {"bytes", "text"} & set(before):
        return  # a file or a page, with floats inside
    elif isinstance(before, dict):
        if set(before) != set(now):
            yield f"{name}: only before {sorted(set(before) - set(now))}, only now {sorted(set(now) - set(before))}"
        for key in before:
            if key in now:
                yield from differences(f"{name} › {key}", before[key], now[key], to_the_bit=to_the_bit)
    elif isinstance(before, list):
        if len(before) != len(now):
            yield f"{name}: had {len(before)} entries, has {len(now)}"
        for place, pair in enumerate(zip(before, now, strict=False)):
            yield from differences(f"{name} › {place}", *pair, to_the_bit=to_the_bit)
    elif isinstance(before, float):
        if not (before == now if to_the_bit else np.isclose(before, now, rtol=CLOSE, atol=CLOSE, equal_nan=True)):
            yield f"{name}: was {before!r}, is {now!r}"
    elif isinstance(before, str) and before != now:
        shared = zip(before, now, strict=False)
        place = next((at for at, (one, other) in enumerate(shared) if one != other), min(len(before), len(now)))
        yield f"{name}: from character {place} was {shortened(before[place:])}, is {shortened(now[place:])}"
    elif before != now:
        yield f"{name}: was {shortened(before)}, is {shortened(now)}"


def differences_of_floats(name: str, before: Any, now: Any, *, to_the_bit: bool) -> Iterator[str]:
    if (before["shape"], before["dtype"]) != (now["shape"], now["dtype"]):
        yield f"{name}: was {before['shape']} {before['dtype']}, is {now['shape']} {now['dtype']}"
        return
    if to_the_bit and before["floats"] == now["floats"]:
        return
    gap = float(np.max(np.abs(np.subtract(before["few"], now["few"])), initial=0.0))
    if to_the_bit:
        yield f"{name}: other bits; the few numbers recorded differ by up to {gap:.2g}"
    elif not np.allclose(before["few"], now["few"], rtol=CLOSE, atol=CLOSE, equal_nan=True):
        yield f"{name}: differs by up to {gap:.2g}"


def shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) < 200 else f"{text[:200]}…"


@pytest.mark.slow
def test_everything_is_as_it_was_recorded():
    before = json.loads(record.RECORD.read_text(encoding="utf-8"))
    now = record.recorded()
    alike = before.pop("machine") == now.pop("machine") and os.environ.get("CENTRALITY_FROZEN") != "numbers"
    lines = []
    for name in sorted({*before, *now}):
        if name not in before or name not in now:
            lines.append(f"{name}: {'is new' if name in now else 'is gone'}")
        else:
            lines += differences(name, before[name], now[name], to_the_bit=alike)
    assert not lines, "\n".join([f"{len(lines)} differences:", *lines[:200]])
