"""A mixed table of every kind of column that an ONNX file can read, and cells as people also write them."""

import random
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
from numpy.typing import NDArray

from centrality import Chain
from centrality.onnx.graph import Graph
from centrality.representations import Table
from tests.conftest import quick

ROWS = 600
# Cells that may stand in any column of texts: gaps, numbers, dates and none of these, in many forms.
CELLS = (
    "", "n/a", "-", "—", "unknown", "abc", "12", "-5", "−5", "+7", "1,5", "1.234", "1.234,50", "1,234.50", "$5",
    "5 $", "(12)", "5 lbs", "5 kg", "5kg", "50%", "1e3", "1e999", "1.2k", "3M", "2 million", "1 234",
    "1\u00a0234", "1.2.3", "5 ± 1", "~5", "３", "'12", '="12"', "€ 1.000", "EUR 5", "12/13", "9" * 40,
    "2024-02-30", "2024-1-5", "20240131", "31.12.2020 23:59", "03/04/2024", "13/04/2024", "3 May 2024",
    "3 mAy 2024", "5 Mai 2024", "2024-01-05T10:30:15.25Z", "2024-01-05 10:30 PM", "2024-01-05 25:00",
    "2024-01-05 10:30:15 +05:30", "9999-12-31", "Thu, 12 Mar 2020", "yesterday", "kelvin",
)  # fmt: skip


def frame(seed: int = 0, rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    money = np.round(np.exp(rng.normal(7, 1, rows)), 2)
    moments = pd.to_datetime("2021-01-01") + pd.to_timedelta(rng.integers(0, 10**6, rows), unit="min")
    return pd.DataFrame(
        {
            "rent": [f"€ {x:,.2f}".translate(str.maketrans(",.", ".,")) for x in money],
            "weight": [f"{x:.1f} kg" for x in rng.normal(70, 9, rows)],
            "size": [f"{x / 1000:.1f}k" if x > 1000 else f"{x:.0f}" for x in money],
            "share": [f"{x:.0f}%" for x in rng.uniform(0, 100, rows)],
            "day": [str(day) for day in np.datetime64("2020-01-01") + rng.integers(0, 1000, rows)],
            "moment": [moment.strftime("%m/%d/%Y %I:%M %p") for moment in moments],
            "in Oslo": moments.tz_localize("UTC").tz_convert("Europe/Oslo"),
            "on a clock": moments,
            "place": list(rng.normal(size=(rows, 2))),
            "age": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(18, 90, rows)),
            "smokes": rng.random(rows) < 0.3,
            "t": rng.choice(list("abc"), rows),
            "code": pd.Categorical(rng.integers(0, 5, rows)),
            "job": rng.choice(np.array(["nurse", "cook", "pilot", None], dtype=object), rows),
        }
    )


def spoiled(table: pd.DataFrame, seed: int = 1, share: float = 0.1) -> pd.DataFrame:
    """The table with other cells in every column: gaps, and in those of texts what people also write."""
    rng = np.random.default_rng(seed)
    table = table.copy()
    for name in table:
        other = rng.random(len(table)) < share
        if table[name].dtype == object or table[name].dtype.kind not in "bifM":
            cells = table[name].astype(object).to_numpy(copy=True)
            wild = (
                [None] * other.sum()
                if name in ("in Oslo", "place", "code")
                else rng.choice([*CELLS, None], other.sum())
            )
            cells[other] = wild
            table[name] = pd.Series(cells, dtype=table[name].dtype if name == "in Oslo" else object)
        else:
            table[name] = table[name].astype("object").where(~other, None).infer_objects()
    return table


def model() -> Chain:
    return Chain(Table(unreadable=1), quick(max_steps=40)).fit(frame())


def written_cells(seed: int, alphabet: str, count: int) -> list[str]:
    """Texts of random letters, beside `CELLS`."""
    rng = random.Random(seed)
    return [*CELLS, *("".join(rng.choice(alphabet) for _ in range(rng.randint(1, 9))) for _ in range(count))]


def run(graph: Graph, inputs: dict[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """The outputs of a graph that has some."""
    written = graph.to_model(version="0", notes={}).SerializeToString()
    session = onnxruntime.InferenceSession(written, providers=["CPUExecutionProvider"])
    outputs: list[NDArray[Any]] = session.run(None, inputs)
    return outputs
