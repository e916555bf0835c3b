"""Explain why a row is peripheral, and what would make it typical.

Contributions are integrated gradients: walk straight, in scaled units, from a typical point to the row and credit each
feature with what its own movement changes f by on the way. Of the ways to share a score among features it is one that
adds up: the contributions of a row sum to f(row, t) - f(typical point, t). That point is the deepest of the typical
region next to the row: against another one, features that tell the regions apart would be blamed, not those that are
odd (`model/typical.py`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality.network.scorer import Outputs, Scorer
from centrality.scores.calibration import Calibration, chord

STEPS = (32, 128, 512, 2048, 8192)  # pieces of the way; more only for the rows that need them
TOLERANCE = 5e-4  # how far contributions may be from adding up before a row's way is cut finer
POINTS = 8192  # points on the ways of a block of rows
HALVINGS = 12  # lengths tried for a step toward the centre: each half of the one before
ROWS_EXPLAINED, ROWS_WALKED = POINTS // (STEPS[0] + 1), POINTS // HALVINGS  # rows in a block
PROFILE = tuple(np.linspace(0, 1, 11).tolist())
LOW = 0.05  # a head is low below this quantile of typical rows

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Field:
    """Evaluate f over the scaled rows at one t, and its slopes."""

    scorer: Scorer
    calibration: Calibration
    reach: float  # the distance, in scaled units, within which f does most of what it does
    t: float

    def contributions(self, start: NDArray[np.float32], rows: NDArray[np.float32]) -> Matrix:  # (n, p), (n, p)
        """Return the contributions of these scaled rows; where f is rugged, a row's way is cut into smaller steps."""
        parts, change = self._walk(start, rows, STEPS[0])
        for steps in STEPS[1:]:
            poor = np.flatnonzero(np.abs(parts.sum(1) - change) > TOLERANCE)
            if not len(poor):
                return parts
            size = max(1, POINTS // (steps + 1))
            for some in np.split(poor, range(size, len(poor), size)):
                parts[some], change[some] = self._walk(start[some], rows[some], steps)
        return evened(parts, change)

    def _walk(self, start: NDArray[np.float32], rows: NDArray[np.float32], steps: int) -> tuple[Matrix, Matrix]:
        """Return contributions, and the change of f they should add up to, by so many steps.

        The network is smooth, so the trapezoid rule serves; the calibration may have kinks, so chords do.
        """
        step = rows - start
        at = _positions(step, self.reach, steps)  # (n, steps + 1)
        outputs, back = self._along(start, step, at)
        members, n, _, k = outputs.shape
        before, after = (ends.reshape(members, -1, k) for ends in (outputs[:, :, :-1], outputs[:, :, 1:]))
        slopes = self.calibration.slopes(before, after, self.t).reshape(members, n, steps, k)
        slopes *= 0.5 * np.diff(at, axis=1)[None, :, :, None]
        weights = np.zeros(outputs.shape, dtype=np.float32)
        weights[:, :, :-1] += slopes
        weights[:, :, 1:] += slopes
        # What each feature moves, in the units in which heads are mixed, is a share of what f changes by.
        first, last = (self.in_units(outputs[:, :, [end]])[:, 0] for end in (0, -1))
        parts = (step * back(weights)).astype(np.float64) * chord(self.calibration.mixing.heads, first, last)[:, None]
        return parts, self.calibration.mixing.heads(last) - self.calibration.mixing.heads(first)

    def uphill(self, rows: Matrix, centre: Matrix, steps: int, free: NDArray[np.bool_]) -> Matrix:
        """Return scaled points, each at least as central as the one before; only `free` columns move.

        Each step goes along the slope or straight for the centre (far outside, slopes lead astray), whichever raises f
        more; as far as is best, but no farther than keeps the pace of a walk that ends at the centre, and never far
        beyond what lies between the row and the centre in any column: all points stay finite in the user's units.
        The result is (n, steps + 1, p).
        """
        low, high = np.minimum(rows, centre) - self.reach, np.maximum(rows, centre) + self.reach
        points = [rows]
        for left in range(steps, 0, -1):
            here = points[-1]
            home = (centre - here) * free
            pace = np.linalg.norm(home, axis=1, keepdims=True) / left
            along = _of_length(self.slope(here) * free, 1.5 * pace)  # a way that winds is longer
            along = (np.clip(here + along, low, high) - here) * free
            tried = [self._best(here, ahead) for ahead in (along, home / left)]
            gains, found = (np.stack(both) for both in zip(*tried, strict=True))
            points.append(found[gains.argmax(0), np.arange(len(here))])
        return np.stack(points, axis=1)

    def _best(self, here: Matrix, ahead: Matrix) -> tuple[Matrix, Matrix]:
        """Return how much f can rise along these ways, and where it does: at their start if nowhere else."""
        lengths = np.array([0.0, *0.5 ** np.arange(HALVINGS)[::-1]], dtype=np.float32)
        at = np.broadcast_to(lengths, (len(here), len(lengths)))
        outputs, _ = self._along(here.astype(np.float32), ahead.astype(np.float32), at)
        f = self.of_outputs(outputs)
        gain = self._softened().in_units(outputs)
        gain = np.where(f >= f[:, :1], gain - gain[:, :1], -np.inf)  # NaN is no gain
        best = gain.argmax(1)
        return gain.max(1), here + ahead * lengths[best][:, None]

    def _softened(self) -> "Field":
        """Return the same field with soft calibration: what "clip" cuts off has no slope to follow."""
        return replace(self, calibration=self.calibration.softened())

    def slope(self, rows: Matrix) -> Matrix:  # (n, p)
        """Return the derivative of f, with soft calibration, by the scaled rows."""
        z = rows.astype(np.float32)
        outputs, back = self._along(z, np.zeros_like(z), np.zeros((len(z), 1), dtype=np.float32))
        soft, here = self._softened(), outputs[:, :, 0]
        units = soft.in_units(outputs)[:, 0]
        steep = chord(soft.calibration.mixing.heads, units, units)
        slopes = soft.calibration.slopes(here, here, self.t) * steep[:, None]
        # A far row's slope may be too small for float32: only its direction is needed.
        largest = np.abs(slopes).max((0, 2), keepdims=True)
        slopes = np.divide(slopes, largest, out=np.zeros_like(slopes), where=largest > 0)
        return np.asarray(back(slopes[:, :, None].astype(np.float32)) * largest[0])

    def _along(self, *line: NDArray[np.float32]) -> tuple[Outputs, Callable[[Outputs], Matrix]]:
        outputs, back = self.scorer.along(*line)
        return outputs, lambda by: back(by).astype(np.float64)

    def on_line(self, start: NDArray[np.float32], step: NDArray[np.float32], at: NDArray[np.float32]) -> Matrix:
        """Return f at the scaled points start + at * step, before it is squeezed into [0, 1]."""  # (n, s)
        return self.in_units(self._along(start, step, at)[0])

    def of_outputs(self, outputs: Outputs) -> Matrix:  # (members, n, s, 1 + k) -> (n, s)
        """Return f where the networks' outputs are these."""
        return self.calibration.mixing.heads(self.in_units(outputs))

    def in_units(self, outputs: Outputs) -> Matrix:  # (members, n, s, 1 + k) -> (n, s)
        """Return the same before it is squeezed into [0, 1]."""
        members, n, s, k = outputs.shape
        units = self.calibration.units(self.calibration.raw(outputs.reshape(members, n * s, k)))
        return self.calibration.mixing.in_units(units, self.t).reshape(n, s)


def kinds(heads: Matrix, bounds: Matrix) -> NDArray[np.str_]:  # (n, 2) -> (n,)
    """Say which of a row's heads lies below its bound; an empty string for a row without heads."""
    low = heads < bounds
    named = np.array(["typical", "global", "local", "both"])[low[:, 0] + 2 * low[:, 1]]
    return np.where(np.isnan(heads).any(1), "", named)


def grouped(parts: Matrix, owner: NDArray[np.intp], groups: int) -> Matrix:  # (n, q) -> (n, groups)
    """Add up the contributions of those numbers that stand for the same thing."""
    sums = np.zeros((len(parts), groups))
    np.add.at(sums.T, owner, parts.T)
    return sums


def evened(parts: Matrix, change: Matrix) -> Matrix:
    """Share out what is missing to the change, where it is too much, in proportion to the contributions' sizes."""
    left = change - parts.sum(1)
    size = np.abs(parts)
    total = size.sum(1)
    share = np.divide(left, total, out=np.zeros_like(left), where=(np.abs(left) > TOLERANCE) & (total > 0))
    return np.asarray(parts + size * share[:, None])


def _of_length(ways: Matrix, length: Matrix) -> Matrix:  # (n, p), (n, 1)
    """Return directions with these lengths; a direction of zeros stays zero."""
    norm = np.linalg.norm(ways, axis=1, keepdims=True)
    return np.asarray(np.divide(ways, norm, out=np.zeros_like(ways), where=norm > 0) * length)


def _positions(step: NDArray[np.float32], reach: float, steps: int) -> NDArray[np.float32]:
    """Return (n, steps + 1) positions from 0 to 1 on each way, for far rows closer together near the centre.

    They are evenly spaced up to about `reach` and geometrically beyond, where f does not change much.
    """
    far = np.maximum(np.arcsinh(np.linalg.norm(step.astype(np.float64), axis=1) / reach), 1e-3)[:, None]
    at = np.sinh(far * np.linspace(0, 1, steps + 1)) / np.sinh(far)
    at[:, -1] = 1.0
    return np.asarray(at, dtype=np.float32)
