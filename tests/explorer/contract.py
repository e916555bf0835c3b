"""What Python says of the rows of a view, for `test_contract.py` to hold the page to it."""

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_digits

from centrality.apps.explorer.view import View, view_of
from centrality.chain import Chain
from centrality.model.reader import reader_of
from centrality.representations import Table
from tests.conftest import quick
from tests.explorer.test_live import Counted

DIAL = (0.0, 0.25, 0.5, 0.75, 1.0)
SHARE, FDR = 0.05, 0.7  # of the two rules that the page has; a lower rate finds nothing, with so few calibration rows


@dataclass
class Case:
    """Rows, their model and their view; `rows` are those that are looked at one by one."""

    model: Any
    X: Any
    view: View
    rows: list[int]
    name: str = ""

    def f(self, t: float) -> np.ndarray:
        return self.model.centrality(self.X, t)

    @cached_property
    def heads(self) -> np.ndarray:
        return self.model.heads(self.X)

    @cached_property
    def names(self) -> list[str]:
        return [str(name) for name in reader_of(self.model).features().names]

    @cached_property
    def parts(self) -> dict[float, np.ndarray]:
        return {t: self.model.explain(self.X, t) for t in DIAL}

    def place(self, row: int, t: float) -> list[str]:
        """Where a row stands: counted from the nearer end, in words, and from the most typical row on."""
        f = self.f(t)
        rank, odder = 1 + int((f > f[row]).sum()), 1 + int((f < f[row]).sum())
        nearer, end = (odder, "oddest") if odder < rank else (rank, "most typical")
        ending = "th" if nearer % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(nearer % 10, "th")
        words = f"{end if nearer == 1 else f'{nearer}{ending} {end}'} of {len(f)}"
        return [words, f"rank {rank} of {len(f)}, from the most typical on"]

    def reasons(self, parts: np.ndarray) -> list[tuple[str, float]]:
        """The features from the strongest on; those that hardly count are left out."""
        order = np.argsort(-np.abs(parts), kind="stable")
        return [(self.names[j], parts[j]) for j in order if abs(parts[j]) > 0.02 * np.abs(parts).max()]

    def threshold(self, rule: str, t: float) -> float:
        """The score below which rows are outliers; 0 where none is one."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there are too few calibration rows is told by the page as well
            level = {"share": {"contamination": SHARE}, "fdr": {"fdr": FDR}}[rule]
            return max(0.0, self.model.threshold(self.X, **level, t=t))


@dataclass
class Differences:
    """Remembers the largest difference of each quantity, page against Python."""

    most: dict[str, float] = field(default_factory=dict)

    def hold(self, quantity: str, shown: Any, wanted: Any, within: float = 1e-6) -> None:
        __tracebackhide__ = True
        shown, wanted = np.atleast_1d(np.asarray(shown, dtype=float)), np.atleast_1d(np.asarray(wanted, dtype=float))
        assert shown.shape == wanted.shape, quantity
        apart = float(np.abs(shown - wanted).max(initial=0.0))
        self.most[quantity] = max(apart, self.most.get(quantity, 0.0))
        assert apart <= within, f"{quantity}: the page says {shown}, Python {wanted}"


def looked_at(view: View) -> list[int]:
    """The most peripheral row, the most local and least global one, one in the middle, and the most central one."""
    order, moved = np.argsort(view.centrality(view.t)), np.argsort(view.units[:, 0] - view.units[:, 1])
    chosen = [order[0], moved[0], order[len(order) // 2], order[-1]]
    return sorted({int(row) for row in chosen})


def houses_for_sale() -> pa.Table:
    """400 houses, of which three have one wild cell each."""
    rng = np.random.default_rng(0)
    n = 400
    kind = rng.choice(["house", "flat", "barn"], size=n, p=[0.5, 0.4, 0.1])
    area = np.where(kind == "flat", 70, 150) * rng.lognormal(sigma=0.2, size=n)
    table = pa.table(
        {
            "kind": kind,
            "area": area,
            "rooms": np.maximum(1, np.round(area / 28 + rng.normal(size=n))),
            "built": rng.integers(1900, 2020, size=n).astype(float),
            "price": area * 4000 * rng.lognormal(sigma=0.15, size=n),
            "heating": rng.choice(["gas", "oil", "wood"], size=n),
        }
    )
    for name, row, value in (("price", 11, 4e6), ("rooms", 12, 30.0), ("area", 13, 9.0)):
        values = table[name].to_numpy().copy()
        values[row] = value
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return table


def houses() -> Case:
    table = houses_for_sale()
    model = Chain(Table(), quick(max_steps=200, holdout=0.2)).fit(table)
    view = view_of(model, table, on=("area", "price"))
    return Case(model, table, view, looked_at(view))


def kinds() -> Case:
    """Houses among their kind, by a model that has learned marks."""
    table = houses_for_sale()
    marks = ["fine" if row < 10 else "outlier" if row in (11, 12) else None for row in range(table.num_rows)]
    model = Chain(Table(), quick(max_steps=200, given=["kind", "area"])).fit(table).learn_marks(table, marks)
    view = view_of(model, table, on=("area", "price"))
    return Case(model, table, view, looked_at(view)[:2])


def digits() -> Case:
    X = load_digits().data[:300]
    model = quick(max_steps=150, holdout=0.2).fit(X)
    view = view_of(model, X, items=X.reshape(-1, 8, 8), on="pca")
    return Case(model, X, view, looked_at(view))


def clusters() -> Case:
    """A cloud, and far from it a dense group: the global score has its veto over them."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(340, 3)), 0.02 * rng.normal(size=(60, 3)) + [9.0, 9.0, 0.0]])
    model = quick(max_steps=400, holdout=0.2).fit(X)
    view = view_of(model, X, on="pca")
    return Case(model, X, view, sorted({*looked_at(view), len(X) - 1}))


def texts() -> Case:
    rng = np.random.default_rng(0)
    rows = [" ".join(rng.choice(["cat", "dog", "sun"], size=6)) for _ in range(200)]
    rows[5] = "cat dog gun gun gun gun sun"
    model = Chain(Counted(), quick(max_steps=150, holdout=0.2)).fit(rows)
    view = view_of(model, rows, on="pca")
    return Case(model, rows, view, [5, 0])


CASES = {"houses": houses, "kinds": kinds, "digits": digits, "clusters": clusters}


@pytest.fixture(scope="module", params=list(CASES))
def case(request) -> Case:
    return replace(CASES[request.param](), name=request.param)
