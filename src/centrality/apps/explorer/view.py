"""What a page shows of a model and rows, as plain data; a fit made anew for it."""

import json
from collections.abc import Callable, Collection, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias, TypedDict, Unpack, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone

from centrality import tables
from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows, ModelRows
from centrality.apps.explorer.content import (
    Column,
    Items,
    LazyKeys,
    columns_of,
    fingerprints,
    from_common_folder,
    items_of,
    row_keys,
    with_folders,
)
from centrality.apps.explorer.header import TimelineNames
from centrality.apps.explorer.layout import Neighbours, UmapJob, lay_out, neighbours_of, vectors_to_map
from centrality.apps.explorer.parts import Alike, Part, Places, alike_by, parts_of, pictures_of
from centrality.apps.explorer.session import (
    FILE,
    Checks,
    EditableRows,
    Explained,
    Jobs,
    Live,
    editable_frame,
    editable_items,
    explain_rows,
)
from centrality.bulk.adapter import Adapter
from centrality.bulk.score import vectors_of
from centrality.model.fitted import map_valid_rows
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.network.calibration import SOFT, Mixing
from centrality.network.scaling import dense
from centrality.representations.base import as_arrow, is_frame
from centrality.selection.copies import Copies, copies

MOST_ROWS = 1_000_000
MOST_COLUMNS = 40  # of a table that the page gets; name the ones you want to see if there are more
EDITABLE = ("numbers", "table", "text")  # kinds of rows whose values a reader can type
KEYS_AT_ONCE = 50_000  # rows; of more, the page gets keys after its first picture
MOST_HEAT = 16_384  # pixels of a picture whose contributions are painted
MOST_ODD = 50  # odd rows that are used to find the features that make rows odd

Cells: TypeAlias = Callable[[NDArray[np.intp]], pa.Table]
WholeTexts: TypeAlias = Callable[[int], dict[str, str]]  # a row's texts by column, as long as they are
Reasons: TypeAlias = Callable[[NDArray[np.intp]], Explained]  # of k rows of a view


@dataclass(frozen=True)
class Against:
    """Another model's scores of the same rows."""

    name: str
    units: NDArray[np.float64]  # (n, 2)
    mixing: Mixing = SOFT


@dataclass(frozen=True)
class View:
    """All that a page shows; only the functions that answer questions about single rows use a model."""

    title: str
    axes: tuple[str, str]
    points: NDArray[np.float64]  # (n, 2)
    units: NDArray[np.float64]  # (n, 2) global and local, unbounded: mixed at t, then squeezed into [0, 1]
    rows: NDArray[np.intp]  # (n,) where each stands in the data
    t: float
    mixing: Mixing = SOFT
    columns: tuple[Column, ...] = ()
    items: Items = field(default_factory=Items)
    inliers: NDArray[np.float64] | None = None  # (m, 2) units of calibration rows, for p-values
    contamination: float = 0.0  # the share of these that is left out, the least central
    own_scales: bool = False  # each axis has a unit of its own
    features: tuple[str, ...] = ()  # what `reasons` speaks of
    reasons: Reasons | None = None  # k rows of the view -> what each feature contributes
    main_features: tuple[str, ...] = ()  # features, from the one that makes the odd rows odd most of all
    colour: str = ""  # the column that rows are coloured by to begin with; by their centrality if none
    neighbours: Neighbours | None = None  # k rows of the view -> (k, NEAREST), the nearest typical one first
    live: Live | None = None  # scores rows with other values; None where rows are pictures or series
    whole_texts: WholeTexts | None = None
    against: Against | None = None
    keys: Sequence[str] = ()  # (n,) by which marks are kept; without any, rows are known by their number
    cells: Cells | None = None  # k rows of the view -> all that these hold, as it came
    better_layout: UmapJob | None = None  # a better map, which takes time
    jobs: Checks | None = None  # says what is wrong; `Jobs` also learns from marks, picks rows, finds copies
    given: tuple[str, ...] = ()  # the columns that are the context: a row is typical or odd among its kind
    may_be_given: tuple[str, ...] = ()  # those that could be, by a model fitted anew
    refit: "Callable[[object], View] | None" = None  # names of such columns -> the same rows by that model
    sides: tuple[str, str] | None = None  # two levels of columns that are compared to begin with
    timeline: TimelineNames | None = None  # the columns that make rows the moments of series
    parts: tuple[Part, ...] = ()  # of rows of pictures, long texts or vectors beside other columns
    alike: Alike | None = None  # a row and a part -> the rows that are most like it

    def __len__(self) -> int:
        return len(self.points)

    def centrality(self, t: float) -> NDArray[np.float64]:  # (n,)
        """Return the scores of all rows at t."""
        return self.mixing.squeeze(self.mixing.mixed(self.units, t))

    @property
    def heads(self) -> NDArray[np.float64]:  # (n, 2)
        """Return the global and the local score, each in [0, 1]."""
        return self.mixing.squeeze(self.units)

    @property
    def heat_shape(self) -> tuple[int, int] | None:
        """Return the height and width of a row's picture or curve, if each of its pixels or moments is a feature."""
        shape = self.items.shape
        fits = shape is not None and shape[0] * shape[1] == len(self.features) <= MOST_HEAT
        return shape if fits else None


@dataclass(frozen=True)
class ScoredRows:
    """The data as the model reads it, with its scores."""

    vectors: CheckedRows  # what the model scored
    units: NDArray[np.float64]  # (n, 2)
    rows: NDArray[np.intp]  # (n,) where each stands in the data
    table: pa.Table  # what each holds
    items: Items  # what each looks like
    is_table: bool  # that is all a row is; else its vector says more
    editable: EditableRows | None  # what the model reads of each, if a reader can type it
    parts: tuple[Part, ...] = ()  # how odd each part of it is
    places: Callable[[str], Places] | None = None  # where it lies, by the name of a part

    def take(self, rows: NDArray[np.intp]) -> "ScoredRows":
        """Return these rows only."""
        if len(rows) == len(self.units):
            return self
        return replace(
            self,
            vectors=self.vectors[rows],
            units=self.units[rows],
            rows=self.rows[rows],
            table=self.table.take(rows),
            items=self.items.take(rows),
            editable=None if self.editable is None else self.editable.of(rows),
            parts=tuple(part.take(rows) for part in self.parts),
            places=None if self.places is None else partial(_places_of_rows, self.places, rows),
        )


def _places_of_rows(places: Callable[[str], Places], rows: NDArray[np.intp], part: str) -> Places:
    return places(part)[rows]


class ViewOptions(TypedDict, total=False):
    """Names the options of `view_of`, which explains them."""

    items: Collection[object] | None
    columns: Collection[str] | None
    on: str | Sequence[str] | NDArray[Any]
    random_state: int | None
    title: str
    colour: str
    against: CentralityModel | None
    against_name: str
    key: str | None
    defer_umap: bool
    kept_map: Path | None


def view_of(
    model: CentralityModel,
    X: ModelRows,
    *,
    items: Collection[object] | None = None,
    columns: Collection[str] | None = None,
    on: str | Sequence[str] | NDArray[Any] = "auto",
    random_state: int | None = 0,
    title: str = "",
    colour: str = "",
    progress: bool = False,
    against: CentralityModel | None = None,
    against_name: str = "the other model",
    key: str | None = None,
    defer_umap: bool = False,
    kept_map: Path | None = None,
) -> View:
    """Score and map the rows of X.

    items : what rows look like: images, texts, series or a table, one for each row; or the name of a column of X.
    columns : the names of those of X that the page shows, the first 40 by default; or a table of what to show instead.
    on : "umap", "pca", the names of two columns, a map of your own, (n, 2), or "auto": UMAP, but PCA beyond 200,000
        rows or where umap-learn is not installed.
    colour : the column that rows are coloured by to begin with.
    progress : show bars with the time left.
    against : another model that reads the same rows; the page lists where they disagree.
    key : the column that tells rows apart, so that marks find theirs in other data, too; by all its cells if None.
    defer_umap : lay rows out by PCA where UMAP would be waited for; the view's `better_layout` then makes that map.
    kept_map : a file in which UMAP's map is kept, and from which it comes if the rows are the same.
    """
    # 1. Score all rows; those that cannot be read (a damaged picture) have no score and are not shown.
    everything = _scored(model, X, progress=progress)
    n = len(everything.units)
    mixing = model.fitted_.calibration.mixing
    if n > MOST_ROWS:
        raise InputError(f"The explorer shows up to {MOST_ROWS:,} rows, got {n:,}: take a sample of them.")
    other_units = None if against is None else _scored(against, X, progress=False).units  # (n, 2)
    if other_units is not None and len(other_units) != n:
        raise InputError(
            f"Both models must read the same rows: one makes {n:,} of them, the other {len(other_units):,}."
        )
    all_units = everything.units if other_units is None else np.column_stack([everything.units, other_units])
    readable = np.flatnonzero(np.isfinite(all_units).all(1))
    scored = everything.take(readable)

    # 2. Choose what a row looks like: its item, and its columns.
    if items is None or is_frame(items):
        looks = everything.items
    elif isinstance(items, str):
        looks = replace(items_of(tables.select(everything.table, [items])[items], n), column=items)
    else:
        looks = items_of(items, n)
    looks = looks if len(readable) == n else looks.take(readable)
    table = _taken(_table_to_show(everything, columns, items), readable)
    view_columns = tuple(columns_of(table, MOST_COLUMNS))
    if looks.texts:  # first, so that they can be searched
        texts = Column(looks.column, "text", np.empty(0), texts=looks.texts)
        view_columns = (texts, *(column for column in view_columns if column.name != looks.column))
    if colour and colour not in {column.name for column in view_columns if column.kind != "text"}:
        raise InputError(f"colour must be a column of numbers, dates or categories that is shown, got {colour!r}.")

    # 3. Lay the rows out.
    vectors = vectors_to_map(model, scored.vectors) if scored.places is None else scored.places("")
    where = on[readable] if isinstance(on, np.ndarray) and len(on) == n else on
    layout = lay_out(
        vectors, scored.table, where, random_state, progress=progress, defer_umap=defer_umap, map_file=kept_map
    )

    # 4. Prepare the answers to what a reader may ask. Copies are found by cells, texts or vectors.
    features, reasons, main_features = _reasons(model, scored)
    unlike = {part.name for part in scored.parts if part.kind in ("picture", "vector")}  # nobody types these
    typed = tuple(column for column in view_columns if column.name not in unlike)
    live = None if scored.editable is None else Live(model, scored.editable, typed)
    calibrated = model.fitted_.inliers
    kind = reader_of(model).input_spec().kind
    is_short = scored.is_table or scored.vectors.shape[1] <= scored.table.num_columns
    by_cells = kind in ("numbers", "table") and is_short

    @cache
    def find_copies() -> Copies:
        if by_cells:
            return copies(scored.table)
        whole = scored.items.whole
        return copies(dense(scored.vectors) if whole is None else [whole(row) for row in range(len(scored.units))])

    groups = {column.name: column.values for column in view_columns if column.kind == "category"}
    return View(
        title=title or "Centrality",
        axes=layout.axes,
        points=layout.points,
        units=scored.units,
        rows=scored.rows,
        t=float(model.t),
        mixing=mixing,
        columns=view_columns,
        items=looks,
        inliers=None if calibrated is None else calibrated.units,
        contamination=0.0 if calibrated is None else calibrated.contamination,
        own_scales=layout.own_scales,
        features=features,
        reasons=reasons,
        main_features=main_features,
        colour=colour,
        neighbours=neighbours_of(vectors, mixing.mixed(scored.units, float(model.t))),
        live=live if live is not None and live.columns else None,
        whole_texts=_whole_texts(view_columns, looks, table),
        against=None
        if against is None or other_units is None
        else Against(against_name, other_units[readable], against.fitted_.calibration.mixing),
        keys=_keys(everything, key, readable),
        cells=lambda chosen: _taken(table, chosen),
        better_layout=layout.better_layout,
        jobs=Jobs(X, {"model": model}, model, scored.vectors, find_copies, by_cells, groups),
        given=tuple(reader_of(model).given()),
        parts=scored.parts,
        alike=alike_by(scored.places, vectors),
    )


def _taken(table: pa.Table, rows: NDArray[np.intp]) -> pa.Table:
    """Return these rows of a table; the table itself, not copied, if they are all of it in its order."""
    return table if np.array_equal(rows, np.arange(table.num_rows)) else table.take(rows)


def _keys(scored: ScoredRows, column: str | None, readable: NDArray[np.intp]) -> Sequence[str]:
    """Return the keys of the readable rows: by a column, by all cells, or else by their texts or vectors.

    Keys of many rows are computed when they are needed, unless a column is named: if it is wrong, the reader hears now.
    """

    def make() -> tuple[str, ...]:
        if scored.items.kind == "picture" and scored.is_table and column is None:
            keys = row_keys(from_common_folder(scored.table))
        elif scored.is_table or column is not None:
            keys = row_keys(scored.table, column)
        elif (text := scored.items.whole) is not None:
            keys = fingerprints(text(row).encode("utf-8", "surrogatepass") for row in range(len(scored.units)))
        else:
            vectors = scored.vectors
            keys = fingerprints(dense(vectors[k : k + 1]).astype("<f4").tobytes() for k in range(len(scored.units)))
        return keys if len(readable) == len(keys) else tuple(keys[row] for row in readable)

    return LazyKeys(len(readable), make) if column is None and len(readable) > KEYS_AT_ONCE else make()


def _whole_texts(columns: tuple[Column, ...], items: Items, table: pa.Table) -> WholeTexts | None:
    """Return a function that gives a row's texts uncut; None if there are no texts."""
    names = [column.name for column in columns if column.kind == "text"]
    if not names:
        return None

    def texts(row: int) -> dict[str, str]:
        cells = {name: table[name][row].as_py() for name in names if name in table.column_names}
        item = {items.column: items.whole(row)} if items.whole is not None else {}
        return {name: "" if text is None else str(text) for name, text in {**cells, **item}.items()}

    return texts


def _table_to_show(scored: ScoredRows, columns: Collection[str] | None, items: Collection[object] | None) -> pa.Table:
    """Return the columns to show: those asked for, or all that the data has; `items` may be a table of them."""
    to_show = items if columns is None and items is not None and is_frame(items) else columns
    if to_show is None:
        return scored.table
    if isinstance(to_show, dict):
        to_show = pa.table({name: pa.array(values) for name, values in to_show.items()})
    if not is_frame(to_show):
        return tables.select(scored.table, list(cast("Collection[str]", to_show)))
    table = as_arrow(to_show)
    if table.num_rows != len(scored.units):
        raise InputError(
            f"A row to show was wanted for each of the {len(scored.units):,} rows, got {table.num_rows:,}."
        )
    return table


def _scored(model: CentralityModel, X: ModelRows, *, progress: bool) -> ScoredRows:
    """Read and score the rows of X, once."""
    reader = reader_of(model)
    table = as_arrow(X) if is_frame(X) else None
    reading = reader.input_spec()
    is_table = table is not None or reading.kind == "table"
    if table is None:
        vectors = reader.vectors(X)
        editable = editable_items(model, X, vectors)
    else:
        adapter = Adapter(model, table.column_names)
        vectors = vectors_of(adapter, table, progress=progress)
        X = table.select(adapter.columns)
        adapter.report()
        editable = editable_frame(model, X) if reading.kind in EDITABLE else None
    units = map_valid_rows(vectors, model.fitted_.units)
    length = len(table) if table is not None else len(cast("Sized", X)) if reading.one_series else len(units)
    rows = reader.rows_of(length)
    items = Items()
    if (looks := reader.shown(X)) is not None:
        items = items_of(looks, len(units))
        items = items if reading.kind == "series" else replace(items, column=(reading.columns or ["item"])[0])
    parts: tuple[Part, ...] = ()
    places = None
    if reading.kind == "table":
        cells = as_arrow(X)
        items = pictures_of(model, cells) or items
        parts, places = parts_of(model, cells)
    if table is not None:
        table = table.take(rows) if reading.one_series else table
    elif reading.kind == "table":
        table = as_arrow(X)
    elif reading.kind == "numbers":
        values: Any = vectors if model.fitted_.context is None else model.fitted_.absolute(dense(vectors))
        table = as_arrow(dense(values[:, :MOST_COLUMNS])).rename_columns(model.fitted_.features[:MOST_COLUMNS])
    else:
        table = pa.table({"row": rows})
    if reading.kind == "images" and is_table:
        table = with_folders(table, (reading.columns or ["path"])[0])
    return ScoredRows(vectors, units, rows, table, items, is_table, editable, parts, places)


def _reasons(model: CentralityModel, scored: ScoredRows) -> tuple[tuple[str, ...], Reasons | None, tuple[str, ...]]:
    """Return the names of features, a function for their contributions, and those that make odd rows odd.

    Where the numbers of a vector have no names, there are none.
    """
    reader = reader_of(model)
    features = reader.features()
    if features is None:
        return (), None, ()
    t = float(model.t)
    names = tuple(map(str, features.names))
    mixtures = model.fitted_.calibration.mixing.mixed(scored.units, t)
    odd = np.argpartition(mixtures, min(MOST_ODD, len(mixtures)) - 1)[:MOST_ODD]
    parts = map_valid_rows(scored.vectors[odd], lambda rows: model.fitted_.explain(rows, t, owner=reader.owner()))
    losses = reader.by_feature(parts).clip(max=0).mean(0)  # (features,)
    main_features = tuple(names[k] for k in np.argsort(losses, kind="stable")[:MOST_COLUMNS] if losses[k] < 0)
    return names, lambda rows: explain_rows(model, scored.vectors[rows]), main_features


def compared(
    model: CentralityModel, new: pa.Table, old: pa.Table, names: tuple[str, str], **options: Unpack[ViewOptions]
) -> View:
    """Return the view of the rows of two files by a model of the old one, the new rows first; `names` are the files'.

    They are told apart by a column of their own, and compared to begin with. Findings are of the new rows.
    """
    if FILE in (*new.column_names, *old.column_names):
        raise InputError(f"A column called {FILE!r} says of which file a row is: call yours otherwise.")
    if names[0] == names[1]:
        names = (f"{names[0]} (new)", f"{names[1]} (old)")
    rows = pa.concat_tables(
        [new, old.select([name for name in old.column_names if name in new.column_names])], promote_options="permissive"
    )
    reader = reader_of(model)
    reader.configure(unreadable=1.0)  # what is new is what is looked for
    which = np.repeat(np.array(names), [new.num_rows, old.num_rows])
    options["colour"] = FILE
    with reader.suppress_issues():  # they are among the findings
        view = view_of(model, rows.append_column(FILE, pa.array(which)), **options)
    jobs = view.jobs
    if isinstance(jobs, Jobs):  # what is wrong with the new rows, and what has changed
        jobs = replace(jobs, rows=rows.slice(0, new.num_rows), options={"model": model, "against": old})

    def side(name: str) -> str:
        return f"={json.dumps([FILE, name], ensure_ascii=False, separators=(',', ':'))}"

    return replace(view, sides=(side(names[0]), side(names[1])), jobs=jobs)


READABLE = ("numbers", "table")  # kinds of rows whose columns can be a context


def explored(model: CentralityModel, X: ModelRows, *, progress: bool = False, **options: Unpack[ViewOptions]) -> View:
    """Return the view of these rows by `view_of`, with a function that fits the model again where that is possible."""
    view = view_of(model, X, progress=progress, **options)
    if not is_frame(X) or reader_of(model).input_spec().kind not in READABLE or view.live is None:
        return view
    table = as_arrow(X)
    candidates = view.live.columns

    def refit(context: object) -> View:
        if not isinstance(context, list) or not all(name in candidates for name in context):
            raise InputError(
                f"Names of columns that the model reads and the page shows were wanted, got {str(context)[:80]!r}."
            )
        if len(context) == len(candidates):
            raise InputError("One column at least must be left to be judged: take one fewer.")
        fresh: Any = clone(cast("Any", model))
        parameter = "given" if "given" in fresh.get_params(deep=False) else "model__given"
        fresh.set_params(**{parameter: context or None})
        fresh.fit(table.select(Adapter(model, table.column_names).columns))
        # The file of the map holds that of the first model.
        changed: ViewOptions = {**options, "defer_umap": True, "kept_map": None}
        return explored(fresh, X, **changed)

    return replace(view, may_be_given=candidates, refit=refit)
