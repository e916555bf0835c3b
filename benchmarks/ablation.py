"""python -m benchmarks.ablation [FOLDER] [--jobs N]: what each part of the default is worth.

One thing changed at a time, everything else as FUSE() has it, one seed; mean AUC-ROC and AUC-PR over the sets. Choices
were made on half A of the development sets (the first, third, ... by name) and confirmed on half B. Each fit's result
is appended to results/ablation_cells.csv as it comes; started again, the run goes on where it stopped.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._results import RESULTS, data, save
from benchmarks.cells import Lines, measure_unknown
from benchmarks.detection.protocols import PROTOCOLS, load, split
from centrality.network.calibration import LINEAR

DEFAULT = "default"
# What is changed, for data that may hold outliers and for clean data.
CHANGES: dict[str, dict[str, dict[str, Any]]] = {
    "unsupervised": {
        DEFAULT: {},
        "one noise scale, s": {"rung": 2},
        "scaling='standard' (no asinh)": {"scaling": "standard"},
        "two encoders": {"shared_encoder": False},
        "hidden=(256, 256)": {"hidden": (256, 256)},
        "half the steps": {"max_steps": 250},
        "twice the steps": {"max_steps": 1000},
        "batches of 256": {"batch_size": 256},
        "metric='manhattan'": {"metric": "manhattan"},
        "ensemble=3": {"ensemble": 3},
    },
    "one-class": {
        DEFAULT: {},
        "no prior": {"novelty": False, "max_steps": 1500},
        "1000 steps": {"max_steps": 1000},
        "4000 steps, batches of 256": {"max_steps": 4000, "batch_size": 256},
    },
}
# Of the default's one fit, other ways to a score.
READINGS: dict[str, Callable[[Any, np.ndarray], np.ndarray]] = {
    "t=0": lambda model, Q: model.set_params(t=0.0).score_samples(Q),
    "t=0.25": lambda model, Q: model.set_params(t=0.25).score_samples(Q),
    "t=0.75": lambda model, Q: model.set_params(t=0.75).score_samples(Q),
    "t=1": lambda model, Q: model.set_params(t=1.0).score_samples(Q),
    "heads mixed in [0, 1]": lambda model, Q: LINEAR(model.heads(Q), 0.5),
}
CELLS = RESULTS / "ablation_cells.csv"
Key = tuple[str, str, str]  # protocol, change, data
Quality = tuple[float, float]  # AUC-ROC, AUC-PR


def main() -> None:
    from tqdm import tqdm

    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of .npz files (default: $CENTRALITY_DATA/adbench_dev)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes of one thread each")
    arguments = parser.parse_args()
    files = sorted((arguments.folder or data("adbench_dev")).glob("*.npz"))
    fits = [Fit(protocol, change, path) for protocol in PROTOCOLS for change in CHANGES[protocol] for path in files]
    known = Known(CELLS)
    with tqdm(total=sum(not known.knows(fit) for fit in fits), unit="fit") as bar:
        measure_unknown(fits, run, known, bar, processes=arguments.jobs)
    save("ablation", list(table(Known(CELLS).quality, [path.stem for path in files])))


@dataclass(frozen=True)
class Fit:
    protocol: str
    change: str
    data: Path

    def measured(self) -> list[Key]:
        """What is measured with one fit."""
        names = (self.change, *(READINGS if self.change == DEFAULT else ()))
        return [(self.protocol, name, self.data.stem) for name in names]


class Known:
    """AUC-ROC and AUC-PR of each change on each set, in a file."""

    def __init__(self, path: Path) -> None:
        self.lines = Lines(path, ("protocol", "change", "data", "roc", "ap"))
        self.quality = {
            (line["protocol"], line["change"], line["data"]): (float(line["roc"]), float(line["ap"]))
            for line in self.lines.read()
        }

    def knows(self, fit: Fit) -> bool:
        return all(key in self.quality for key in fit.measured())

    def keep(self, _: Fit, found: dict[Key, Quality]) -> None:
        self.quality |= found
        self.lines.append(*((*key, f"{roc:.4f}", f"{ap:.4f}") for key, (roc, ap) in found.items()))


def run(fit: Fit) -> dict[Key, Quality]:
    from centrality import PaperFUSE

    X, Q, y = split(fit.protocol, *load(fit.data), 0)
    settings = {"novelty": fit.protocol == "one-class", "random_state": 0} | CHANGES[fit.protocol][fit.change]
    if (rung := settings.pop("rung", None)) is not None:
        settings["noise_scale"] = PaperFUSE(**settings, max_steps=1).fit(X).noise_scale_[rung]
    model = PaperFUSE(**settings).fit(X)
    scores = [model.score_samples(Q)]
    if fit.change == DEFAULT:
        scores += [of(model, Q) for of in READINGS.values()]
    return {
        key: (float(roc_auc_score(y, -score)), float(average_precision_score(y, -score)))
        for key, score in zip(fit.measured(), scores, strict=True)
    }


def table(known: dict[Key, Quality], sets: list[str]) -> Any:
    halves = {"A": sets[::2], "B": sets[1::2], "all": sets}
    for protocol in PROTOCOLS:
        for change in (*CHANGES[protocol], *READINGS):
            row: dict[str, object] = {"protocol": protocol, "change": change}
            for half, names in halves.items():
                roc, ap = np.mean([known[protocol, change, name] for name in names], axis=0)
                row |= {f"ROC {half}": float(roc), f"PR {half}": float(ap)}
            yield row


if __name__ == "__main__":
    from benchmarks import ablation  # by a name that other processes know

    ablation.main()
