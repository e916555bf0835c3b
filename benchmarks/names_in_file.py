"""What can be named in a file that nothing is known of: which ways keep their rate, and what do they find?

    python -m benchmarks.names_in_file   some five minutes of one thread

Each way gets a file with outliers among its rows, and no other rows. The rate asked is a false discovery rate of .05.

rule              The p-values of the rows after a fit on them (`detect(fdr=)` after `fit`).
halves            Cross-fitted: each half against the held-out rows of a model of the other half.
halves, labelled  The same; of the 50 most suspicious of these held-out rows, those that are outliers are left out, as
                  if a person had labelled them (Bashari, Sesia and Romano, 2025). A file has no such answers.
apart             `stands_apart`: rows that are too odd for the tail of the others' scores.
apart or a cell   These, and rows with a number far from all that the rest of the row says, as `centrality detect` does.

Files: 1,200 rows of ten simulated worlds without outliers; five columns with 6 or 60 outliers six deviations off, as in
dirty_calibration.py; and of the real sets of the development data at most 2,000 rows each. Writes
results/names_in_file.csv, of each kind of files the mean over files: rows named, of these the share that is ordinary
(0 where none is named), the share of the outliers that is named, and the share of files with an ordinary row named.
"""

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks._results import save
from benchmarks.certainty import WORLDS
from benchmarks.dirty_calibration import KINDS
from centrality import FUSE
from centrality.analysis.conformal import largest_rejected, p_values
from centrality.findings.search import far_numbers

DATA = Path(os.environ.get("CENTRALITY_DATA", "../shared/data"))
SETS = ("annthyroid", "breastw", "cardio", "donors", "fault", "glass", "http", "Ionosphere", "letter", "magic.gamma",
        "mammography", "Pima", "shuttle", "smtp", "thyroid", "WBC", "wine")  # fmt: skip
FDR, LABELLED, MOST_ROWS = 0.05, 50, 2000
Rows = NDArray[np.float64]
Named = NDArray[np.bool_]


def by_halves(X: Rows, odd: Named, seed: int, labelled: int) -> Named:
    halves = np.random.default_rng([seed, 5]).permutation(len(X)) % 2
    named = np.zeros(len(X), dtype=bool)
    for half in (0, 1):
        others, own = np.flatnonzero(halves != half), np.flatnonzero(halves == half)
        fitted = FUSE(random_state=seed).fit(X[others]).fitted_
        calibration = fitted.calibration_rows()
        assert calibration.rows is not None
        scores = fitted.mixing.mixed(calibration.units, 0.5)
        suspicious = np.argsort(scores)[:labelled]
        is_outlier = odd[others[calibration.rows]]
        inliers = np.delete(scores, suspicious[is_outlier[suspicious]])
        p = p_values(inliers, fitted.mixing.mixed(fitted.units(X[own]), 0.5))
        named[own] = p <= largest_rejected(p, FDR)
    return named


def ways(X: Rows, odd: Named, seed: int) -> Iterator[tuple[str, Named]]:
    model = FUSE(random_state=seed).fit(X)
    apart = model.stands_apart(X)
    far = np.zeros(len(X), dtype=bool)
    for finding in far_numbers(X, model):
        far[finding.rows] = True
    yield "rule", model.detect(X, fdr=FDR)
    yield "halves", by_halves(X, odd, seed, labelled=0)
    yield "halves, labelled", by_halves(X, odd, seed, LABELLED)
    yield "apart", apart
    yield "apart or a cell", apart | far


def planted(kind: str, count: int, seed: int) -> tuple[Rows, Named]:
    rng = np.random.default_rng([seed, count, 12])
    rows = np.concatenate([rng.normal(size=(1200 - count, 5)), KINDS[kind](count, 5, rng)])
    return rows, np.arange(1200) >= 1200 - count


def real(name: str) -> tuple[Rows, Named]:
    data = np.load(DATA / "adbench_dev" / f"{name}.npz")
    rows = np.random.default_rng(13).permutation(len(data["X"]))[:MOST_ROWS]
    return data["X"][rows].astype(float), data["y"][rows] > 0


def files() -> Iterator[tuple[str, int, tuple[Rows, Named]]]:
    """Yield what kind of file it is, a seed, its rows, and which of them are odd."""
    for seed in range(5):
        for world in WORLDS.values():
            yield "clean worlds", seed, (world(1200, np.random.default_rng([seed, 11])), np.zeros(1200, dtype=bool))
        for kind in KINDS:
            for count in (6, 60):
                yield f"{count} outliers ({kind})", seed, planted(kind, count, seed)
    for name in SETS:
        yield "real sets", 0, real(name)


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.names_in_file", description=__doc__).parse_args()
    warnings.filterwarnings("ignore")  # that nothing is called, or that rows lie far out
    seen: dict[tuple[str, str], list[tuple[float, float, float, float]]] = {}
    for kind, seed, (X, odd) in files():
        for way, named in ways(X, odd, seed):
            false, found = (named & ~odd).sum(), (named & odd).sum()
            seen.setdefault((kind, way), []).append(
                (named.sum(), false / max(named.sum(), 1), found / max(odd.sum(), 1), float(false > 0))
            )
    rows = []
    for (kind, way), values in seen.items():
        count, false, found, any_false = np.mean(values, axis=0)
        error = np.std(np.array(values)[:, 1], ddof=1) / np.sqrt(len(values))
        rows.append(
            {
                "files": kind,
                "way": way,
                "number of files": len(values),
                "named": float(count),
                "false": float(false),
                "se": float(error),
                "found": float(found),
                "files with a false one": float(any_false),
            }
        )
    save("names_in_file", rows)


if __name__ == "__main__":
    main()
