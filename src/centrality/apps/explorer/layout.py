"""Lay rows out on the plane: neighbours first, UMAP when it is ready.

UMAP takes from seconds to minutes, most of it to compile itself. A reader gets PCA first; the better map
is made in another process meanwhile, and kept in a file, so that it is there at once the next time.
"""

import hashlib
import io
import os
import re
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import maps, tables
from centrality._internal.checks import InputError
from centrality._internal.files import write_atomically
from centrality._internal.input import CheckedRows
from centrality.apps.explorer.content import column_of
from centrality.model.interface import CentralityModel

NEAREST = 6  # neighbours that the page lists of each row, the nearest typical one first
SPARE = 8  # more rows than the page lists are ranked by their exact distances

Neighbours: TypeAlias = Callable[[NDArray[np.intp]], NDArray[np.intp]]  # (k,) rows -> (k, NEAREST)


def neighbours_of(vectors: NDArray[np.floating], centrality: NDArray[np.float64]) -> Neighbours | None:
    """Return a function that finds the neighbours of rows among all rows; None if there are too few rows.

    The rows of the more central half are typical. Distances are Euclidean, between scaled vectors.
    """
    n = len(vectors)
    if n < 2 * NEAREST:
        return None

    @cache  # computed with the first answer: a page does not wait for it
    def indexes() -> tuple[Neighbours, Neighbours]:
        typical = np.sort(np.argsort(centrality, kind="stable")[n // 2 :])
        return nearest_among(vectors, typical, 1), nearest_among(vectors, np.arange(n), NEAREST - 1)

    return lambda rows: np.hstack([nearest(rows) for nearest in indexes()])


def nearest_among(vectors: NDArray[np.floating], candidates: NDArray[np.intp], count: int) -> Neighbours:
    """Return a function that finds the nearest candidates of rows, the rows themselves left out."""
    from sklearn.neighbors import NearestNeighbors

    among = vectors if len(candidates) == len(vectors) else vectors[candidates]
    index = NearestNeighbors(n_neighbors=min(1 + count + SPARE, len(candidates)), algorithm="brute").fit(among)

    def nearest(rows: NDArray[np.intp]) -> NDArray[np.intp]:  # (k, count)
        neighbours = candidates[index.kneighbors(vectors[rows], return_distance=False)]
        # Anew, as differences: products of large numbers have rounded small distances away.
        differences = vectors[neighbours].astype(np.float64) - vectors[rows, None].astype(np.float64)
        distances = (differences**2).sum(2)
        distances[neighbours == rows[:, None]] = np.inf
        ranked = np.lexsort([neighbours, distances], axis=1)[:, :count]
        return np.take_along_axis(neighbours, ranked, axis=1)

    return nearest


UMAP_ROWS = 200_000  # beyond, UMAP takes minutes: it is drawn when asked for by name
FEWEST = 15  # rows: of fewer there are no neighbourhoods to keep
IN_COMPONENTS = 50  # of sparse vectors
# What reading a file raises that is no map.
DAMAGED = (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile)

Vectors = NDArray[np.float32 | np.float64]
Points = NDArray[np.float64]  # (n, 2)


class UmapJob:
    """Makes the map of UMAP in another process; `points` is set when it is done, `share` is its progress."""

    axes = ("UMAP 1", "UMAP 2")

    def __init__(self, vectors: Vectors, seed: int | None, map_file: Path | None) -> None:
        self._vectors = vectors
        self._seed = seed
        self._map_file = map_file
        self.points: Points | None = None
        self.share = 0.0
        self.trouble = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._ended = False
        self._started = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start the process, unless it has started; it runs while the page is open."""
        with self._lock:
            if self._started:
                return
            self._started = True
        threading.Thread(target=self._make, name="better map", daemon=True).start()

    def end(self) -> None:
        """Stop the process if it is not done."""
        self._ended = True
        if self._process is not None and self._process.poll() is None:
            self._process.kill()

    def _make(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            rows = Path(folder) / "rows.npy"
            output = Path(folder) / "map.npy"
            np.save(rows, self._vectors)
            command = [sys.executable, "-m", __name__, str(rows), str(output), str(self._seed)]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as self._process:
                if self._ended:
                    self._process.kill()
                assert self._process.stderr is not None
                while progress := self._process.stderr.read1(4096):  # type: ignore[attr-defined]
                    if percents := re.findall(rb"(\d+)%", progress):  # of UMAP's own progress bar
                        self.share = int(percents[-1]) / 100
            if not output.exists():
                self.trouble = "" if self._ended else "UMAP did not finish: the map stays as it is."
                return
            points = np.load(output)
        keep(self._map_file, self._vectors, self._seed, points)
        self.points = points
        self.share = 1.0


@dataclass(frozen=True)
class Layout:
    """The positions of the rows, the names of the axes, and whether each axis has a unit of its own."""

    points: Points
    axes: tuple[str, str]
    own_scales: bool = False
    better_layout: UmapJob | None = None


def lay_out(
    vectors: Vectors,
    table: pa.Table,
    on: str | Sequence[str] | NDArray[Any],
    seed: int | None,
    *,
    progress: bool = False,
    defer_umap: bool = False,
    map_file: Path | None = None,
) -> Layout:
    """Lay the rows out by the user's map, two columns, or a method; `defer_umap` does not wait for UMAP."""
    if isinstance(on, np.ndarray):
        if on.shape != (len(vectors), 2) or not np.issubdtype(on.dtype, np.number) or not np.isfinite(on).all():
            shape = f"two finite numbers for each of the {len(vectors):,} rows"
            raise InputError(f"A map of your own must have {shape}, got {on.shape}.")
        return Layout(on.astype(np.float64), ("1", "2"))
    names = on.split(",") if isinstance(on, str) and "," in on else on
    if not isinstance(names, str):
        return _on_columns(table, names, len(vectors))
    if vectors.shape[1] <= 2:
        # Rows of one or two numbers: in the data's own units if these are its columns.
        names = table.column_names
        if vectors.shape[1] == 2 == len(names):
            columns = [column_of(name, table[name]) for name in names]
            if all(column.kind == "number" and np.isfinite(column.values).all() for column in columns):
                return _on_columns(table, names, len(vectors))
        return Layout(maps.embed(vectors, method="pca"), ("1", "2"))
    method = names
    if method == "auto":
        method = "umap" if FEWEST < len(vectors) <= UMAP_ROWS and find_spec("umap") is not None else "pca"
    if method == "umap" and (stored := kept_points(map_file, vectors, seed)) is not None:
        return Layout(stored, UmapJob.axes)
    if method == "umap" and defer_umap:
        return Layout(
            maps.embed(vectors, method="pca"), ("PCA 1", "PCA 2"), better_layout=UmapJob(vectors, seed, map_file)
        )
    points = maps.embed(vectors, method=method, random_state=seed, progress=progress)
    if method == "umap":
        keep(map_file, vectors, seed, points)
    return Layout(points, (f"{method.upper()} 1", f"{method.upper()} 2"))


def vectors_to_map(model: CentralityModel, vectors: CheckedRows) -> Vectors:
    """Return the scaled vectors that the network takes; for sparse ones, their main components."""
    if isinstance(vectors, np.ndarray):
        return model.fitted_.scaling.apply(vectors)
    from sklearn.decomposition import TruncatedSVD

    components = min(IN_COMPONENTS, vectors.shape[1] - 1)
    return np.asarray(TruncatedSVD(components, random_state=0).fit_transform(vectors))


def _on_columns(table: pa.Table, names: Sequence[str], n: int) -> Layout:
    """Lay the rows out on two columns, each in its own unit."""
    if len(names) != 2:
        raise InputError(f"A map needs two columns, got {len(names)}: {', '.join(names)}.")
    columns = [column_of(name, tables.select(table, [name])[name]).values for name in names]
    if any(len(values) != n for values in columns):
        raise InputError(f"A map needs two columns of numbers or categories, got {', '.join(names)}.")
    axes = list(names)
    for k, end in enumerate(("left", "bottom")):
        values = columns[k].astype(np.float64)
        gaps = np.isnan(values)
        columns[k] = np.nan_to_num(values)
        if gaps.any() and not gaps.all():  # they go below the least value; a wild one must not send them far away
            low, high = np.quantile(values[~gaps], (0.01, 0.99))
            columns[k] = np.where(gaps, values[~gaps].min() - 0.06 * max(high - low, 1e-9), values)
            axes[k] += f" (gaps at the {end})"
    return Layout(np.column_stack(columns), (axes[0], axes[1]), own_scales=True)


# The file in which a map is kept


def kept_points(path: Path | None, vectors: Vectors, seed: int | None) -> Points | None:
    """Return the map in this file if it was made from the same rows."""
    if path is None or not path.exists():
        return None
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as archive:
            points = np.asarray(archive["points"], dtype=np.float64)
            if str(archive["of"]) == _digest(vectors, seed) and points.shape == (len(vectors), 2):
                return points if np.isfinite(points).all() else None
    except DAMAGED:
        pass
    return None


def keep(path: Path | None, vectors: Vectors, seed: int | None, points: Points) -> None:
    """Save a map in this file; do nothing if the folder is not writable, as the map can be made again."""
    if path is None:
        return
    with suppress(OSError), write_atomically(path) as beside, beside.open("wb") as file:
        np.savez_compressed(file, points=points.astype(np.float32), of=np.array(_digest(vectors, seed)))


def _digest(vectors: Vectors, seed: int | None) -> str:
    """Return a digest of these rows and of the settings of their map."""
    digest = hashlib.blake2b(repr((vectors.shape, vectors.dtype.str, seed)).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(vectors).data)
    return digest.hexdigest()


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)  # the reader's page comes first
    rows_file, map_file_name, seed_text = sys.argv[1:]
    umap_seed = None if seed_text == "None" else int(seed_text)
    np.save(map_file_name, maps.embed(np.load(rows_file), method="umap", random_state=umap_seed, progress=True))
