"""Do severities, intervals, certificates and monitors keep what they promise, and what are they worth?

    python -m benchmarks.certainty [PART ...]

Some twenty minutes of one thread. river, alibi-detect and nonconform are measured where they are installed; nonconform
2.0 wants Python 3.12, and was measured on 3.11 with the generic signature of one of its helpers written the old way.

Worlds are simulated, so that truth is known: the share of ordinary rows that score lower than a row is counted among
200,000 fresh ones. Writes results/certainty_*.csv.

severity      Of calibration samples of m rows: severities of rows of which 1 in f m is as odd in truth.
real          The same on large real sets: ordinary rows of 500 and 3,000, and truth counted among those left.
intervals     How often the interval of a p-value holds the true share, right after `fit` and after `calibrate`.
certificates  How often a certificate is wrong when the choice is the worst of many, made after looking; and how many of
              50 odd rows among 1,000 it certifies.
stability     How the standard error of a default fit compares with the spread of fits to fresh rows, and how often the
              p-value by another seed lies in its interval.
shares        How often the bound of the share of odd rows is wrong, and how near it and the estimate come.
apart         In how many clean files a row stands apart, and how many of ten odd rows do.
monitors      After how many rows changes of nine kinds are found; beside the detectors of river and of alibi-detect, on
              the same scores.
rest          How many alarms a hundred streams at rest give, a million rows in all.
streams       What share of the streams called changed is not.
shifted       How many ordinary rows have p <= .1 and p <= .01 when the world has moved: without weights, with the true
              ones, with estimated ones; beside p-values weighted as Tibshirani and others do.
"""

import argparse
import os
from collections.abc import Callable, Iterator
from pathlib import Path
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
DATA = Path(os.environ.get("CENTRALITY_DATA", "../shared/data"))
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
    rng = np.random.default_rng(3)
    for name in WORLDS:
        _, fresh = score_in(name, seed=0)
        yield from _severities(name, fresh, rng)


def of_real() -> Iterator[dict[str, object]]:
    rng = np.random.default_rng(9)
    for name in ("shuttle", "smtp", "cover", "http", "donors"):
        data = np.load(DATA / "adbench_dev" / f"{name}.npz")
        ordinary = rng.permutation(data["X"][data["y"] == 0].astype(float))[: 3000 + FRESH]
        model = FUSE(random_state=0).fit(ordinary[:3000])
        yield from _severities(name, np.sort(model.score_samples(ordinary[3000:])), rng)


def _severities(world: str, fresh: NDArray[np.float64], rng: np.random.Generator) -> Iterator[dict[str, object]]:
    """Compare severities after calibration on some of these rising scores with what is counted among all of them."""
    factors = np.array([0.1, 0.5, 1, 3, 10])
    for m in (500, 3000):
        rows = fresh[(len(fresh) / (factors * m)).astype(int)]
        truth = len(fresh) / np.searchsorted(fresh, rows, side="right")  # of ties, all count
        samples = [np.sort(rng.choice(fresh, m, replace=False)) for _ in range(30)]
        ratios = np.array([severity(sample, rows, Tail.of(sample)) for sample in samples]) / truth
        for k, factor in enumerate(factors):
            yield {
                "world": world,
                "m": m,
                "1 in (of m)": factor,
                "median ratio": float(np.median(ratios[:, k])),
                "within twice": float((np.abs(np.log2(ratios[:, k])) <= 1.001).mean()),
                "more than twice": float((ratios[:, k] > 2.002).mean()),
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


def envelope_of_nonconform(method: str, m: int, rows: int) -> Callable[[float], float]:
    """Return the most ordinary ones of so many rows with p <= t that nonconform's envelope allows; inf without it."""
    try:
        from nonconform._internal import fdp_bounds  # type: ignore[import-not-found]
    except (ImportError, SyntaxError):
        return lambda t: np.inf
    found = fdp_bounds.prepare_envelope(
        n_calibration=m, n_test=rows, confidence=0.95, method=method, n_resamples=4000 if method != "ks" else None,
        seed=None if method == "ks" else 0, boost=False, lower=None, upper=None, beta=None,
    )  # fmt: skip

    def most(t: float) -> float:
        bound = fdp_bounds.ecdf_upper_bound_from_params(
            np.array([t]), method=method, summary_quantile=found.summary_quantile, lower=found.lower,
            upper=found.upper, beta=found.beta, bj_lower_bounds=found.bj_lower_bounds, n_test=rows,
        )  # fmt: skip
        return float(np.floor(rows * bound[0]))

    return most


def of_certificates(repetitions: int = 250) -> Iterator[dict[str, object]]:
    for name in FOUR:
        model, fresh = score_in(name, seed=0)
        rng = np.random.default_rng(4)
        far = WORLDS[name](50, rng)
        far = far + 6 * np.abs(WORLDS[name](3000, rng)).max(0)
        odd = model.score_samples(far)
        for m in (50, 500, 5000):
            wrong, certified, by_rate = [], [], []
            peers = {method: envelope_of_nonconform(method, m, 1000) for method in ("mc_thc", "mc_bj", "ks")}
            by_peer: dict[str, list[float]] = {method: [] for method in peers}
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
                last = (1 + ranks[950:].max()) / (m + 1)
                for method, most in peers.items():
                    by_peer[method].append(max(50 - most(last), 0.0))
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
                **{f"nonconform {method}": float(np.mean(values)) for method, values in by_peer.items()},
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


def of_rest(streams: int = 100, rows: int = 10_000) -> Iterator[dict[str, object]]:
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


def of_shifted(repetitions: int = 40, m: int = 3000) -> Iterator[dict[str, object]]:
    """Ordinary rows are of two kinds, 9 : 1 when the model was fitted and 1 : 9 now; the rare kind is wider."""

    def draw(share: float, n: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        is_rare = rng.random(n) < share
        rows = rng.normal(size=(n, 4)) * np.where(is_rare, 2.0, 1.0)[:, None]
        rows[:, 0] += np.where(is_rare, 3.0, 0.0)
        return rows, is_rare

    seen: dict[str, list[tuple[float, float]]] = {}
    left: dict[str, list[int]] = {}
    for repetition in range(repetitions):
        rng = np.random.default_rng([10, repetition])
        model = FUSE(random_state=repetition).fit(draw(0.1, 3000, rng)[0])
        calibration, is_rare = draw(0.1, m, rng)
        new, new_is_rare = draw(0.9, 4000, rng)
        like = draw(0.9, 2000, rng)[0]
        true = np.where(is_rare, 9.0, 1 / 9)
        ways: dict[str, dict[str, Any]] = {
            "without weights": {},
            "true weights": {"weights": true},
            "weights of a classifier": {"like": like},
        }
        for name, how in ways.items():
            p = model.calibrate(calibration, random_state=repetition, **how).p_values(new)
            seen.setdefault(name, []).append((float((p <= 0.1).mean()), float((p <= 0.01).mean())))
            left.setdefault(name, []).append(len(model.fitted_.inlier_scores(model.t)))
        scores, of_new = model.score_samples(calibration), model.score_samples(new)
        own = np.where(new_is_rare, 9.0, 1 / 9)
        order = np.argsort(scores)
        upto = np.concatenate([[0.0], np.cumsum(true[order])])[np.searchsorted(scores[order], of_new, side="right")]
        p = (upto + own) / (true.sum() + own)
        name = "true weights, weighted p (Tibshirani et al.)"
        seen.setdefault(name, []).append((float((p <= 0.1).mean()), float((p <= 0.01).mean())))
        left.setdefault(name, []).append(m)
    for name, shares in seen.items():
        at_tenth, at_hundredth = np.mean(shares, axis=0)
        errors = np.std(shares, axis=0, ddof=1) / np.sqrt(repetitions)
        yield {
            "p-values": name,
            "repetitions": repetitions,
            "rows that decide": float(np.mean(left[name])),
            "p <= .1": float(at_tenth),
            "se of .1": float(errors[0]),
            "p <= .01": float(at_hundredth),
            "se of .01": float(errors[1]),
        }


PARTS = {
    "severity": of_severity,
    "real": of_real,
    "intervals": of_intervals,
    "certificates": of_certificates,
    "stability": of_stability,
    "shares": of_shares,
    "apart": of_apart,
    "monitors": of_monitors,
    "rest": of_rest,
    "streams": of_streams,
    "shifted": of_shifted,
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
