"""Figure "runtime": microseconds per sample to score all n rows, against d at n = 500 and against n at d = 5.

Scoring by a fitted model: what a depth can prepare from its sample beforehand is not counted. The depths are ours, with
the paper's numbers of directions. How long FUSE was trained makes no difference here, so it is trained for one step.
"""

from functools import partial
from pathlib import Path

import numpy as np

from centrality import FUSE, datasets, plots
from paper.figures import save
from paper.lab import Bar, Cell, Found, Row
from paper.models import depths, per_sample

TITLE = "Figure 3: inference time per sample"
MINUTES = 2.0
SEEDS = range(3)
WHY = """
The depths are ours and vectorised, from 4 to thousands of times faster than the package that the paper follows
([measured](../benchmarks/results/depths.csv)), so that FUSE's lead over them is smaller than the paper's.
"""
ALONE = True  # its numbers are times
SAMPLES = {"Normal": datasets.normal, "Student-t": datasets.student_t, "Uniform": datasets.uniform}
METHODS = ("FUSE", "KDE", "MAH", "POT", "PRO", "SPA", "Tukey")
SIZES = [*((500, d) for d in (2, 5, 10, 20, 50, 100)), *((n, 5) for n in (100, 200, 1000, 2000))]
PRINTED: dict[tuple[str, str, str], str] = {}


def cells(quick: bool) -> list[Cell]:
    seeds, methods = (range(1), METHODS[:4]) if quick else (SEEDS, METHODS)
    sizes = SIZES[:2] + SIZES[6:7] if quick else SIZES
    return [
        Cell(name, method, "paper", seed, partial(measure, name, method, sizes, seed))
        for seed in seeds
        for name in SAMPLES
        for method in methods
    ]


def measure(name: str, method: str, sizes: list[tuple[int, int]], seed: int) -> Found:
    found: Found = {}
    for n, d in sizes:
        X = SAMPLES[name](n, d, random_state=seed)
        if method == "FUSE":
            model = FUSE.as_in_paper("synthetic", epochs=1, max_steps=1, random_state=seed)
        else:
            model = depths(seed)[method]
        slow = method in ("PRO", "Tukey")
        found[method, metric(n, d)] = per_sample(model.fit(X).score_samples, X, times=1 if slow else 5)
    return found


def metric(n: int, d: int) -> str:
    return f"µs per sample, n={n} d={d}"


def draw(found: dict[Cell, Found], folder: Path, quick: bool) -> None:
    """A row of two panels for each distribution, means over seeds."""
    for name in SAMPLES:
        panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
        for label, fixed, sizes in (
            (f"{name}: dimension d, at n = 500", 500, sorted(d for n, d in SIZES if n == 500)),
            (f"{name}: sample size n, at d = 5", 5, sorted(n for n, d in SIZES if d == 5)),
        ):
            lines = {}
            for method in METHODS:
                seen = [f for cell, f in found.items() if (cell.dataset, cell.model) == (name, method)]
                keys = {x: (method, metric(500, x) if fixed == 500 else metric(x, 5)) for x in sizes}
                points = [(x, np.mean([f[key] for f in seen])) for x, key in keys.items() if seen and key in seen[0]]
                if points:
                    lines[method] = tuple(map(list, zip(*points, strict=True)))
            panels[label] = lines
        save(plots.runtime(panels), folder / f"runtime_{name.lower()}.png")


def bars(rows: list[Row]) -> list[Bar]:
    """The text's claims, over all distributions and sizes."""
    seen: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        if row["metric"].startswith("µs"):
            seen.setdefault((row["dataset"], row["metric"]), {})[row["method"]] = float(row["value"])
    ours = [times["FUSE"] for times in seen.values()]
    slow = [m for m in METHODS if m not in ("FUSE", "MAH")]
    gain = {m: [times[m] / times["FUSE"] for times in seen.values() if m in times] for m in slow}
    medians = {m: float(np.median(g)) for m, g in gain.items() if g}
    mahalanobis = float(np.median([times["FUSE"] / times["MAH"] for times in seen.values() if "MAH" in times]))
    words = ", ".join(f"{m} {g:.0f}" for m, g in medians.items())
    return [
        (
            "FUSE takes 1 to 10 µs per sample in all settings",
            max(ours) <= 10,
            f"{min(ours):.2g} to {max(ours):.2g} µs",
        ),
        (
            "FUSE is two to four orders of magnitude faster than KDE, POT, PRO, SPA and Tukey",
            min(medians.values()) >= 100,
            f"median factors: {words}",
        ),
        ("FUSE matches MAH in speed (within a factor of 2)", mahalanobis <= 2, f"{mahalanobis:.1f} times MAH's time"),
    ]
