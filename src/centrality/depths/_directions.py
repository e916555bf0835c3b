"""Choose directions, for depths that project the sample onto many of them and take the worst."""

from collections.abc import Callable
from functools import partial

import numpy as np

from centrality._internal.checks import InputError, whole_number
from centrality._internal.input import RandomState, random_numbers
from centrality.depths._base import Array, Depth, Flat, Frame, blocks, centred_in_one_unit, smallest_flat, unit_vectors

PAPER_FEWEST = 100  # directions of "paper"
PAPER_MOST = 50_000
FROM_SAMPLE = 1000  # directions of "auto" through rows, and again so many along differences of two rows
SEARCH_ROWS = 5000  # rows by which "auto" searches for a better direction; the depth is then computed by all rows
SEARCH_STEPS = 10
FIRST_STEP = 0.3  # the length of the first step, which is about its angle in radians


class DirectionalDepth(Depth):
    """Offers what projection and halfspace depth share: the directions, and the search for better ones.

    The `height` of a point along a direction says how far out it lies there; its greatest height gives the depth.

    "auto" works in whitened coordinates of the flat that holds the sample, and takes all directions from the sample, so
    that the depth does not change with units, rotations or other linear maps.
    """

    _directions: Array  # (k, r) unit vectors
    _guides: Array  # (m, r) rows that guide the search

    def __init__(
        self,
        *,
        directions: int | str = "auto",
        contamination: float | str = "auto",
        dtype: str = "float64",
        random_state: RandomState = None,
    ) -> None:
        self.directions = directions
        self.contamination = contamination
        self.dtype = dtype
        self.random_state = random_state

    @property
    def _exhaustive(self) -> bool:
        """Say whether the directions are all that there are, so that the depth is exact without a search."""
        return isinstance(self._frame, Flat) and self._frame.rank <= 1

    def _learn_frame(self, rows: Array) -> Frame:
        """Learn whitened coordinates for "auto", and the columns in one unit for random directions."""
        if isinstance(self.directions, str) and self.directions not in ("auto", "paper"):
            raise InputError(f"directions must be 'auto', 'paper' or a whole number, got {self.directions!r}.")
        return smallest_flat(rows, whiten=True) if self.directions == "auto" else centred_in_one_unit(rows)

    def _prepare(self) -> None:
        """Choose the directions and the rows that guide the search."""
        rng = np.random.default_rng(random_numbers(self.random_state).randint(2**31))
        self._directions = self._choose_directions(rng).astype(self.dtype)
        sample = rng.permutation(len(self._points))[:SEARCH_ROWS]
        self._guides = self._points if len(sample) == len(self._points) else self._points[sample]

    def _choose_directions(self, rng: np.random.Generator) -> Array:  # (k, r)
        """Return the directions along which the height of every point is computed."""
        n, d = self._points.shape
        if self.directions == "auto":
            return np.eye(d) if d <= 1 else sample_directions(self._points, rng)
        if self.directions == "paper":
            # The exponent is cut where 2^(d - 1) has long passed the upper limit and does not overflow yet.
            count = int(np.clip(n * 2.0 ** min(d - 1, 60), PAPER_FEWEST, PAPER_MOST))
        else:
            count = whole_number("directions", self.directions)
        return unit_vectors(rng.normal(size=(count, d)))

    def _search(self, points: Array, height: Array, start: Array) -> Array:  # (n,)
        """Return the greatest height found for each point.

        `height` is the greatest one along the shared directions, and `start` is its direction. It is compared with the
        height along the direction of the point itself, and the search climbs from the better of the two.
        """
        height = height.copy()
        for block in blocks(len(points), len(self._guides)):
            point = points[block]
            itself = unit_vectors(points[block])
            along_itself = self._height(itself, point)
            begin = np.where((along_itself > height[block])[:, None], itself, start[block])
            best = climb(partial(self._height_and_slope, point), begin)
            height[block] = np.maximum.reduce([height[block], along_itself, self._height(best, point)])
        return height

    def _height(self, directions: Array, points: Array) -> Array:  # (b,)
        """Return how far out each point lies along the direction of the same number."""
        raise NotImplementedError

    def _height_and_slope(self, points: Array, directions: Array) -> tuple[Array, Array]:  # (b,), (b, r)
        """Return the same height, by the guiding rows only, and its slope in the direction, up to a factor."""
        raise NotImplementedError


def sample_directions(points: Array, rng: np.random.Generator) -> Array:  # (k, r)
    """Return directions from the centre through rows, and along differences of two rows, all of length 1."""
    rows = points[rng.permutation(len(points))[:FROM_SAMPLE]]
    first, second = rng.integers(len(points), size=(2, FROM_SAMPLE))
    vectors = np.concatenate([rows, points[first] - points[second]])
    vectors = vectors[np.abs(vectors).max(1) > 1e-9]  # a row at the centre, or twice the same row, points nowhere
    return unit_vectors(vectors)


def climb(height_and_slope: Callable[[Array], tuple[Array, Array]], start: Array) -> Array:  # (b, r)
    """Walk from each of these unit vectors uphill on the sphere.

    `height_and_slope` returns heights (b,) and slopes (b, r). A step that does not lead higher is undone and halved.
    """
    here = start.copy()
    height, slope = height_and_slope(here)
    step = np.full((len(here), 1), FIRST_STEP, dtype=here.dtype)
    for _ in range(SEARCH_STEPS):
        along = slope - np.einsum("ij,ij->i", slope, here)[:, None] * here  # tangent to the sphere
        ahead = unit_vectors(here + step * unit_vectors(along))
        height_there, slope_there = height_and_slope(ahead)
        higher = height_there > height
        here[higher] = ahead[higher]
        height[higher] = height_there[higher]
        slope[higher] = slope_there[higher]
        step[~higher] /= 2
    return here


def tent(distance: Array, width: Array | float) -> Array:
    """Return weights that fall from 1 at distance 0 to 0 at `width`: a smooth stand-in for "exactly here"."""
    weights = 1 - np.abs(distance) / width
    return np.asarray(np.maximum(weights, 0, out=weights))
