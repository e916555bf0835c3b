"""Say of rows with pictures, long texts or vectors how odd each part is, and how badly the parts go together."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from centrality._internal.model_file import Arrays
from centrality.representations.block_columns import WEIGHT, BlockCells, part_of
from centrality.representations.blocks import USUAL, Agreement, MainComponents, Rarity, agreements
from centrality.representations.columns import Cells

Matrix = NDArray[np.float64]
Column = NDArray[np.float64]  # (n,)
Mask = NDArray[np.bool_]  # (n,)
State = dict[str, Any]

REST = "the other columns"  # the block of all columns that are none by themselves
USUAL_RANGE = 3.0  # deviations beyond which a cell says no more about pictures and texts beside it


@dataclass
class MixedRows:
    """Rows as blocks: each picture, long text or vector is one, and all other columns together are one."""

    rest: MainComponents | None  # None: there are no other columns
    rest_rarity: Rarity | None
    pairs: dict[tuple[str, str], Agreement]

    @classmethod
    def of(cls, encoded: Mapping[str, Cells]) -> Self:
        """Learn from the encoded columns of fitting, each cell as if it had not been among the others."""
        mixed = cls(None, None, {})
        plain = _plain(encoded)
        if plain.shape[1] and len(plain) > 1:
            mixed.rest = MainComponents.of(plain)
            mixed.rest_rarity = Rarity.of(mixed.rest.oddness(_plain(encoded, drawn_in=False), as_new=True))
        components, present = mixed._components(encoded)
        mixed.pairs = agreements(components, present)
        return mixed

    def _components(self, encoded: Mapping[str, Cells]) -> tuple[dict[str, Matrix], dict[str, Mask]]:
        """Return the main components of each block, and in which rows it is there."""
        blocks = {name: cells for name, cells in encoded.items() if isinstance(cells, BlockCells)}
        components = {name: cells.components for name, cells in blocks.items()}
        present = {name: cells.present for name, cells in blocks.items()}
        if self.rest is not None:
            plain = _plain(encoded)
            components[REST] = self.rest.components(plain)
            present[REST] = np.ones(len(plain), dtype=bool)
        return components, present

    def deviations(self, encoded: Mapping[str, Cells], *, as_new: bool = False) -> dict[tuple[str, str], Column]:
        """Return how rare it is that two blocks go together so badly; the usual number where one is missing.

        With `as_new`, of the rows of fitting, as if they had not been there.
        """
        components, present = self._components(encoded)
        by_pair = {}
        for (one, other), agreement in self.pairs.items():
            in_both = present[one] & present[other]
            measure = agreement.as_new if as_new else agreement.deviations
            by_pair[one, other] = np.full(len(in_both), USUAL)
            by_pair[one, other][in_both] = measure(components[one][in_both], components[other][in_both])
        return by_pair

    def numbers(self, encoded: Mapping[str, Cells], *, as_new: bool = False) -> Matrix:  # (n, pairs)
        """Return the numbers of a vector that say how badly the pairs of blocks go together."""
        columns = self.deviations(encoded, as_new=as_new).values()
        length = len(next(iter(encoded.values())).gaps)
        return WEIGHT * (np.column_stack(list(columns)) - USUAL) if columns else np.empty((length, 0))

    def names(self) -> list[str]:
        """Return the names of the pairs."""
        return [pair_name(pair) for pair in self.pairs]

    def by_block(self, encoded: Mapping[str, Cells]) -> dict[str, Column]:
        """Return how many deviations off each block and each pair is; NaN where a block is missing."""
        by_block = {
            name: np.where(cells.present, cells.deviations, np.nan)
            for name, cells in encoded.items()
            if isinstance(cells, BlockCells)
        }
        if self.rest is not None and self.rest_rarity is not None:
            by_block[REST] = self.rest_rarity.deviations(self.rest.oddness(_plain(encoded, drawn_in=False)))
        for pair, deviations in self.deviations(encoded).items():
            missing = np.isnan(by_block[pair[0]]) | np.isnan(by_block[pair[1]])
            by_block[pair_name(pair)] = np.where(missing, np.nan, deviations)
        return by_block

    def state(self) -> tuple[State, Arrays]:
        """Return what was learned, as JSON values and arrays."""
        plain: State = {"pairs": []}
        arrays: Arrays = {}
        for number, (pair, agreement) in enumerate(self.pairs.items()):
            state, learned = agreement.state()
            plain["pairs"].append({"blocks": list(pair), **state})
            arrays |= {f"pair{number}.{name}": array for name, array in learned.items()}
        if self.rest is not None and self.rest_rarity is not None:
            plain["rest"], learned = self.rest.state()
            arrays |= {f"rest.{name}": array for name, array in learned.items()}
            plain["rest_rarity"], learned = self.rest_rarity.state()
            arrays |= {f"rest_rarity.{name}": array for name, array in learned.items()}
        return plain, arrays

    @classmethod
    def restored(cls, state: State, arrays: Arrays) -> Self:
        """Return the value with this state."""
        mixed = cls(None, None, {})
        if "rest" in state:
            mixed.rest = MainComponents.restored(state["rest"], part_of(arrays, "rest."))
            mixed.rest_rarity = Rarity.restored(state["rest_rarity"], part_of(arrays, "rest_rarity."))
        for number, pair in enumerate(state["pairs"]):
            one, other = pair["blocks"]
            mixed.pairs[one, other] = Agreement.restored(pair, part_of(arrays, f"pair{number}."))
        return mixed


def pair_name(pair: tuple[str, str]) -> str:
    """Return what two blocks together are called."""
    return f"{pair[0]} and {pair[1]}"


def _plain(encoded: Mapping[str, Cells], *, drawn_in: bool = True) -> Matrix:
    """Return the numbers of all columns that are no blocks.

    Drawn in, no cell says more than a usual one, and one that cannot be read, or is new, says nothing.
    """
    parts = [np.empty((len(next(iter(encoded.values())).gaps), 0))]
    for cells in encoded.values():
        if isinstance(cells, BlockCells):
            continue
        block = cells.block
        if drawn_in:
            block = np.clip(block, -USUAL_RANGE, USUAL_RANGE)
            for where in cells.faults.values():
                block[where] = 0.0
        parts.append(block)
    return np.concatenate(parts, axis=1)
