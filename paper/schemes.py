"""Tables S1 to S5 and their figures: four ways of drawing anchors and pairs.

Synthetic: 1000 rows to learn from and as many fresh ones to score, by rank correlation with minus the distance to the
mean. Breastw and Ionosphere: the folds of Table 3, one fixed setting (η = 1, Euclidean distances; the Supplement does
not say which), no choice of hyperparameters. Exhaustive schemes take minutes a fit, so they get fewer seeds.
"""

from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from centrality import FUSE, datasets, maps, plots
from centrality.metrics import rank_correlation
from paper.figures import save
from paper.lab import Bar, Cell, Found, Row, deviation_of, gap, value_of
from paper.models import TS, fuse, per_sample, trained
from paper.table3 import folds, outliers, quality

TITLE = "Tables S1 to S5: four sampling schemes"
MINUTES = 36.0
N, GRID = 1000, 80
CLOSE = 0.02
WHY = """
The Supplement does not give η or the metric of the fixed setting for Breastw and Ionosphere; ours is η = 1 with
Euclidean distances. Seconds are those of our implementation, whose labels cost little, so that exhaustive schemes are
slower by their number of steps only. "Agree" is our reading: within the paper's own spread, or .02. On Breastw it fails
by scheme 3's Global, which with the paper's schedule moves from seed to seed: .902, .909 and .957 with three of them,
the first of which is shown (scheme 1: ± .026). With our schedule the four schemes are within .011 there.

24 of the 80 numbers are more than .02 off the print, 19 of them above it. 13 are within two deviations of what
another seed changes, taken from scheme 1's five (the others have one, and the paper prints one number): all those on
Breastw, Normal and Student-t, two of three on Uniform, two of twelve on Ionosphere. On the synthetic data only
Kendall's are off: no Spearman correlation is by more than .018. Of the other 11, ten are on Ionosphere, all above the
print. There Local depends on the setting that is not given. Of Table 3's grid of η and metrics, on columns as they
are and standardised, ours is the one nearest to scheme 1's print
([measured](../benchmarks/results/paper_gaps_schemes.csv)), but Local's AUC-ROC falls from .947 at η = .5 to .912 at 1
and .800 at 2 (printed: .891). The last one is Local's Kendall on Uniform with scheme 2, .911: the paper prints .852
there, and .899 to .912 with the other schemes.
"""
SEEDS_OF = {1: range(5), 2: range(1), 3: range(1), 4: range(1)}
SYNTHETIC = {"Normal": datasets.normal, "Student-t": datasets.student_t, "Uniform": datasets.uniform}
FIGURES = SYNTHETIC | {"Mixture": datasets.four_clusters().sample}
OUTLIERS = ("Breastw", "Ionosphere")
TRAIN, INFER = "train s", "inference ms per sample"
_PRINTED = {  # (Global's two numbers, Local's two numbers, seconds to train, milliseconds to score) of schemes 1 to 4
    "Normal": (
        (0.9887, 0.9095, 0.9778, 0.8807, 4.81, 0.369),
        (0.9899, 0.9168, 0.9758, 0.8773, 137.08, 0.379),
        (0.9909, 0.9216, 0.9799, 0.8895, 101.68, 0.478),
        (0.9928, 0.9353, 0.9732, 0.8712, 609.46, 0.420),
    ),
    "Student-t": (
        (0.9953, 0.9421, 0.9986, 0.9684, 4.78, 0.349),
        (0.9941, 0.9343, 0.9972, 0.9546, 158.86, 0.476),
        (0.9943, 0.9355, 0.9989, 0.9720, 127.09, 0.485),
        (0.9990, 0.9740, 0.9984, 0.9670, 569.43, 0.607),
    ),
    "Uniform": (
        (0.9957, 0.9460, 0.9877, 0.9032, 4.86, 0.506),
        (0.9926, 0.9281, 0.9718, 0.8523, 137.73, 0.581),
        (0.9968, 0.9524, 0.9891, 0.9115, 100.51, 0.543),
        (0.9922, 0.9272, 0.9851, 0.8994, 589.98, 0.468),
    ),
    "Breastw": (
        (0.950, 0.912, 0.983, 0.953, 4.227, 1.276),
        (0.945, 0.906, 0.983, 0.955, 18.056, 1.132),
        (0.948, 0.902, 0.984, 0.955, 14.358, 1.590),
        (0.954, 0.931, 0.985, 0.955, 92.718, 1.336),
    ),
    "Ionosphere": (
        (0.758, 0.748, 0.891, 0.854, 0.961, 0.653),
        (0.779, 0.744, 0.865, 0.818, 3.873, 0.535),
        (0.742, 0.714, 0.862, 0.818, 3.477, 0.767),
        (0.757, 0.719, 0.859, 0.806, 19.312, 0.937),
    ),
}


def _named(name: str, k: int) -> list[tuple[str, str]]:
    pair = ("AUC-ROC", "AUC-PRC") if name in OUTLIERS else ("Spearman", "Kendall")
    heads = [(f"Scheme {k} ({head})", metric) for head in ("Global", "Local") for metric in pair]
    return [*heads, (f"Scheme {k}", TRAIN), (f"Scheme {k}", INFER)]


PRINTED = {
    (name, *key): value
    for name, table in _PRINTED.items()
    for k, values in enumerate(table, 1)
    for key, value in zip(_named(name, k), values, strict=True)
}


def cells(quick: bool) -> list[Cell]:
    n = 150 if quick else N
    wanted = [
        Cell(name, f"scheme {k}", settings, seed, partial(measure, name, k, settings, n, seed, quick))
        for k, seeds in SEEDS_OF.items()
        for seed in (range(1) if quick else seeds)
        for name in ("Ionosphere", "Uniform", "Student-t", "Normal", "Breastw", "Mixture")
        for settings in ("paper", "ours")
        if name != "Mixture" or (seed == 0 and settings == "paper")
    ]
    return [cell for cell in wanted if cell.dataset in ("Ionosphere", "Uniform")] if quick else wanted


def measure(name: str, k: int, settings: str, n: int, seed: int, quick: bool) -> Found:
    if name in OUTLIERS:
        make = partial(fuse, settings, "outlier", seed, quick=quick, scheme=k)
        return of_outliers(name, k, make, seed, 1 if quick else 5)
    X, fresh = np.split(FIGURES[name](2 * n, random_state=seed), 2)  # of one draw: Normal keeps its covariance
    model, seconds = trained(fuse(settings, "synthetic", seed, quick=quick, scheme=k), X)
    found: Found = {}
    if name in SYNTHETIC:
        inward = -np.linalg.norm(fresh, axis=1)
        numbers = [
            rank_correlation(score, inward, method=metric)
            for score in model.raw(fresh).T
            for metric in ("spearman", "kendall")
        ]
        found |= dict(zip(_named(name, k), [*numbers, seconds, per_sample(model.heads, fresh) / 1e3], strict=True))
    if seed == 0 and settings == "paper":
        x, y, f = maps.grid(model, X, TS, size=GRID)
        found |= {"x": x, "y": y, "f": f.astype(np.float32)}
    return found


def of_outliers(name: str, k: int, make: partial[FUSE], seed: int, count: int) -> Found:
    X, y = outliers(name)
    reached = []
    for train, _, test in list(folds(y, seed))[:count]:
        model, seconds = trained(make(), X[train])
        heads = model.heads(X[test])
        numbers = [value for head in heads.T for value in quality(y[test], head)[::-1]]
        reached.append([*numbers, seconds, per_sample(model.heads, X[test]) / 1e3])
    return dict(zip(_named(name, k), np.mean(reached, axis=0), strict=True))


def draw(found: dict[Cell, Found], folder: Path, quick: bool) -> None:
    """For each distribution a row of contours for each scheme."""
    for name in FIGURES:
        grids = {c.model: (f["x"], f["y"], f["f"]) for c, f in found.items() if c.dataset == name and "f" in f}
        if grids:
            figure = plots.contours(list(grids.values()), TS, titles=list(grids))
            save(figure, folder / f"schemes_{name.lower()}.png", dpi=90)


def off(rows: list[Row]) -> dict[tuple[str, str, str], float]:
    """Cells more than CLOSE off the print, and by how many deviations: of the difference of two fits, by their seeds.

    The deviation over seeds is scheme 1's, of the same head and metric: the others have one seed.
    """
    found = {}
    for name, k in product((*SYNTHETIC, *OUTLIERS), SEEDS_OF):
        for (method, metric), first in list(zip(_named(name, k), _named(name, 1), strict=True))[:4]:
            apart = abs(value_of(rows, name, method, metric, "paper") - PRINTED[name, method, metric])
            if apart > CLOSE:
                fits = 1 + 1 / len(SEEDS_OF[k])  # theirs, and the mean of ours
                found[name, method, metric] = apart / (np.sqrt(fits) * deviation_of(rows, name, *first, "paper"))
    return found


def near_print(rows: list[Row]) -> Bar | None:
    """Count the cells that seeds do not explain; None where nothing is measured."""
    far = off(rows)
    beyond = [name for (name, *_), deviations in far.items() if deviations > 2]
    of = sum(not np.isnan(value_of(rows, *key, "paper")) for key in PRINTED if key[2] not in (TRAIN, INFER))
    if not of:
        return None
    where = ", ".join(f"{beyond.count(name)} on {name}" for name in sorted(set(beyond))) or "none"
    words = f"{len(far)} of {of} are more than .02 off; by more than seeds explain {len(beyond)}: {where}"
    return "every cell within .02 of the printed, or within two deviations of what the seed changes", not beyond, words


def bars(rows: list[Row]) -> list[Bar | None]:
    def of(name: str, k: int, settings: str) -> list[float]:
        return [value_of(rows, name, *key, settings) for key in _named(name, k)]

    spearman = {key: value for key, value in PRINTED.items() if key[2] == "Spearman"}
    made: list[Bar | None] = [
        gap(rows, spearman, CLOSE, "Normal, Student-t and Uniform: Spearman within .02 of the printed"),
        near_print(rows),
    ]
    for name in (*SYNTHETIC, *OUTLIERS):
        table = np.array([of(name, k, "paper") for k in SEEDS_OF])  # (4, 6)
        known = ~np.isnan(table[:, 0])
        if known.sum() < 2:
            continue
        ours, theirs = (np.ptp(values[known][:, [0, 2]], axis=0) for values in (table, np.array(_PRINTED[name])))
        seconds = ", ".join(f"{s:.1f}" for s in table[known, 4])
        words = f"Global within {ours[0]:.3f}, Local within {ours[1]:.3f} (paper {theirs[0]:.3f}, {theirs[1]:.3f})"
        made.append((f"{name}: the schemes agree", bool((ours <= np.maximum(theirs, 0.02)).all()), words))
        cheapest = table[known, 4].argmin() == 0
        made.append((f"{name}: scheme 1 trains fastest", bool(cheapest), f"seconds of the schemes: {seconds}"))
    return made
