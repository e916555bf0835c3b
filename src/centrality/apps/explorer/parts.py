"""Show rows of pictures, long texts and vectors part by part: how each looks, how odd it is, which rows are alike."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality.apps.explorer.content import FULL_SIDE, Items, thumbnail
from centrality.apps.explorer.layout import nearest_among
from centrality.chain import TIMES_BEYOND, Chain
from centrality.model.interface import CentralityModel
from centrality.representations.blocks import REST, nearest_rows
from centrality.representations.images import content_of, decode
from centrality.representations.table import Table

MOST_PLACED = 200_000  # rows of which it is known where they lie: each has up to 64 numbers for every block
MOST_ALIKE = 12  # rows that are told as like another one

PartKind: TypeAlias = Literal["picture", "text", "vector", "rest", "pair"]
Places: TypeAlias = NDArray[np.float32]  # (n, d)
Alike: TypeAlias = Callable[[int, str], list[int]]  # a row, and a part or "": the rows most like it, the nearest first

KINDS: dict[str, PartKind] = {"pictures": "picture", "long texts": "text", "vector block": "vector"}


@dataclass(frozen=True)
class Part:
    """A part of each row, or two that should go together: one in how many rows is as odd."""

    name: str
    kind: PartKind
    severity: NDArray[np.float32]  # (n,) NaN where the part is missing

    def take(self, rows: NDArray[np.intp]) -> "Part":
        """Return the part of these rows only."""
        return replace(self, severity=self.severity[rows])


def table_of(model: CentralityModel) -> Table | None:
    """Return the representation by which a model reads rows part by part; None if rows are one part each."""
    representation = model.representation_ if isinstance(model, Chain) else None
    return representation if isinstance(representation, Table) and representation.block_kinds() else None


def parts_of(model: CentralityModel, table: pa.Table) -> tuple[tuple[Part, ...], Callable[[str], Places] | None]:
    """Return the parts of the rows of a table, and a function that says where rows lie by all of them, "", or by one.

    The blocks come first, then all other columns, then pairs. Like rows lie near each other: a picture counts by what
    is seen on it, which the model's vectors do not say. There is no such function for very many rows, nor where rows
    are one part each.
    """
    representation = table_of(model)
    if representation is None:
        return (), None
    kinds = {name: KINDS[kind] for name, kind in representation.block_kinds().items()}
    largest = TIMES_BEYOND * (model.fitted_.remembered.seen + 1)  # beyond, a severity is extrapolated too far
    severities, by_column = representation.by_part(table)
    parts = tuple(
        Part(
            name, kinds.get(name, "rest" if name == REST else "pair"), np.minimum(severity, largest).astype(np.float32)
        )
        for name, severity in severities.items()
    )
    if table.num_rows > MOST_PLACED:
        return parts, None
    places = {name: numbers.astype(np.float32) for name, numbers in by_column.items()}
    places[""] = np.concatenate(list(places.values()), axis=1)
    return parts, places.__getitem__


def pictures_of(model: CentralityModel, table: pa.Table) -> Items | None:
    """Return how rows look whose first block of pictures this is; None if there are no pictures."""
    representation = table_of(model)
    if representation is None:
        return None
    for column, things in representation.pictures(table).items():

        def picture(row: int, side: int = 0, things: list[object] = things) -> bytes:
            image = decode(content_of(things[row])[1])
            return thumbnail(image, side) if side else thumbnail(image)

        return Items("picture", picture=picture, full=lambda row: picture(row, FULL_SIDE), column=column)
    return None


def alike_by(places: Callable[[str], Places] | None, vectors: NDArray[np.floating]) -> Alike | None:
    """Return a function that finds the rows most like one by where rows lie, or by their vectors; None if few."""
    if len(vectors) <= MOST_ALIKE:
        return None
    if places is None:
        nearest = cache(lambda: nearest_among(vectors, np.arange(len(vectors)), MOST_ALIKE))
        return lambda row, _: nearest()(np.array([row]))[0].tolist()

    def alike(row: int, part: str) -> list[int]:
        everywhere = places(part)
        place = everywhere[row : row + 1].astype(np.float64)
        others: list[int] = nearest_rows(place, cast("NDArray[np.float64]", everywhere), MOST_ALIKE)[0].tolist()
        return [other for other in others if other != row]

    return alike


def part_named(parts: tuple[Part, ...], given: object) -> str:
    """Return the part that the page named, "" for all of a row; raise if there is none of that name."""
    names = [part.name for part in parts if part.kind in KINDS.values()]
    if given in (None, "") or given in names:
        return str(given or "")
    raise InputError(f"A part of a row was wanted, one of {', '.join(names) or 'none'}, got {str(given)[:50]!r}.")
