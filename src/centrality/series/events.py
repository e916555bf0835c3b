"""Odd stretches of a series, at an expected number of false alarms, and a sentence for each.

How high does a score go where nothing happens? The highest scores of equal blocks follow, whatever the data, about the
same curve. It is fitted to the lower blocks alone, so that events do not hide themselves, and simulations of as many
blocks say which height so fitted a curve is surpassed at how often: few blocks make the threshold higher.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, positive
from centrality._internal.text import number
from centrality.series.reading import Recording, Track
from centrality.series.windows import stride_of

BLOCK = 2  # windows: what one odd moment raises lies within
FEWEST_BLOCKS = 8
LOWER = (0.25, 0.75)  # the quantiles of the blocks that fix the curve; events may fill the rest
# The curve of four kinds of noise, in series of 10,000 to 160,000 moments: a generalised extreme value distribution of
# this shape for 99 blocks of 100, then an exponential tail. With the shape alone, which has an end, series of 160,000
# moments have five times the alarms asked for at .05; with the shape 0 of theory, those of 10,000 have a tenth.
SHAPE = -0.15
TAIL_FROM = 0.99
TAIL_SCALE = 0.5
SIMULATIONS = 2000
MOST_KEPT = 10_000  # blocks
MOST_BLOCKS = 400  # simulated: with more the curve is as good as exact
MOST_A_BLOCK = 0.5  # events: whoever asks for more false alarms gets these
NEAR = 0.5  # of an event's height: so high are its ends
SHORTEST = 4  # to a window, of an event
DAY = 86400.0
HOUR = 3600.0
DAYS = 7  # of which at least so many say what is usual at an hour
NEAREST = 8  # typical stretches that say what is usual
MOST_COMPARED = 4000
TYPICAL = 0.9  # share of windows
JUST_BEFORE = 8  # to a window
CAPPED = 10.0  # usual widths: a spike is no farther than that
FAR = 1.0  # widths of the usual range: a value so far beyond it is told before a change of noise

Values = NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class Peaks:
    """How high the blocks of an ordinary series rise: their highest scores, and the curve fitted to these."""

    highest: Values
    length: int  # moments of a block

    @classmethod
    def of(cls, series: Sequence[Values], window: int) -> Self:
        """Take the highest scores of blocks of these series; evenly spaced ones of many."""
        moments = sum(len(scores) for scores in series)
        length = max(1, min(BLOCK * window, moments // FEWEST_BLOCKS))
        maxima = []
        for scores in series:
            count = len(scores) // length  # full blocks
            blocks = np.where(np.isnan(scores), -np.inf, scores)[: count * length].reshape(count, length)
            maxima.append(blocks.max(1) if count else np.empty(0))
        highest = np.sort(np.concatenate(maxima))
        highest = highest[np.isfinite(highest)]  # of blocks that are judged
        return cls(highest[np.linspace(0, len(highest) - 1, min(len(highest), MOST_KEPT)).astype(np.intp)], length)

    def joined(self, other: Self) -> Self:
        """Return the peaks of both."""
        return type(self)(np.sort(np.concatenate([self.highest, other.highest])), self.length)

    @cached_property
    def curve(self) -> tuple[float, float]:
        """Return location and scale of the curve."""
        location, scale = _fit(self.highest[None])
        return float(location[0]), max(float(scale[0]), 1e-6)

    def threshold(self, expected: float, moments: int) -> float:
        """Return the score that so many ordinary moments surpass so often, on average."""
        location, scale = self.curve
        heights, counts = _simulated(min(len(self.highest), MOST_BLOCKS))
        per_block = min(expected * self.length / moments, MOST_A_BLOCK)
        return location + scale * float(np.interp(np.log(per_block), np.log(counts[::-1]), heights[::-1]))

    def one_in(self, score: float) -> float:
        """Return in how many ordinary moments one event rises so high, on average."""
        location, scale = self.curve
        heights, counts = _simulated(min(len(self.highest), MOST_BLOCKS))
        per_block = np.exp(np.interp((score - location) / scale, heights, np.log(counts)))
        return float(self.length / per_block)


def _fit(highest: Values) -> tuple[Values, Values]:  # (simulations, blocks)
    """Return location and scale of the curve through two quantiles of the blocks."""
    low, high = np.quantile(highest, LOWER, axis=1)
    at_low = _curve(LOWER[0])
    scale = (high - low) / (_curve(LOWER[1]) - at_low)
    return low - scale * at_low, scale


def _curve(share: Any) -> Any:
    """Return the height that this share of blocks stays below, if location is 0 and scale 1."""
    body = ((-np.log(np.minimum(share, TAIL_FROM))) ** -SHAPE - 1) / SHAPE
    return body + TAIL_SCALE * np.log((1 - TAIL_FROM) / np.minimum(1 - np.asarray(share), 1 - TAIL_FROM))


@lru_cache(maxsize=8)
def _simulated(blocks: int) -> tuple[Values, Values]:
    """Return rising heights above a fitted curve, and how often an ordinary block surpasses each, on average."""
    samples = _curve(np.random.default_rng(0).uniform(size=(SIMULATIONS, blocks)))
    location, scale = _fit(samples)
    above = np.sort(((samples - location[:, None]) / scale[:, None]).ravel())[::-1]
    rank = np.unique(np.geomspace(1, len(above), 400).astype(np.intp))[::-1]
    heights = above[rank - 1]
    counts = rank / len(above)
    slope = (heights[-1] - above[99]) / np.log(100)  # the simulated tail, continued
    far = np.arange(1, 60)
    return np.append(heights, heights[-1] + slope * far), np.append(counts, counts[-1] * np.exp(-far))


@dataclass(frozen=True)
class Event:
    """An odd stretch: when, how odd, which channels are to blame, and what a reader would say of it.

    >>> from centrality.series import Event
    >>> print(Event(0.0, 9.0, 4.0, 5e3, (("load", 1.0),), "load hardly moves, at about 3", span="0 to 9"))
    0 to 9: load hardly moves, at about 3
    """

    start: float  # seconds since 1970, or the number of the moment
    end: float
    peak: float
    severity: float  # one in how many ordinary moments rises so high
    channels: tuple[tuple[str, float], ...]  # the names of those to blame and their shares, the largest first
    sentence: str
    series: str = ""  # the value of `by`
    rows: tuple[int, ...] = ()  # of the table, in their order
    window: tuple[float, float] | None = None  # begin and end of the moments around it
    typical: tuple[float, float] | None = None  # of a typical window as long, to set beside these: see `find_typical`
    span: str = ""  # start to end, written

    def __str__(self) -> str:
        where = f"{self.series}: " if self.series else ""
        return f"{where}{self.span}: {self.sentence}"


@dataclass(frozen=True)
class Events:
    """The events of a recording, the oddest first. Print them, or take them one by one.

    >>> from centrality.series import Events
    >>> print(Events((), false_alarms=0.05, per="day", threshold=4.2))
    No odd stretch (0.05 false alarms expected a day).
    """

    items: tuple[Event, ...]
    false_alarms: float
    per: str
    threshold: float
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.items)

    def __getitem__(self, place: int) -> Event:
        return self.items[place]

    def __str__(self) -> str:
        alarms = f"{self.false_alarms:g} false alarm{'' if self.false_alarms == 1 else 's'}"
        expected = f"{alarms} expected {'a day' if self.per == 'day' else 'in all'}"
        if not self.items:
            return f"No odd stretch ({expected})."
        heading = f"{len(self.items)} odd stretch{'es' if len(self.items) > 1 else ''} ({expected})"
        return "\n".join([heading, *(f"  {event}" for event in self.items)])

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, as JSON holds them."""
        return {
            "false_alarms": self.false_alarms,
            "per": self.per,
            "events": [{**vars(event), "channels": dict(event.channels)} for event in self.items],
        }


def expected_count(false_alarms: float, per: str, recording: Recording) -> float:
    """Return the expected number of false alarms in the whole recording."""
    wanted = positive("false_alarms", false_alarms)
    if per == "series":
        return wanted
    if per != "day":
        raise InputError(f'per must be "series" or "day", got {per!r}.')
    if not recording.dated:
        raise InputError('per="day" needs a time column of dates.')
    moments = sum(track.step * np.isfinite(track.values).any(1).sum() for track in recording.tracks)
    return wanted * float(moments) / DAY


def stretches(scores: Values, threshold: float) -> list[tuple[int, int]]:
    """Return first and last moment of each stretch that rises above the threshold, the highest first.

    A stretch reaches from its peak to where half of that height above the median is lost, whatever the threshold; what
    overlaps a higher one is its slope.

    >>> import numpy as np
    >>> from centrality.series.events import stretches
    >>> scores = np.array([0, 0, 5, 9, 6, 1, 0, 0, 0, 0, 7.0])
    >>> stretches(scores, 8), stretches(scores, 4)
    ([(2, 4)], [(2, 4), (10, 10)])
    """
    normal = float(np.nanmedian(scores)) if np.isfinite(scores).any() else 0.0
    above = np.flatnonzero(scores > max(threshold, normal))  # false for moments without a score
    is_covered = np.zeros(len(scores), dtype=bool)
    spans = []
    for peak in above[np.argsort(-scores[above], kind="stable")].tolist():
        if is_covered[peak]:
            continue
        low = np.flatnonzero(~(scores >= normal + NEAR * (scores[peak] - normal)))
        place = int(np.searchsorted(low, peak))
        first = int(low[place - 1]) + 1 if place else 0
        last = int(low[place]) - 1 if place < len(low) else len(scores) - 1
        if not is_covered[first : last + 1].any():
            spans.append((first, last))
        is_covered[first : last + 1] = True
    return spans


def odd_moments(scores: Values, high: tuple[int, int], window: int) -> tuple[int, int]:
    """Return first and last of the moments that make odd what is high: `scores` are those of windows.

    All windows that hold one of them are odd. So the first of these ends where they begin, and the last one begins
    where they end; of windows that are odd only if they hold many, what all of them hold. Both may be the same moment,
    from which nothing is known of the length: then it is a quarter of a window.

    >>> import numpy as np
    >>> from centrality.series.events import odd_moments
    >>> odd_moments(np.array([0, 0, 9, 9, 9, 9, 9, 9, 0, 0.0]), (2, 10), 4)  # windows 2 to 7, four moments long
    (5, 7)
    """
    stride = stride_of(window)
    first = max(0, -(-(high[0] - window + 1) // stride))
    near = scores[first : high[1] // stride + 1]
    normal = float(np.nanmedian(scores))
    odd = np.flatnonzero(near >= normal + NEAR * (float(np.nanmax(near)) - normal))
    begin, end = sorted(((first + int(odd[0])) * stride + window - 1, (first + int(odd[-1])) * stride))
    lacking = max(0, window // SHORTEST - (end - begin + 1))
    return max(begin - lacking // 2, high[0]), min(end + (lacking + 1) // 2, high[1])


def find_typical(
    track: Track, channel: int, stretch: tuple[int, int], window: int, scores: Values, *, dated: bool
) -> tuple[NDArray[np.intp], bool]:
    """Return where typical stretches as long begin, the nearest first, and whether they have the hour of this one.

    They are the ones that a window like that before this stretch led to, or if it lies at the very beginning, that was
    followed by such a half: what came before says what was to come. `scores` are those of windows; typical is what
    lies in a window that is not of the oddest tenth. Times of day are compared if there are seven days.
    """
    first, last = stretch
    values = track.values[:, channel]
    half = window // 2
    length = last - first + 1
    context = np.arange(-min(window, first), 0) if first >= half else np.arange(length, length + half)
    reach = slice(max(0, -context[0]), len(values) - max(length, int(context[-1]) + 1) + 1)
    places = np.arange(reach.start, max(reach.start, reach.stop), stride_of(window))
    around = np.clip((places + length // 2 - half) // stride_of(window), 0, len(scores) - 1)
    with np.errstate(invalid="ignore"):
        typical = scores[around] <= np.nanquantile(scores, TYPICAL)
    places = places[typical & (np.abs(places - first) >= length + half)]
    same_hour = dated and track.step <= HOUR and track.step * len(values) >= DAYS * DAY
    if same_hour:
        away = np.abs((track.time_of(places) - track.time_of(first) + DAY / 2) % DAY - DAY / 2)
        same_hour = int((away <= HOUR / 2).sum()) >= DAYS
        places = places[away <= HOUR / 2] if same_hour else places
    places = places[:: max(1, len(places) // MOST_COMPARED)]
    if not len(places) or first + context[-1] >= len(values):
        return np.empty(0, dtype=np.intp), False
    usual_width = float(np.subtract(*np.nanquantile(values[places], [0.9, 0.1]))) or 1.0
    differences = (values[places[:, None] + context] - values[first + context]) / usual_width
    far = np.nan_to_num(np.clip(differences, -CAPPED, CAPPED), nan=1.0)
    return places[np.argsort((far**2).sum(1), kind="stable")[:NEAREST]], same_hour


def describe(
    recording: Recording,
    track: Track,
    channel: int,
    stretch: tuple[int, int],
    window: int,
    *,
    typical: NDArray[np.intp] | None = None,
    same_hour: bool = False,
) -> str:
    """Say what a channel does in a stretch, and what is usual: of its level, one value, its noise, or its course.

    `typical` is where typical stretches begin, from `find_typical`: what they hold is usual then.
    """
    name = recording.channels[channel]
    values = track.values[:, channel]
    first, last = stretch
    inside = slice(first, last + 1)
    present = np.flatnonzero(np.isfinite(values[inside])) + first
    if not len(present):
        return f"{name} has no values"
    outside = np.isfinite(values)
    outside[inside] = False
    outside = outside if outside.any() else np.isfinite(values)
    low, middle, high = np.quantile(values[outside], [0.1, 0.5, 0.9])
    reach = max(float(high - low), 1e-12 * abs(middle), 1e-300)
    level = float(np.median(values[present]))
    normal = f"it is usually {_write(low)} to {_write(high)}"
    expected = middle
    width = reach
    if typical is not None and len(typical):
        at = values[typical[:, None] + np.arange(last - first + 1)]
        if np.isfinite(at).any():
            at_low, expected, at_high = np.nanquantile(at, [0.1, 0.5, 0.9])
            normal = f"{'at this hour' if same_hour else 'then'} it is usually {_write(at_low)} to {_write(at_high)}"
            width = max(at_high - at_low, 0.1 * reach)
    if abs(level - middle) > reach or abs(level - expected) > 2 * width:
        before = values[max(0, first - max(1, window // JUST_BEFORE)) : first]
        earlier = float(np.nanmedian(before)) if np.isfinite(before).any() else level
        if low <= earlier <= high and abs(earlier - level) > width:
            return f"{name} {'fell' if level < earlier else 'rose'} from {_write(earlier)} to {_write(level)}; {normal}"
        return f"{name} is {'low' if level < expected else 'high'}, {_write(level)}; {normal}"
    lows, highs, when = _usual_by_hour(recording, track, values, outside, present)
    widths = np.maximum(highs - lows, 0.1 * reach)
    beyond = np.maximum(lows - values[present], values[present] - highs) / widths
    place = int(np.argmax(beyond))
    jump = float(np.nanmedian(np.abs(np.diff(values))))
    jump_here = float(np.median(np.abs(np.diff(values[present])))) if len(present) > 1 else jump
    if beyond[place] < FAR and jump_here < 0.25 * jump:
        return f"{name} hardly moves, at about {_write(level)}"
    if beyond[place] < FAR and jump_here > 2 * max(jump, 1e-300):
        return f"{name} jumps by {_write(jump_here)} from moment to moment; usually it does by {_write(jump)}"
    if beyond[place] > 0:
        at = recording.written(track.time_of(present[place]))
        range_then = f"{when} it is usually {_write(lows[place])} to {_write(highs[place])}"
        return f"{name} is {_write(values[present[place]])} at {at}; {range_then}"
    lowest = values[present].min()
    highest = values[present].max()
    if lowest == highest:
        return f"{name} stays at {_write(lowest)}; {normal}"
    return f"{name} takes another course than usual, between {_write(lowest)} and {_write(highest)}; {normal}"


def _usual_by_hour(
    recording: Recording, track: Track, values: Values, outside: NDArray[np.bool_], present: NDArray[np.intp]
) -> tuple[Values, Values, str]:
    """Return the usual range at these moments: of the same hours of other days, if there are seven, else of all."""
    low, high = np.quantile(values[outside], [0.1, 0.9])
    lows = np.full(len(present), low)
    highs = np.full(len(present), high)
    days = (track.step * len(values)) / DAY
    if not recording.dated or days < DAYS or track.step > HOUR:
        return lows, highs, "otherwise"
    hours = (track.times % DAY // HOUR).astype(np.intp)
    for hour in np.unique(hours[present]):
        others = values[outside & (hours == hour)]
        if len(others) >= DAYS:
            lows[hours[present] == hour], highs[hours[present] == hour] = np.quantile(others, [0.1, 0.9])
    return lows, highs, "at this hour"


def _write(value: Any) -> str:
    return number(float(f"{value:.3g}"))
