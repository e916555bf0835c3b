"""Find odd stretches of series, beside others: `python -m benchmarks.series [quality|alarms|channels|bad|speed]`.

quality: every series of series_dev by each method: VUS-PR, AUC-PR and the labelled stretches found at .05 and .5 false
alarms, in results/series.csv (it goes on where it stopped); by collection, results/series_means.csv, with the numbers
that TSB-AD publishes for the same series, and results/series_events.csv. The name of a method measures that one alone.
alarms: series in which nothing happens, results/series_alarms.csv: false alarms asked for and seen.
channels: a fault planted in one channel of every second real series, results/series_channels.csv: is it blamed?
bad: twelve bad inputs and what becomes of them, results/series_bad.csv.
speed: seconds and memory of lengths, channels and numbers of series, results/series_speed.csv.

The matrix profile is stumpy's, TimeSeriesOD is PyOD's (3.6 or later). AASP is missing: its description was not at hand.
"""

import csv
import json
import subprocess
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks import provenance
from benchmarks._results import RESULTS, data, save
from benchmarks.cells import Lines, measure_unknown
from centrality import Timeline
from centrality.series import windows
from centrality.series.events import Peaks, stretches
from centrality.series.parts import Prepared
from centrality.series.reading import read

Values = NDArray[np.float64]
Cell: TypeAlias = tuple[str, str]  # series, method
KINDS = ("univariate", "multivariate")
PUBLISHED = {
    "univariate": ("Sub-PCA", "KMeansAD", "KShapeAD", "MatrixProfile", "Sub-IForest", "Sub-KNN", "MOMENT (FT)"),
    "multivariate": ("PCA", "KMeansAD", "IForest", "KNN", "CNN"),
}
THRESHOLDS = 250  # of TSB-AD's volume
LONGEST_PERIOD, USUAL_PERIOD, LOOKED_AT = 300, 125, 20_000  # TSB-AD's, for the width of the volume
NEIGHBOURS, CLUSTERS, CLUSTER_WINDOW = 10, 20, 20
REFERENCE = 20_000  # windows that kNN compares with
NULL_SERIES = {40_000: 30, 10_000: 60}  # by length
ASKED = (0.05, 0.5)
PLANTED = 100  # moments


# The metric: TSB-AD's volume under the surface of precision and recall, over widths of a soft border.


def stretches_of(labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return first and last moment of each labelled stretch: (stretches, 2)."""
    edges = np.diff(np.concatenate([[0], (np.asarray(labels) > 0).astype(np.int8), [0]]))
    return np.column_stack([np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1])


def period_of(values: Values) -> int:
    """Return the period of a series as TSB-AD finds it: the highest of the local maxima of the autocorrelation."""
    x = values[:LOOKED_AT] - values[:LOOKED_AT].mean()
    spectrum = np.fft.rfft(x, 2 * len(x))
    correlation = np.fft.irfft(spectrum * spectrum.conj())[3:401]
    inner = correlation[1:-1]
    peaks = np.flatnonzero((inner > correlation[:-2]) & (inner > correlation[2:])) + 1
    if not len(peaks):
        return USUAL_PERIOD
    highest = int(peaks[np.argmax(correlation[peaks])])
    return highest + 3 if 3 <= highest <= LONGEST_PERIOD else USUAL_PERIOD


def zones(stretches: NDArray[np.intp], length: int, width: int) -> NDArray[np.intp]:
    """Return the stretches with half a width on both sides; those that then meet are one."""
    half, merged, start = width // 2, [], max(int(stretches[0, 0]) - width // 2, 0)
    for own, following in pairwise(stretches):
        if own[1] + half < following[0] - half:
            merged.append((start, own[1] + half))
            start = following[0] - half
    return np.array([*merged, (start, min(int(stretches[-1, 1]) + half, length - 1))])


def vus_pr(labels: NDArray[Any], scores: Values, width: int) -> float:
    """Return the mean area under precision and recall over all widths of a soft border up to this one."""
    hard, length, stretches = (np.asarray(labels) > 0).astype(float), len(labels), stretches_of(labels)
    falling = np.sort(scores)[::-1]
    cuts = falling[np.linspace(0, length - 1, THRESHOLDS).astype(int)]
    called = np.searchsorted(-falling, -cuts, side="right")
    inside = np.zeros(length, dtype=bool)
    for first, last in zones(stretches, length, width):
        inside[first : last + 1] = True
    order = np.flatnonzero(inside)
    order = order[np.argsort(-scores[order], kind="stable")]
    taken = np.searchsorted(-scores[order], -cuts, side="right")
    hits_hard = np.concatenate([[0], np.cumsum(hard[order])])[taken]
    areas = []
    for border in range(width + 1):
        soft = hard.copy()
        slope = np.sqrt(1 - np.arange(1, border // 2 + 1) / max(border, 1))
        for first, last in stretches if border >= 2 else ():
            after, before = min(len(slope), length - 1 - last), min(len(slope), first)
            soft[last + 1 : last + 1 + after] += slope[:after]
            soft[first - before : first] += slope[:before][::-1]
        hits = np.concatenate([[0], np.cumsum(np.minimum(soft, 1)[order])])[taken]
        highest = np.sort([scores[first : last + 1].max() for first, last in zones(stretches, length, border)])
        reached = 1 - np.searchsorted(highest, cuts, side="left") / len(highest)
        recall = np.minimum(hits / (hard.sum() + (hits - hits_hard) / 2), 1) * reached
        areas.append(float((np.diff(recall, prepend=0.0) * hits / called).sum()))
    return float(np.mean(areas))


# The series and the methods; each method gives odd moments large numbers.


@cache
def archive(kind: str) -> dict[str, tuple[Values, NDArray[Any]]]:
    """Return values (moments, channels) and labels of each series."""
    with np.load(data("series_dev", f"{kind}.npz")) as held:
        names = sorted(name.removesuffix(".x") for name in held.files if name.endswith(".x"))
        return {name: (held[f"{name}.x"].astype(float).reshape(len(held[f"{name}.y"]), -1), held[f"{name}.y"])
                for name in names}  # fmt: skip


def kind_of(name: str) -> str:
    return next(kind for kind in KINDS if name in archive(kind))


def window_of(values: Values) -> int:
    """Return the window that Timeline takes."""
    return min(windows.LONGEST, len(values) // windows.PER_SERIES)


def _on_same_vectors(values: Values, judge: Callable[[Values], Values]) -> Values:
    """Return the mean score of the windows that cover a moment, by rows that hold all channels in both views."""
    recording = read(values)
    judged = np.flatnonzero([len(np.unique(column)) > 2 for column in values.T])
    one = Prepared.of(recording.tracks[0], judged if len(judged) else np.arange(values.shape[1]), None)
    length = window_of(values)
    starts = windows.starts_of(len(values), length)
    rows = []
    for view in range(2):
        for signal in one.view(view, slice(0, len(values))).T:
            shape = windows.shapes(np.ascontiguousarray(signal), starts, length)
            shape[:, -1] *= 2 * shape[:, :-1].std()
            rows.append(shape)
    odd = judge(np.concatenate(rows, axis=1).astype(float))
    return windows.cover(odd[:, None], len(values), length)[:, 0]


def isolation_forest(values: Values) -> Values:
    from sklearn.ensemble import IsolationForest

    return _on_same_vectors(values, lambda rows: -IsolationForest(random_state=0).fit(rows).score_samples(rows))


def nearest_neighbours(values: Values) -> Values:
    from sklearn.neighbors import NearestNeighbors

    def judge(rows: Values) -> Values:
        few = rows[:: -(-len(rows) // REFERENCE)]
        return np.asarray(NearestNeighbors(n_neighbors=NEIGHBOURS + 1).fit(few).kneighbors(rows)[0][:, -1])

    return _on_same_vectors(values, judge)


def k_means(values: Values) -> Values:
    """KMeansAD as in TSB-AD: windows of twenty moments, standardised, and the distance to the nearest of 20 centres."""
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    view = np.lib.stride_tricks.sliding_window_view(values, CLUSTER_WINDOW, axis=0)
    rows = StandardScaler().fit_transform(view.reshape(len(view), -1))
    distances = KMeans(CLUSTERS, n_init=1, random_state=0).fit(rows).transform(rows).min(1)
    total, count = np.zeros(len(values)), np.zeros(len(values))
    for shift in range(CLUSTER_WINDOW):
        total[shift : shift + len(rows)] += distances
        count[shift : shift + len(rows)] += 1
    return np.asarray(total / count)


def sub_pca(values: Values) -> Values:
    """Sub-PCA: windows of a period, and how far they lie from the centre in units of each principal direction."""
    length = period_of(values[:, 0])
    view = np.lib.stride_tricks.sliding_window_view(values[:, 0], length)
    spread = view.std(1, keepdims=True)
    rows = (view - view.mean(1, keepdims=True)) / np.where(spread > 0, spread, 1)
    rows = rows - rows.mean(0)
    variances, directions = np.linalg.eigh(rows.T @ rows / len(rows))
    weights = variances.max() / np.maximum(variances, 1e-6 * variances.max())
    odd = ((rows @ directions) ** 2 * weights).sum(1)
    return np.asarray(np.interp(np.arange(len(values)), np.arange(len(odd)) + length // 2, odd))


def matrix_profile(values: Values) -> Values:
    import stumpy

    if values.shape[1] > 1:
        raise NotImplementedError
    length = period_of(values[:, 0])
    profile = stumpy.stump(values[:, 0], length)[:, 0].astype(float)
    known = np.nan_to_num(profile, posinf=0.0)
    return np.asarray(np.interp(np.arange(len(values)), np.arange(len(profile)) + length // 2, known))


def time_series_od(values: Values) -> Values:
    """TimeSeriesOD of PyOD as it comes: an isolation forest on windows of 50 moments, the highest score of each."""
    from pyod.models.ts_od import TimeSeriesOD

    return np.asarray(TimeSeriesOD().fit(values).decision_scores_, dtype=float)


METHODS: dict[str, Callable[[Values], Values] | None] = {
    "Timeline": None,  # in `judge`
    "kNN, same windows": nearest_neighbours,
    "IForest, same windows": isolation_forest,
    "KMeansAD": k_means,
    "Sub-PCA": sub_pca,
    "PyOD TimeSeriesOD": time_series_od,
    "matrix profile": matrix_profile,
}
MEASURES = (
    "vus_pr",
    "auc_pr",
    "seconds",
    "labelled",
    *(f"{what}_{asked:g}" for asked in ASKED for what in ("found", "others")),
)


def measure(cell: Cell) -> list[float]:
    from sklearn.metrics import average_precision_score

    values, labels = archive(kind_of(cell[0]))[cell[0]]
    began = time.process_time()
    try:
        scores, called = judge(cell[1], values)
    except NotImplementedError:
        return [float("nan")] * len(MEASURES)
    seconds = time.process_time() - began
    odd = np.nan_to_num(scores, nan=-1e9, neginf=-1e9)
    quality = [vus_pr(labels, odd, period_of(values[:, 0])), float(average_precision_score(labels, odd)), seconds]
    labelled = stretches_of(labels)
    near = window_of(values) // 2
    events = []
    for spans in called:
        hits = [
            [start <= last + near and end >= first - near for first, last in labelled.tolist()] for start, end in spans
        ]
        events += [int(np.any(hits, axis=0).sum()) if hits else 0, sum(not any(each) for each in hits)]
    return [*quality, len(labelled), *events]


def judge(name: str, values: Values) -> tuple[Values, list[list[tuple[float, float]]]]:
    """Return how odd moments are, and begin and end of the events; others take Timeline's thresholds."""
    if (method := METHODS[name]) is None:
        model = Timeline(random_state=0).fit(values)
        events = [[(event.start, event.end) for event in model.events(false_alarms=asked)] for asked in ASKED]
        return -np.log(np.maximum(model.centrality(), 1e-12)), events
    scores = method(values)
    peaks = Peaks.of([scores], window_of(values))
    return scores, [list(stretches(scores, peaks.threshold(asked, len(scores)))) for asked in ASKED]


class Known:
    """What was found in each series by each method, in a file."""

    def __init__(self) -> None:
        self._lines = Lines(RESULTS / "series.csv", ("series", "method", *MEASURES))
        self.found = {
            (line["series"], line["method"]): [float(line[name]) for name in MEASURES] for line in self._lines.read()
        }

    def knows(self, cell: Cell) -> bool:
        return cell in self.found

    def keep(self, cell: Cell, found: list[float]) -> None:
        self.found[cell] = found
        self._lines.append((*cell, *(f"{number:.4f}" for number in found)))


def quality(methods: list[str]) -> None:
    from tqdm.auto import tqdm

    known = Known()
    cells = [(name, method) for method in methods for kind in KINDS for name in archive(kind)]
    with tqdm(total=sum(not known.knows(cell) for cell in cells), unit="cell") as bar:
        measure_unknown(cells, measure, known, bar)
    provenance.note(RESULTS / "series.csv")
    save("series_means", means(known.found))
    save("series_events", events_found(known.found))


def means(found: dict[Cell, list[float]]) -> list[dict[str, Any]]:
    """Return the mean of each method by collection, with the published numbers of the same series."""
    rows = []
    for kind in KINDS:
        with data("series_dev", f"published_vus_pr_{kind}.csv").open() as file:
            published = {line["file"].removesuffix(".csv"): line for line in csv.DictReader(file)}
        collections = defaultdict(list)
        for name in archive(kind):
            collections[name.split("_")[1]].append(name)
            if name in published:
                collections["all published"].append(name)
        for collection, names in collections.items():
            row: dict[str, Any] = {"kind": kind, "collection": collection, "series": len(names)}
            for method in METHODS:
                own = np.array([found.get((name, method), [np.nan] * len(MEASURES)) for name in names])
                whole = not np.isnan(own[:, 0]).any()
                row[method] = float(own[:, 0].mean()) if whole else ""
                if method == "Timeline":
                    row["Timeline AUC-PR"] = float(own[:, 1].mean()) if whole else ""
            for method in dict.fromkeys(name for names in PUBLISHED.values() for name in names):
                there = method in PUBLISHED[kind] and all(name in published for name in names)
                row[f"{method} (published)"] = (
                    np.mean([float(published[name][method]) for name in names]).item() if there else ""
                )
            rows.append(row)
    return rows


def events_found(found: dict[Cell, list[float]]) -> list[dict[str, Any]]:
    """Return how many labelled stretches are found, and how many events are called besides, by collection."""
    rows = []
    for kind in KINDS:
        collections = defaultdict(list)
        for name in archive(kind):
            collections[name.split("_")[1]].append(name)
        for collection, names in [*collections.items(), ("all", list(archive(kind)))]:
            for method in METHODS:
                each = np.array([found.get((name, method), [np.nan] * len(MEASURES)) for name in names])
                sums = dict(zip(MEASURES, each.sum(0).tolist(), strict=True))
                if np.isnan(sums["labelled"]):
                    continue
                counts = {name: round(value) for name, value in sums.items() if name not in MEASURES[:3]}
                rows.append({"kind": kind, "collection": collection, "series": len(names), "method": method, **counts})
    return rows


# False alarms where nothing happens.


def null_series(kind: str, length: int, rng: np.random.Generator) -> Values:
    """Return a series in which nothing happens: white noise, AR(.9), a season with noise, or counts with a day."""
    from scipy.signal import lfilter

    noise = rng.normal(size=length + 500)
    if kind == "white":
        return noise[500:]
    if kind == "AR(.9)":
        return np.asarray(lfilter([1], [1, -0.9], noise)[500:])
    if kind == "seasonal":
        return 2 * np.sin(2 * np.pi * np.arange(length) / rng.integers(40, 300)) + 0.5 * noise[500:]
    day = np.sin(2 * np.pi * np.arange(length) / 288)
    return rng.poisson(np.exp(1 + 0.7 * day)).astype(float)


def alarms() -> None:
    """Count events in fresh series of each kind, each with a model of its own."""
    rows: list[dict[str, object]] = []
    for length, series in NULL_SERIES.items():
        for kind in ("white", "AR(.9)", "seasonal", "counts"):
            seen = np.zeros(len(ASKED))
            for number in range(series):
                rng = np.random.default_rng([1_000_000 + number, len(kind)])
                model = Timeline(random_state=number).fit(null_series(kind, length, rng))
                seen += [len(model.events(false_alarms=asked)) for asked in ASKED]
            row: dict[str, object] = {"kind": kind, "series": series, "length": length}
            for asked, count in zip(ASKED, seen, strict=True):
                row[f"seen at {asked:g}"] = float(count / series)
            rows.append(row)
            print(rows[-1], flush=True)
            save("series_alarms", rows)


# Which channel is to blame: the labels of the archive say when, not where.


def channels() -> None:
    """Plant a fault in a channel of every second series of many, where nothing is labelled; see which is blamed."""
    rows: list[dict[str, object]] = []
    for fault in ("stuck", "shifted", "noisy", "backwards"):
        planted = found = blamed = 0
        for number, (values, labels) in enumerate(list(archive("multivariate").values())[::2]):
            rng = np.random.default_rng([number, len(fault)])
            varied = np.flatnonzero([len(np.unique(column)) > 20 for column in values.T])
            free = [start for start in range(200, len(values) - 400, 50) if not labels[start - 200 : start + 300].any()]
            if not len(varied) or not free:
                continue
            channel, start = int(rng.choice(varied)), int(rng.choice(free))
            changed = values.copy()
            changed[start : start + PLANTED, channel] = _with_fault(fault, values[:, channel], start, rng)
            events = Timeline(random_state=0).fit(changed).events(false_alarms=5)
            here = [event for event in events if event.start <= start + PLANTED and event.end >= start]
            planted += 1
            found += bool(here)
            blamed += any(event.channels[0][0] == f"x{channel}" for event in here)
        rows.append({"fault": fault, "series": planted, "found": found, "blamed": blamed})
        print(rows[-1], flush=True)
    save("series_channels", rows)


def _with_fault(fault: str, values: Values, start: int, rng: np.random.Generator) -> Values:
    stretch = values[start : start + PLANTED]
    if fault == "stuck":
        return np.full(PLANTED, stretch[0])
    if fault == "shifted":
        return stretch + 2 * values.std()
    return stretch + rng.normal(0, values.std(), PLANTED) if fault == "noisy" else stretch[::-1] * -1 + 2 * stretch[0]


# Bad inputs, and what becomes of each: an error, or notes and events.


def bad_inputs() -> dict[str, Any]:
    import pandas as pd

    def season(count: int = 4000) -> Values:
        return np.sin(np.arange(count) / 9) + np.random.default_rng(0).normal(0, 0.1, count)

    def dated(values: Any, start: str = "2024-03-01") -> Any:
        return pd.DataFrame({"time": pd.date_range(start, periods=len(values), freq="min"), "load": values})

    odd = season()
    odd[2400:2460] = 2.0
    spike, shift, text = odd.copy(), odd.copy(), odd.round(2).astype(str).astype(object)
    spike[1000] = 1e9
    shift[2000:] += 10
    text[70] = "n/a"
    return {
        "one time for all rows": dated(odd).assign(time=pd.Timestamp("2024-03-01")),
        "rows in any order": dated(odd).sample(frac=1, random_state=0),
        "no value at all": dated(np.full(4000, np.nan)),
        "one spike of 1e9 beside the odd stretch": dated(spike),
        "a trend": dated(odd + np.arange(4000) / 500),
        "a level shift": dated(shift),
        "the same value all the time": dated(np.full(4000, 7.0)),
        "two points": dated(odd[:2]),
        "numbers written as text, one of them n/a": dated(text),
        "dates in the year 2190": dated(odd, "2190-01-01"),
        "two values": dated(np.where(odd > 0, 1.0, 0.0)),
        "half of the rows twice": pd.concat([dated(odd), dated(odd[:2000])]),
    }


def bad() -> None:
    from centrality._internal.checks import InputError

    rows: list[dict[str, object]] = []
    for name, frame in bad_inputs().items():
        try:
            model = Timeline(random_state=0).fit(frame)
            spans = "; ".join(str(event) for event in model.events(false_alarms=0.5))
            rows.append({"input": name, "error": "", "notes": " ".join(model.notes_), "events": spans})
        except InputError as error:
            rows.append({"input": name, "error": str(error), "notes": "", "events": ""})
    save("series_bad", rows)


SIZES = ((10_000, 1, 1), (100_000, 1, 1), (1_000_000, 1, 1), (10_000_000, 1, 1), (25_000, 40, 1), (10_000, 1, 1000))


def speed() -> None:
    """Measure each size in a process of its own, so that its peak of memory is its own."""
    rows: list[dict[str, object]] = []
    for moments, channels, series in SIZES:
        command = [sys.executable, "-m", "benchmarks.series", "size", str(moments), str(channels), str(series)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        rows.append({"moments": moments, "channels": channels, "series": series, **json.loads(told)})
        print(rows[-1], flush=True)
    save("series_speed", rows)


def size(moments: int, channels: int, series: int) -> None:
    """Print what a fit and the scores of all moments take, the numbers themselves included in the memory."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    Timeline(random_state=0).fit(rng.normal(size=1000))  # imports
    values = np.empty((moments * series, channels))
    for first in range(0, len(values), 100_000):
        place = np.arange(first, min(first + 100_000, len(values)))
        values[place] = np.sin(place / 20)[:, None] + rng.normal(0, 0.3, (len(place), channels))
    X: Any = values
    if series > 1:
        machine = pa.DictionaryArray.from_arrays(
            np.repeat(np.arange(series, dtype=np.int32), moments), [f"m{number}" for number in range(series)]
        )
        X = pa.table({"machine": machine, "value": values[:, 0]})
    wall = time.perf_counter()
    own = time.process_time()
    Timeline(by="machine" if series > 1 else None, random_state=0).fit(X).centrality()
    spent = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - own, "peak_MiB": _peak()}
    print(json.dumps(spent))


def _peak() -> float:
    """Return the most memory this process has held, in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = sys.argv[1:] or ["quality", "alarms", "channels", "bad", "speed"]
    if asked[0] == "size":
        size(*map(int, asked[1:]))
        sys.exit()
    for what in asked:
        if what == "quality":
            quality(list(METHODS))
        elif what in METHODS:
            quality([what])
        else:
            {"alarms": alarms, "channels": channels, "bad": bad, "speed": speed}[what]()
