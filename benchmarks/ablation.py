"""python -m benchmarks.ablation [FOLDER] [--jobs N]: what each part of the default is worth.

One thing changed at a time, everything else as FUSE() has it, one seed; mean AUC-ROC and AUC-PR over the sets. Choices
were made on half A of the development sets (the first, third, ... by name) and confirmed on half B. Each fit's result
is appended to results/ablation_cells.csv as it comes; started again, the run goes on where it stopped.
"""

import argparse
import csv
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

from benchmarks._results import RESULTS, data, save
from benchmarks.detection.protocols import PROTOCOLS, load, split

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
        "metric='manhattan'": {"metric": "manhattan"},
        "ensemble=3": {"ensemble": 3},
    },
    "one-class": {
        DEFAULT: {},
        "no prior": {"novelty": False, "max_steps": 4000},
    },
}
# Of the default's one fit, other ways to a score.
READINGS: dict[str, Callable[[Any, np.ndarray], np.ndarray]] = {
    "t=0": lambda model, Q: model.set_params(t=0.0).score_samples(Q),
    "t=0.25": lambda model, Q: model.set_params(t=0.25).score_samples(Q),
    "t=0.75": lambda model, Q: model.set_params(t=0.75).score_samples(Q),
    "t=1": lambda model, Q: model.set_params(t=1.0).score_samples(Q),
    "heads mixed in [0, 1]": lambda model, Q: model.set_params(t=0.5).centrality(Q),
}
CELLS = RESULTS / "ablation_cells.csv"
Job = tuple[str, str, dict[str, Any], Path]
Key = tuple[str, str, str]  # protocol, change, data


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", help="of .npz files (default: $CENTRALITY_DATA/adbench_dev)")
    parser.add_argument("--jobs", type=int, default=1, help="worker processes of one thread each")
    arguments = parser.parse_args()
    files = sorted((arguments.folder or data("adbench_dev")).glob("*.npz"))
    known = read()
    jobs = [
        (protocol, change, settings, path)
        for protocol in PROTOCOLS
        for change, settings in CHANGES[protocol].items()
        for path in files
        if any((protocol, name, path.stem) not in known for name in (change, *(READINGS if change == DEFAULT else ())))
    ]
    complete(jobs, arguments.jobs)
    save("ablation", list(table(read(), [path.stem for path in files])))


def read() -> dict[Key, tuple[float, float]]:
    if not CELLS.exists():
        return {}
    with CELLS.open(newline="") as file:
        cells = list(csv.DictReader(file))
    return {(cell["protocol"], cell["change"], cell["data"]): (float(cell["roc"]), float(cell["ap"])) for cell in cells}


def complete(jobs: list[Job], processes: int) -> None:
    from tqdm import tqdm

    if not CELLS.exists():
        CELLS.write_text("protocol,change,data,roc,ap\n")
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"
    with multiprocessing.get_context("spawn").Pool(processes) as pool, CELLS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for results in tqdm(pool.imap_unordered(run, jobs), total=len(jobs), unit="fit"):
            writer.writerows((*key, f"{roc:.4f}", f"{ap:.4f}") for key, (roc, ap) in results.items())
            file.flush()


def run(job: Job) -> dict[Key, tuple[float, float]]:
    from centrality import FUSE

    protocol, change, settings, path = job
    X, Q, y = split(protocol, *load(path), 0)
    settings = {"novelty": protocol == "one-class", "random_state": 0} | settings
    if (rung := settings.pop("rung", None)) is not None:
        settings["noise_scale"] = FUSE(**settings, max_steps=1).fit(X).noise_scale_[rung]
    model = FUSE(**settings).fit(X)
    scores = {change: model.score_samples(Q)}
    if change == DEFAULT:
        scores |= {reading: of(model, Q) for reading, of in READINGS.items()}
    return {
        (protocol, name, path.stem): (float(roc_auc_score(y, -score)), float(average_precision_score(y, -score)))
        for name, score in scores.items()
    }


def table(known: dict[Key, tuple[float, float]], sets: list[str]) -> Any:
    halves = {"A": sets[::2], "B": sets[1::2], "all": sets}
    for protocol in PROTOCOLS:
        for change in (*CHANGES[protocol], *READINGS):
            row: dict[str, object] = {"protocol": protocol, "change": change}
            for half, names in halves.items():
                roc, ap = np.mean([known[protocol, change, name] for name in names], axis=0)
                row |= {f"ROC {half}": float(roc), f"PR {half}": float(ap)}
            yield row


if __name__ == "__main__":
    main()
