"""Fit the model again with other columns as context, when a reader asks, and show the same rows by it."""

from dataclasses import replace
from typing import Any, Unpack, cast

import pyarrow as pa
from sklearn.base import clone

from centrality._checks import InputError
from centrality._estimator import ModelRows
from centrality.explorer.view import View, ViewOptions, view_of
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.representations._base import as_arrow, is_frame
from centrality.scoring.adapter import Adapter

READABLE = ("numbers", "table")  # kinds of rows whose columns can be a context


def explored(model: CentralityModel, X: ModelRows, *, progress: bool = False, **options: Unpack[ViewOptions]) -> View:
    """Return the view of these rows by `view_of`, with a function that fits the model again where that is possible."""
    view = view_of(model, X, progress=progress, **options)
    if not is_frame(X) or reader_of(model).reading().kind not in READABLE or view.live is None:
        return view
    table, able = as_arrow(X), view.live.columns

    def again(given: object) -> View:
        names = _checked(given, able)
        fresh = _fitted(model, table.select(Adapter(model, table.column_names).columns), names)
        # The file of the map holds that of the first model.
        changed: ViewOptions = {**options, "soon": True, "kept_map": None}
        return explored(fresh, X, **changed)

    return replace(view, may_be_given=able, again=again)


def _checked(given: object, able: tuple[str, ...]) -> list[str]:
    """Return the names of the context columns in a request; raise if they cannot be a context."""
    if not isinstance(given, list) or not all(name in able for name in given):
        raise InputError(
            f"Names of columns that the model reads and the page shows were wanted, got {str(given)[:80]!r}."
        )
    if len(given) == len(able):
        raise InputError("One column at least must be left to be judged: take one fewer.")
    return [str(name) for name in given]


def _fitted(model: CentralityModel, table: pa.Table, given: list[str]) -> CentralityModel:
    """Return a model of the same settings, fitted to these rows with these columns as context."""
    fresh: Any = clone(cast("Any", model))
    parameter = "given" if "given" in fresh.get_params(deep=False) else "model__given"
    fresh.set_params(**{parameter: given or None})
    return cast("CentralityModel", fresh.fit(table))
