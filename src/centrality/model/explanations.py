"""Explain why a row is peripheral, and what would make it typical.

A column is to blame for what the score gains when this column alone goes toward the value of a typical point. For a
Gaussian the first step of it is the column's residual given the others, so that of two columns that follow each other
both take the blame for a broken pair. (Slopes along a straight way share the score out too, but of two such columns one
gets +150 and the other -145, where both together cost 5.) What no column gains alone is shared by squared distance. The
typical point is the deepest of the region next to the row: against another one, features that tell the regions apart
would be blamed, not those that are odd (`model/typical.py`). Shares are all positive and sum to 1, so that no feature
contributes more to a unit than what the unit changes by. What it contributes to the centrality at t follows from the
two units (`Mixing.contributions`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality.network.kinds import Kinds
from centrality.network.scorer import NetworkScorer
from centrality.scores.calibration import Calibration
from centrality.scores.refinement import Refinement

WAY = np.array([1.0, 0.5, 0.25, 0.125], dtype=np.float32)  # how far a column goes; its best counts
MIDDLE = 0.5  # the t whose slope chooses the features to try
MOST = 16  # features of a row that are tried one by one; 32, or all, name the guilty one no better (Ames, 80 columns)
HALVINGS = 12  # lengths tried for a step toward the centre: each half of the one before
ROWS_WALKED = 680  # rows in a block of walks
VALUES_TRIED = 1 << 20  # numbers in a block of rows explained, each tried once for each feature

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

    def shares(self, points: Matrix, rows: Matrix, owner: NDArray[np.intp]) -> Matrix:  # (n, p), (n, p) -> (n, 2, p)
        """Return each number's share in what tells a row's units from those of its point, all scaled.

        `owner` says which feature a number belongs to. Shares are at least 0 and sum to 1, or are all 0 where row and
        point are equal. In each unit, the lower of row and point goes toward the other one.
        """
        change = self._units(points) - self._units(rows)
        gains = self._gains(rows, points, owner)
        above = np.flatnonzero((change < 0).any(1))
        if len(above):
            other = self._gains(points[above], rows[above], owner)
            gains[above] = np.where(change[above, :, None] < 0, other, gains[above])
        alone = np.maximum(np.abs(change) - gains.sum(2), 0.0)  # what is left when each feature has had its gain
        step = np.abs(points - rows)
        farthest = step.max(1, keepdims=True)
        square = np.divide(step, farthest, out=np.zeros_like(step), where=farthest > 0) ** 2
        by_feature = grouped(square, owner, int(owner.max()) + 1)
        blame = gains + alone[:, :, None] * _normalized(by_feature)[:, None]
        # Change that is 0 in both ways leaves no blame: distance alone shares out what rounding makes of it.
        blame = np.where(blame.any(2, keepdims=True), blame, by_feature[:, None])
        within = np.divide(square, by_feature[:, owner], out=np.zeros_like(square), where=by_feature[:, owner] > 0)
        return np.asarray(_normalized(blame)[:, :, owner] * within[:, None])

    def _gains(self, rows: Matrix, points: Matrix, owner: NDArray[np.intp]) -> Matrix:  # (n, 2, features)
        """Return what each unit of a row gains, at most, when one feature alone goes toward the point."""
        n, p = rows.shape
        features = int(owner.max()) + 1
        start, step = rows.astype(np.float32), (points - rows).astype(np.float32)
        tried = np.tile(np.arange(features), (n, 1))
        if features > MOST:
            promise = grouped(self.slope(rows, MIDDLE) * step, owner, features)
            tried = np.argsort(-promise, axis=1, kind="stable")[:, :MOST]
        steps = (step[:, None] * (owner == tried[:, :, None])).reshape(-1, p)
        starts = np.repeat(start, tried.shape[1], axis=0)
        units = self.calibration.units(self.raw_on_lines(starts, steps, np.tile(WAY, (len(steps), 1))).reshape(-1, 2))
        if self.refinement is not None:
            moved = starts[:, None].astype(np.float64) + steps[:, None] * WAY[:, None]
            units = units + self.refinement.shift(moved.reshape(-1, p))[:, None]
        best = units.reshape(*tried.shape, len(WAY), 2).max(2)
        gains = np.zeros((n, features, 2))
        gained = np.maximum(best - self._units(rows)[:, None], 0.0)
        np.put_along_axis(gains, tried[:, :, None], gained, axis=1)
        return np.moveaxis(gains, 2, 1)

    def _units(self, rows: Matrix) -> Matrix:  # (n, 2)
        """Return the units of scaled rows, before they are compared within kinds."""
        units = self.calibration.units(self.calibration.raw(self.scorer(rows.astype(np.float32))))
        return units if self.refinement is None else units + self.refinement.shift(rows)[:, None]

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


def _normalized(sizes: Matrix) -> Matrix:  # (..., features)
    """Return sizes divided by their sum; sizes that are all 0 stay so."""
    total = sizes.sum(-1, keepdims=True)
    return np.asarray(np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0))


def _of_length(ways: Matrix, length: Matrix) -> Matrix:  # (n, p), (n, 1)
    """Rescale directions to these lengths; a direction of zeros stays zero."""
    norm = np.linalg.norm(ways, axis=1, keepdims=True)
    return np.asarray(np.divide(ways, norm, out=np.zeros_like(ways), where=norm > 0) * length)
