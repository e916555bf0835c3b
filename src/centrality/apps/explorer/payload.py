"""Pack a view as bytes for the page.

The mark, then gzip of: the length of a JSON header (4 bytes, little-endian), the header, and the arrays it points into.
Positions are fixed-point numbers of 24 bits, stored byte by byte (all high bytes first): gzip can shorten that, and its
checksum finds damage. Units are float64, so that ranks are Python's; of very many rows in a file, the first bytes of
float32: there the page calls ranks "about".
"""

import base64
import gzip
import json
import os
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import numpy as np
from numpy.typing import NDArray

from centrality.apps.explorer.content import LazyKeys
from centrality.apps.explorer.header import (
    Axes,
    BetterMap,
    Element,
    EmbeddedAnswers,
    EmbeddedPictures,
    Header,
    HeaderColumn,
    HeaderItems,
    Mixing,
    StoredArray,
    Texts,
    Why,
)
from centrality.apps.explorer.questions import exact_cells, pair, reasons_why
from centrality.apps.explorer.session import RANKED_AT
from centrality.apps.explorer.view import View
from centrality.network.calibration import ALLOWANCE
from centrality.network.calibration import Mixing as HeadsMixing

PART = 1 << 20  # bytes that are compressed together
PROBE = 1 << 14  # bytes of a part that are compressed to try
WORTH_IT = 0.9  # the share of them that may be left
HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"  # of a gzip file without a name or a time
RAW = -zlib.MAX_WBITS  # deflate without a head of its own
LAST_BLOCK = b"\x03\x00"  # an empty one, which ends the file


def gzip_in_parallel(data: bytes) -> bytes:
    """Return the data as one gzip file, whose parts are compressed at the same time.

    >>> import gzip
    >>> gzip.decompress(gzip_in_parallel(b"three words here")) == b"three words here"
    True
    """
    whole = memoryview(data)
    parts = [whole[at : at + PART] for at in range(0, len(data), PART)]

    def deflate(part: memoryview) -> bytes:
        """Return blocks that do not depend on earlier ones; data that does not shrink is stored as it is."""
        shrinks = len(zlib.compress(part[:PROBE], 1)) < WORTH_IT * len(part[:PROBE])
        packer = zlib.compressobj(1 if shrinks else 0, zlib.DEFLATED, RAW)
        return packer.compress(part) + packer.flush(zlib.Z_FULL_FLUSH)

    with ThreadPoolExecutor(os.cpu_count()) as threads:  # zlib lets others compute meanwhile
        blocks = list(threads.map(deflate, parts))
    tail = zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"".join([HEAD, *blocks, LAST_BLOCK, tail])


MARK = b"CNTRLTY1"
POSITION_BITS = 24  # as exact as float32
COARSE_BEYOND = 500_000  # of more points, fewer bits keep a file small
COARSE_BITS = 19  # of a position of these; what it loses shows at a zoom of 500
FARTHEST_UNIT = 1e38  # fits float32, which graphics cards have
COARSE_UNIT_BYTES = 3  # of each of the two units of more points: scores are then off by 5e-6
USUAL = (0.01, 0.99)  # quantiles between which rows lie as usual
SQUEEZED = 3.0  # times the usual range: from there on rows are far
MARGIN = 1.25  # of the map around the usual range
FARTHEST = 20.0  # halves of the map: what lies beyond is shown there
MOST_PICTURES = 3000  # thumbnails in an exported file
MOST_EXPLAINED = 3000  # rows whose reasons are in an exported file
MOST_COMPARED = 10**8  # pairs of rows that a file's neighbours are found among
FEWEST_NEAR = 100  # rows that have neighbours in a file
MOST_KEYS = 200_000  # rows of an exported file that have keys; of more, they are known by their numbers
HEAT_BYTES = 500_000  # in an exported file
DIGITS = 7  # of numbers in its answers: scores are right to a millionth
HEAT_DIGITS = 5  # of numbers that become colours: these are right to a step


class Buffers:
    """Collects arrays one after the other, each aligned to eight bytes."""

    def __init__(self) -> None:
        self.parts: list[bytes | memoryview] = []
        self.size = 0

    def add(self, values: NDArray[np.generic]) -> StoredArray:
        """Append the array and return its position, in the form of the header."""
        data = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        element = cast("Element", str(data.dtype.newbyteorder("=")))
        stored = StoredArray(at=self.size, length=int(data.size), type=element)
        padding = -data.nbytes % 8
        self.parts += [data.reshape(-1).view(np.uint8).data, bytes(padding)]
        self.size += data.nbytes + padding
        return stored


def pack(view: View, *, pictures: bool, reasons: bool) -> bytes:
    """Return the bytes of a view, with pictures and reasons in them where the page cannot ask for these later."""
    buffers = Buffers()
    cells = exact_cells(view, in_file=reasons)
    axes, points = _placed(view.points, view.axes, own_scales=view.own_scales)
    stored_points = buffers.add(points)
    stored_units = _units(view.units, buffers, small=reasons)
    columns: list[HeaderColumn] = []
    for column in view.columns:
        if column.kind == "text":
            columns.append({"name": column.name, "kind": "text", **_texts(column.texts, buffers)})
            continue
        values = buffers.add(column.values)
        if column.kind == "category":
            columns.append({"name": column.name, "kind": "category", "levels": list(column.levels), "values": values})
        else:
            columns.append({"name": column.name, "kind": column.kind, "values": values})
    header: Header = {
        "title": view.title,
        "n": len(view),
        "t": view.t,
        "mixing": _mixing(view.mixing),
        "axes": axes,
        "points": stored_points,
        "units": stored_units,
        "columns": columns,
        "items": _items(view, buffers, pictures=pictures, also=example_rows(view) if reasons else None),
        "features": list(view.features),
    }
    if cells:
        header["cells"] = {column.name: _texts(column.texts, buffers) for column in cells}
    header |= optional_fields(view, buffers, in_file=reasons)
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % 8)
    body = b"".join([len(text).to_bytes(4, "little"), text, *buffers.parts])
    return MARK + (gzip.compress(body, compresslevel=6, mtime=0) if reasons else gzip_in_parallel(body))


def optional_fields(view: View, buffers: Buffers, *, in_file: bool) -> Header:
    """Return the header's fields that not every view has; a file has answers where a host is asked for them."""
    fields = cast("Header", {})
    if view.colour:
        fields["colour"] = view.colour
    if view.given:
        fields["given"] = list(view.given)
    if (view.rows != np.arange(len(view))).any():
        fields["rows"] = buffers.add(view.rows.astype(np.uint32))
    if view.inliers is not None:
        fields["inliers"] = {"units": buffers.add(view.inliers.T), "contamination": view.contamination}
    if view.sides is not None:
        fields["sides"] = view.sides
    if view.timeline is not None:
        fields["timeline"] = view.timeline
    if view.parts:
        fields["parts"] = [
            {"name": part.name, "kind": part.kind, "severity": buffers.add(part.severity)} for part in view.parts
        ]
    if view.main_features:
        fields["guilty"] = list(view.main_features)
    if view.reasons is not None or view.neighbours is not None:
        fields["why"] = _answers_why(view, buffers) if in_file else "ask"
    if view.against is not None:
        fields["against"] = {
            "name": view.against.name,
            "mixing": _mixing(view.against.mixing),
            "units": _units(view.against.units, buffers, small=in_file),
        }
    if view.jobs is not None:
        fields["findings"] = view.jobs.findings() if in_file else "ask"
    if view.keys and (not in_file or len(view) <= MOST_KEYS):
        late = isinstance(view.keys, LazyKeys) and not in_file
        fields["keys"] = "ask" if late else _texts(view.keys, buffers)
    if in_file:
        return fields
    # What only a host with the model can answer.
    if view.live is not None:
        fields["typical_with"] = bool(view.live.columns) and view.reasons is not None and view.neighbours is not None
        fields["words"] = list(view.live.texts)
    fields["alike"] = view.alike is not None
    if view.refit is not None:
        fields["may_be_given"] = list(view.may_be_given)
    fields["later"] = view.better_layout is not None
    fields["jobs"] = view.jobs is not None and view.timeline is None
    fields["whole"] = view.items.full is not None or view.whole_texts is not None
    return fields


def keys(view: View) -> bytes:
    """Return the keys of all rows, for a page that asks for them after its first picture: where each ends, then all."""
    buffers = Buffers()
    _texts(view.keys, buffers)
    return b"".join(buffers.parts)


def better_map(points: NDArray[np.float64], names: tuple[str, str]) -> BetterMap:
    """Return another map of the same rows, which replaces the first."""
    axes, planes = _placed(points, names, own_scales=False)
    return {"share": 1.0, "trouble": "", "axes": axes, "points": base64.b64encode(planes.tobytes()).decode()}


def _placed(points: NDArray[np.float64], names: tuple[str, str], *, own_scales: bool) -> tuple[Axes, NDArray[np.uint8]]:
    """Return the description of the map, and the rows' positions on it in planes of bytes."""
    # Both axes share a scale unless each has its own unit.
    low = points.min(0)
    high = points.max(0)
    usual_low, usual_high = np.quantile(points, USUAL, axis=0)
    half = (high - low) / 2
    usual_half = (usual_high - usual_low) / 2
    middle = (usual_low + usual_high) / 2
    farthest = np.maximum(high - middle, middle - low)
    if not own_scales:
        half = np.full(2, half.max())
        usual_half = np.full(2, usual_half.max())
        farthest = np.full(2, farthest.max())
    # Few rows far from all others would squeeze these into a dot: then the map is a little wider than the usual range.
    squeezed = (usual_half > 0) & (farthest > SQUEEZED * usual_half)
    center = np.where(squeezed, middle, (low + high) / 2)
    half = np.where(squeezed, MARGIN * usual_half, np.where(half > 0, half, 1.0))
    reach = np.where(squeezed, np.minimum(farthest / half, FARTHEST), 1.0)
    axes: Axes = {"names": names, "center": pair(center), "half": pair(half), "reach": pair(reach)}
    # Positions are whole numbers: 0 is the lowest that rows can have, 2**24 - 1 the highest.
    bits = POSITION_BITS if len(points) <= COARSE_BEYOND else COARSE_BITS
    steps = ((points - center) / (half * reach) * 0.5 + 0.5).clip(0, 1) * (2**bits - 1)
    return axes, _planes((steps.round().astype(np.uint32) << (POSITION_BITS - bits)).T, 3)


def _mixing(mixing: HeadsMixing) -> Mixing:
    return {"local_weight": mixing.local_weight, "room": ALLOWANCE if mixing.veto else None}


def _units(units: NDArray[np.float64], buffers: Buffers, *, small: bool) -> StoredArray:  # (n, 2)
    """Store all global units, then all local ones; of very many rows in a file, the first bytes of float32."""
    lines = np.ascontiguousarray(units.T.clip(-FARTHEST_UNIT, FARTHEST_UNIT))  # (2, n)
    if not small or len(units) <= COARSE_BEYOND:
        return buffers.add(lines)
    rounded = (lines.astype(np.float32).view(np.uint32) + np.uint32(128)) >> np.uint32(8)  # in size, whatever the sign
    return buffers.add(_planes(rounded, COARSE_UNIT_BYTES))


def _planes(numbers: NDArray[np.uint32], count: int) -> NDArray[np.uint8]:
    """Return the high bytes of all numbers of a line, then the next lower ones, then those of the next line."""
    return np.stack([(line >> (8 * k)) & 255 for line in numbers for k in reversed(range(count))]).astype(np.uint8)


def _texts(texts: Sequence[str], buffers: Buffers) -> Texts:
    """Store all texts as one, and where each ends, in the units in which JavaScript counts."""
    whole = "".join(texts)
    lengths = map(len, texts) if whole.isascii() else (len(text.encode("utf-16-le", "replace")) // 2 for text in texts)
    ends = np.cumsum(np.fromiter(lengths, np.uint32, len(texts)), dtype=np.uint32)
    joined = np.frombuffer(whole.encode("utf-8", "replace"), dtype=np.uint8)
    return {"ends": buffers.add(ends), "text": buffers.add(joined)}


def _items(view: View, buffers: Buffers, *, pictures: bool, also: NDArray[np.intp] | None) -> HeaderItems:
    items = view.items
    if items.kind == "text":
        return {"kind": "text", "column": items.column}
    if items.kind == "series" and items.curves is not None:
        return {"kind": "series", "curves": buffers.add(items.curves)}
    if items.kind != "picture" or items.picture is None:
        return {"kind": ""}
    if not pictures:
        return {"kind": "picture"}
    pictures_of_rows = [(row, readable_picture(view, int(row))) for row in noteworthy_rows(view, MOST_PICTURES, also)]
    rows = np.array([row for row, file in pictures_of_rows if file is not None], dtype=np.uint32)
    files = [file for _, file in pictures_of_rows if file is not None]
    ends = np.cumsum([len(file) for file in files]).astype(np.uint32)
    embedded: EmbeddedPictures = {
        "rows": buffers.add(rows),
        "ends": buffers.add(ends),
        "files": buffers.add(np.frombuffer(b"".join(files), dtype=np.uint8)),
    }
    return {"kind": "picture", "embedded": embedded}


def example_rows(view: View) -> NDArray[np.intp]:
    """Return the rows that findings name as examples, by their position in the view."""
    findings = [] if view.jobs is None else view.jobs.findings()["findings"]
    examples = [row for one in findings for row in [*one["examples"], one["typical"]] if row is not None]
    return np.flatnonzero(np.isin(view.rows, examples))


def noteworthy_rows(view: View, count: int, also: NDArray[np.intp] | None = None) -> NDArray[np.intp]:
    """Choose at most so many rows to look at: the first and the last at every t, those that move most, then others.

    The others are evenly spaced. The rows in `also` are added to these.
    """
    if also is not None and len(also):
        return np.union1d(noteworthy_rows(view, count), also)
    n = len(view)
    if n <= count:
        return np.arange(n)
    per_end = max(1, count // (4 * (len(RANKED_AT) + 1)))
    ranked = [np.argsort(view.mixing.mixed(view.units, t)) for t in RANKED_AT]
    ranks_moved = np.argsort(ranked[-1]) - np.argsort(ranked[0])  # from t = 0 to t = 1
    ends = [part for order in [*ranked, np.argsort(ranks_moved)] for part in (order[:per_end], order[::-1][:per_end])]
    chosen = np.unique(np.concatenate(ends))
    spaced = np.setdiff1d(np.linspace(0, n - 1, count).astype(np.intp), chosen)
    every = max(1, -(-len(spaced) // max(1, count - len(chosen))))  # so that no more are taken than there is room for
    return np.sort(np.concatenate([chosen, spaced[::every]])[:count])


def readable_picture(view: View, row: int, *, full: bool = False) -> bytes | None:
    """Return the file of a row's picture, or None if it is missing or cannot be read."""
    picture = view.items.full if full and view.items.full is not None else view.items.picture
    try:
        return None if picture is None else picture(row)
    except (OSError, SyntaxError, ValueError):  # as Pillow tells of damaged files
        return None


def _answers_why(view: View, buffers: Buffers) -> EmbeddedAnswers:
    """Store why the rows that a reader is most likely to ask about score as they do, and what lies near them.

    Heat is stored of as many of them as a file has space for, near rows of as many as can be compared in short time.
    """
    height, width = view.heat_shape or (0, 0)
    rows_with_heat = noteworthy_rows(view, max(1, HEAT_BYTES // (8 * height * width)) if height else 0)
    examples = example_rows(view)
    others = np.setdiff1d(noteworthy_rows(view, MOST_EXPLAINED, examples), rows_with_heat)
    answers: dict[int, Why] = {}
    for rows, has_heat in ((rows_with_heat, True), (others, False)):
        if len(rows):
            answers |= dict(zip(rows.tolist(), reasons_why(view, rows, with_heat=has_heat), strict=True))
    if view.neighbours is not None:
        count = max(FEWEST_NEAR, min(MOST_EXPLAINED, MOST_COMPARED // len(view)))
        rows = noteworthy_rows(view, count, examples)
        for row, near in zip(rows.tolist(), view.neighbours(rows).tolist(), strict=True):
            answers.setdefault(row, {"reasons": [], "typical": (0.0, 0.0), "near": []})["near"] = near
    texts = [json.dumps(_rounded(answers[row]), separators=(",", ":")) for row in sorted(answers)]
    return {"rows": buffers.add(np.array(sorted(answers), dtype=np.uint32)), "answers": _texts(texts, buffers)}


def _rounded(value: object, digits: int = DIGITS) -> object:
    """Return a value with all numbers in it to so many digits, those of heat to fewer."""
    if isinstance(value, dict):
        return {name: _rounded(part, HEAT_DIGITS if name == "heat" else digits) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part, digits) for part in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
