"""Find odd stretches of series, beside others: `python -m benchmarks.series [quality|alarms|speed]`.

quality: every series of series_dev by each method: VUS-PR and AUC-PR, in results/series.csv (it goes on where it
stopped) and by collection, results/series_means.csv, with the numbers that TSB-AD publishes for the same series; and
the labelled stretches found at .05 and .5 false alarms, results/series_events.csv.
alarms: series in which nothing happens, results/series_alarms.csv: false alarms asked for and seen.
speed: seconds and memory of lengths and channels, results/series_speed.csv.
"""

import csv
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
LONGEST_STUMPY = 30_000  # moments: its time grows with their square
NULL_LENGTH, NULL_SERIES = 10_000, 150
ASKED = (0.05, 0.5)


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


def timeline(values: Values) -> Values:
    return _oddness(Timeline(random_state=0).fit(values))


def _oddness(model: Timeline) -> Values:
    return np.asarray(-np.log(np.maximum(model.centrality(), 1e-12)))


def _on_same_vectors(values: Values, judge: Callable[[Values], Values]) -> Values:
    """Return the mean score of the windows that cover a moment, by rows that hold all channels in both views."""
    recording = read(values)
    judged = np.flatnonzero([len(np.unique(column)) > 2 for column in values.T])
    one = Prepared.of(recording.tracks[0], judged if len(judged) else np.arange(values.shape[1]), None)
    length = min(windows.LONGEST, len(values) // windows.PER_SERIES)
    starts = windows.starts_of(len(values), length)
    rows = []
    for view in range(2):
        for signal in one.view(view, slice(0, len(values))).T:
            shape = windows.shapes(np.ascontiguousarray(signal), starts, length)
            shape[:, -1] *= 2 * shape[:, :-1].std()
            rows.append(shape)
    return windows.cover(judge(np.concatenate(rows, axis=1).astype(float)), len(values), length)


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
    import stumpy  # type: ignore[import-not-found]

    if len(values) > LONGEST_STUMPY or values.shape[1] > 1:
        raise NotImplementedError
    length = period_of(values[:, 0])
    profile = stumpy.stump(values[:, 0], length)[:, 0].astype(float)
    known = np.nan_to_num(profile, posinf=0.0)
    return np.asarray(np.interp(np.arange(len(values)), np.arange(len(profile)) + length // 2, known))


METHODS: dict[str, Callable[[Values], Values]] = {
    "Timeline": timeline,
    "kNN, same windows": nearest_neighbours,
    "IForest, same windows": isolation_forest,
    "KMeansAD": k_means,
    "Sub-PCA": sub_pca,
    "matrix profile": matrix_profile,
}
MEASURES = ("vus_pr", "auc_pr", "seconds")


def measure(cell: Cell) -> list[float]:
    from sklearn.metrics import average_precision_score

    values, labels = archive(kind_of(cell[0]))[cell[0]]
    began = time.process_time()
    try:
        odd = np.nan_to_num(METHODS[cell[1]](values), nan=-1e9, neginf=-1e9)
    except NotImplementedError:
        return [float("nan")] * len(MEASURES)
    seconds = time.process_time() - began
    return [vus_pr(labels, odd, period_of(values[:, 0])), float(average_precision_score(labels, odd)), seconds]


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
    save("series_events", events_found())


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


def events_found() -> list[dict[str, Any]]:
    """Return how many labelled stretches are found, and how many events are called besides, by collection."""
    counts: dict[tuple[str, str, float], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for kind in KINDS:
        for name, (values, labels) in archive(kind).items():
            model, true = Timeline(random_state=0).fit(values), stretches_of(labels)
            for asked in ASKED:
                called = [(event.start, event.end) for event in model.events(false_alarms=asked)]
                near = model.window_ // 2
                hit = sum(any(a <= last + near and b >= first - near for a, b in called) for first, last in true)
                other = sum(not any(a <= last + near and b >= first - near for first, last in true) for a, b in called)
                count = counts[kind, name.split("_")[1], asked]
                counts[kind, name.split("_")[1], asked] = [
                    old + new for old, new in zip(count, (1, len(true), hit, other), strict=True)
                ]
    return [
        dict(
            zip(
                ("kind", "collection", "false_alarms", "series", "labelled", "found", "others"),
                (*key, *count),
                strict=True,
            )
        )
        for key, count in counts.items()
    ]


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
    for kind in ("white", "AR(.9)", "seasonal", "counts"):
        seen = np.zeros(len(ASKED))
        for number in range(NULL_SERIES):
            rng = np.random.default_rng([1_000_000 + number, len(kind)])
            model = Timeline(random_state=number).fit(null_series(kind, NULL_LENGTH, rng))
            seen += [len(model.events(false_alarms=asked)) for asked in ASKED]
        row: dict[str, object] = {"kind": kind, "series": NULL_SERIES, "length": NULL_LENGTH}
        for asked, count in zip(ASKED, seen, strict=True):
            row[f"seen at {asked:g}"] = float(count / NULL_SERIES)
        rows.append(row)
        print(rows[-1], flush=True)
        save("series_alarms", rows)


def speed() -> None:
    rng = np.random.default_rng(0)
    rows: list[dict[str, object]] = []
    Timeline(random_state=0).fit(rng.normal(size=1000))  # imports
    for moments, channels in ((10_000, 1), (100_000, 1), (1_000_000, 1), (10_000_000, 1), (25_000, 40)):
        values = np.sin(np.arange(moments) / 20)[:, None] + rng.normal(0, 0.3, (moments, channels))
        wall, own = time.perf_counter(), time.process_time()
        Timeline(random_state=0).fit(values).centrality()
        wall, own = time.perf_counter() - wall, time.process_time() - own
        rows.append(
            {"moments": moments, "channels": channels, "seconds": wall, "cpu_seconds": own, "peak_MiB": _peak()}
        )
        print(rows[-1], flush=True)
    save("series_speed", rows)


def _peak() -> float:
    """Return the most memory this process has held, in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    asked = sys.argv[1:] or ["quality", "alarms", "speed"]
    for what in asked:
        if what == "quality":
            quality(list(METHODS))
        elif what in METHODS:
            quality([what])
        else:
            {"alarms": alarms, "speed": speed}[what]()
