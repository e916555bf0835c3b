"""What the header of a payload says, field by field: `payload` writes it, the page reads it.

`web/src/header.ts` says the same to TypeScript and is written from these classes by `web/header.py` (`make web`).
"""

from typing import Literal, NotRequired, TypedDict

Element = Literal["uint8", "uint16", "uint32", "float32", "float64"]


class Place(TypedDict):
    """Where an array lies among the bytes after the header."""

    at: int
    length: int
    type: Element


class Axes(TypedDict):
    """What the map shows: the names of its axes, its middle, and half its width and height."""

    names: tuple[str, str]
    center: tuple[float, float]
    half: tuple[float, float]


class TextColumn(TypedDict):
    """A column of texts, which lie one after the other as one text."""

    name: str
    kind: Literal["text"]
    ends: Place
    text: Place


class CategoryColumn(TypedDict):
    """A column of few levels: codes from 1, and 0 for a gap."""

    name: str
    kind: Literal["category"]
    levels: list[str]
    values: Place


class NumberColumn(TypedDict):
    """A column of numbers, or of dates in milliseconds since 1970; a gap is not a number."""

    name: str
    kind: Literal["number", "date"]
    values: Place


class EmbeddedPictures(TypedDict):
    """Thumbnails that lie in the payload: of which rows, and where each file ends."""

    rows: Place
    ends: Place
    files: Place


class NoItems(TypedDict):
    """A row is only its columns."""

    kind: Literal[""]


class TextItems(TypedDict):
    """A row is a text, in a column of its own."""

    kind: Literal["text"]
    column: str


class SeriesItems(TypedDict):
    """A row is a curve."""

    kind: Literal["series"]
    curves: Place


class PictureItems(TypedDict):
    """A row is a picture: in the payload, else at the server."""

    kind: Literal["picture"]
    embedded: NotRequired[EmbeddedPictures]


class EmbeddedReasons(TypedDict):
    """Contributions that lie in the payload: of which rows, of which features, at t = 0 and at t = 1."""

    rows: Place
    features: Place
    values: Place


class Header(TypedDict):
    """A view without its arrays."""

    title: str
    n: int
    t: float
    axes: Axes
    points: Place
    heads: Place
    columns: list[TextColumn | CategoryColumn | NumberColumn]
    items: NoItems | TextItems | SeriesItems | PictureItems
    features: list[str]
    rows: NotRequired[Place]
    inliers: NotRequired[Place]
    reasons: NotRequired[EmbeddedReasons | Literal["ask"]]


# What a feature adds to the score of a row, against the centre: at t = 0 and at t = 1, linear in between.
Reason = TypedDict("Reason", {"name": str, "global": float, "local": float})
