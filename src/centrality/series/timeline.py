"""Define Timeline: how typical is each moment of a series, and which stretches are odd?"""

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from centrality import __version__
from centrality._internal import model_file
from centrality._internal.checks import InputError, whole_number
from centrality._internal.devices import count_threads
from centrality._internal.input import RandomState, random_numbers, unchanged_on_failure
from centrality.fuse import FUSE
from centrality.fuse.parts import from_parts, parts_of
from centrality.network.calibration import one_t
from centrality.representations.base import ItemsLike
from centrality.series import windows
from centrality.series.events import (
    Event,
    Events,
    Peaks,
    describe,
    expected_count,
    find_typical,
    odd_moments,
    stretches,
)
from centrality.series.parts import (
    Judgement,
    Levels,
    Oddness,
    Part,
    Prepared,
    channel_changes,
    principal_signals,
)
from centrality.series.reading import FEWEST, Recording, read, write_step
from centrality.series.windows import VIEWS, Places, Scales, Values

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOSTLY_SILENT = 0.5  # share of the moments that must have a value
LEARNED_FROM = 100_000  # windows of a part, at most
SCALES = tuple(field.name for field in fields(Scales))
SHARE = 0.05  # of windows that are odd
ALPHA = 0.01  # chance of a drift where there is none
AT_ONCE = 30_000  # windows described together
MOMENTS_AT_ONCE = 500_000


class Timeline(BaseEstimator):
    """Timeline learns how typical each moment of a series is, without labels and without a window to choose.

    Windows are described by their shape and by what it leaves, as they are and by their differences. FUSE says how odd
    each is among all of them, each channel alone and all jointly, and a moment is as odd as the windows that cover it
    are on average.

    Parameters
    ----------
    time : str, default=None
        The column of times. None looks for one; where there is none, rows are moments in their order.
    by : str, default=None
        The column that tells several series apart, such as a machine. One model judges all, each in its own scale.
    window : int, default=None
        How many moments are looked at together. None means 125, or an eighth of the series if that is shorter.
    t : float, default=0.5
        The dial of FUSE: 0 is global, 1 is local.
    random_state : int, numpy Generator, RandomState or None, default=None
        A seed makes fits identical.

    Attributes
    ----------
    window_ : moments of a window.
    channels_ : names of the channels that are judged.
    context_ : names of the channels of two values, which are states and not judged.
    notes_ : what was found and done when the table was read.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import Timeline
    >>> values = np.sin(np.arange(2000) / 9) + np.random.default_rng(0).normal(0, 0.1, 2000)
    >>> values[1200:1240] = 2  # stuck
    >>> model = Timeline(random_state=0).fit(values)
    >>> len(model.events())
    1
    >>> bool(1150 < model.centrality().argmin() < 1290)
    True
    """

    window_: int
    channels_: tuple[str, ...]
    context_: tuple[str, ...]
    notes_: list[str]

    def __init__(
        self,
        time: str | None = None,
        by: str | None = None,
        window: int | None = None,
        *,
        t: float = 0.5,
        random_state: RandomState = None,
    ) -> None:
        self.time = time
        self.by = by
        self.window = window
        self.t = t
        self.random_state = random_state

    def fit(self, X: ItemsLike, y: object = None) -> Self:
        """Learn what is typical of the moments of X: a table, an array (moments, channels) or a list of numbers."""
        one_t(self.t)
        with unchanged_on_failure(self):
            recording = read(X, self.time, self.by)
            lengths = np.array([len(track.values) for track in recording.tracks])
            if lengths.max() < FEWEST:
                raise InputError(
                    f"A history of at least {FEWEST} moments was wanted, got {lengths.max()}: fewer do not say what is "
                    "usual."
                )
            self.notes_ = list(recording.notes)
            self.channels_, self.context_ = self._choose_channels(recording)
            long_lengths = lengths[lengths >= FEWEST]
            if self.window is None:
                self.window_ = int(min(windows.LONGEST, np.median(long_lengths) // windows.PER_SERIES))
            else:
                self.window_ = whole_number("window", self.window, at_least=8, at_most=int(long_lengths.max()) // 4)
            if short := int((lengths < self.window_).sum()):
                self.notes_.append(
                    f"Series shorter than a window of {self.window_} moments are not judged ({short:,})."
                )
            self._scales: dict[str, Scales] = {}
            series = self._prepare(recording)
            self._scales = _scales_of(recording, series)
            rng = random_numbers(self.random_state)
            self._parts: list[Part] = []
            for view in range(len(VIEWS)):
                joint = [principal_signals(series, view)] if len(self.channels_) > 1 else []
                for loadings in (None, *joint):
                    part = Part(view, loadings, 1.0, FUSE(t=self.t, random_state=rng.randint(2**31)))
                    rows = self._windows_to_learn(part, series)
                    with warnings.catch_warnings():
                        # Where half of the windows are alike, as of a machine that stands still, a head says little.
                        warnings.filterwarnings("ignore", message="The (global|local) head has collapsed")
                        self._parts.append(part.learn(rows))
            self._latest, self._levels, self._peaks = self._learn_levels(recording, series)
        return self

    def update(self, X: ItemsLike) -> Self:
        """Go on learning from later rows of the same channels; without X, methods then speak of these rows."""
        check_is_fitted(self, "window_")
        with unchanged_on_failure(self):
            recording = read(X, self.time, self.by, self.channels_)
            self.notes_ = list(recording.notes)
            series = self._prepare(recording)
            self._scales = self._scales | _scales_of(recording, series)
            self._parts = [part.learn_more(self._windows_to_learn(part, series)) for part in self._parts]
            latest, levels, peaks = self._learn_levels(recording, series)
            self._latest = self._latest.joined(latest)
            self._levels = self._levels.joined(levels)
            self._peaks = self._peaks.joined(peaks)
        return self

    def _learn_levels(self, recording: Recording, series: list[Prepared]) -> tuple[Levels, Levels, Peaks]:
        """Judge the series; return how the scores of windows and of moments are distributed, and how high they rise."""
        judgements = self._judge_all(series)
        self._judged: tuple[Recording, list[Judgement]] | None = (recording, judgements)
        of_windows = [judgement.windows for judgement in judgements]
        of_moments = [judgement.moments.whole for judgement in judgements]
        return Levels.of(of_windows), Levels.of(of_moments), Peaks.of(of_moments, self.window_)

    def _choose_channels(self, recording: Recording) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the channels to judge and those of two values; note what is left out."""
        kinds: tuple[list[str], ...] = ([], [], [])  # constant, of two values, of more
        silent = []
        for number, name in enumerate(recording.channels):
            columns = [track.values[:, number] for track in recording.tracks]
            present = sum(int(np.isfinite(column).sum()) for column in columns)
            if 0 < present < MOSTLY_SILENT * sum(map(len, columns)):
                silent.append(name)
                continue
            distinct = _distinct([column[:1000] for column in columns])
            distinct = _distinct(columns) if len(distinct) <= 2 else distinct
            kinds[min(max(len(distinct), 1), 3) - 1].append(name)
        constant, states, changing = kinds
        if silent:
            self.notes_.append(f"{_few(silent)} left out: more than half of the values are missing.")
        if constant:
            self.notes_.append(f"{_few(constant)} left out: the same value all the time.")
        if not changing and states:
            changing = states  # better than nothing
            states = []
        if states:
            self.notes_.append(f"{_few(states)} not judged: two values, which is a state.")
        if not changing:
            raise InputError(
                "A channel that changes was wanted: every column holds the same value all the time, or hardly any."
            )
        return tuple(changing), tuple(states)

    def _prepare(self, recording: Recording) -> list[Prepared]:
        """Return the series with gaps bridged, in the scales they have; series that are new learn theirs."""
        channels = np.array([recording.channels.index(name) for name in self.channels_], dtype=np.intp)
        return [Prepared.of(track, channels, self._scales.get(track.name)) for track in recording.tracks]

    def _windows_to_learn(self, part: Part, series: list[Prepared]) -> NDArray[np.float32]:
        """Return the windows that a part learns from as rows, evenly spaced ones if they are many."""
        starts = [windows.starts_of(len(prepared.values), self.window_) for prepared in series]
        count = sum(map(len, starts)) * (len(self.channels_) if part.alone else 1)
        rows = []
        for prepared, begins in zip(series, starts, strict=True):
            for _, moments, first in self._blocks(begins[:: -(-count // LEARNED_FROM)]):
                is_judged = windows.complete(prepared.unknown[moments], first, self.window_)
                block = part.rows(prepared.view(part.view, moments), first, self.window_)
                rows.append(block[is_judged.T.ravel() if part.alone else is_judged.any(1)])
        all_rows = np.concatenate(rows)
        if len(all_rows) < 3:
            raise InputError(f"Stretches of {self.window_} moments without long gaps were wanted, got none.")
        return all_rows

    def _window_scores(self, prepared: Prepared) -> list[Values]:
        """Return how odd each window of a series is, part by part: (windows, channels or 1); NaN: not judged."""
        starts = windows.starts_of(len(prepared.values), self.window_)
        columns = [len(self.channels_) if part.alone else 1 for part in self._parts]
        scores: list[Values] = [np.full((len(starts), count), np.nan, dtype=np.float32) for count in columns]
        for chosen, moments, first in self._blocks(starts):
            is_judged = windows.complete(prepared.unknown[moments], first, self.window_)
            scaled = [prepared.view(view, moments) for view in range(len(VIEWS))]
            for part, score in zip(self._parts, scores, strict=True):
                is_wanted = is_judged if part.alone else np.any(is_judged, axis=1, keepdims=True)
                score[chosen] = np.where(is_wanted, part.oddness(scaled[part.view], first, self.window_), np.nan)
        return scores

    def _blocks(self, starts: Places) -> Iterator[tuple[slice, slice, Places]]:
        """Yield windows in blocks: which these are, the moments they need, and where they begin among those."""
        for first in range(0, len(starts), AT_ONCE):
            begins = starts[first : first + AT_ONCE]
            yield (
                slice(first, first + len(begins)),
                slice(int(begins[0]), int(begins[-1]) + self.window_),
                begins - begins[0],
            )

    def _judge_all(self, series: list[Prepared]) -> list[Judgement]:
        """Judge the series, several at a time on as many cores; what is read and written by each is its own."""
        with ThreadPoolExecutor(min(count_threads(), len(series))) as pool:
            return list(pool.map(self._judge_series, series))

    def _judge_series(self, prepared: Prepared) -> Judgement:
        """Return how odd each moment is: the mean of the windows that cover it, of each part."""
        scores = self._window_scores(prepared)
        stride = windows.stride_of(self.window_)
        channels = np.empty(prepared.values.shape, dtype=np.float32)
        one_channel = len(self.channels_) == 1
        odd = Oddness(channels[:, 0] if one_channel else np.empty(len(prepared.values), dtype=np.float32), channels)
        for first in range(0, len(prepared.values), MOMENTS_AT_ONCE):
            block = slice(first, min(first + MOMENTS_AT_ONCE, len(prepared.values)))
            nearest = max(0, (first - self.window_) // stride)
            over = slice(nearest, block.stop // stride + 2)
            begin = nearest * stride
            covered = [
                windows.cover(score[over], block.stop - begin, self.window_)[first - begin :] for score in scores
            ]
            for part, score in zip(self._parts, covered, strict=True):
                if part.alone and prepared.has_unknown:
                    score[prepared.unknown[block]] = np.nan
            oddness = Oddness.of(self._parts, covered)
            odd.whole[block] = oddness.whole
            odd.channels[block] = oddness.channels
        return Judgement(odd, Oddness.of(self._parts, scores).whole)

    def _judge(self, X: ItemsLike | None) -> tuple[Recording, list[Judgement]]:
        """Return the series of X, or without it those of `fit`, and how odd they are."""
        check_is_fitted(self, "window_")
        if X is None:
            if self._judged is None:
                raise InputError("A Timeline from a file holds no series: give the rows to judge.")
            return self._judged
        recording = read(X, self.time, self.by, self.channels_)
        longest = max(len(track.values) for track in recording.tracks)
        if longest < self.window_:
            raise InputError(f"At least {self.window_} moments, a window, were wanted to judge, got {longest}.")
        return recording, self._judge_all(self._prepare(recording))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file: no series, no pickle."""
        check_is_fitted(self, "window_")
        header: model_file.Header = {
            "model": "Timeline",
            "version": __version__,
            "parameters": {name: model_file.as_json(value) for name, value in self.get_params(deep=False).items()},
            "window": self.window_,
            "channels": list(self.channels_),
            "context": list(self.context_),
            "series": list(self._scales),
            "block": self._peaks.length,
            "counts": [self._latest.count, self._levels.count],
            "parts": [],
        }
        arrays: model_file.Arrays = {"peaks": self._peaks.highest}
        for name in SCALES:
            arrays[f"scales.{name}"] = np.array([getattr(scales, name) for scales in self._scales.values()])
        for name, levels in (("latest", self._latest), ("levels", self._levels)):
            arrays[f"{name}.scores"] = levels.scores
            arrays[f"{name}.shares"] = levels.shares
        for number, part in enumerate(self._parts):
            fuse_header, learned = parts_of(part.model)
            header["parts"].append({"view": part.view, "weight": part.weight, "fuse": fuse_header})
            arrays |= {f"part{number}.{name}": array for name, array in learned.items()}
            if part.loadings is not None:
                arrays[f"loadings{number}"] = part.loadings
        model_file.write(path, header, arrays)

    @classmethod
    def from_file_parts(cls, header: model_file.Header, arrays: model_file.Arrays, *, device: str = "auto") -> Self:
        """Return the model made of the parts that `save` wrote; `centrality.load` reads them."""
        names = cls().get_params(deep=False)
        model = cls(**{name: value for name, value in header["parameters"].items() if name in names})
        model.window_ = int(header["window"])
        model.notes_ = []
        model.channels_ = tuple(header["channels"])
        model.context_ = tuple(header["context"])
        model._scales = {
            name: Scales(*(arrays[f"scales.{part}"][number] for part in SCALES))
            for number, name in enumerate(header["series"])
        }
        model._parts = []
        for number, fuse_header in enumerate(header["parts"]):
            prefix = f"part{number}."
            learned = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            fuse = from_parts(fuse_header["fuse"], learned, encoder=None, device=device)
            loadings = arrays.get(f"loadings{number}")
            model._parts.append(Part(int(fuse_header["view"]), loadings, float(fuse_header["weight"]), fuse))
        count, count_of_levels = header["counts"]
        model._latest = Levels(arrays["latest.scores"], arrays["latest.shares"], int(count))
        model._levels = Levels(arrays["levels.scores"], arrays["levels.shares"], int(count_of_levels))
        model._peaks = Peaks(arrays["peaks"], int(header["block"]))
        model._judged = None
        return model

    # Values of rows.

    def centrality(self, X: ItemsLike | None = None) -> NDArray[np.float64]:
        """Say how typical each row's moment is, from 0 to 1; without X, of the series of `fit`. NaN: not judged."""
        recording, judgements = self._judge(X)
        return recording.of_rows([self._levels.centrality(judgement.moments.whole) for judgement in judgements])

    def p_values(self, X: ItemsLike | None = None) -> NDArray[np.float64]:
        """Return the share of the moments of `fit` that are as odd as each row's."""
        recording, judgements = self._judge(X)
        return recording.of_rows([self._levels.p_values(judgement.moments.whole) for judgement in judgements])

    def blame(self, X: ItemsLike | None = None) -> NDArray[np.float64]:
        """Return each channel's share of each row's oddness, (rows, channels); zeros where none is odd by itself."""
        recording, judgements = self._judge(X)
        return recording.of_rows([judgement.moments.shares() for judgement in judgements])

    def events(self, X: ItemsLike | None = None, *, false_alarms: float = 0.05, per: str = "series") -> Events:
        """Return the odd stretches, the oddest first: so many are expected where all is as usual.

        `false_alarms` is that expected number, in all of X or, with per="day", for each day of a series.
        """
        recording, judgements = self._judge(X)
        expected = expected_count(false_alarms, per, recording)
        threshold = self._peaks.threshold(expected, sum(len(track.values) for track in recording.tracks))
        events = []
        for number, judgement in enumerate(judgements):
            for stretch in stretches(judgement.moments.whole, threshold):
                events.append(self._event(recording, number, judgement, stretch))
        events.sort(key=lambda event: -event.severity)
        return Events(tuple(events), false_alarms, per, threshold)

    def drift(self, X: ItemsLike) -> dict[str, Any]:
        """Say whether later rows are like those of `fit`: how many of their windows are odd, and which channels moved.

        Returned are "changed", "odd" (the share of windows side by side that only SHARE of the fit's surpass),
        "p_value" and "changes", sentences of the channels.
        """
        from scipy.stats import binom  # 40 MiB that scoring alone does not need

        recording = read(X, self.time, self.by, self.channels_)
        series = self._prepare(recording)
        step = -(-self.window_ // windows.stride_of(self.window_))
        scores = [Oddness.of(self._parts, self._window_scores(prepared)).whole[::step] for prepared in series]
        all_scores = np.concatenate(scores)
        all_scores = all_scores[np.isfinite(all_scores)]
        odd = int((self._latest.p_values(all_scores) <= SHARE).sum())
        p_value = float(binom.sf(odd - 1, len(all_scores), SHARE))
        share = odd / max(len(all_scores), 1)
        return {
            "changed": p_value < ALPHA and share > 2 * SHARE,
            "odd": share,
            "p_value": p_value,
            "windows": len(all_scores),
            "changes": [
                f"{share:.0%} of {len(all_scores):,} windows are as odd as {SHARE:.0%} were before.",
                *channel_changes(self.channels_, series),
            ],
        }

    def reading(self) -> str:
        """Say in words what was read: how many moments, how often, of what."""
        check_is_fitted(self, "window_")
        several = f"{len(self._scales):,} series" if len(self._scales) > 1 else "a series"
        step = ""
        if self._judged is not None and self._judged[0].time is not None:
            recording = self._judged[0]
            median = float(np.median([track.step for track in recording.tracks]))
            step = f", one row {write_step(median, dated=recording.dated)}"
        names = _few(self.channels_)
        return f"{several}{step}, {len(self.channels_)} channel{'s' if len(self.channels_) > 1 else ''} ({names})"

    def plot(self, X: ItemsLike | None = None, *, series: str = "", false_alarms: float = 0.05) -> "Figure":
        """Draw the channels over time, the centrality below, and the events shaded; `series` names one of `by`."""
        from centrality import plots  # here: few who fit a model draw it

        recording, judgements = self._judge(X)
        names = [track.name for track in recording.tracks]
        if series and series not in names:
            raise InputError(f"There is no series {series!r}: {_few(names)}.")
        number = names.index(series) if series else 0
        track = recording.tracks[number]
        odd = judgements[number].moments
        events = [event for event in self.events(X, false_alarms=false_alarms) if event.series == track.name]
        columns = [recording.channels.index(name) for name in self.channels_]
        return plots.timeline(
            track.times,
            track.values[:, columns],
            self._levels.centrality(odd.whole),
            names=self.channels_,
            events=[(event.start, event.end) for event in events],
            channels=[[name for name, _ in event.channels] for event in events],
            typical=[(event.window, event.typical) for event in events if event.window and event.typical],
            dated=recording.dated,
        )

    def _event(self, recording: Recording, number: int, judgement: Judgement, high: tuple[int, int]) -> Event:
        """Return the event that raises the scores of these moments."""
        track = recording.tracks[number]
        odd = judgement.moments
        stretch = odd_moments(judgement.windows, high, self.window_)
        first, last = stretch
        peak = high[0] + int(np.nanargmax(odd.whole[high[0] : high[1] + 1]))
        shares = Oddness(odd.whole[first : last + 1], odd.channels[first : last + 1]).shares().mean(0)
        order = [channel for channel in np.argsort(-shares, kind="stable") if shares[channel] >= 0.1] or [0]
        channel = recording.channels.index(self.channels_[order[0]])
        begin = recording.written(track.time_of(first))
        end = recording.written(track.time_of(last))
        near, same_hour = find_typical(track, channel, stretch, self.window_, judgement.windows, dated=recording.dated)
        sentence = describe(recording, track, channel, stretch, self.window_, typical=near, same_hour=same_hour)
        starts = [first, *near[:1].tolist()]
        lead = min(self.window_ // 2, min(starts))
        tail = min(last - first + self.window_ // 2, len(track.values) - 1 - max(starts))
        beside = [(float(track.time_of(start - lead)), float(track.time_of(start + tail))) for start in starts]
        return Event(
            start=float(track.time_of(first)),
            end=float(track.time_of(last)),
            peak=float(track.time_of(peak)),
            severity=self._peaks.one_in(float(odd.whole[peak])),
            channels=tuple((self.channels_[place], float(shares[place])) for place in order),
            sentence=sentence,
            window=beside[0],
            typical=beside[1] if len(near) else None,
            series=track.name,
            rows=tuple(recording.rows_of(number, first, last).tolist()),
            span=begin if begin == end else f"{begin} to {end}",
        )


def _distinct(columns: Sequence[Values]) -> Values:
    """Return the values that occur."""
    values = np.unique(np.concatenate([np.unique(column) for column in columns]))
    return np.asarray(values[np.isfinite(values)])


def _scales_of(recording: Recording, series: list[Prepared]) -> dict[str, Scales]:
    return {track.name: prepared.scales for track, prepared in zip(recording.tracks, series, strict=True)}


def _few(names: Sequence[str], limit: int = 6) -> str:
    return ", ".join(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
