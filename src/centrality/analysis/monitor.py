"""Watch streams of rows for change, with a promise that holds however long and however often one looks.

Each new row gets p-values among the rows before it: one for its score, one for each head, one for each column. While
rows are exchangeable, such p-values are independent and uniform, whatever the data and the model (Vovk's conformal test
martingales). A bet against that is a function of p that is 1 on average, and the money it makes is evidence of change.
Several bets are made on each: that rows are lower, higher, closer to the middle or farther out than those before.

A monitor for good puts a little money on each bet at every row, out of one unit that is never exceeded: the chance that
it ever has 1 / alpha of it is at most alpha (Ville's inequality). A monitor that starts again puts one unit on the bets
at every row: after T rows it has T on average, so that the chance that it has `every` within T rows is at most
T / `every` (Doob's inequality). The promise is shared among the statistics that are watched: half for the scores, half
for the columns.

Of several streams, each has a monitor of its own, whose evidence is an e-value: 1 on average while its rows are
exchangeable, whenever one stops. The k-th stream is called changed when its evidence reaches
1 / (fdr * share_k * (called so far + 1)), where the shares of all streams sum to 1. Then of the streams called changed
a share of `fdr` at most is not, on average, however the streams hang together: e-LOND (Xu and Ramdas, 2024).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import pi
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal import model_file
from centrality._internal.checks import InputError, fraction, positive
from centrality._internal.text import number

BINS = 1024  # of a score in [0, 1]: rows in one bin are put in random order, which keeps p-values uniform
BLOCK = 256  # rows whose p-values are computed together
POWERS = np.array([0.5, 0.8])  # bets power * p^(power - 1): for large changes, and for small ones
LEAST = 1e-12  # of a p-value
HASTE = 1000.0  # rows after which half of the money of a monitor for good is about spent
DIRECTIONS = ("lower", "higher", "closer to the middle", "farther out")
SCORES = ("centrality", "global", "local")

Matrix = NDArray[np.float64]
Read = Callable[[object], tuple[Matrix, Matrix]]  # rows to (n, 3) scores in [0, 1], and (n, p) values of the columns


@dataclass(frozen=True)
class Watch:
    """What a monitor says after an update: print it, or look at its `alarm`.

    >>> changes = ("price is higher",)
    >>> print(Watch(alarm=True, rows=4300, row=4211, since=4120, changes=changes, evidence=21.0, wanted=20.0))
    Alarm at row 4,211: price is higher, about from row 4,120 on (evidence 21 of 20).
    """

    alarm: bool
    rows: int  # seen so far
    row: int | None  # of the first alarm, counted from 0
    since: int | None  # about where the change began
    changes: tuple[str, ...]  # what changed, in words, the clearest first
    evidence: float  # of the clearest change so far
    wanted: float  # how much of it is an alarm

    def __str__(self) -> str:
        evidence = f"evidence {self.evidence:.2g} of {self.wanted:,.0f}"
        if not self.alarm or self.row is None:
            return f"No alarm after {self.rows:,} rows ({evidence})."
        return f"Alarm at row {self.row:,}: {', '.join(self.changes)}, about from row {self.since:,} on ({evidence})."


class Monitor:
    """Watches rows as they come; `model.monitor()` makes one."""

    def __init__(
        self,
        read: Read,
        calibration: Matrix,  # (m, 3) scores of calibration rows
        edges: Sequence[Matrix],  # of each column, rising
        names: Sequence[str],  # of the columns
        *,
        alpha: float,
        every: float | None,
        random_state: int | None,
    ) -> None:
        self._read = read
        self._edges = list(edges)
        self._names = [*SCORES, *names]
        self._alpha = fraction("alpha", alpha)
        self._every = None if every is None else positive("every", every)
        self._wanted = self._every or 1 / self._alpha  # evidence that is an alarm
        self._rng = np.random.default_rng(random_state)
        statistics = len(self._names)
        columns = len(self._edges)
        self._shares = np.concatenate(
            [np.full(3, (0.5 if columns else 1.0) / 3), np.full(columns, 0.5 / max(columns, 1))]
        )
        self._counts = np.zeros((statistics, max([BINS, *(2 * len(edge) + 1 for edge in self._edges)])), dtype=np.int64)
        for place, scores in enumerate(calibration.T):
            self._counts[place, :BINS] = np.bincount(_bins(scores), minlength=BINS)
        self._rows = 0
        self._row: int | None = None
        self._restart()

    def _restart(self) -> None:
        """Forget the bets, so that evidence begins anew."""
        bets = (len(self._names), len(DIRECTIONS) * len(POWERS))
        self._money = np.zeros(bets)
        self._lately = np.zeros(bets)  # logarithm of what each bet made since the row where it would best have begun
        self._begun = np.full(bets, self._rows)
        self._age = 0  # rows since the bets began

    def update(self, rows: object) -> Watch:
        """Look at the next rows, in their order."""
        scores, values = self._read(rows)
        # Of a score its bin; of a value between which of the edges it lies, or on which.
        places = [_bins(scores)]
        for edges, column in zip(self._edges, values.T, strict=True):
            places.append(np.searchsorted(edges, column, side="left") + np.searchsorted(edges, column, side="right"))
        place_of_row = np.column_stack(places)
        scored = np.flatnonzero(~np.isnan(scores).any(1))  # other rows are not watched
        draws = self._rng.random((len(scored), len(self._names)))
        numbers = self._rows + scored
        end = self._rows + len(scores)
        watch = None
        done = 0
        while done < len(scored):
            if self._row is not None and self._every is not None:  # the alarm was said
                watch = watch or self.watch()
                self._row = None
                self._counts[:] = 0
                self._restart()
            block = slice(done, done + BLOCK)
            done += self._add(place_of_row[scored[block]], draws[block], numbers[block])
        self._rows = end
        return watch or self.watch()

    def _add(self, places: NDArray[np.intp], draws: Matrix, numbers: NDArray[np.intp]) -> int:
        """Bet on these rows, by their places and numbers; return how many rows there are up to the first alarm."""
        p = self._p_values(places, draws)
        out = np.abs(2 * p - 1)
        four = np.maximum(np.stack([p, 1 - p, out, 1 - out], axis=2), LEAST)  # small where a direction is true
        factors = (POWERS * four[:, :, :, None] ** (POWERS - 1)).reshape(*p.shape, -1)  # (rows, statistics, bets)
        logarithms = np.log(factors)
        wanted = self._wanted / self._shares
        used = 0
        for factor, logarithm, row in zip(factors, logarithms, numbers.tolist(), strict=True):
            stake = 1.0 if self._every is not None else _unspent(self._age) - _unspent(self._age + 1)
            self._money = (self._money + stake / factor.shape[1]) * factor
            self._age += 1
            self._lately = self._lately + logarithm
            anew = self._lately <= 0
            self._lately[anew] = 0.0
            self._begun[anew] = row + 1
            self._rows = row + 1
            used += 1
            if self._row is None and (self._evidence() >= wanted).any():
                self._row = row
                # Where the change began, and what it is, for all statistics that have enough evidence.
                evidence = self._evidence() / wanted
                changed = [int(k) for k in np.argsort(-evidence) if evidence[k] >= 1]
                best = self._money.argmax(1).tolist()
                changes = tuple(f"{self._names[k]} is {DIRECTIONS[best[k] // len(POWERS)]}" for k in changed)
                self._alarm = (int(self._begun[changed[0], best[changed[0]]]), changes)
                if self._every is not None:
                    break
        np.add.at(self._counts, (np.arange(places.shape[1]), places[:used]), 1)
        return used

    def _p_values(self, places: NDArray[np.intp], draws: Matrix) -> Matrix:  # (rows, statistics)
        """Return the p-value of each row among all rows before it; draws decide between rows in one place."""
        statistics = np.arange(places.shape[1])
        counts = self._counts
        upto = np.cumsum(counts, axis=1)
        equal = counts[statistics, places]
        below = upto[statistics, places] - equal
        earlier = np.tri(len(places), k=-1, dtype=bool)[:, :, None]
        below = below + ((places[None] < places[:, None]) & earlier).sum(1)
        equal = equal + ((places[None] == places[:, None]) & earlier).sum(1)
        total = upto[:, -1] + np.arange(len(places))[:, None]
        return np.asarray((below + draws * (equal + 1)) / (total + 1))

    def _evidence(self) -> Matrix:
        return np.asarray(self._money.sum(1)) + (0.0 if self._every is not None else _unspent(self._age))

    def watch(self) -> Watch:
        """Return what is known now."""
        evidence = self._evidence() * self._shares
        if self._row is None:
            return Watch(False, self._rows, None, None, (), float(evidence.max()), self._wanted)  # noqa: FBT003
        since, changes = self._alarm
        return Watch(True, self._rows, self._row, since, changes, float(evidence.max()), self._wanted)  # noqa: FBT003

    @property
    def e_value(self) -> float:
        """Return the evidence of all statistics together: 1 on average while nothing changes, whenever one stops."""
        return float((self._evidence() * self._shares).sum())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the state to a small file, from which `model.monitor(state=path)` goes on."""
        model_file.write(Path(path), *self.state())

    def load(self, path: str | PathLike[str]) -> None:
        """Take the state that `save` wrote; raise if it is that of a monitor of another model or promise."""
        self.restore(*model_file.read(Path(path)), path)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return all that is known, as plain values and arrays."""
        header = {
            "model": "Monitor",
            "names": self._names,
            "alpha": self._alpha,
            "every": self._every,
            "rows": self._rows,
            "age": self._age,
            "row": self._row,
            "alarm": None if self._row is None else self._alarm,
            "random": json.dumps(self._rng.bit_generator.state),
        }
        arrays = {
            "counts": self._counts,
            "money": self._money,
            "lately": self._lately,
            "begun": self._begun.astype(np.int64),
        }
        return header, arrays

    def restore(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], path: str | PathLike[str]) -> None:
        """Take what `state` returned; raise if it is that of a monitor of another model or promise."""
        if header.get("model") != "Monitor" or header["names"] != self._names:
            raise InputError(f"{path} is no state of a monitor of this model: it watches other columns.")
        if (header["alpha"], header["every"]) != (self._alpha, self._every):
            raise InputError(
                f"{path} was begun with alpha={header['alpha']:g}, every={header['every']}: a promise cannot change "
                "while it runs. Start a new state, or ask for the same."
            )
        if arrays["counts"].shape != self._counts.shape or arrays["money"].shape != self._money.shape:
            raise InputError(f"{path} is no state of a monitor of this model.")
        self._counts = arrays["counts"].copy()
        self._money = arrays["money"].copy()
        self._lately = arrays["lately"].copy()
        self._begun = arrays["begun"].copy()
        self._rows = int(header["rows"])
        self._age = int(header["age"])
        self._row = header["row"]
        if header["alarm"] is not None:
            since, changes = header["alarm"]
            self._alarm = (int(since), tuple(changes))
        self._rng.bit_generator.state = json.loads(header["random"])


def _bins(scores: Matrix) -> NDArray[np.intp]:
    return np.clip(np.nan_to_num(scores) * BINS, 0, BINS - 1).astype(np.intp)


def _unspent(age: int) -> float:
    """Return the money that is not on bets after so many rows: it falls so slowly that late changes are found, too."""
    return float(1 / (1 + np.log1p(age / HASTE)))


@dataclass(frozen=True)
class StreamWatch:
    """The state of one stream after an update: print it, or look at its `changed`.

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
        share = 6 / (pi * (list(self._monitors).index(name) + 1)) ** 2  # they sum to 1 over all streams
        wanted = 1 / (self._fdr * share * (len(self._changed) + 1))
        if name not in self._changed and evidence >= wanted:
            self._changed.append(name)
        return StreamWatch(name, name in self._changed, watch, evidence, wanted)

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
