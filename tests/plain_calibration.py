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

    def parts(self) -> tuple[object, ...]:
        return (self.low, self.per_unit, self.center, self.per_spread)

    def of_members(self, outputs: Matrix) -> Matrix:  # (members, n, 1 + k) -> (members, n, 2)
        u = (outputs[:, :, 1:] - self.low[:, None]) * self.per_unit[:, None]
        pairs = np.stack([outputs[:, :, 0], u.mean(2)], axis=2)
        return (pairs - self.center[:, None]) * self.per_spread[:, None]

    def raw(self, outputs: Matrix) -> Matrix:  # (n, 2)
        return self.of_members(outputs).min(0)


def random_calibration(members: int, k: int, rng: np.random.Generator) -> PlainCalibration:
    """Numbers of the size that fits give."""
    return PlainCalibration(
        low=rng.normal(size=(members, k)),
        per_unit=rng.uniform(0.2, 2, size=(members, k)),
        center=rng.normal(size=(members, 2)),
        per_spread=rng.uniform(0.5, 2, size=(members, 2)),
    )
