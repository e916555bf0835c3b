"""Are rows odd that break what ties columns together, where each of their cells is ordinary?

    python -m benchmarks.known_pairs [--fits 2]   a few minutes

A pair of columns correlates by .95, .99 or .999, or a third column is the sum of two and a little else; all others are
independent. Of a broken row one tied cell is of another row. AUC-ROC of such rows against fresh ones at t = ½ and 1,
beside Mahalanobis' distance and kNN on standardised columns; and the place of one training row that breaks the tie by
far: how many of the rows are odder (t = ½). Everything is with defaults, and goes to results/known_pairs.csv.
"""

import argparse
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks._results import save
from benchmarks.detection.methods import Neighbours, Standardised
from centrality import FUSE
from centrality.depths import Mahalanobis

KINDS = ("normal", "log-normal pair", "heavy others", "two pairs", "a sum")
TIES = (0.95, 0.99, 0.999)
SIZES = ((300, 4), (300, 8), (1000, 20), (3000, 4), (3000, 8))
FRESH, BROKEN = 1500, 500
FAR = {"log-normal pair": (3.0, 0.4)}  # the cells of the row that breaks the tie by far


def draw(kind: str, n: int, p: int, by: float, rng: np.random.Generator) -> np.ndarray:
    rows = rng.standard_t(3, size=(n, p)) if kind == "heavy others" else rng.normal(size=(n, p))
    for first in (0, 2) if kind == "two pairs" else (0,):
        a, other = rng.normal(size=(2, n))
        rows[:, first], rows[:, first + 1] = a, by * a + np.sqrt(1 - by**2) * other
    if kind == "log-normal pair":
        rows[:, :2] = np.exp(rows[:, :2])
    if kind == "a sum":
        rows[:, 1] = rng.normal(size=n)
        rows[:, 2] = rows[:, 0] + rows[:, 1] + np.sqrt(1 - by**2) * rng.normal(size=n)
    return rows


def tied(kind: str) -> int:
    """Return the column that other columns tell."""
    return 2 if kind == "a sum" else 1


def measure(kind: str, n: int, p: int, by: float, seed: int) -> dict[str, float]:
    rng = np.random.default_rng([seed, n, p, 7])
    rows, fresh, broken = (draw(kind, count, p, by, rng) for count in (n, FRESH, BROKEN))
    broken[:, tied(kind)] = draw(kind, BROKEN, p, by, rng)[:, tied(kind)]
    rows[0] = 0.3 * rng.normal(size=p)
    rows[0, [0, tied(kind)]] = FAR.get(kind, (1.2, -1.2))
    model, distance = FUSE(random_state=seed).fit(rows), Mahalanobis().fit(rows)
    near = Standardised(Neighbours(10))
    near.fit(rows)
    labels = np.repeat([0, 1], [FRESH, BROKEN])
    asked = np.concatenate([fresh, broken])
    odd = {f"FUSE, t = {t:g}": -model.centrality(asked, t) for t in (0.5, 1.0)}
    odd |= {"Mahalanobis": -distance.score_samples(asked), "kNN": near.outlyingness(asked)}
    found = {name: float(roc_auc_score(labels, values)) for name, values in odd.items()}
    for name, scores in (("FUSE", model.centrality(rows, 0.5)), ("Mahalanobis", distance.score_samples(rows))):
        found[f"place, {name}"] = float((scores < scores[0]).sum())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.known_pairs", description=__doc__)
    parser.add_argument("--fits", type=int, default=2)
    fits = parser.parse_args().fits
    warnings.simplefilter("ignore", UserWarning)  # of heavy columns
    rows: list[dict[str, object]] = []
    for kind in KINDS:
        for n, p in SIZES:
            for by in TIES:
                found = [measure(kind, n, p, by, seed) for seed in range(fits)]
                means = {name: float(np.mean([each[name] for each in found])) for name in found[0]}
                rows.append({"kind": kind, "rows": n, "columns": p, "tie": by, "fits": fits, **means})
                print(rows[-1], flush=True)
    save("known_pairs", rows)


if __name__ == "__main__":
    main()
