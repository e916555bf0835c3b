"""Sheets for the tests of findings: plain tables in which nothing is wrong, and a quick model."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa

from centrality.findings import Finding
from centrality.findings.sheet import Sheet
from centrality.selection.rank import fit_default_model
from centrality.tables.columns import DataNote

ROWS = 400
WORDS = np.array(
    "the house of the river is old and the road to it was long for all that came with him by night".split(" ")  # noqa: SIM905
)


def orders(seed: int = 0) -> pd.DataFrame:
    """Return orders in which nothing is wrong."""
    rng = np.random.default_rng(seed)
    weight = rng.lognormal(2, 0.4, ROWS)
    kind = rng.choice(["Eiche", "Buche", "Ahorn"], ROWS, p=[0.5, 0.3, 0.2])
    begin = pd.Timestamp("2022-01-01") + pd.to_timedelta(rng.integers(0, 300, ROWS), unit="D")
    return pd.DataFrame(
        {
            "weight": weight.round(2),
            "price": (weight * 12 * rng.normal(1, 0.08, ROWS)).round(2),
            "wood": kind,
            "code": pd.Series(kind).map({"Eiche": "E1", "Buche": "B2", "Ahorn": "A3"}),
            "ordered": begin,
            "sent": begin + pd.to_timedelta(rng.integers(1, 20, ROWS), unit="D"),
        }
    )


def sheet_of(frame: pd.DataFrame | pa.Table, label: str | None = None) -> Sheet:
    """Return a sheet with a model that was trained for a moment."""
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    learned = table if label is None else table.drop([label])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)  # a check tells it as a finding
        sheet = Sheet(table, learned, fit_default_model(learned, 0, max_steps=20), label, 0)
        assert sheet.scores.size == table.num_rows
    return sheet


def only(found: object, kind: str = "") -> Finding:
    """Return the one finding, of this kind if one is named."""
    chosen = [finding for finding in found if kind in ("", finding.kind)]  # type: ignore[attr-defined]
    assert len(chosen) == 1, [str(finding) for finding in found]  # type: ignore[attr-defined]
    return chosen[0]
