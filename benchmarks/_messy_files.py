"""Three made-up files as people keep them, 4,000 rows each, with three odd cells planted in each."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

ROWS = 4000
PLANTED = (17, 1029, 3041)  # the rows of the odd cells


@dataclass(frozen=True)
class MessyFile:
    """Holds a table as it is written, the same table cleaned by hand, and in which columns cells were planted."""

    name: str
    written: pa.Table
    cleaned: pa.Table
    planted: tuple[str, str, str]


def with_writing(name: str, columns: dict[str, np.ndarray], how: dict[str, Callable[[float], str]],
                 planted: dict[str, float], others: dict[str, list[str]]) -> MessyFile:  # fmt: skip
    """Plant the odd values, then write the columns as people do."""
    for row, (column, value) in zip(PLANTED, planted.items(), strict=True):
        columns[column][row] = value
    written = {c: ["n/a" if np.isnan(v) else how[c](float(v)) for v in x] for c, x in columns.items()}
    cleaned = {c: pa.array(x, from_pandas=True) for c, x in columns.items()}
    return MessyFile(name, pa.table(written | others), pa.table(cleaned | others), tuple(planted))


def german(v: float, decimals: int) -> str:
    return f"{v:,.{decimals}f}".translate({ord(","): ".", ord("."): ","})


def orders(rng: np.random.Generator) -> MessyFile:
    weight = rng.gamma(4, 2, ROWS).round(1)
    weight[rng.uniform(size=ROWS) < 0.03] = np.nan
    columns = {
        "amount": rng.lognormal(6, 0.6, ROWS).round(2),
        "discount": rng.uniform(0, 20, ROWS).round(1),
        "weight": weight,
    }
    how = {"amount": lambda v: f"${v:,.2f}", "discount": lambda v: f"{v:g}%", "weight": lambda v: f"{v} kg"}
    days = np.datetime64("2024-01-01") + rng.integers(0, 365, ROWS)
    others = {"day": [str(day) for day in days], "customer": rng.choice(["new", "known", "firm"], ROWS).tolist()}
    return with_writing("orders", columns, how, {"amount": 99_999.0, "discount": 95.0, "weight": 900.0}, others)


def invoices(rng: np.random.Generator) -> MessyFile:
    columns = {
        "net": rng.lognormal(7, 0.8, ROWS).round(2),
        "pieces": np.round(rng.lognormal(5, 1, ROWS)) + 1,
        "days_late": np.round(rng.normal(0, 8, ROWS)),
    }
    how = {
        "net": lambda v: f"{german(v, 2)} €",
        "pieces": lambda v: f"{german(v, 0)} Stk",
        "days_late": lambda v: f"{v:.0f}".replace("-", "\u2212"),
    }
    days = np.datetime64("2023-01-01") + rng.integers(0, 700, ROWS)
    others = {
        "due": [f"{day.astype(object):%d.%m.%Y}" for day in days],
        "branch": rng.choice(["Bonn", "Kiel", "Ulm", "Jena"], ROWS).tolist(),
    }
    return with_writing("invoices", columns, how, {"net": 987_654.32, "pieces": 250_000.0, "days_late": -365.0}, others)


def sensors(rng: np.random.Generator) -> MessyFile:
    columns = {
        "temperature": rng.normal(21, 2, ROWS).round(1),
        "latency": np.round(rng.gamma(5, 4, ROWS)) + 1,
        "balance": np.round(rng.normal(0, 900, ROWS)),
    }
    how = {
        "temperature": lambda v: f"{v:.1f} °C".replace(".", ","),
        "latency": lambda v: f"{v:.0f}ms",
        "balance": lambda v: f"({-v:,.0f})" if v < 0 else f"{v:,.0f}",
    }
    others = {"site": rng.choice(["roof", "cellar", "hall"], ROWS).tolist()}
    planted = {"temperature": -80.0, "latency": 5000.0, "balance": -99_999.0}
    return with_writing("sensors", columns, how, planted, others)


def messy_files(seed: int = 0) -> list[MessyFile]:
    rng = np.random.default_rng(seed)
    return [make(rng) for make in (orders, invoices, sensors)]
