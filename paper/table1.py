"""Table 1: does centrality fall with the distance to the mean?

Rank correlation with minus the Euclidean distance to the mean, n = 5000 in the plane. A seed draws another sample and,
for Normal, another covariance.
"""

from functools import partial

import numpy as np

from centrality import datasets
from centrality.depths import Spatial
from centrality.metrics import rank_correlation
from paper.lab import Bar, Cell, Found, Row, gains, gap, speed
from paper.models import SEEDS, depths, fuse, trained

TITLE = "Table 1: rank correlation with the distance to the mean"
MINUTES = 4.0
N = 5000
SAMPLES = {"Normal": datasets.normal, "Student-t": datasets.student_t, "Uniform": datasets.uniform}
WHY = """
Where we differ from the print: Normal depends on the random covariance, which the paper does not give; a MAH of .781
means a more elongated one (variances of about 14 to 1) than our five (3.5 to 6.2). On the three of 300 draws of the
same generator whose MAH comes nearest ([measured](../benchmarks/results/paper_gaps_normal.csv)), KDE, POT and Local
come out close to the print. Global, with the paper's settings, does so in part: .991 to .993 instead of .988, printed
.996 (Kendall .925 to .933 instead of .908, printed .951). The print is above what Global is trained to give: the exact
share of comparisons won has .992 to .994 (.930 to .943) on those draws. A smooth network may exceed it, as ours does
with our schedule on one of them (.996, .949); what made theirs do so we cannot tell. SPA's printed numbers are nearer
to spatial depth *without* the whitening that the Supplement describes (.987 on our five draws, .981 on those three,
.993 printed; with it, Normal's cannot be far from MAH's); both are shown. KDE's bandwidth is not given; 1 is near to
the print. Our defaults' Local uses a much smaller noise: on the Normal it follows the ellipses instead of the distance,
and on the Uniform, whose density is flat, it has no order to show.
"""
METHODS = ("Global", "Local", "KDE", "MAH", "POT", "PRO", "SPA", "Tukey")
_ROWS = {
    ("Normal", "Spearman"): (0.996, 0.982, 0.981, 0.781, 0.999, 0.776, 0.993, 0.782),
    ("Normal", "Kendall"): (0.951, 0.894, 0.894, 0.603, 0.981, 0.598, 0.940, 0.605),
    ("Student-t", "Spearman"): (0.998, 0.999, 1.000, 1.000, 1.000, 0.999, 1.000, 1.000),
    ("Student-t", "Kendall"): (0.964, 0.980, 0.992, 0.991, 0.997, 0.977, 0.990, 0.982),
    ("Uniform", "Spearman"): (0.998, 0.998, 0.998, 1.000, 1.000, 0.988, 0.999, 0.989),
    ("Uniform", "Kendall"): (0.966, 0.961, 0.962, 0.984, 0.966, 0.915, 0.970, 0.926),
}
UNWHITENED = "SPA, not whitened"
PRINTED = {
    (name, method, metric): value
    for (name, metric), values in _ROWS.items()
    for method, value in zip((*METHODS, UNWHITENED), (*values, values[6]), strict=True)
}


def cells(quick: bool) -> list[Cell]:
    n, seeds = (500, range(1)) if quick else (N, SEEDS)
    return [
        cell
        for seed in seeds
        for name in SAMPLES
        for cell in (
            *(
                Cell(name, "FUSE", s, seed, partial(of_fuse, name, s, n, seed, quick))
                for s in ("paper", "ours", "default")
            ),
            Cell(name, "depths", "paper", seed, partial(of_depths, name, n, seed)),
        )
    ]


def of_fuse(name: str, settings: str, n: int, seed: int, quick: bool) -> Found:
    X = SAMPLES[name](n, random_state=seed)
    model, seconds = trained(fuse(settings, "synthetic", seed, quick=quick), X)
    raw = model.raw(X)
    return correlations("Global", raw[:, 0], X) | correlations("Local", raw[:, 1], X) | {("FUSE", "train s"): seconds}


def of_depths(name: str, n: int, seed: int) -> Found:
    X = SAMPLES[name](n, random_state=seed)
    found: Found = {}
    for method, depth in (depths(seed) | {UNWHITENED: Spatial(whiten=False)}).items():
        found |= correlations(method, depth.fit(X).score_samples(X), X)
    return found


def correlations(method: str, scores: np.ndarray, X: np.ndarray) -> Found:
    inward = -np.linalg.norm(X, axis=1)
    return {
        (method, metric): rank_correlation(scores, inward, method=metric.lower()) for metric in ("Spearman", "Kendall")
    }


def bars(rows: list[Row]) -> list[Bar | None]:
    heads = ("Global", "Local")
    spearman = {k: v for k, v in PRINTED.items() if k[0] != "Normal" and k[1] in heads and k[2] == "Spearman"}
    words = "the paper's settings: Spearman of Student-t and Uniform within .01 of the printed"
    return [
        gap(rows, spearman, 0.01, words),
        gains(rows, [key for key in PRINTED if key[1] in heads]),
        speed(rows, SAMPLES),
    ]
