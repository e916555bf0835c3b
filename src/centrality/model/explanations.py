"""Explain why a row is peripheral, and what would make it typical.

Contributions are integrated gradients: walk straight, in scaled units, from a typical point to the row and credit each
feature with what its own movement changes a unit by on the way. Of the ways to share a score among features it is one
that adds up: a row's contributions to a unit sum to unit(row) - unit(typical point). That point is the deepest of the
typical region next to the row: against another one, features that tell the regions apart would be blamed, not those
that are odd (`model/typical.py`). What a feature contributes to the centrality at t follows from the two units
(`Mixing.contributions`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality.network.kinds import Kinds
from centrality.network.scorer import NetworkScorer
from centrality.scores.calibration import Calibration
from centrality.scores.refinement import Refinement

STEPS = (32, 128, 512, 2048, 8192)  # pieces of the way; more only for the rows that need them
TOLERANCE = 1e-3  # the error of the sum of contributions, in units, above which a row's way gets finer steps
POINTS = 8192  # points on the ways of a block of rows
HALVINGS = 12  # lengths tried for a step toward the centre: each half of the one before
ROWS_EXPLAINED, ROWS_WALKED = POINTS // (STEPS[0] + 1), POINTS // HALVINGS  # rows in a block

Matrix = NDArray[np.float64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Field:
    """Evaluate the units over scaled rows, and their slopes."""

    scorer: NetworkScorer
    calibration: Calibration
    reach: float  # the distance, in scaled units, within which units change most
    refinement: Refinement | None = None  # learned from marks, added to both units; walks uphill follow it
    kinds: Kinds | None = None  # makes units comparable between kinds; walks uphill follow it too

    def contributions(self, start: Floats, rows: Floats) -> Matrix:  # (n, p), (n, p) -> (n, 2, p)
        """Return what each column contributes to both units; rows whose units vary quickly on the way get finer steps.

        Contributions add up to the change of the units within TOLERANCE; `adding_up` shares out the rest.
        """
        parts, change = self._walk(start, rows, STEPS[0])
        for steps in STEPS[1:]:
            off = np.abs(parts.sum(2) - change) > TOLERANCE * (1 + np.abs(change))
            poor = np.flatnonzero(off.any(1))
            if not len(poor):
                break
            size = max(1, POINTS // (steps + 1))
            for some in np.split(poor, range(size, len(poor), size)):
                parts[some], change[some] = self._walk(start[some], rows[some], steps)
        return parts

    def _walk(self, start: Floats, rows: Floats, steps: int) -> tuple[Matrix, Matrix]:
        """Return contributions, and the change of the units they should add up to, by the trapezoid rule."""
        step = rows - start
        at = _positions(step, self.reach, steps)  # (n, steps + 1)
        outputs, back = self.scorer.along(start, step, at)
        members, n, s, k = outputs.shape
        flat = outputs.reshape(members, n * s, k)
        raw = self.calibration.raw(flat)
        units, slopes = self.calibration.units(raw).reshape(n, s, 2), self.calibration.unit_slopes(raw)
        gaps = np.diff(at, axis=1)
        lengths = np.zeros(at.shape)  # the trapezoid rule's weight of each point
        lengths[:, :-1] += 0.5 * gaps
        lengths[:, 1:] += 0.5 * gaps
        parts = np.empty((n, 2, rows.shape[1]))
        for unit in (0, 1):
            by_raw = np.where(np.arange(2) == unit, slopes, 0.0)
            by = self.calibration.raw_back(flat, by_raw).reshape(outputs.shape) * lengths[None, :, :, None]
            parts[:, unit] = step * back(by.astype(np.float32)).astype(np.float64)
        return parts, units[:, -1] - units[:, 0]

    def uphill(self, rows: Matrix, centre: Matrix, steps: int, free: NDArray[np.bool_], t: float) -> Matrix:
        """Return scaled points, each at least as central at t as the one before; only `free` columns move.

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
            along = _of_length(self.slope(here, t) * free, 1.5 * pace)  # a winding way is longer than a straight one
            along = (np.clip(here + along, low, high) - here) * free
            tried = [self._best(here, ahead, t) for ahead in (along, home / left)]
            gains, found = (np.stack(both) for both in zip(*tried, strict=True))
            points.append(found[gains.argmax(0), np.arange(len(here))])
        return np.stack(points, axis=1)

    def _best(self, here: Matrix, ahead: Matrix, t: float) -> tuple[Matrix, Matrix]:
        """Return the largest rise of f along these straight ways, and the point of it: the start if f never rises."""
        lengths = np.array([0.0, *0.5 ** np.arange(HALVINGS)[::-1]], dtype=np.float32)
        at = np.broadcast_to(lengths, (len(here), len(lengths)))
        raw = self.raw_on_lines(here.astype(np.float32), ahead.astype(np.float32), at)
        f = self._mixed(self.calibration, raw, here, t)
        gain = self._mixed(self.calibration.softened(), raw, here, t)  # what "clip" cuts off has no slope to follow
        if self.refinement is not None:
            points = here[:, None] + ahead[:, None] * lengths[:, None]
            shift = self.refinement.shift(points.reshape(-1, here.shape[1])).reshape(f.shape)
            f, gain = f + shift, gain + shift
        gain = np.where(f >= f[:, :1], gain - gain[:, :1], -np.inf)  # NaN is no gain
        best = gain.argmax(1)
        return gain.max(1), here + ahead * lengths[best][:, None]

    def _mixed(self, calibration: Calibration, raw: Matrix, rows: Matrix, t: float) -> Matrix:  # (n, s, 2) -> (n, s)
        """Return the raw scores mixed at t, each point scored as one of the same kind as its row."""
        n, s, _ = raw.shape
        units = calibration.units(raw.reshape(n * s, 2))
        if self.kinds is not None:
            units = self.kinds(units, np.repeat(rows, s, axis=0))
        return calibration.mixing.mixed(units, t).reshape(n, s)

    def slope(self, rows: Matrix, t: float) -> Matrix:  # (n, p)
        """Return the derivative of the mixture at t, with soft calibration, by the scaled rows."""
        z = rows.astype(np.float32)
        outputs, back = self.scorer.along(z, np.zeros_like(z), np.zeros((len(z), 1), dtype=np.float32))
        soft, here = self.calibration.softened(), outputs[:, :, 0]
        raw = soft.raw(here)
        by = soft.raw_back(here, soft.mixing.weights(soft.units(raw), t) * soft.unit_slopes(raw))
        # A far row's slope may be too small for float32: only its direction is needed.
        largest = np.abs(by).max((0, 2), keepdims=True)
        by = np.divide(by, largest, out=np.zeros_like(by), where=largest > 0)
        slope = back(by[:, :, None].astype(np.float32)).astype(np.float64) * largest[0]
        return np.asarray(slope if self.refinement is None else slope + self.refinement.slope(rows))

    def raw_on_lines(self, start: Floats, step: Floats, at: Floats) -> Matrix:  # (n, s, 2)
        """Return the raw scores at the scaled points start + at * step."""
        outputs, _ = self.scorer.along(start, step, at)
        members, n, s, k = outputs.shape
        return self.calibration.raw(outputs.reshape(members, n * s, k)).reshape(n, s, 2)


def low_heads(heads: Matrix, bounds: Matrix) -> NDArray[np.str_]:  # (n, 2) -> (n,)
    """Say which of a row's heads lies below its bound; an empty string for a row without heads."""
    low = heads < bounds
    named = np.array(["typical", "global", "local", "both"])[low[:, 0] + 2 * low[:, 1]]
    return np.where(np.isnan(heads).any(1), "", named)


def grouped(parts: Matrix, owner: NDArray[np.intp], groups: int) -> Matrix:  # (..., q) -> (..., groups)
    """Add up the contributions of the numbers that belong to the same feature."""
    sums = np.zeros((*parts.shape[:-1], groups))
    np.add.at(np.moveaxis(sums, -1, 0), owner, np.moveaxis(parts, -1, 0))
    return sums


def adding_up(parts: Matrix, change: Matrix) -> Matrix:  # (n, 2, p), (n, 2)
    """Return contributions that add up to the change: the rest is shared among them in proportion to their sizes."""
    left = change - parts.sum(2)
    size = np.abs(parts)
    total = size.sum(2)
    share = np.divide(left, total, out=np.zeros_like(left), where=total > 0)
    return np.asarray(parts + size * share[:, :, None])


def _of_length(ways: Matrix, length: Matrix) -> Matrix:  # (n, p), (n, 1)
    """Rescale directions to these lengths; a direction of zeros stays zero."""
    norm = np.linalg.norm(ways, axis=1, keepdims=True)
    return np.asarray(np.divide(ways, norm, out=np.zeros_like(ways), where=norm > 0) * length)


def _positions(step: Floats, reach: float, steps: int) -> Floats:
    """Return (n, steps + 1) positions from 0 to 1 on each way, for far rows closer together near the centre.

    They are evenly spaced up to about `reach` and geometrically beyond, where f does not change much.
    """
    far = np.maximum(np.arcsinh(np.linalg.norm(step.astype(np.float64), axis=1) / reach), 1e-3)[:, None]
    at = np.sinh(far * np.linspace(0, 1, steps + 1)) / np.sinh(far)
    at[:, -1] = 1.0
    return np.asarray(at, dtype=np.float32)
