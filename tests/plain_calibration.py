"""The calibration of `engine/calibration.h` in plain numpy, as its formulas are written down."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class PlainCalibration:
    """Take the numbers that `engine.Calibration` takes."""

    low: Matrix  # (members, k)
    per_unit: Matrix  # (members, k)
    center: Matrix  # (members, 2)
    per_spread: Matrix  # (members, 2)
    bend: float
    doubt: float
    share: float

    def parts(self) -> tuple[object, ...]:
        return (self.low, self.per_unit, self.center, self.per_spread, self.bend, self.doubt, self.share)

    def of_members(self, outputs: Matrix) -> Matrix:  # (members, n, 1 + k) -> (members, n, 2)
        u = np.sort((outputs[:, :, 1:] - self.low[:, None]) * self.per_unit[:, None], axis=2)
        if u.shape[2] > 2:
            u = u[:, :, 1:-1]
        if self.bend:
            above = np.maximum(u, 1 - self.bend)
            u = np.where(u > 1 - self.bend, 1 - self.bend**2 / (2 * self.bend - (1 - above)), u)
        pairs = np.stack([outputs[:, :, 0], u.mean(2)], axis=2)
        return (pairs - self.center[:, None]) * self.per_spread[:, None]

    def raw(self, outputs: Matrix) -> Matrix:  # (n, 2)
        pairs = self.of_members(outputs)
        mixed = (1 - self.share) * pairs[:, :, 0] + self.share * pairs[:, :, 1]
        weight = np.exp(-self.doubt * (mixed - mixed.min(0)))
        return (weight[:, :, None] * pairs).sum(0) / weight.sum(0)[:, None]


def random_calibration(members: int, k: int, rng: np.random.Generator, *, bend: float = 0.02) -> PlainCalibration:
    """Numbers of the size that fits give."""
    return PlainCalibration(
        low=rng.normal(size=(members, k)),
        per_unit=rng.uniform(0.2, 2, size=(members, k)),
        center=rng.normal(size=(members, 2)),
        per_spread=rng.uniform(0.5, 2, size=(members, 2)),
        bend=bend,
        doubt=1 / 0.3 if members > 1 else 0.0,
        share=0.75,
    )
