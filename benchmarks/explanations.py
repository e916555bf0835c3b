"""Do explanations name what is odd? Against rows made odd on purpose, replaced features, SHAP, and Captum.

    python -m benchmarks.explanations [PART ...]   about ten minutes; needs the data sets, and the peers:
    pip install --no-deps captum shap slicer       (what they require is there already)

odd        One random feature of an inlier is thrown 8 deviations off: how often is it the most negative one?
replaced   Labelled outliers, not trained on, that FUSE detects: what centrality gains when the feature blamed most
           takes the value of the nearest typical point, against the mean over the features (50 of them, drawn at
           random, where there are more).
agreement  Spearman correlation, row by row, with SHAP's permutation sampling of the same score from the same centre,
           and with Captum's integrated gradients of the same network, 512 steps, in the units in which heads are
           mixed. Rows that were not trained on.
speed      Rows a second at p = 32 with 32 steps, all in one process and one run.
"""

import os
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from scipy.stats import spearmanr

from benchmarks._results import data, save
from centrality import FUSE

MOST_ROWS = 5000
THROWN = 8.0
DIAL = (0.0, 0.5, 1.0)
REAL = ("cardio", "letter", "optdigits", "SpamBase", "shuttle", "magic.gamma")
SMALL = ("breastw", "glass", "thyroid", "mammography", "Pima")


def labelled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """At most MOST_ROWS rows of a set and their labels, 1 for outliers."""
    held = np.load(data("adbench_dev", f"{name}.npz"))
    X, y = held["X"].astype(np.float64), held["y"]
    chosen = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    return X[chosen], y[chosen]


def halved(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows to learn from, and others with their labels: none that was learned, which other networks would judge."""
    half = len(X) // 2
    learned = {row.tobytes() for row in X[:half]}
    fresh = np.array([row.tobytes() not in learned for row in X[half:]])
    return X[:half], X[half:][fresh], y[half:][fresh]


def worlds() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    correlated = np.linalg.cholesky(0.5 * np.eye(10) + 0.5)
    centres = rng.normal(size=(5, 16)) * 3
    made = {
        "normal, p = 32": rng.normal(size=(4000, 32)),
        "correlated normal, p = 10": rng.normal(size=(4000, 10)) @ correlated.T,
        "five clusters, p = 16": centres[rng.integers(5, size=4000)] + rng.normal(size=(4000, 16)),
        "Student-t (3), p = 8": rng.standard_t(3, size=(4000, 8)),
    }
    for name in REAL:
        X, y = labelled(name)
        made[name] = X[y == 0]
    return made


def odd() -> None:
    rows: list[dict[str, object]] = []
    for name, X in worlds().items():
        rng = np.random.default_rng(1)
        train, test = X[: len(X) // 2], X[len(X) // 2 :][:500].copy()
        model = FUSE(random_state=0).fit(train)
        spread = train.std(0)
        thrown = rng.choice(np.flatnonzero(spread > 0), size=len(test))
        each = np.arange(len(test))
        test[each, thrown] = train.mean(0)[thrown] + rng.choice([-1, 1], len(test)) * THROWN * spread[thrown]
        firsts = {t: float((model.explain(test, t).argmin(1) == thrown).mean()) for t in DIAL}
        way = model.toward_center(test, steps=20) / np.where(spread > 0, spread, 1)
        changed, in_all = (float((np.abs(way[:, at] - way[:, 0]).argmax(1) == thrown).mean()) for at in (1, -1))
        rows.append(
            {"data": name, "columns": X.shape[1], "rows": len(test)}
            | {f"first at t = {t:g}": share for t, share in firsts.items()}
            | {"first step changes it most": changed, "path changes it most": in_all}
        )
        print(rows[-1], flush=True)
    save("explanations_odd", rows)


def replaced() -> None:
    rows: list[dict[str, object]] = []
    for path in sorted(data("adbench_dev").glob("*.npz"), key=lambda path: path.name.lower()):
        train, X, y = halved(*labelled(path.stem))
        model = FUSE(random_state=0).fit(train)
        found = X[(y == 1) & (model.predict(X) == -1)][:200]
        if len(found):
            rows.append({"data": path.stem, "columns": X.shape[1], "detected": len(found)} | gains(model, found))
            print(rows[-1], flush=True)
    whole: dict[str, object] = {"data": "mean of the sets", "columns": ""}
    whole["detected"] = sum(int(str(row["detected"])) for row in rows)
    for t in DIAL:
        for kind in ("top", "random"):
            whole[f"{kind} at t = {t:g}"] = float(np.mean([float(str(row[f"{kind} at t = {t:g}"])) for row in rows]))
    save("explanations_replaced", [*rows, whole])


def gains(model: FUSE, odd: np.ndarray) -> dict[str, object]:
    """What f gains, on average, when the feature blamed most takes the typical point's value, and when any one does."""
    found: dict[str, object] = {}
    typical = model.fitted_.typical[model.fitted_.nearest_typical(odd)]
    columns = np.arange(odd.shape[1])
    some = np.random.default_rng(2).permutation(columns)[:50]
    for t in DIAL:
        before = model.centrality(odd, t)
        top = np.where(columns == model.explain(odd, t).argmin(1)[:, None], typical, odd)
        found[f"top at t = {t:g}"] = float((model.centrality(top, t) - before).mean())
        each = [model.centrality(np.where(columns == j, typical, odd), t) - before for j in some]
        found[f"random at t = {t:g}"] = float(np.mean(each))
    return found


def agreement() -> None:
    import shap

    rows: list[dict[str, object]] = []
    for name in SMALL:
        train, X, _ = halved(*labelled(name))
        model = FUSE(random_state=0).fit(train)
        few = X[np.argsort(model.centrality(X))[np.linspace(0, len(X) - 1, 100).astype(int)]]
        for t in DIAL:
            ours = model.explain(few, t, baseline=model.center_[None])
            explainer = shap.PermutationExplainer(
                lambda rows, m=model, t=t: m.centrality(rows, t), shap.maskers.Independent(model.center_[None]), seed=0
            )
            sampled = explainer(few, max_evals=40 * (2 * X.shape[1] + 1), silent=True).values
            exact = by_captum(model, few, t, steps=512)
            rows.append(
                {"data": name, "columns": X.shape[1], "t": t, "rows": len(few)}
                | {"SHAP": order_agrees(ours, sampled), "Captum": order_agrees(ours, exact)}
                | {"largest difference to Captum": float(np.abs(ours - exact).max())}
            )
            print(rows[-1], flush=True)
    save("explanations_agreement", rows)


def order_agrees(a: np.ndarray, b: np.ndarray) -> float:
    """The mean over rows of Spearman's correlation of their contributions.

    Features that do nothing are left out, and so are rows that nothing sets apart from the centre.
    """
    moving = (np.abs(a).max(0) > 1e-6) | (np.abs(b).max(0) > 1e-6)
    odd = (np.ptp(a, axis=1) > 0) & (np.ptp(b, axis=1) > 0)
    return float(np.mean([spearmanr(x[moving], y[moving]).statistic for x, y in zip(a[odd], b[odd], strict=True)]))


def torch_score(model: FUSE, t: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """f(z, t) of scaled rows, before it is squeezed into [0, 1]."""
    module = model.to_torch()
    return lambda z: module.mixed(module.calibrated(module.raw(module.networks(z))), t)


def by_captum(model: FUSE, X: np.ndarray, t: float, steps: int, batch: int = 8192) -> np.ndarray:
    from captum.attr import IntegratedGradients

    z, centre = (torch.from_numpy(model.fitted_.scaling.apply(rows)) for rows in (X, model.center_[None]))
    score = torch_score(model, t)
    found = IntegratedGradients(score).attribute(
        z, centre, n_steps=steps, method="riemann_trapezoid", internal_batch_size=batch
    )
    with torch.no_grad():
        units = (score(z) - score(centre)).numpy()
    change = model.centrality(X, t) - model.centrality(model.center_[None], t)
    return found.detach().numpy() * (change / units)[:, None]


def speed() -> None:
    import captum
    import shap

    X = np.random.default_rng(0).normal(size=(6000, 32))
    model = FUSE(random_state=0).fit(X)
    explainer = shap.PermutationExplainer(model.centrality, shap.maskers.Independent(model.center_[None]), seed=0)
    tried: dict[str, tuple[Callable[[np.ndarray], object], int]] = {
        "model.explain": (lambda Q: model.explain(Q, 0.5), 2000),
        f"captum {captum.__version__}, 32 steps": (lambda Q: by_captum(model, Q, 0.5, steps=32), 100),
        f"shap {shap.__version__}, permutations": (lambda Q: explainer(Q, max_evals=650, silent=True), 15),
    }
    rows: list[dict[str, object]] = []
    for name, (explain, n) in tried.items():  # as many rows as take each about as long: quiet moments come to all alike
        explain(X[:64])
        taken = []
        for _ in range(20):
            begun = time.perf_counter()
            explain(X[:n])
            taken.append(time.perf_counter() - begun)
        rows.append({"method": name, "rows": n, "rows a second": n / min(taken)})
    for row in rows:
        row["ours is faster by"] = float(rows[0]["rows a second"]) / float(row["rows a second"])  # type: ignore[arg-type]
        row["threads"] = torch.get_num_threads()
        row["load"] = round(os.getloadavg()[0], 1)
    save("explanations_speed", rows)


PARTS = {"speed": speed, "odd": odd, "agreement": agreement, "replaced": replaced}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
