"""Do explanations name what is odd? Rows made odd on purpose, by three ways to share out a score; replaced features.

    python -m benchmarks.explanations [PART ...]   about ten minutes; needs the data sets

planted    One cell of a row not trained on is made wrong: a number far outside ("wild"), another row's number
           ("foreign"), another category. How often is its column the first reason, or among three; the largest
           contribution; and what the smallest correction changes of the rows that were not odd before.
odd        One random feature of an inlier is thrown 8 deviations off: how often is it the most negative one?
replaced   Labelled outliers, not trained on, that FUSE detects: what centrality gains when the feature blamed most
           takes the value of the nearest typical point, against the mean over the features (50 of them, drawn at
           random, where there are more).
"""

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._results import data, save
from centrality import FUSE, Chain
from centrality.datasets import houses
from centrality.model.explain import sum_by_feature
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.representations import Table

MOST_ROWS = 5000
THROWN = 8.0
DIAL = (0.0, 0.5, 1.0)
REAL = ("cardio", "letter", "optdigits", "SpamBase", "shuttle", "magic.gamma")
TRAINED, PLANTED = 4000, 300  # rows
LEVELS = 40  # a column of more different texts is no category; one of fewer numbers is no measurement (a third of it)
STEPS = 32  # of the straight way of integrated gradients


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


def planted() -> None:
    warnings.simplefilter("ignore")  # wild numbers and unknown gaps are what is planted
    results: list[dict[str, object]] = []
    for name, frame in frames().items():
        frame = frame.sample(frac=1, random_state=0).reset_index(drop=True)
        count = min(TRAINED, int(0.7 * len(frame)))
        train, test = frame[:count], frame[count : count + PLANTED].reset_index(drop=True)
        model = Chain(Table(), FUSE(random_state=0)).fit(train)
        for fault in FAULTS:
            rows, guilty = with_faults(model, train, test, fault)
            if not len(guilty):
                continue
            line: dict[str, object] = {"data": name, "fault": fault, "rows": len(rows)}
            for method, explain in METHODS.items():
                explain(model, rows[:8])
                begun = time.perf_counter()
                parts = explain(model, rows)
                seconds = time.perf_counter() - begun
                place = (parts < parts[np.arange(len(parts)), guilty][:, None]).sum(1)
                line |= {
                    f"{method}: first": float((place == 0).mean()),
                    f"{method}: first three": float((place < 3).mean()),
                    f"{method}: largest": float(np.abs(parts).max()),
                    f"{method}: ms a row": 1000 * seconds / len(rows),
                }
            names = reader_of(model).features_with_names().names
            new = (model.predict(rows) == -1) & (model.predict(test) == 1)
            fixes = zip(model.smallest_correction(rows[new]), guilty[new], strict=True)
            changes = [(fix.columns, names[feature]) for fix, feature in fixes]
            line["newly odd"] = int(new.sum())
            line["correction has it"] = float(np.mean([column in columns for columns, column in changes]))
            line["correction is it"] = float(np.mean([columns == (column,) for columns, column in changes]))
            results.append(line)
            print(line, flush=True)
    save("explanations_planted", results)


def frames() -> dict[str, pd.DataFrame]:
    """Three tables, and Gaussians: ten columns alike, four pairs, forty columns of six causes."""
    rng = np.random.default_rng(0)
    causes = rng.normal(size=(6, 40))
    alike = np.linalg.cholesky(0.9 * np.ones((10, 10)) + 0.1 * np.eye(10))
    pair = np.linalg.cholesky(np.kron(np.eye(4), [[1.0, 0.97], [0.97, 1.0]]))
    numbers = {
        "ten columns, correlation .9": rng.normal(size=(5000, 10)) @ alike.T,
        "four pairs, correlation .97": rng.normal(size=(5000, 8)) @ pair.T,
        "forty columns of six causes": rng.normal(size=(5000, 6)) @ causes + 0.5 * rng.normal(size=(5000, 40)),
    }
    tables = {
        "Adult": pd.read_parquet(data("extra", "adult_train.parquet")),
        "Ames": pd.read_csv(data("extra", "ames_housing.csv.gz")),
        "houses": houses().to_pandas(),
    }
    return tables | {name: pd.DataFrame(X).add_prefix("x") for name, X in numbers.items()}


def with_faults(model: Chain, train: pd.DataFrame, test: pd.DataFrame, fault: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The rows with one wrong cell each, and which feature of the model that is; no rows where no column suits."""
    rng = np.random.default_rng(1)
    names = list(reader_of(model).features_with_names().names)
    is_number = {name: pd.api.types.is_numeric_dtype(train[name]) for name in names}
    categories = [name for name in names if not is_number[name] and train[name].nunique() < LEVELS]
    numbers = [name for name in names if is_number[name] and train[name].nunique() > LEVELS // 3]
    columns = categories if fault == "category" else numbers
    rows, guilty = test.astype(object), []
    for k in range(len(rows) if columns else 0):
        name = columns[rng.integers(len(columns))]
        rows.at[k, name] = FAULTS[fault](train[name].dropna(), rows.at[k, name], rng)
        guilty.append(names.index(name))
    return rows.infer_objects(), np.array(guilty, dtype=np.intp)


def wild(column: pd.Series, value: Any, rng: np.random.Generator) -> Any:
    return column.max() + int(1 + rng.integers(1, 4)) * (column.max() - column.min()).round()


def foreign(column: pd.Series, value: Any, rng: np.random.Generator) -> Any:
    """Of sixty rows' numbers the one farthest from this row's."""
    some = rng.choice(column.to_numpy(), 60)
    return some[np.abs(some - (column.median() if pd.isna(value) else value)).argmax()]


def other_category(column: pd.Series, value: Any, rng: np.random.Generator) -> Any:
    levels = column[column != value].unique()
    return levels[rng.integers(len(levels))]


FAULTS = {"wild": wild, "foreign": foreign, "category": other_category}


def by_replacing(model: CentralityModel, rows: pd.DataFrame) -> np.ndarray:
    """Ours: `model.explain`."""
    return model.explain(rows, 0.5)


def by_slopes(model: CentralityModel, rows: pd.DataFrame) -> np.ndarray:
    """Integrated gradients of the mixture before it is squeezed, scaled to what f changes by."""
    reader, fitted = reader_of(model), model.fitted_
    vectors = np.asarray(reader.vectors(rows), dtype=np.float64)
    origins = fitted.typical_for(vectors)
    start, end = fitted.scaling.scaled(origins), fitted.scaling.scaled(vectors)
    at = (np.arange(STEPS) + 0.5) / STEPS
    slopes = np.mean([fitted._field().slope(start + share * (end - start), 0.5) for share in at], axis=0)  # noqa: SLF001
    return sum_by_feature(slopes * (end - start), reader.owner(), reader.owner().max() + 1) * to_f(
        fitted, vectors, origins
    )


def by_shapley(model: CentralityModel, rows: pd.DataFrame) -> np.ndarray:
    """Shapley values of the mixture against the typical point, by four orders and their reverses, scaled likewise."""
    reader, fitted, rng = reader_of(model), model.fitted_, np.random.default_rng(0)
    vectors = np.asarray(reader.vectors(rows), dtype=np.float64)
    origins, owner = fitted.typical_for(vectors), reader.owner()
    parts = np.zeros((len(vectors), owner.max() + 1))
    orders = [rng.permutation(parts.shape[1]) for _ in range(4)]
    for order in [*orders, *(order[::-1] for order in orders)]:
        hybrid, before = origins, fitted.scores(origins, 0.5)
        for feature in order:
            hybrid = np.where(owner == feature, vectors, hybrid)
            after = fitted.scores(hybrid, 0.5)
            parts[:, feature] += (after - before) / (2 * len(orders))
            before = after
    return parts * to_f(fitted, vectors, origins)


def to_f(fitted: Any, rows: np.ndarray, origins: np.ndarray) -> np.ndarray:  # (n, 1)
    """What f changes by from the origins to the rows, divided by what the mixture changes by."""
    f, mixed = (work(rows, 0.5) - work(origins, 0.5) for work in (fitted.centrality, fitted.scores))
    return np.divide(f, mixed, out=np.zeros_like(f), where=mixed != 0)[:, None]


METHODS: dict[str, Callable[[CentralityModel, pd.DataFrame], np.ndarray]] = {
    "ours": by_replacing,
    "slopes": by_slopes,
    "Shapley": by_shapley,
}

PARTS = {"planted": planted, "odd": odd, "replaced": replaced}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
