"""Judge moments as they come: the last window is all that is remembered."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.files import write_atomically
from centrality.series.parts import Oddness
from centrality.series.reading import BRIDGED
from centrality.series.timeline import Timeline
from centrality.series.windows import Scales

Values = NDArray[np.float64]
GONE = (None, "")  # how a line of JSON, or of CSV, says that there is no value
NOWHERE = np.zeros(1, dtype=np.intp)


@dataclass(frozen=True)
class Moment:
    """What the window that ends with the newest moment says of it.

    >>> from centrality.series import Moment
    >>> Moment(centrality=0.04, p_value=0.001, channels=(("load", 1.0),)).channels[0][0]
    'load'
    """

    centrality: float
    p_value: float
    channels: tuple[tuple[str, float], ...]  # those to blame and their shares, the largest first


@dataclass
class _Memory:
    """The last moments of one series, oldest first, and how long each channel has been silent."""

    rows: Values  # (window + 1, channels): one more, which the first difference needs
    silent: NDArray[np.int64]
    count: int = 0  # of the rows that are filled, at their end

    @classmethod
    def of(cls, model: Timeline, rows: Sequence[Sequence[float]] = (), silent: Sequence[int] | None = None) -> Self:
        """Return a memory of these moments, the last ones if they are many."""
        channels = len(model.channels_)
        counts = (
            np.full(channels, BRIDGED + 1) if silent is None else np.array(silent, dtype=np.int64).reshape(channels)
        )
        memory = cls(np.zeros((model.window_ + 1, channels)), counts)
        for row in rows[-model.window_ - 1 :]:
            memory.add(np.array(row, dtype=np.float64).reshape(channels))
        return memory

    def add(self, row: Values) -> None:
        """Take the next moment, and forget the first if all rows are filled."""
        self.rows[:-1] = self.rows[1:]
        self.rows[-1] = row
        self.count = min(self.count + 1, len(self.rows))


class Stream:
    """Stream judges moments one by one, by a fitted Timeline.

    A missing value is taken to be the last one, for at most 60 moments; then the channel is not judged until it has
    filled a window again. `save` writes what is remembered, `restore` brings it back, so that a process that starts
    again goes on where it stopped. Of more than `most_series` series, the one longest silent is forgotten.

    >>> import numpy as np
    >>> from centrality import Timeline
    >>> from centrality.series import Stream
    >>> model = Timeline(random_state=0).fit(np.sin(np.arange(1000) / 9))
    >>> stream = Stream(model)
    >>> for moment in range(200):
    ...     usual = stream.push([np.sin(moment / 9)])
    >>> odd = stream.push([5.0])
    >>> bool(odd.centrality < usual.centrality)
    True
    """

    def __init__(self, model: Timeline, most_series: int | None = None) -> None:
        self.model = model
        self.most_series = most_series
        self._series: dict[str, _Memory] = {}
        of_fit = list(model._scales.values())  # noqa: SLF001  (its other half)
        self._scales_of_others = Scales(
            *(np.median([getattr(scales, name) for scales in of_fit], axis=0) for name in vars(of_fit[0]))
        )

    def push(self, values: Sequence[Any] | Mapping[str, Any], series: str = "") -> Moment | None:
        """Take the next moment of a series; return what is said of it, None until a window is full."""
        row = np.array(self.numbers(values))
        memory = self._series.pop(series, None) or _Memory.of(self.model)
        self._series[series] = memory  # the last now
        if self.most_series is not None and len(self._series) > self.most_series:
            del self._series[next(iter(self._series))]
        missing = ~np.isfinite(row)
        memory.silent = np.where(missing, memory.silent + 1, 0)
        memory.add(np.where(missing, memory.rows[-1], row))
        is_judged = memory.silent <= BRIDGED
        if memory.count <= self.model.window_ or not is_judged.any():
            return None
        scales = self.model._scales.get(series, self._scales_of_others)  # noqa: SLF001  (its other half)
        scaled = [scales.view(memory.rows, view)[1:] for view in range(2)]
        parts = self.model._parts  # noqa: SLF001
        scores = []
        for part in parts:
            odd = part.oddness(scaled[part.view], NOWHERE, self.model.window_).astype(np.float64)
            scores.append(np.where(is_judged[None], odd, np.nan) if part.alone else odd)
        oddness = Oddness.of(parts, scores)
        levels = self.model._latest  # noqa: SLF001
        shares = oddness.shares()[0]
        order = [place for place in np.argsort(-shares, kind="stable")[:3] if shares[place] > 0]
        return Moment(
            float(levels.centrality(oddness.whole)[0]),
            float(levels.p_values(oddness.whole)[0]),
            tuple((self.model.channels_[place], float(shares[place])) for place in order),
        )

    def continue_from(self, other: "Stream") -> None:
        """Go on from the moments of a stream whose model has the same channels and windows; of others, from none."""
        if (other.model.channels_, other.model.window_) == (self.model.channels_, self.model.window_):
            self._series = other._series  # noqa: SLF001

    def numbers(self, values: Sequence[Any] | Mapping[str, Any]) -> list[float]:
        """Return a moment's values in the order of the channels, NaN where there is none; raise if they are others."""
        names = self.model.channels_
        if isinstance(values, Mapping):
            lacks = [name for name in names if name not in values]
            if lacks:
                raise InputError(f"The channel {lacks[0]!r} was wanted, got {', '.join(map(repr, values))}.")
            values = [values[name] for name in names]
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise InputError(f"{len(names)} values were wanted ({', '.join(names[:6])}), got {values!r:.80}.")
        if len(values) != len(names):
            raise InputError(f"{len(names)} values were wanted ({', '.join(names[:6])}), got {len(values)}.")
        try:
            return [float(value) if value not in GONE else float("nan") for value in values]
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"Numbers were wanted, got {list(values)!r:.80}.") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the last moments of each series to a small JSON file, completely or not at all."""
        state = {
            name: {"rows": memory.rows[len(memory.rows) - memory.count :].tolist(), "silent": memory.silent.tolist()}
            for name, memory in self._series.items()
        }
        with write_atomically(path) as temporary:
            temporary.write_text(json.dumps({"channels": self.model.channels_, "series": state}))

    def restore(self, path: str | os.PathLike[str]) -> None:
        """Go on from the moments that `save` wrote."""
        try:
            state = json.loads(Path(path).read_text())
            if tuple(state["channels"]) != self.model.channels_:
                raise InputError(f"{path} remembers other channels: {', '.join(state['channels'][:6])}.")
            memories = {
                name: _Memory.of(self.model, memory["rows"], memory["silent"])
                for name, memory in state["series"].items()
            }
        except InputError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:  # also of JSON and of UTF-8
            raise InputError(f"{path} is no state of a stream ({error}): delete it to begin anew.") from None
        self._series = memories
