"""Compute the context model in torch: scaled rows in, rows relative to their kinds out; and units within kinds."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from centrality.network.context import CLEAN, KNEE, NARROWEST, OUTSIDE, SAME_LEVEL, STRETCH, Context, Levels
from centrality.network.forest import Forest
from centrality.network.kinds import FARTHEST, FLATTEST, LEAST, Kinds, log_odds


class _Buffers(nn.Module):
    """Hold arrays as buffers, floating ones in the most precise type that the device has."""

    def hold(self, finest: torch.dtype, **arrays: Any) -> None:
        for name, array in arrays.items():
            tensor = torch.from_numpy(np.array(array))
            kept = tensor.to(finest) if tensor.is_floating_point() else tensor.long()
            self.register_buffer(name, kept)


class TorchForest(_Buffers):
    """Pass every row down every tree, and return the mean of the leaves."""

    feature: Tensor
    threshold: Tensor
    below: Tensor  # its children; a module has others by that name
    value: Tensor

    def __init__(self, forest: Forest, finest: torch.dtype) -> None:
        super().__init__()
        self.depth = forest.depth()
        parts = {name: getattr(forest, name) for name in ("feature", "threshold", "value")}
        self.hold(finest, below=forest.children, **parts)

    def forward(self, c: Tensor) -> Tensor:  # (n, q) -> (n, d)
        tree = torch.arange(len(self.feature), device=c.device)[:, None]
        row, grown = torch.arange(len(c), device=c.device), c.float().to(c.dtype)  # as the trees were
        node = torch.zeros(len(self.feature), len(c), dtype=torch.long, device=c.device)
        for _ in range(self.depth):
            right = grown[row, self.feature[tree, node]] > self.threshold[tree, node]
            node = self.below[tree, node, right.long()]
        return self.value[tree, node].mean(0)


class TorchLevels(_Buffers):
    """Return the effects of the rows' levels, 0 for a level not seen in fitting."""

    columns: Tensor
    keys: Tensor
    effects: Tensor

    def __init__(self, levels: Levels, finest: torch.dtype) -> None:
        super().__init__()
        self.hold(finest, columns=levels.columns, keys=levels.keys, effects=levels.effects)

    def forward(self, c: Tensor) -> Tensor:  # (n, q) -> (n, d)
        off, at = (c[:, None, self.columns] - self.keys).abs().amax(2).min(1)
        return torch.where((off <= SAME_LEVEL)[:, None], self.effects[at], 0.0)


class TorchContext(_Buffers):
    """Turns scaled rows into relative behaviours and clean contexts."""

    given: Tensor
    behaviour: Tensor
    line: Tensor
    line_of_spread: Tensor
    narrowest: Tensor
    reach: Tensor
    lowest: Tensor
    highest: Tensor

    def __init__(self, context: Context, finest: torch.dtype) -> None:
        super().__init__()
        width = OUTSIDE * (context.seen[1] - context.seen[0])
        ends = {"lowest": context.seen[0] - width, "highest": context.seen[1] + width}
        names = ("given", "behaviour", "line", "line_of_spread", "narrowest", "reach")
        self.hold(finest, **ends, **{name: getattr(context, name) for name in names})
        self.usual, self.spread = TorchForest(context.usual, finest), TorchForest(context.spread, finest)
        self.levels = nn.ModuleList(TorchLevels(each, finest) for each in context.levels)
        self.widths = nn.ModuleList(TorchLevels(each, finest) for each in context.widths)

    def forward(self, z: Tensor) -> Tensor:  # (n, p) -> (n, p)
        c = z[:, self.given]
        near = c.maximum(self.lowest).minimum(self.highest)
        middle = self.line[0] + near @ self.line[1:] + self.usual(c)
        for level in self.levels:
            middle = middle + level(c)
        spread = (self.line_of_spread[0] + near @ self.line_of_spread[1:]).maximum(self.narrowest)
        for more in (*self.widths, self.spread):
            spread = spread * (1 + more(c)).clamp(min=NARROWEST)
        middle = middle.maximum(self.reach[0]).minimum(self.reach[1])
        relative = (z[:, self.behaviour] - middle) / (STRETCH * spread.maximum(self.narrowest))
        far = (relative.abs() - KNEE).clamp(min=0)
        bent = relative.sign() * (relative.abs().clamp(max=KNEE) + far.log1p())
        return z.index_copy(1, self.given, CLEAN * c).index_copy(1, self.behaviour, bent)


class TorchKinds(_Buffers):
    """Shift units so that they are comparable between kinds of rows."""

    given: Tensor
    knots: Tensor
    shares: Tensor
    usual: Tensor
    slopes: Tensor
    climb: Tensor

    def __init__(self, kinds: Kinds, finest: torch.dtype) -> None:
        super().__init__()
        least = FLATTEST * np.diff(kinds.knots).cumsum(1)
        parts = {"usual": log_odds(kinds.shares), "slopes": kinds.slopes(), "climb": np.pad(least, ((0, 0), (1, 0)))}
        self.hold(finest, given=kinds.given, knots=kinds.knots, shares=kinds.shares, **parts)
        self.forest = TorchForest(kinds.forest, finest)
        self.levels = nn.ModuleList(TorchLevels(each, finest) for each in kinds.levels)

    def forward(self, units: Tensor, z: Tensor) -> Tensor:  # (n, 2), (n, p) -> (n, 2)
        c = z[:, self.given] / CLEAN
        said = self.forest(c)
        for level in self.levels:
            said = said + level(c)
        targets, gaps = self.targets(said.reshape(len(c), 2, -1)), self.knots.diff(dim=1)
        passed = (units[:, :, None] - self.knots[:, :-1]).clamp(min=0).minimum(gaps)
        beyond = (units - self.knots[:, 0]).clamp(max=0) + (units - self.knots[:, -1]).clamp(min=0)
        return targets[:, :, 0] + (passed * targets.diff(dim=2) / gaps).sum(2) + beyond

    def targets(self, more: Tensor) -> Tensor:  # (n, 2, k) -> (n, 2, k)
        share = (self.shares + more).clamp(LEAST, 1 - LEAST)
        odds = (share / (1 - share)).log()
        passed = (odds[:, :, :, None] - self.usual[:, None, :-1]).clamp(min=0).minimum(self.usual.diff(dim=1)[:, None])
        beyond = (odds - self.usual[:, :1]).clamp(max=0) * self.slopes[:, :1]
        beyond = beyond + (odds - self.usual[:, -1:]).clamp(min=0) * self.slopes[:, -1:]
        at = self.knots[:, :1] + (passed * self.slopes[:, None]).sum(3) + beyond
        at = at.maximum(self.knots - FARTHEST).minimum(self.knots + FARTHEST)
        return (at - self.climb).cummax(2).values + self.climb
