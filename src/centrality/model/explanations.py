"""Why is a row peripheral, and what would make it typical?

Contributions are integrated gradients: walk straight, in scaled units, from the centre to the row and credit each
feature with what its own movement changes f by on the way. Of the ways to share a score among features it is one that
adds up: the contributions of a row sum to f(row, t) - f(centre, t).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from centrality.network.scaling import Scaling, dense, rows_per_block
from centrality.network.scorer import Scorer
from centrality.scores.calibration import Calibration, blend

STEPS = (32, 128, 512, 2048, 8192)  # pieces of the way; more only for the rows that need them
TOLERANCE = 5e-4  # how far contributions may be from adding up before a row's way is cut finer
PLACES = 8192  # places on the ways of a block of rows
NEIGHBOURS = 10  # rows whose mean is the centre
HALVINGS = 12  # lengths tried for a step toward the centre: each half of the one before
ROWS_EXPLAINED, ROWS_WALKED = PLACES // (STEPS[0] + 1), PLACES // HALVINGS  # rows in a block
PROFILE = tuple(np.linspace(0, 1, 11).tolist())
LOW = 0.05  # a head is low below this quantile of typical rows

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Field:
    """f over the scaled rows at one t, and its slopes."""

    scorer: Scorer
    calibration: Calibration
    reach: float  # the distance, in scaled units, within which f does most of what it does
    t: float

    def contributions(self, start: NDArray[np.float32], rows: NDArray[np.float32]) -> Matrix:
        """(n, p) of these scaled rows. Ways along which f is rugged are walked again in smaller steps."""
        parts, change = self._walk(start, rows, STEPS[0])
        for steps in STEPS[1:]:
            poor = np.flatnonzero(np.abs(parts.sum(1) - change) > TOLERANCE)
            if not len(poor):
                return parts
            size = max(1, PLACES // (steps + 1))
            for some in np.split(poor, range(size, len(poor), size)):
                parts[some], change[some] = self._walk(start, rows[some], steps)
        return _evened(parts, change)

    def _walk(self, start: NDArray[np.float32], rows: NDArray[np.float32], steps: int) -> tuple[Matrix, Matrix]:
        """The trapezoid rule for the network, which is smooth; chords for the calibration, which may have kinks."""
        step = rows - start
        at = _places(step, self.reach, steps)  # (n, steps + 1)
        outputs, back = self._along(start, step, at)
        members, n, _, k = outputs.shape
        before, after = (ends.reshape(members, -1, k) for ends in (outputs[:, :, :-1], outputs[:, :, 1:]))
        slopes = self._dialled(self.calibration.slopes(before, after)).reshape(members, n, steps, k)
        slopes *= 0.5 * np.diff(at, axis=1)[None, :, :, None]
        weights = np.zeros(outputs.shape, dtype=np.float32)
        weights[:, :, :-1] += slopes
        weights[:, :, 1:] += slopes
        first, last = (self.of_outputs(outputs[:, :, [end]]) for end in (0, -1))
        return (step * back(weights)).astype(np.float64), (last - first)[:, 0]

    def uphill(self, rows: Matrix, centre: Matrix, steps: int, free: NDArray[np.bool_]) -> Matrix:
        """(n, steps + 1, p) scaled places, each at least as central as the one before; only `free` columns move.

        Each step goes along the slope or straight for the centre (far outside, slopes lead astray), whichever raises f
        more; as far as is best, but no farther than keeps the pace of a walk that ends at the centre, and never far
        beyond what lies between the row and the centre in any column: all places stay finite in the user's units.
        """
        low, high = np.minimum(rows, centre) - self.reach, np.maximum(rows, centre) + self.reach
        places = [rows]
        for left in range(steps, 0, -1):
            here = places[-1]
            home = (centre - here) * free
            pace = np.linalg.norm(home, axis=1, keepdims=True) / left
            along = _of_length(self.slope(here) * free, 1.5 * pace)  # a way that winds is longer
            along = (np.clip(here + along, low, high) - here) * free
            tried = [self._best(here, ahead) for ahead in (along, home / left)]
            gains, found = (np.stack(both) for both in zip(*tried, strict=True))
            places.append(found[gains.argmax(0), np.arange(len(here))])
        return np.stack(places, axis=1)

    def _best(self, here: Matrix, ahead: Matrix) -> tuple[Matrix, Matrix]:
        """(n,) how much f can rise along these ways, and (n, p) where it does: at their start if nowhere else."""
        lengths = np.array([0.0, *0.5 ** np.arange(HALVINGS)[::-1]], dtype=np.float32)
        at = np.broadcast_to(lengths, (len(here), len(lengths)))
        outputs, _ = self._along(here.astype(np.float32), ahead.astype(np.float32), at)
        f = self.of_outputs(outputs)
        gain = self._softly().of_outputs(outputs)
        gain = np.where(f >= f[:, :1], gain - gain[:, :1], -np.inf)  # NaN is no gain
        best = gain.argmax(1)
        return gain.max(1), here + ahead * lengths[best][:, None]

    def _softly(self) -> "Field":
        """The same field bent softly: where "clip" has cut everything off, there is no way up."""
        return replace(self, calibration=replace(self.calibration, kind="soft"))

    def slope(self, rows: Matrix) -> Matrix:
        """(n, p) the derivative of f, bent softly, by the scaled rows."""
        z = rows.astype(np.float32)
        outputs, back = self._along(z, np.zeros_like(z), np.zeros((len(z), 1), dtype=np.float32))
        slopes = self._dialled(self._softly().calibration.slopes(outputs[:, :, 0], outputs[:, :, 0]))
        # A far row's slope may be too small for float32: only its direction is asked for.
        largest = np.abs(slopes).max((0, 2), keepdims=True)
        slopes = np.divide(slopes, largest, out=np.zeros_like(slopes), where=largest > 0)
        return np.asarray(back(slopes[:, :, None].astype(np.float32)) * largest[0])

    def _along(self, start: Any, step: Any, at: Any) -> tuple[NDArray[Any], Any]:
        device = self.scorer.device
        line = (torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in (start, step, at))
        outputs, back = self.scorer.along(*line)
        return outputs.cpu().numpy(), lambda by: back(torch.from_numpy(by).to(device)).cpu().numpy().astype(np.float64)

    def _dialled(self, slopes: Matrix) -> Matrix:
        slopes[..., 0] *= 1 - self.t
        slopes[..., 1:] *= self.t
        return slopes

    def of_outputs(self, outputs: NDArray[Any]) -> Matrix:
        """(members, n, s, 1 + k) outputs -> (n, s) f."""
        members, n, s, k = outputs.shape
        return blend(self.calibration.heads_of(outputs.reshape(members, n * s, k)), self.t).reshape(n, s)


def centre_of(seen: Any, scores: Matrix, scaling: Scaling) -> Matrix:
    """(p,) the deepest point: the mean of the deepest row and its nearest neighbours. So no row itself is kept."""
    n = seen.shape[0]
    deepest = scaling.scaled(dense(seen[[int(scores.argmax())]]))
    size = rows_per_block(seen.shape[1])
    blocks = (scaling.scaled(dense(seen[i : i + size])) - deepest for i in range(0, n, size))
    distance = np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
    nearest = np.argsort(distance, kind="stable")[: min(NEIGHBOURS, (n + 1) // 2)]
    return np.asarray(dense(seen[np.sort(nearest)]).astype(np.float64).mean(0))


def kinds(heads: Matrix, bounds: Matrix) -> NDArray[np.str_]:
    """(n,) which of the heads, (n, 2), lies below its bound; nothing where there are none."""
    low = heads < bounds
    named = np.array(["typical", "global", "local", "both"])[low[:, 0] + 2 * low[:, 1]]
    return np.where(np.isnan(heads).any(1), "", named)


def grouped(parts: Matrix, owner: NDArray[np.intp], groups: int) -> Matrix:
    """(n, groups) the sums of the contributions, (n, q), of those numbers that stand for the same thing."""
    together = np.zeros((len(parts), groups))
    np.add.at(together.T, owner, parts.T)
    return together


def _evened(parts: Matrix, change: Matrix) -> Matrix:
    """What the finest steps left is shared out in proportion to the contributions' sizes, where it is too much."""
    left = change - parts.sum(1)
    size = np.abs(parts)
    total = size.sum(1)
    share = np.divide(left, total, out=np.zeros_like(left), where=(np.abs(left) > TOLERANCE) & (total > 0))
    return np.asarray(parts + size * share[:, None])


def _of_length(ways: Matrix, length: Matrix) -> Matrix:
    """Each way, (n, p), made as long as its (n, 1) length says; no way stays none."""
    norm = np.linalg.norm(ways, axis=1, keepdims=True)
    return np.asarray(np.divide(ways, norm, out=np.zeros_like(ways), where=norm > 0) * length)


def _places(step: NDArray[np.float32], reach: float, steps: int) -> NDArray[np.float32]:
    """(n, steps + 1) from 0 to 1, closer together near the centre for rows that are far: there f does not change much.

    Evenly spaced up to about `reach`, geometrically beyond.
    """
    far = np.maximum(np.arcsinh(np.linalg.norm(step.astype(np.float64), axis=1) / reach), 1e-3)[:, None]
    at = np.sinh(far * np.linspace(0, 1, steps + 1)) / np.sinh(far)
    at[:, -1] = 1.0
    return np.asarray(at, dtype=np.float32)
