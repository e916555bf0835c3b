"""Watch several streams at once, so that few of those called changed are not.

Each stream has a monitor of its own, whose evidence is an e-value: 1 on average while its rows are exchangeable,
whenever one stops. The k-th stream is called changed when its evidence reaches
1 / (fdr * share_k * (called so far + 1)), where the shares of all streams sum to 1. Then of the streams called changed
a share of `fdr` at most is not, on average, however the streams hang together: e-LOND (Xu and Ramdas, 2024).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from os import PathLike
from pathlib import Path

from centrality._internal import model_file
from centrality._internal.checks import InputError, fraction
from centrality._internal.text import number
from centrality.analysis.monitor import Monitor, Watch


@dataclass(frozen=True)
class StreamWatch:
    """What is known of one stream after an update: print it, or look at its `changed`.

    >>> watch = Watch(alarm=True, rows=43, row=42, since=20, changes=("x is higher",), evidence=900.0, wanted=20.0)
    >>> print(StreamWatch("pump 3", changed=True, watch=watch, evidence=900.0, wanted=164.0))
    pump 3 has changed: x is higher, about from row 20 on (evidence 900 of 164).
    """

    name: str
    changed: bool  # called so now or before
    watch: Watch  # of its monitor
    evidence: float
    wanted: float  # how much evidence is enough

    def __str__(self) -> str:
        evidence = f"(evidence {number(self.evidence)} of {self.wanted:,.0f})"
        if not self.changed:
            return f"{self.name}: no change after {self.watch.rows:,} rows {evidence}."
        changes = ", ".join(self.watch.changes) or "it is not the rows it was"
        since = "" if self.watch.since is None else f", about from row {self.watch.since:,} on"
        return f"{self.name} has changed: {changes}{since} {evidence}."


class Streams:
    """Watches several streams of rows; `model.streams()` makes one."""

    def __init__(self, make_monitor: Callable[[int], Monitor], *, fdr: float) -> None:
        self._make_monitor = make_monitor
        self._fdr = fraction("fdr", fdr)
        self._monitors: dict[str, Monitor] = {}
        self._changed: list[str] = []

    @property
    def changed(self) -> list[str]:
        """Return the names of the streams that were called changed, in the order in which they were."""
        return list(self._changed)

    def update(self, name: str, rows: object) -> StreamWatch:
        """Look at the next rows of one stream; a new name is a new stream."""
        if name not in self._monitors:
            self._monitors[name] = self._make_monitor(len(self._monitors))
        monitor = self._monitors[name]
        watch = monitor.update(rows)
        evidence = monitor.e_value
        wanted = self._wanted(list(self._monitors).index(name))
        if name not in self._changed and evidence >= wanted:
            self._changed.append(name)
        return StreamWatch(name, name in self._changed, watch, evidence, wanted)

    def _wanted(self, place: int) -> float:
        share = 6 / (pi * (place + 1)) ** 2  # they sum to 1 over all places
        return 1 / (self._fdr * share * (len(self._changed) + 1))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state of all streams to one file, from which `model.streams(state=path)` goes on."""
        states = [monitor.state() for monitor in self._monitors.values()]
        header = {
            "model": "Streams",
            "fdr": self._fdr,
            "names": list(self._monitors),
            "changed": self._changed,
            "monitors": [header for header, _ in states],
        }
        arrays = {
            f"{place}.{name}": array for place, (_, of_stream) in enumerate(states) for name, array in of_stream.items()
        }
        model_file.write(Path(path), header, arrays)

    def load(self, path: str | PathLike[str]) -> None:
        """Take the state that `save` wrote; raise if it is that of streams of another model or promise."""
        header, arrays = model_file.read(Path(path))
        if header.get("model") != "Streams":
            raise InputError(f"{path} is no state of several streams.")
        if header["fdr"] != self._fdr:
            raise InputError(
                f"{path} was begun with fdr={header['fdr']:g}: a promise cannot change while it runs. Start a new "
                "state, or ask for the same."
            )
        self._changed = list(header["changed"])
        for place, (name, header_of_stream) in enumerate(zip(header["names"], header["monitors"], strict=True)):
            monitor = self._make_monitor(place)
            start = f"{place}."
            of_stream = {key.removeprefix(start): arrays[key] for key in arrays if key.startswith(start)}
            monitor.restore(header_of_stream, of_stream, path)
            self._monitors[name] = monitor
