"""Do severities, intervals, certificates and monitors keep what they promise, and what are they worth?

    python -m benchmarks.certainty [severity|intervals|certificates|stability|shares|apart|monitors|rest|streams]

Some twelve minutes of one thread. river and alibi-detect are measured where they are installed.

Worlds are simulated, so that truth is known: the share of ordinary rows that score lower than a row is counted among
200,000 fresh ones. Writes results/certainty_*.csv.

severity      Of calibration samples of m rows: severities of rows of which 1 in f m is as odd in truth.
intervals     How often the interval of a p-value holds the true share, right after `fit` and after `calibrate`.
certificates  How often a certificate is wrong when the choice is the worst of many, made after looking; and how many of
              50 odd rows among 1,000 it certifies.
stability     How the standard error of a default fit compares with the spread of fits to fresh rows, and how often the
              p-value by another seed lies in its interval.
shares        How often the bound of the share of odd rows is wrong, and how near it and the estimate come.
apart         In how many clean files a row stands apart, and how many of ten odd rows do.
monitors      After how many rows changes of nine kinds are found; beside the detectors of river and of alibi-detect, on
              the same scores.
rest          How many alarms ten streams at rest give.
streams       What share of the streams called changed is not.
"""

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._results import save
from centrality import FUSE
from centrality.analysis.certificate import most_ordinary, odd_share
from centrality.analysis.conformal import count_apart
from centrality.analysis.monitor import Monitor, Streams
from centrality.analysis.severity import Tail, severity

FRESH = 200_000
Sampler = Callable[[int, np.random.Generator], NDArray[np.float64]]
MIX = np.random.default_rng(5).normal(size=(6, 6))


def groups(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    group = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    centres = np.array([[0, 0, 0, 0], [6, 0, 0, 0], [0, 8, 0, 0]])
    return np.asarray(rng.normal(size=(n, 4)) * np.array([0.5, 1, 2])[group][:, None] + centres[group])


def ring(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    angle = rng.random(n) * 2 * np.pi
    return np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 0.1 * rng.normal(size=n))[:, None]


WORLDS: dict[str, Sampler] = {
    "normal, 2 columns": lambda n, rng: rng.normal(size=(n, 2)),
    "normal, 8 columns": lambda n, rng: rng.normal(size=(n, 8)),
    "correlated, 6 columns": lambda n, rng: rng.normal(size=(n, 6)) @ MIX,
    "three groups": groups,
    "uniform cube": lambda n, rng: rng.random((n, 3)),
    "ring": ring,
    "log-normal": lambda n, rng: np.exp(rng.normal(size=(n, 3))),
    "exponential": lambda n, rng: rng.exponential(size=(n, 4)),
    "t, 5 degrees": lambda n, rng: rng.standard_t(5, size=(n, 3)),
    "t, 2 degrees": lambda n, rng: rng.standard_t(2, size=(n, 3)),
}
FOUR = ("normal, 2 columns", "three groups", "log-normal", "t, 2 degrees")


def score_in(name: str, seed: int, rows: int = 3000) -> tuple[FUSE, NDArray[np.float64]]:
    """Return a model of rows of this world, and the rising scores of fresh ones."""
    model = FUSE(random_state=seed).fit(WORLDS[name](rows, np.random.default_rng([seed, 1])))
    return model, np.sort(model.score_samples(WORLDS[name](FRESH, np.random.default_rng([seed, 2]))))


def of_severity() -> Iterator[dict[str, object]]:
    factors = np.array([0.1, 0.5, 1, 3, 10])
    rng = np.random.default_rng(3)
    for name in WORLDS:
        _, fresh = score_in(name, seed=0)
        for m in (500, 3000):
            rows = fresh[(FRESH / (factors * m)).astype(int)]
            samples = [np.sort(rng.choice(fresh, m, replace=False)) for _ in range(30)]
            found = np.array([severity(sample, rows, Tail.of(sample)) for sample in samples]) / (factors * m)
            for k, factor in enumerate(factors):
                yield {
                    "world": name,
                    "m": m,
                    "1 in (of m)": factor,
                    "median ratio": float(np.median(found[:, k])),
                    "within twice": float((np.abs(np.log2(found[:, k])) <= 1.001).mean()),
                    "more than twice": float((found[:, k] > 2.002).mean()),
                }


def of_intervals() -> Iterator[dict[str, object]]:
    for name in FOUR:
        for after in ("fit", "calibrate"):
            holds = []
            for seed in range(4):
                model, fresh = score_in(name, seed, rows=1000)
                rng = np.random.default_rng([seed, 3])
                if after == "calibrate":
                    model.calibrate(WORLDS[name](1000, rng))
                rows = WORLDS[name](1000, rng)
                low, high = model.p_value_intervals(rows).T
                share = np.searchsorted(fresh, model.score_samples(rows), side="right") / FRESH
                holds.append(((low <= share) & (share <= high)).mean())
            error = float(np.std(holds, ddof=1) / np.sqrt(len(holds)))
            yield {"world": name, "after": after, "asked": 0.95, "seen": float(np.mean(holds)), "se": error}


def of_certificates(repetitions: int = 250) -> Iterator[dict[str, object]]:
    for name in FOUR:
        model, fresh = score_in(name, seed=0)
        rng = np.random.default_rng(4)
        far = WORLDS[name](50, rng)
        far = far + 6 * np.abs(WORLDS[name](3000, rng)).max(0)
        odd = model.score_samples(far)
        for m in (50, 500, 5000):
            wrong, certified, by_rate = [], [], []
            for _ in range(repetitions):
                calibration = np.sort(rng.choice(fresh, m, replace=False))
                scores = np.concatenate([rng.choice(fresh, 950, replace=False), odd])
                ordinary = np.arange(1000) < 950
                ranks = np.searchsorted(calibration, scores, side="right")
                order = np.argsort(scores, kind="stable")
                excess = []
                for k in (1, 5, 20, 55, 100, 300):
                    chosen = order[:k]
                    excess.append(ordinary[chosen].sum() - most_ordinary(ranks[chosen], ranks, m, 0.95))
                wrong.append(max(excess) > 0)
                certified.append(50 - most_ordinary(ranks[950:], ranks, m, 0.95))
                # What p-values alone say: the rows that Benjamini and Hochberg call at a rate of 5%.
                p = np.sort((1 + ranks) / (m + 1))
                called = np.flatnonzero(p <= 0.05 * np.arange(1, 1001) / 1000)
                by_rate.append(called.max(initial=-1) + 1)
            yield {
                "world": name,
                "m": m,
                "asked": 0.05,
                "wrong": float(np.mean(wrong)),
                "se": float(np.sqrt(max(np.mean(wrong), 1 / repetitions) / repetitions)),
                "certified of 50": float(np.mean(certified)),
                "called at fdr .05": float(np.mean(by_rate)),
            }


def of_stability(refits: int = 12) -> Iterator[dict[str, object]]:
    for name in (*FOUR, "exponential", "ring"):
        rows = WORLDS[name](3000, np.random.default_rng([0, 1]))
        asked = WORLDS[name](400, np.random.default_rng([0, 2]))
        fresh = [
            FUSE(random_state=k).fit(WORLDS[name](3000, np.random.default_rng([k, 3]))).centrality(asked)
            for k in range(refits)
        ]
        truth = float(np.sqrt(np.var(fresh, axis=0, ddof=1).mean()))
        found = FUSE(random_state=0).fit(rows).stability(rows, asked)
        intervals = found.p_value_intervals()
        assert intervals is not None
        low, high = intervals.T
        plain_low, plain_high = FUSE(random_state=0).fit(rows).p_value_intervals(asked).T
        others = [FUSE(random_state=k).fit(rows).p_values(asked) for k in (1, 2, 3)]
        yield {
            "world": name,
            "spread of fits to fresh rows": truth,
            "standard error": float(np.sqrt(np.square(found.standard_error).mean())),
            "ratio": float(np.sqrt(np.square(found.standard_error).mean())) / truth,
            "p of another seed in the interval": float(np.mean([(low <= p) & (p <= high) for p in others])),
            "in the calibration interval alone": float(np.mean([(plain_low <= p) & (p <= plain_high) for p in others])),
        }


def of_shares(repetitions: int = 500, m: int = 1000) -> Iterator[dict[str, object]]:
    for name in FOUR:
        _, fresh = score_in(name, seed=0)
        rng = np.random.default_rng([6, FOUR.index(name)])
        for odd in (0, 20, 100):
            shares = []
            for _ in range(repetitions):
                calibration = np.sort(rng.choice(fresh, m, replace=False))
                scores = np.concatenate([rng.choice(fresh, 1000 - odd, replace=False), np.full(odd, fresh[0] - 1)])
                shares.append(odd_share(np.searchsorted(calibration, scores, side="right"), m, 0.95))
            wrong = float(np.mean([(share.at_least or 0) > odd for share in shares]))
            yield {
                "world": name,
                "odd of 1,000": odd,
                "asked": 0.05,
                "wrong": wrong,
                "se": float(np.sqrt(max(wrong, 1 / repetitions) / repetitions)),
                "at least (median)": float(np.median([share.at_least or 0 for share in shares])),
                "about (median)": float(np.median([share.about or 0 for share in shares])),
                "about (deviation)": float(np.std([share.about or 0 for share in shares])),
            }


def of_apart(repetitions: int = 50) -> Iterator[dict[str, object]]:
    for name in WORLDS:
        _, fresh = score_in(name, seed=0)
        rng = np.random.default_rng(7)
        for n in (300, 1200, 5000, 20_000):
            clean = [count_apart(np.sort(rng.choice(fresh, n, replace=False))) > 0 for _ in range(repetitions)]
            distance = np.median(fresh) - np.sort(rng.choice(fresh, n, replace=False))[0]
            found = []
            for _ in range(10):
                scores = rng.choice(fresh, n, replace=False)
                scores[:10] = np.median(fresh) - 3 * distance  # three times as far as the lowest ordinary row
                found.append(count_apart(np.sort(scores)))
            yield {
                "world": name,
                "rows": n,
                "clean files": repetitions,
                "with a row apart": float(np.mean(clean)),
                "of 10 far rows": float(np.mean(found)),
            }


FIRST = np.array([1.0, 0, 0])
CHANGES: dict[str, Callable[[NDArray[np.float64], np.random.Generator], NDArray[np.float64]]] = {
    "one column +.25 sd": lambda rows, rng: rows + 0.25 * FIRST,
    "one column +1 sd": lambda rows, rng: rows + FIRST,
    "one column -1 sd": lambda rows, rng: rows - FIRST,
    "one column twice as wide": lambda rows, rng: rows * [2, 1, 1],
    "one column half as wide": lambda rows, rng: rows * [0.5, 1, 1],
    "all columns +.5 sd": lambda rows, rng: rows + 0.5,
    "5% of rows far out": lambda rows, rng: np.where(rng.random((len(rows), 1)) < 0.05, rows + 6, rows),
    "two columns correlated by .9": lambda rows, rng: np.column_stack(
        [rows[:, 0], 0.9 * rows[:, 0] + np.sqrt(0.19) * rows[:, 1], rows[:, 2]]
    ),
    "a column stuck at 0": lambda rows, rng: rows * [1, 1, 0],
}


def river_detectors() -> dict[str, Callable[[], object]]:
    try:
        from river import drift  # type: ignore[import-not-found]
    except ImportError:
        return {}
    return {
        "river ADWIN": drift.ADWIN,
        "river KSWIN": lambda: drift.KSWIN(seed=0),
        "river PageHinkley": drift.PageHinkley,
    }


class AlibiKS:
    """alibi-detect's test of Kolmogorov and Smirnov of every hundred scores, at .05, against the first five hundred."""

    def __init__(self) -> None:
        self._reference: list[float] = []
        self._new: list[float] = []
        self._test: Any = None
        self.drift_detected = False

    def update(self, score: float) -> None:
        from alibi_detect.cd import KSDrift  # type: ignore[import-not-found]

        self.drift_detected = False
        if len(self._reference) < 500:
            self._reference.append(score)
            return
        if self._test is None:
            self._test = KSDrift(np.array(self._reference)[:, None], p_val=0.05)
        self._new.append(score)
        if len(self._new) == 100:
            self.drift_detected = bool(self._test.predict(np.array(self._new)[:, None])["data"]["is_drift"])
            self._new = []


def detectors() -> dict[str, Callable[[], object]]:
    """Return the peers that are installed."""
    from importlib.util import find_spec

    return river_detectors() | ({"alibi-detect KSDrift": AlibiKS} if find_spec("alibi_detect") else {})


def first_alarm_of(detector: object, scores: NDArray[np.float64]) -> int | None:
    for row, score in enumerate(scores.tolist()):
        detector.update(score)  # type: ignore[attr-defined]
        if detector.drift_detected:  # type: ignore[attr-defined]
            return row
    return None


SLOW, SEEN_BY_SLOW = ("river KSWIN", "alibi-detect KSDrift"), 2000  # rows of each stream
MONITORS: dict[str, dict[str, Any]] = {
    "monitor, alpha=.05": {"alpha": 0.05},
    "monitor, every=100,000": {"every": 100_000.0},
}


def model_of_stream(seed: int) -> FUSE:
    return FUSE(random_state=seed).fit(np.random.default_rng([seed, 1]).normal(size=(1500, 3)))


def of_rest(streams: int = 10, rows: int = 10_000) -> Iterator[dict[str, object]]:
    for name, promise in MONITORS.items():
        alarms = []
        for seed in range(streams):
            monitor = model_of_stream(seed).monitor(random_state=seed, **promise)
            rng = np.random.default_rng([seed, 2])
            days = [monitor.update(rng.normal(size=(1000, 3))).alarm for _ in range(rows // 1000)]
            alarms.append(max(days) if "alpha" in promise else sum(days))
        yield _alarms_at_rest(name, alarms, rows)
    scores = []
    for seed in range(streams):
        rng = np.random.default_rng([seed, 2])
        of_stream = np.concatenate([rng.normal(size=(1000, 3)) for _ in range(rows // 1000)])
        scores.append(model_of_stream(seed).centrality(of_stream))
    for name, make in detectors().items():
        counts = []
        seen = SEEN_BY_SLOW if name in SLOW else rows
        for of_stream in scores:
            detector: Any = make()
            count = 0
            for score in of_stream[:seen].tolist():
                detector.update(score)
                count += bool(detector.drift_detected)
            counts.append(count)
        yield _alarms_at_rest(name, counts, seen)


def _alarms_at_rest(name: str, alarms: list[int], rows: int) -> dict[str, object]:
    return {
        "detector": name,
        "streams": len(alarms),
        "rows of each": rows,
        "alarms in all": int(np.sum(alarms)),
        "streams with an alarm": int(np.count_nonzero(alarms)),
    }


def of_streams(repetitions: int = 20, streams: int = 40) -> Iterator[dict[str, object]]:
    """A third of the streams changes halfway; the monitors see uniform scores and one column, without a model."""
    edges = [np.linspace(-2, 2, 41)]

    def read(rows: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.column_stack([rows[:, 0]] * 3), rows[:, 1:]

    for fdr in (0.05, 0.2):
        for shift in (0.5, 1.0):
            false_shares = []
            found = []
            for repetition in range(repetitions):
                rng = np.random.default_rng([repetition, 8])
                calibration = np.column_stack([rng.random(500)] * 3)

                def make(place: int, calibration: NDArray[np.float64] = calibration) -> Monitor:
                    return Monitor(read, calibration, edges, ["x0"], alpha=0.05, every=None, random_state=place)

                watched = Streams(make, fdr=fdr)
                for day in range(4):
                    for stream in range(streams):
                        rows = np.column_stack([rng.random(100), rng.normal(size=100)])
                        rows[:, 1] += shift * (day >= 2 and stream % 3 == 0)
                        watched.update(str(stream), rows)
                changed = np.array([int(name) for name in watched.changed])
                is_true = changed % 3 == 0
                false_shares.append(0.0 if not len(changed) else 1 - float(is_true.mean()))
                found.append(is_true.sum() / len(range(0, streams, 3)) if len(changed) else 0.0)
            yield {
                "fdr asked": fdr,
                "shift in deviations": shift,
                "repetitions": repetitions,
                "false share": float(np.mean(false_shares)),
                "se": float(np.std(false_shares, ddof=1) / np.sqrt(repetitions)),
                "found within 200 rows": float(np.mean(found)),
            }


def of_monitors(streams: int = 10) -> Iterator[dict[str, object]]:
    models = [model_of_stream(seed) for seed in range(streams)]
    for change, make_rows in CHANGES.items():
        rows = []
        for k in range(streams):
            rng = np.random.default_rng([k, 3])
            rows.append(np.concatenate([rng.normal(size=(1000, 3)), make_rows(rng.normal(size=(1000, 3)), rng)]))
        for name, promise in MONITORS.items():
            at = [
                model.monitor(random_state=k, **promise).update(of_stream).row
                for k, (model, of_stream) in enumerate(zip(models, rows, strict=True))
            ]
            yield {"detector": name, "change": change, **_delays(at)}
        for name, make in detectors().items():
            at = [
                first_alarm_of(make(), model.centrality(of_stream))
                for model, of_stream in zip(models, rows, strict=True)
            ]
            yield {"detector": name, "change": change, **_delays(at)}


def _delays(rows_of_alarm: list[int | None]) -> dict[str, object]:
    """Summarise alarms of streams of 2,000 rows that changed after 1,000."""
    early = [row is not None and row < 1000 for row in rows_of_alarm]
    delays = [2000.0 if row is None else row - 1000 for row in rows_of_alarm if row is None or row >= 1000]
    found = [delay < 1000 for delay in delays]
    return {
        "streams": len(rows_of_alarm),
        "rows": 2000,
        "alarms": float(np.sum(found) / len(rows_of_alarm)),
        "early": float(np.mean(early)),
        "median delay": float(np.median(delays)) if delays else float("nan"),
    }


PARTS = {
    "severity": of_severity,
    "intervals": of_intervals,
    "certificates": of_certificates,
    "stability": of_stability,
    "shares": of_shares,
    "apart": of_apart,
    "monitors": of_monitors,
    "rest": of_rest,
    "streams": of_streams,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.certainty", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    for part in parser.parse_args().parts or PARTS:
        rows = list(PARTS[part]())
        names = list(dict.fromkeys(name for row in rows for name in row))
        save(f"certainty_{part}", [{name: row.get(name, "") for name in names} for row in rows])


if __name__ == "__main__":
    main()
