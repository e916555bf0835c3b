"""What the page shows, asked of a model: where each row lies, its two heads, what it holds. Arrays and plain values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from centrality import maps, tables
from centrality._checks import InputError
from centrality.explorer.columns import Column, column_of, columns_of
from centrality.explorer.items import Items, items_of
from centrality.model.interface import CentralityModel, over_vectors
from centrality.network.scaling import dense
from centrality.representations._base import as_arrow, is_frame
from centrality.scoring.adapter import Adapter

MOST_ROWS = 1_000_000
MOST_COLUMNS = 40  # of a table that the page gets; name the ones you want to see if there are more
UMAP_ROWS = 200_000  # beyond, UMAP takes minutes: it is drawn when asked for by name
ENDS = (0.0, 0.25, 0.5, 0.75, 1.0)

Reasons = Callable[[NDArray[np.intp]], NDArray[np.float64]]


@dataclass(frozen=True)
class View:
    """All that a page shows. Nothing in it knows a model, except the function that gives reasons."""

    title: str
    axes: tuple[str, str]
    points: NDArray[np.float64]  # (n, 2)
    heads: NDArray[np.float64]  # (n, 2) global and local
    rows: NDArray[np.intp]  # (n,) where each stands in the data
    t: float
    columns: tuple[Column, ...] = ()
    items: Items = field(default_factory=Items)
    inliers: NDArray[np.float64] | None = None  # (m, 2) heads of calibration rows, for false discovery rates
    own_scales: bool = False  # each axis has a unit of its own
    features: tuple[str, ...] = ()  # what `reasons` speaks of
    reasons: Reasons | None = None  # k rows of the view -> (k, features, 2) contributions at t = 0 and at t = 1

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True)
class Seen:
    """The data as the model sees it."""

    vectors: NDArray[Any]  # (n, p) to be mapped
    heads: NDArray[np.float64]
    rows: NDArray[np.intp]  # where each stands in the data
    table: pa.Table  # what each holds
    items: Items
    given: Any  # (n, p) the rows as FUSE gets them

    def take(self, rows: NDArray[np.intp]) -> "Seen":
        """These rows, to be placed on the map."""
        return replace(self, vectors=self.vectors[rows], heads=self.heads[rows], table=self.table.take(rows))


def view_of(
    model: CentralityModel,
    X: Any,
    *,
    items: Any = None,
    columns: Any = None,
    on: str | Sequence[str] = "auto",
    random_state: int | None = 0,
    title: str = "",
) -> View:
    """Score and map the rows of X.

    items : what rows look like: images, texts, series or a table, one for each row; or the name of a column of X.
    columns : the names of those of X that the page shows, the first 40 by default; or a table of what to show instead.
    on : "umap", "pca", the names of two columns, or "auto": UMAP, but PCA beyond 200,000 rows or where umap-learn is
        not installed.
    """
    seen = _seen(model, X)
    if len(seen.heads) > MOST_ROWS:
        raise InputError(
            f"The explorer shows up to {MOST_ROWS:,} rows, got {len(seen.heads):,}: take a sample of them."
        )
    there = np.flatnonzero(np.isfinite(seen.heads).all(1))  # an image that cannot be read has no score
    table, look = _shown(seen, columns, items).take(there), _look(seen, items).take(there)
    kept = columns_of(table, MOST_COLUMNS)
    if look.texts:  # a text is a column like any other: it can be searched
        kept = [Column(look.column, "text", np.empty(0), texts=look.texts), *(c for c in kept if c.name != look.column)]
    points, axes, own_scales = _placed(seen.take(there), on, random_state)
    features, reasons = _reasons(model, seen.given, there)
    return View(
        title=title or "Centrality",
        axes=axes,
        points=points,
        heads=seen.heads[there],
        rows=seen.rows[there],
        t=float(model.t),
        columns=tuple(kept),
        items=look,
        inliers=model.fitted_.inliers,
        own_scales=own_scales,
        features=features,
        reasons=reasons,
    )


def _shown(seen: Seen, columns: Any, items: Any) -> pa.Table:
    """The columns to show: those asked for, or all that the data has; `items` may be a table of them."""
    if columns is None and items is not None and is_frame(items):
        columns = items
    if columns is None:
        return seen.table
    if isinstance(columns, dict):
        columns = pa.table({name: pa.array(values) for name, values in columns.items()})
    if not is_frame(columns):
        return tables.select(seen.table, list(columns))
    table = as_arrow(columns)
    if table.num_rows != len(seen.heads):
        raise InputError(f"A row to show was wanted for each of the {len(seen.heads):,} rows, got {table.num_rows:,}.")
    return table


def _look(seen: Seen, items: Any) -> Items:
    if items is None or is_frame(items):
        return seen.items
    if isinstance(items, str):
        return replace(items_of(tables.select(seen.table, [items])[items], len(seen.heads)), column=items)
    return items_of(items, len(seen.heads))


def _seen(model: CentralityModel, X: Any) -> Seen:
    reading, table = model.reading(), as_arrow(X) if is_frame(X) else None
    if table is None:
        vectors = model.vectors(X)
    else:
        adapter = Adapter(model, table.column_names)
        vectors, X = adapter.vectors(table), table.select(adapter.columns)
    heads = over_vectors(vectors, model.fitted_.heads)
    given = len(table) if table is not None else len(X) if reading.one_series else len(heads)
    rows, look = model.rows_of(given), Items()
    if (items := model.shown(X)) is not None:
        look = items_of(items, len(heads))
        look = look if reading.kind == "series" else replace(look, column=(reading.columns or ["item"])[0])
    if table is None:
        table = _table_of(model, X, vectors, rows)
    elif reading.one_series:
        table = table.take(rows)
    return Seen(_to_be_mapped(model, vectors), heads, rows, table, look, vectors)


def _table_of(model: CentralityModel, X: Any, vectors: Any, rows: NDArray[np.intp]) -> pa.Table:
    """Return what rows that came without a table hold."""
    kind = model.reading().kind
    if kind == "table":
        return as_arrow(X)
    if kind != "numbers":
        return pa.table({"row": rows})
    few = dense(vectors[:, :MOST_COLUMNS])
    return as_arrow(few).rename_columns(model.fitted_.features[:MOST_COLUMNS])


def _to_be_mapped(model: CentralityModel, vectors: Any) -> NDArray[Any]:
    """Return the vectors as the network sees them; of sparse ones, their main components."""
    if sparse.issparse(vectors):
        from sklearn.decomposition import TruncatedSVD

        return np.asarray(TruncatedSVD(min(50, vectors.shape[1] - 1), random_state=0).fit_transform(vectors))
    return model.fitted_.scaling.apply(vectors)


def _placed(seen: Seen, on: str | Sequence[str], seed: int | None) -> tuple[NDArray[np.float64], tuple[str, str], bool]:
    """(n, 2) positions, what the axes are called, and whether each has its own unit."""
    names = on.split(",") if isinstance(on, str) and "," in on else on
    if not isinstance(names, str):
        if len(names) != 2:
            raise InputError(f"A map needs two columns, got {len(names)}: {', '.join(names)}.")
        x, y = (column_of(name, tables.select(seen.table, [name])[name]).values for name in names)
        if len(x) != len(seen.heads) or len(y) != len(seen.heads):
            raise InputError(f"A map needs two columns of numbers or categories, got {', '.join(names)}.")
        return np.nan_to_num(np.column_stack([x, y]).astype(np.float64)), (names[0], names[1]), True
    if seen.vectors.shape[1] <= 2:
        points = maps.embed(seen.vectors, method="pca")
        few = seen.table.column_names
        return points, (few[0], few[1]) if len(few) == 2 else ("1", "2"), False
    method = names
    if method == "auto":
        n = len(seen.heads)  # of a handful of rows there are no neighbourhoods to keep
        method = "umap" if 15 < n <= UMAP_ROWS and find_spec("umap") is not None else "pca"
    points = maps.embed(seen.vectors, method=method, random_state=seed)
    return points, (f"{method.upper()} 1", f"{method.upper()} 2"), False


def _reasons(model: CentralityModel, given: Any, there: NDArray[np.intp]) -> tuple[tuple[str, ...], Reasons | None]:
    """The names of features, and what each contributes; None where the numbers of a vector have no names."""
    features = model.features()
    if features is None:
        return (), None

    def reasons(rows: NDArray[np.intp]) -> NDArray[np.float64]:
        chosen = given[there[rows]]
        return np.stack([model.by_feature(model.fitted_.explain(chosen, t)) for t in (0.0, 1.0)], axis=2)

    return tuple(map(str, features.names)), reasons


def telling(heads: NDArray[np.float64], most: int) -> NDArray[np.intp]:
    """At most so many rows: those at both ends for every t and those that move most, then evenly spaced ones."""
    n = len(heads)
    if n <= most:
        return np.arange(n)
    each = max(1, most // (4 * (len(ENDS) + 1)))
    ranked = [np.argsort((1 - t) * heads[:, 0] + t * heads[:, 1]) for t in ENDS]
    places = np.argsort(ranked[-1]) - np.argsort(ranked[0])
    ends = [part for order in [*ranked, np.argsort(places)] for part in (order[:each], order[::-1][:each])]
    chosen = np.unique(np.concatenate(ends))
    rest = np.setdiff1d(np.linspace(0, n - 1, most).astype(np.intp), chosen)
    return np.sort(np.concatenate([chosen, rest[:: max(1, -(-len(rest) // max(1, most - len(chosen))))]])[:most])
