"""Say what the header of a payload holds, field by field: `payload` writes it, the page reads it.

`web/src/core/header.ts` says the same to TypeScript; `web/header.py` writes it from these classes (`make web`).
"""

from typing import Literal, NotRequired, TypedDict

Element = Literal["uint8", "uint16", "uint32", "float32", "float64"]


class StoredArray(TypedDict):
    """Where an array lies among the bytes after the header."""

    at: int
    length: int
    type: Element


class Axes(TypedDict):
    """The map: the names of its axes, its middle, and half its width and height.

    `reach` is how many halves away from the middle the farthest rows lie: 1, unless a few lie far from all others.
    """

    names: tuple[str, str]
    center: tuple[float, float]
    half: tuple[float, float]
    reach: tuple[float, float]


class Texts(TypedDict):
    """Where texts lie, joined into one text, and where each ends."""

    ends: StoredArray
    text: StoredArray


class TextColumn(TypedDict):
    """A column of texts."""

    name: str
    kind: Literal["text"]
    ends: StoredArray
    text: StoredArray


class CategoryColumn(TypedDict):
    """A column of few levels: codes count from 1, and 0 is a gap."""

    name: str
    kind: Literal["category"]
    levels: list[str]
    values: StoredArray


class NumberColumn(TypedDict):
    """A column of numbers, or of dates in milliseconds since 1970; a gap is NaN."""

    name: str
    kind: Literal["number", "date"]
    values: StoredArray


class EmbeddedPictures(TypedDict):
    """The rows that have thumbnails in the payload, and where the file of each ends."""

    rows: StoredArray
    ends: StoredArray
    files: StoredArray


class NoItems(TypedDict):
    """Says that a row is only its columns."""

    kind: Literal[""]


class TextItems(TypedDict):
    """Says that a row is a text, in a column of its own."""

    kind: Literal["text"]
    column: str


class SeriesItems(TypedDict):
    """Says that a row is a curve."""

    kind: Literal["series"]
    curves: StoredArray


class PictureItems(TypedDict):
    """Says that a row is a picture, which is in the payload or else at the server."""

    kind: Literal["picture"]
    embedded: NotRequired[EmbeddedPictures]


class EmbeddedAnswers(TypedDict):
    """The rows that have their `Why` in the payload, and where the JSON of each stands."""

    rows: StoredArray
    answers: Texts


class Mixing(TypedDict):
    """How the page mixes both units: linearly, without squeezing, if there is no weight.

    `room` is by how many units the local one may exceed the global one at t = 0; None if by any number, at every t.
    """

    local_weight: float | None
    room: float | None


class Inliers(TypedDict):
    """The units of calibration rows, all global ones first, and the share of them to leave out as outliers."""

    units: StoredArray
    contamination: float


class Against(TypedDict):
    """Another model's scores of the same rows."""

    name: str
    mixing: Mixing
    units: StoredArray


class Finding(TypedDict):
    """One thing that is wrong, or may be; rows are numbered as they stand in the data."""

    kind: str
    sentence: str  # what holds of the rows
    reason: str  # why that may be wrong
    columns: list[str]
    count: int
    rows: list[int]
    severity: float  # one in how many ordinary rows is as odd
    examples: list[int]  # at most five of the rows
    typical: int | None  # a typical row, to set beside them
    advice: str  # what to do
    certificate: str  # how many of the rows are odd at least; empty if nothing can say so


class Findings(TypedDict):
    """What is wrong with the rows, the worst first, as `centrality check --json` says it."""

    verdict: str  # one sentence
    rows: int
    findings: list[Finding]


HeaderColumn = TextColumn | CategoryColumn | NumberColumn
HeaderItems = NoItems | TextItems | SeriesItems | PictureItems


class TimelineNames(TypedDict):
    """Names the columns that make rows the moments of series."""

    time: str
    by: str  # the column that tells several series apart; "" if there is one series
    channels: list[str]


class Part(TypedDict):
    """A part of each row, or two that should go together; for each row, one in how many is as odd, NaN if missing."""

    name: str
    kind: Literal["picture", "text", "vector", "rest", "pair"]
    severity: StoredArray


class Header(TypedDict):
    """Describes a view and says where each of its arrays lies."""

    title: str
    n: int
    t: float
    mixing: Mixing
    axes: Axes
    points: StoredArray
    units: StoredArray
    columns: list[HeaderColumn]
    items: HeaderItems
    features: list[str]
    rows: NotRequired[StoredArray]
    inliers: NotRequired[Inliers]
    why: NotRequired[EmbeddedAnswers | Literal["ask"]]
    colour: NotRequired[str]  # the column that rows are coloured by to begin with
    guilty: NotRequired[list[str]]  # features, from the one that makes the odd rows odd most of all
    findings: NotRequired[Findings | Literal["ask"]]  # what is wrong, or the host says so after the first picture
    typical_with: NotRequired[bool]  # the host can say which cells would make a row typical
    words: NotRequired[list[str]]  # columns of texts of which the host can say which words make a row odd
    cells: NotRequired[dict[str, Texts]]  # by column, as they came, where the column itself does not tell
    keys: NotRequired[Texts | Literal["ask"]]  # of all rows, by which marks are kept; else their number is their key
    whole: NotRequired[bool]  # the host has pictures and texts in full
    later: NotRequired[bool]  # the host makes a better map
    jobs: NotRequired[bool]  # the host learns from marks, picks rows and finds copies
    against: NotRequired[Against]  # another model of the same rows
    given: NotRequired[list[str]]  # columns that are the context: rows of one kind are compared with each other
    may_be_given: NotRequired[list[str]]  # columns that could be, where the host can fit the model anew
    sides: NotRequired[tuple[str, str]]  # two groups to compare, as `web/src/core/sides.ts` spells them
    timeline: NotRequired[TimelineNames]  # rows are moments
    parts: NotRequired[list[Part]]  # of rows of pictures, long texts or vectors beside other columns
    alike: NotRequired[bool]  # the host says which rows are like one


# What a feature contributes to both units of a row, against those of a typical point;
# at t: see `web/src/core/mixing.ts`. `usual` says what is usual in the row's kind, if rows have kinds.
Reason = TypedDict("Reason", {"name": str, "global": float, "local": float, "usual": NotRequired[str]})


class Heat(TypedDict):
    """What each pixel or moment of a row contributes, in units: global, then local."""

    width: int
    height: int
    values: list[float]  # (2, height, width)


class Why(TypedDict):
    """The reasons for a row's score, and the rows near it; `near` begins with the nearest typical row.

    `typical` are the units of the typical point that reasons compare the row with.
    """

    reasons: list[Reason]
    typical: tuple[float, float]
    near: list[int]
    heat: NotRequired[Heat]


class TypicalWith(TypedDict):
    """The cells of a row that make it typical if they are those of the typical row `like`, and its units then."""

    columns: list[str]  # none, if no few cells would do
    like: int
    units: tuple[float, float]


# A piece of a text, and what it adds to both units.
Word = TypedDict("Word", {"text": str, "global": float, "local": float})


class Words(TypedDict):
    """A text in pieces, and the units of the typical point that it is compared with."""

    words: list[Word]
    typical: tuple[float, float]


class Mark(TypedDict):
    """A reader's mark, tags and note of the row with this key; `row` is its number in the data when last seen."""

    key: str  # "" where rows are known by their number alone
    row: int
    mark: Literal["", "outlier", "fine", "later"]
    tags: str  # names of the reader's own, with semicolons between them
    note: str
    by: str  # who said the last of it, if that was told
    at: str  # and when, as UTC
    version: int  # the larger, the newer


class Change(TypedDict):
    """A change of a reader's marks of a row: only what is new, so that two readers do not undo each other."""

    key: str
    row: int
    mark: NotRequired[Literal["", "outlier", "fine", "later"]]
    tags: NotRequired[str]
    note: NotRequired[str]
    by: NotRequired[str]
    was: NotRequired[str]  # the note as the reader saw it before


class KeptMarks(TypedDict):
    """All marks that were saved, and where; `trouble` says why new ones cannot be saved."""

    marks: list[Mark]
    where: str
    trouble: str


class BetterMap(TypedDict):
    """The progress of a better map; with its axes and, in base64, its points once it is ready."""

    share: float
    trouble: str  # why there will be none
    axes: NotRequired[Axes]
    points: NotRequired[str]


class Renewed(TypedDict):
    """Says that the host has fitted the model anew, and that the page must be read again."""

    given: list[str]


class Learned(TypedDict):
    """The rows to look at next, as learned from the marks, and in words how many outliers are likely left."""

    order: list[int]
    said: str


class CopiesOfRow(TypedDict):
    """Rows that are copies of each other, and in words how they differ."""

    kind: str  # in words
    rows: list[int]
    differs: str
