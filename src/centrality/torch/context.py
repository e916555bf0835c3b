"""Compute the context model in torch: scaled rows in, rows relative to their kinds out; and units within kinds."""

import numpy as np
import torch
from torch import Tensor, nn

from centrality.network import formulas
from centrality.network.context import SAME_LEVEL, Context, Levels
from centrality.network.forest import Forest
from centrality.network.formulas import Constants
from centrality.network.kinds import Kinds


class Buffers(nn.Module):
    """Hold arrays as buffers, floating ones in the most precise type that the device has."""

    def hold(self, finest: torch.dtype, arrays: Constants) -> None:
        """Register a buffer for each array, and nothing for None."""
        for name, array in arrays.items():
            tensor = None if array is None else torch.from_numpy(np.array(array))
            if tensor is not None:
                tensor = tensor.to(finest) if tensor.is_floating_point() else tensor.long()
            self.register_buffer(name, tensor)


class TorchForest(Buffers):
    """Pass every row down every tree, and return the mean of the leaves."""

    feature: Tensor
    threshold: Tensor
    below: Tensor  # its children; a module has others by that name
    value: Tensor

    def __init__(self, forest: Forest, finest: torch.dtype) -> None:
        super().__init__()
        self.depth = forest.depth()
        parts = {name: getattr(forest, name) for name in ("feature", "threshold", "value")}
        self.hold(finest, {"below": forest.children, **parts})

    def forward(self, c: Tensor) -> Tensor:  # (n, q) -> (n, d)
        tree = torch.arange(len(self.feature), device=c.device)[:, None]
        row, grown = torch.arange(len(c), device=c.device), c.float().to(c.dtype)  # as the trees were
        node = torch.zeros(len(self.feature), len(c), dtype=torch.long, device=c.device)
        for _ in range(self.depth):
            right = grown[row, self.feature[tree, node]] > self.threshold[tree, node]
            node = self.below[tree, node, right.long()]
        return self.value[tree, node].mean(0)


class TorchLevels(Buffers):
    """Return the effects of the rows' levels, 0 for a level not seen in fitting."""

    columns: Tensor
    keys: Tensor
    effects: Tensor

    def __init__(self, levels: Levels, finest: torch.dtype) -> None:
        super().__init__()
        self.hold(finest, {"columns": levels.columns, "keys": levels.keys, "effects": levels.effects})

    def forward(self, c: Tensor) -> Tensor:  # (n, q) -> (n, d)
        off, at = (c[:, None, self.columns] - self.keys).abs().amax(2).min(1)
        return torch.where((off <= SAME_LEVEL)[:, None], self.effects[at], 0.0)


class TorchContext(Buffers):
    """Turns scaled rows into relative behaviours and clean contexts."""

    def __init__(self, context: Context, finest: torch.dtype) -> None:
        super().__init__()
        self.hold(finest, formulas.constants_of_context(context))
        self.usual, self.spread = TorchForest(context.usual, finest), TorchForest(context.spread, finest)
        self.levels = nn.ModuleList(TorchLevels(each, finest) for each in context.levels)
        self.widths = nn.ModuleList(TorchLevels(each, finest) for each in context.widths)

    def forward(self, z: Tensor) -> Tensor:  # (n, p) -> (n, p)
        relative: Tensor = formulas.relative(self, z)
        return relative


class TorchKinds(Buffers):
    """Shift units so that they are comparable between kinds of rows."""

    def __init__(self, kinds: Kinds, finest: torch.dtype) -> None:
        super().__init__()
        self.hold(finest, formulas.constants_of_kinds(kinds))
        self.forest = TorchForest(kinds.forest, finest)
        self.levels = nn.ModuleList(TorchLevels(each, finest) for each in kinds.levels)

    def rising(self, x: Tensor) -> Tensor:  # (n, 2, k)
        """Raise each value to the largest before it."""
        return x.cummax(2).values

    def forward(self, units: Tensor, z: Tensor) -> Tensor:  # (n, 2), (n, p) -> (n, 2)
        shifted: Tensor = formulas.within_kinds(self, units, z)
        return shifted
