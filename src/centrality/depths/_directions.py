"""Depths that look at the sample along many directions and keep the worst: where to look."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from centrality._checks import InputError, whole_number
from centrality.depths._estimator import Depth
from centrality.depths._frames import Array, Flat, Frame, blocks, flat, in_one_unit, unit

PAPER_FEWEST, PAPER_MOST = 100, 50_000
FROM_SAMPLE = 1000  # "auto": so many directions through rows, and so many along differences of two rows
SEARCH_ROWS = 5000  # "auto": rows that guide the search for a better direction; the verdict is by all
SEARCH_STEPS = 10
FIRST_STEP = 0.3  # radians, nearly


class DirectionalDepth(Depth):
    """What projection and halfspace depth share: the directions, and the search for better ones.

    "auto" works in whitened coordinates of the flat that holds the sample, where everything is taken from the
    sample itself, so that the depth does not change with units, rotations or other linear maps.
    """

    _directions: Array  # (k, r) unit vectors
    _guides: Array  # (m, r) rows that guide the search

    def __init__(
        self,
        *,
        directions: int | str = "auto",
        contamination: float | str = "auto",
        dtype: str = "float64",
        random_state: Any = None,
    ) -> None:
        self.directions = directions
        self.contamination = contamination
        self.dtype = dtype
        self.random_state = random_state

    @property
    def _exhaustive(self) -> bool:
        """No direction is missing: the depth is exact without a search."""
        return isinstance(self._frame, Flat) and self._frame.rank <= 1

    def _learn(self, rows: Array) -> Frame:
        if isinstance(self.directions, str) and self.directions not in ("auto", "paper"):
            raise InputError(f"directions must be 'auto', 'paper' or a whole number, got {self.directions!r}.")
        return flat(rows, whiten=True) if self.directions == "auto" else in_one_unit(rows)

    def _prepare(self) -> None:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        self._directions = self._choose(rng).astype(self.dtype)
        some = rng.permutation(len(self._points))[:SEARCH_ROWS]
        self._guides = self._points if len(some) == len(self._points) else self._points[some]

    def _choose(self, rng: np.random.Generator) -> Array:
        n, d = self._points.shape
        if self.directions == "auto":
            return np.eye(d) if d <= 1 else through_sample(self._points, rng)
        if self.directions == "paper":
            # 2^(d - 1) alone passes the upper limit long before it overflows
            count = int(np.clip(n * 2.0 ** min(d - 1, 60), PAPER_FEWEST, PAPER_MOST))
        else:
            count = whole_number("directions", self.directions)
        return unit(rng.normal(size=(count, d)))

    def _search(self, points: Array, height: Array, start: Array) -> Array:
        """The greater height along directions of the points' own: through the point, and uphill from the best."""
        height = height.copy()
        for block in blocks(len(points), len(self._guides)):
            point, own = points[block], unit(points[block])
            by_own = self._height(own, point)
            begin = np.where((by_own > height[block])[:, None], own, start[block])
            best = climb(partial(self._look, point), begin)
            height[block] = np.maximum.reduce([height[block], by_own, self._height(best, point)])
        return height

    def _height(self, directions: Array, points: Array) -> Array:
        """(b,) how badly each point looks along the direction beside it."""
        raise NotImplementedError

    def _look(self, points: Array, directions: Array) -> tuple[Array, Array]:
        """The same by the guides only, and its slope, up to a factor: (b,) and (b, r)."""
        raise NotImplementedError


def through_sample(points: Array, rng: np.random.Generator) -> Array:
    """Directions from the centre through rows, and along differences of two rows, all of length 1."""
    rows = points[rng.permutation(len(points))[:FROM_SAMPLE]]
    first, second = rng.integers(len(points), size=(2, FROM_SAMPLE))
    found = np.concatenate([rows, points[first] - points[second]])
    found = found[np.abs(found).max(1) > 1e-9]  # a row at the centre, or twice the same row, points nowhere
    return unit(found)


def climb(look: Callable[[Array], tuple[Array, Array]], start: Array) -> Array:
    """Walk from each of these unit vectors uphill on the sphere.

    `look` gives (b,) heights and (b, r) slopes. A step that does not lead higher is taken back and halved.
    """
    here = start.copy()
    height, slope = look(here)
    step = np.full((len(here), 1), FIRST_STEP, dtype=here.dtype)
    for _ in range(SEARCH_STEPS):
        along = slope - np.einsum("ij,ij->i", slope, here)[:, None] * here  # tangent to the sphere
        there = unit(here + step * unit(along))
        height_there, slope_there = look(there)
        higher = height_there > height
        here[higher], height[higher], slope[higher] = there[higher], height_there[higher], slope_there[higher]
        step[~higher] /= 2
    return here


def tent(distance: Array, width: Any) -> Array:
    """Weights that fall from 1 to 0 over `width`: a smooth stand-in for "exactly here"."""
    weights = 1 - np.abs(distance) / width
    return np.asarray(np.maximum(weights, 0, out=weights))
