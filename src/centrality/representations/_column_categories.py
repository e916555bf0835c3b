"""Encode a column of categories: text of few different values."""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.representations._column_cells import FAR, Cells, ColumnEncoder, LeftOut, mask_of, texts_of
from centrality.tables.unreadable import NEW_GAP, NEW_VALUE

RARE = 0.005  # categories below this share of the rows are taken together
FEW = 0.05  # those taken together are odd themselves where they are no more of the rows than that
OTHER, MISSING = "(other)", "(missing)"


@dataclass
class Categories(ColumnEncoder):
    """Encodes categories by one column for each. Rare ones share a column; a missing value is a category of its own."""

    levels: list[str]
    shares: list[float]
    rare: list[str]  # those that share a column
    kind = "categories"
    _once: list[str] = field(default_factory=list, repr=False, compare=False)  # levels of one row of fitting alone

    @classmethod
    def fit(cls, name: str, values: pa.ChunkedArray) -> "Categories | LeftOut":
        counts = {v["values"]: v["counts"] for v in texts_of(values).fill_null(MISSING).value_counts().to_pylist()}
        if len(counts) == 1:
            only = next(iter(counts))
            return LeftOut("every value is missing" if only == MISSING else f"every value is {only!r}")
        total, once = sum(counts.values()), [level for level, count in counts.items() if count == 1]
        rare = [level for level, count in counts.items() if count < RARE * total and level != MISSING]
        if len(rare) > 1:
            counts[OTHER] = sum(counts.pop(level) for level in rare)
        levels = sorted(counts)
        return cls(levels, [counts[level] / total for level in levels], rare if OTHER in counts else [], once)

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        given = texts_of(values)
        texts = given.fill_null(MISSING)
        codes = pc.index_in(texts, pa.array(self.levels, pa.string()))
        gaps, unseen = mask_of(pc.is_null(given)), mask_of(pc.is_null(codes))
        unseen &= ~mask_of(pc.is_in(texts, pa.array(self.rare, pa.string())))
        shares = np.array(self.shares)
        block = np.tile(-shares, (len(texts), 1))
        level = codes.fill_null(self._rarest()).to_numpy()
        block[np.arange(len(texts)), level] += 1
        block *= (self._stretch() / self._deviation())[level, None]
        return Cells(block, gaps, {NEW_GAP: unseen & gaps, NEW_VALUE: unseen & ~gaps})

    def encode_as_new(self, name: str, values: pa.ChunkedArray) -> Cells:
        cells = self.encode(name, values)
        alone = mask_of(pc.is_in(texts_of(values).fill_null(MISSING), pa.array(self._once, pa.string())))
        return replace(cells, faults={NEW_GAP: alone & cells.gaps, NEW_VALUE: alone & ~cells.gaps})

    def far_off(self) -> NDArray[np.float64]:
        """Return a point in the direction of the rarest category, but farther off."""
        z = np.eye(len(self.levels))[self._rarest()] - np.array(self.shares)
        return np.asarray(FAR * z / np.linalg.norm(z))

    def _rarest(self) -> int:
        return self.levels.index(OTHER) if OTHER in self.levels else int(np.argmin(self.shares))

    def _deviation(self) -> float:
        shares = np.array(self.shares)
        return float(np.sqrt((shares * (1 - shares)).sum()))

    def _stretch(self) -> NDArray[np.float64]:  # (levels,)
        """Return the factor by which each level is put farther off than its share alone would put it; 1 for most.

        Among several levels, one that hardly occurs, perhaps a typing error, is no farther from the rest than they
        are from each other. It is put as far off as a number that is as rare: by √(-2 log share) deviations.
        """
        shares = np.array(self.shares)
        usual = np.linalg.norm(np.eye(len(shares)) - shares, axis=1) / self._deviation()
        rare = shares < [FEW if level == OTHER else RARE for level in self.levels]
        return np.where(rare, np.maximum(np.sqrt(-2 * np.log(shares)) / usual, 1.0), 1.0)

    def typical(self, z: NDArray[np.floating]) -> str:
        return self.levels[int(np.argmax(z * self._deviation() + np.array(self.shares)))]

    def names(self, name: str) -> list[str]:
        return [f"{name} {level}" for level in self.levels]

    def describe(self) -> str:
        shared = f", rare ones (under {RARE:.1%} of the rows) taken together" if OTHER in self.levels else ""
        gap = ", missing being one of them" if MISSING in self.levels else ""
        return f"category, {len(self.levels)} levels{gap}{shared}"
