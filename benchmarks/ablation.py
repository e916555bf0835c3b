"""python -m benchmarks.ablation: what each part of the default is worth, one taken out at a time, on the same seed.

The sets are those of adbench_dev of at most 8,000 rows and 60 columns. Each line is the mean difference to the default
over these sets, in thousandths, with its standard error: AUC-ROC and average precision. What is only another
reading of a fit (the weight of the local head, the veto, t) is read from the default's. Each fit's result is appended
to results/ablation_cells.csv as it comes; started again, the run goes on.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._results import RESULTS, data, save
from benchmarks.cells import Lines, measure_unknown
from benchmarks.detection.protocols import PROTOCOLS, load, split
from benchmarks.network_worth import background_alone
from centrality import PaperFUSE
from centrality.fuse import config
from centrality.network.folds import Folds

DEFAULT = "default"
STEPS = ("STEPS", "STEPS_OF_EACH", "STEPS_WHEN_CLEAN")
MOST = (8000, 60)  # rows and columns: larger sets take as long as all others together
# What is changed, for data that may hold outliers and for clean data.
CHANGES: dict[str, dict[str, dict[str, Any]]] = {
    "unsupervised": {
        DEFAULT: {},
        "the background alone": {},
        "no rows left out": {},
        "one network": {"ensemble": 1},
        "one encoder for both heads": {"shared_encoder": True},
        "scaling='standard'": {"scaling": "standard"},
        "twice the steps": {},
    },
    "one-class": {
        DEFAULT: {},
        "the background alone": {},
        "novelty=False": {"novelty": False},
        "scaling='standard'": {"scaling": "standard"},
        "twice the steps": {},
    },
}
Scores = Callable[[Any, np.ndarray], np.ndarray]


def mixed(**changes: Any) -> Scores:
    """Scores at t = 1/2 where the heads of the fit are mixed otherwise."""

    def scores(model: Any, rows: np.ndarray) -> np.ndarray:
        fitted = model.fitted_
        return np.asarray(replace(fitted.calibration.mixing, **changes).mixed(fitted.units(rows), 0.5))

    return scores


def at(t: float) -> Scores:
    return lambda model, rows: np.asarray(model.set_params(t=t).score_samples(rows))


# Of the default's one fit, other ways to a score.
READINGS: dict[str, dict[str, Scores]] = {
    "unsupervised": {"no veto": mixed(veto=False)},
    "one-class": {"a veto": mixed(veto=True)},
}
for readings in READINGS.values():
    readings |= {f"weight {weight}": mixed(local_weight=float(weight)) for weight in (1, 3)}
    readings |= {f"t = {t:g}": at(t) for t in (0.0, 0.25, 0.75, 1.0)}
CELLS = RESULTS / "ablation_cells.csv"
NAMES = ("protocol", "change", "data", "roc", "ap")
Key = tuple[str, str, str]  # protocol, change, data
Quality = tuple[float, float]  # AUC-ROC, average precision


@dataclass(frozen=True)
class Fit:
    protocol: str
    change: str
    data: Path

    def measured(self) -> list[Key]:
        """What is measured with one fit."""
        names = (self.change, *(READINGS[self.protocol] if self.change == DEFAULT else ()))
        return [(self.protocol, name, self.data.stem) for name in names]


class Known:
    """AUC-ROC and average precision of each change on each set, in a file."""

    def __init__(self, path: Path) -> None:
        self.lines = Lines(path, NAMES)
        self.quality = {
            (line["protocol"], line["change"], line["data"]): (float(line["roc"]), float(line["ap"]))
            for line in self.lines.read()
        }

    def knows(self, fit: Fit) -> bool:
        return all(key in self.quality for key in fit.measured())

    def keep(self, _: Fit, found: dict[Key, Quality]) -> None:
        self.quality |= found
        self.lines.append(*((*key, f"{roc:.5f}", f"{ap:.5f}") for key, (roc, ap) in found.items()))


def changed(change: str) -> AbstractContextManager[object]:
    """What is changed that is no parameter."""
    if change == "the background alone":
        return background_alone()
    if change == "no rows left out":
        return patch.object(Folds, "can_calibrate", False)
    if change.endswith("the steps"):
        factor = 0.5 if change.startswith("half") else 2.0
        return patch.multiple(config, **{name: round(factor * getattr(config, name)) for name in STEPS})
    return nullcontext()


def run(fit: Fit) -> dict[Key, Quality]:
    rows, asked, labels = split(fit.protocol, *load(fit.data), 0)
    settings = {"novelty": fit.protocol == "one-class", "random_state": 0} | CHANGES[fit.protocol][fit.change]
    with changed(fit.change):
        model = PaperFUSE(**settings).fit(rows)
    readings = READINGS[fit.protocol].values() if fit.change == DEFAULT else ()
    scores = [-of(model, asked) for of in (at(0.5), *readings)]
    return {
        key: (float(roc_auc_score(labels, odd)), float(average_precision_score(labels, odd)))
        for key, odd in zip(fit.measured(), scores, strict=True)
    }


def sets() -> list[Path]:
    paths = sorted(data("adbench_dev").glob("*.npz"))
    return [path for path in paths if (np.array(load(path)[0].shape) <= MOST).all()]


def table(known: dict[Key, Quality], paths: list[Path]) -> Iterator[dict[str, object]]:
    for protocol in PROTOCOLS:
        for change in (*CHANGES[protocol], *READINGS[protocol]):
            found = np.array([known[protocol, change, path.stem] for path in paths])
            away = 1000 * (found - np.array([known[protocol, DEFAULT, path.stem] for path in paths]))
            errors = away.std(0, ddof=1) / np.sqrt(len(away))
            row: dict[str, object] = {"protocol": protocol, "change": change, "sets": len(paths)}
            for place, metric in enumerate(("roc", "ap")):
                row |= {metric: float(found[:, place].mean())}
                row |= {f"{metric} change": float(away[:, place].mean()), f"{metric} se": float(errors[place])}
            yield row


def main() -> None:
    from tqdm import tqdm

    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument(
        "--jobs", type=int, default=0, help="worker processes of one thread each (default: in this one)"
    )
    arguments = parser.parse_args()
    paths = sets()
    fits = [Fit(protocol, change, path) for path in paths for protocol in PROTOCOLS for change in CHANGES[protocol]]
    known = Known(CELLS)
    with tqdm(total=sum(not known.knows(fit) for fit in fits), unit="fit") as bar:
        measure_unknown(fits, run, known, bar, processes=arguments.jobs)
    save("ablation", list(table(Known(CELLS).quality, paths)))


if __name__ == "__main__":
    from benchmarks import ablation  # by a name that other processes know

    ablation.main()
