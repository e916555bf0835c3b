"""Choose a model for rows: FUSE for finite numbers alone, a chain of Text and FUSE for texts alone, else of Table."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from centrality._estimator import ModelRows, in_memory
from centrality.chain import Chain
from centrality.fuse import FUSE
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.representations import Table, Text
from centrality.representations._base import as_arrow, is_frame
from centrality.tables.columns import is_number, is_text, numbers

FEW_TEXTS = 50  # fewer are read as a table, as are categories
PLURALS = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}


def suited_model(X: ModelRows, fuse: FUSE | None = None) -> FUSE | Chain:
    """Return the model to fit on these rows: this FUSE if they are finite numbers, else a chain that reads them.

    >>> import pyarrow as pa
    >>> from centrality.selecting.suited import suited_model
    >>> type(suited_model([[1.0, 2.0], [3.0, 4.0]])).__name__
    'FUSE'
    >>> type(suited_model(pa.table({"a": [1.0, None]}))).__name__
    'Chain'
    """
    fuse = FUSE() if fuse is None else fuse
    if are_finite_numbers(X):
        return fuse
    return Chain(Text() if are_texts(X) else Table(), fuse)


def are_finite_numbers(X: ModelRows) -> bool:
    """Say whether every cell is a number, and none of them is missing or infinite."""
    X = in_memory(X)
    if sparse.issparse(X):
        return bool(np.isfinite(X.data).all())
    if not is_frame(X):
        array = np.asarray(X)
        return array.dtype.kind in "biuf" and bool(np.isfinite(array).all())
    table = as_arrow(X)
    return all(is_number(field.type) for field in table.schema) and bool(np.isfinite(numbers(table)).all())


def are_texts(X: ModelRows) -> bool:
    """Say whether the rows are one column of texts: of several words, hardly any of them twice.

    Beside other columns a text is encoded by what it shares with the others, so that one which shares nothing lies in
    the middle; alone it is compared with the others whole.
    """
    if not is_frame(X) or len((table := as_arrow(X)).schema) != 1 or not is_text(table.schema[0].type):
        return False
    texts = table[0].cast(pa.string()).drop_null()
    words = pc.mean(pc.match_substring_regex(texts, r"\pL\S*\s+\S*\pL")).as_py() or 0.0
    return len(texts) >= FEW_TEXTS and words > 0.5 and len(texts.unique()) > 0.5 * len(texts)


def how_read(model: CentralityModel) -> str:
    """Say in one line how a fitted model reads its columns.

    >>> from centrality.selecting.suited import summary_of
    >>> summary_of({"area": "number, scaled", "sold": "date: year", "id": "left out: an identifier"})
    'as a table: 1 number, 1 date; left out: id'
    """
    about, kind = reader_of(model).about(), reader_of(model).reading().kind
    if kind == "numbers":
        return f"as vectors: {model.fitted_.width:,} columns of numbers"
    if kind == "table":
        return summary_of(about["reads"])
    return f"as {kind}: " + "; ".join(f"{name}, {how}" for name, how in about["reads"].items())


def summary_of(reads: Mapping[str, str]) -> str:
    """Count the kinds of columns of a table, and name those that are left out."""
    kinds = {name: next((kind for kind in PLURALS if how.startswith(kind)), "left out") for name, how in reads.items()}
    counts = Counter(kind for kind in kinds.values() if kind != "left out")
    read = ", ".join(f"{n:,} {kind if n == 1 else PLURALS[kind]}" for kind, n in counts.items())
    left_out = [name for name, kind in kinds.items() if kind == "left out"]
    return f"as a table: {read}" + (f"; left out: {', '.join(left_out[:5])}" if left_out else "")


def fitted_on(X: ModelRows, random_state: int | None = 0, **settings: Any) -> FUSE | Chain:
    """Return the model that suits these rows, fitted on them with the default settings or with these."""
    return suited_model(X, FUSE(random_state=random_state, **settings)).fit(X)
