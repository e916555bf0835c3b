"""Define a fitted model as one differentiable torch module: rows in the user's units in; units, heads, f(x, t) out.

This is the one place where torch computes a score. The engine computes the same on the CPU (`engine/scoring.h`), and a
test compares the two.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality.network.context import Context
from centrality.network.kinds import Kinds
from centrality.network.network import Network
from centrality.network.scaling import KNEE, LIMIT, Scaling
from centrality.scores.calibration import BEND, Calibration
from centrality.scores.mixing import ALLOWANCE, checked_t
from centrality.scores.refinement import Refinement
from centrality.torch.context import TorchContext, TorchKinds
from centrality.torch.networks import finest, to_score

Dial = float | Sequence[float] | NDArray[np.float64] | Tensor


class Centrality(nn.Module):
    """Scores rows as the model does that it was made of; `FUSE.to_torch` makes it.

    Everything but the network computes in float64, as it does elsewhere. Weights are fixed: `requires_grad_()` frees
    those of the network. `forward(x, t)` is f(x, t), in [0, 1]; `t` is the model's own where none is given.
    """

    center: Tensor  # the scaling's parts: `network/scaling.py`
    weight: Tensor
    heavy: Tensor
    shift: Tensor
    gain: Tensor
    shrink: Tensor | None
    seen: Tensor | None
    beyond: Tensor | None
    low: Tensor  # (members, 1, k) of each potential on the training rows
    range: Tensor  # (members, 1, k) from there to its high end
    zero: Tensor  # (members, 1, 2) what is 0 of each member's global and local score
    one: Tensor  # (members, 1, 2) from there to what is 1
    ends: Tensor  # (2, 2) low and high of the raw scores
    halves: Tensor  # (2, 2) their medians and 95th percentiles

    knots: Tensor | None  # (p, k - 1) of the shift that marks have taught: `scores/refinement.py`
    lengths: Tensor | None  # (p, k - 1) from there to the next knots
    slopes: Tensor | None  # (p, k - 1) of the shift between them
    start: Tensor | None  # the shift before the first knots

    def __init__(
        self,
        network: Network,
        scaling: Scaling,
        calibration: Calibration,
        refinement: Refinement | None = None,
        *,
        context: Context | None = None,
        kinds: Kinds | None = None,
        t: float,
        device: str = "cpu",
    ) -> None:
        super().__init__()
        self.networks, self.t = to_score(network, device), t
        self.kind, self.mixing = calibration.kind, calibration.mixing
        self.doubt = calibration.doubt  # how much more a member counts that scores lower
        low, high = np.moveaxis(calibration.potentials, 2, 0)[:, :, None]  # (members, 1, k) each
        zero, one = np.moveaxis(calibration.members, 2, 0)[:, :, None]  # (members, 1, 2) each
        parts = {
            **(scaling if context is None else context.scaling).parts(),
            "low": low,
            "range": _width(low, high),
            "zero": zero,
            "one": _width(zero, one),
            "ends": calibration.ends,
            "halves": calibration.halves,
            "knots": None if refinement is None else refinement.knots[:, :-1],
            "lengths": None if refinement is None else np.diff(refinement.knots),
            "slopes": None if refinement is None else refinement.slopes(),
            "start": None if refinement is None else refinement.values[:, 0].sum(),
        }
        for name, part in parts.items():
            tensor = None if part is None else torch.from_numpy(np.array(part))
            if tensor is not None and tensor.is_floating_point():
                tensor = tensor.to(finest(device))
            self.register_buffer(name, tensor)
        self.context = None if context is None else TorchContext(context, finest(device))
        self.kinds = None if kinds is None else TorchKinds(kinds, finest(device))
        self.to(device).eval()

    def forward(self, x: Tensor, t: Dial | None = None) -> Tensor:  # (n, p) -> (n,), or (n, m) for m values of t
        """Return how central each row is, in [0, 1]."""
        return self.squeezed(self.scores(x, t))

    def heads(self, x: Tensor) -> Tensor:  # (n, p) -> (n, 2)
        """Return global and local centrality, each in [0, 1]."""
        return self.squeezed(self.units(x))

    def scores(self, x: Tensor, t: Dial | None = None) -> Tensor:  # (n, p) -> (n,), or (n, m)
        """Return f(x, t) before it is squeezed into [0, 1]: far outliers keep their distances."""
        return self.mixed(self.units(x), self.t if t is None else t)

    def units(self, x: Tensor) -> Tensor:  # (n, p) -> (n, 2)
        """Return both heads in the units in which they are mixed; those of "soft" have no ends."""
        fine = self.finely_scaled(x)
        z = fine.float()
        units = self.calibrated(self.raw(self.networks(z)))
        if self.kinds is not None:
            units = self.kinds(units, fine)
        return units if self.knots is None else units + self.shift_by_marks(z)[:, None]

    def shift_by_marks(self, z: Tensor) -> Tensor:  # (n, p) -> (n,)
        """Return the correction learned from marks, which is added to both units of scaled rows."""
        assert self.knots is not None
        assert self.lengths is not None
        assert self.slopes is not None
        assert self.start is not None
        passed = (z.to(self.knots.dtype)[:, :, None] - self.knots).clamp(min=0).minimum(self.lengths)  # (n, p, k - 1)
        return self.start + (passed * self.slopes).sum((1, 2))

    def calibrated(self, raw: Tensor) -> Tensor:  # (n, 2) -> (n, 2)
        """Return raw scores in the units in which they are mixed."""
        of_global, of_local = raw[:, 0], raw[:, 1]
        if self.kind == "clip":
            return torch.stack([of_global.sigmoid(), _between(of_local, self.ends[1]).clamp(0, 1)], 1)
        return torch.stack([_between(of_global, self.halves[0]), _between(of_local, self.halves[1])], 1)

    def raw(self, outputs: Tensor) -> Tensor:  # (members, n, 1 + k) -> (n, 2)
        """Return the uncalibrated global and local score: the members' mean, in which lower scores count more.

        Of three or more potentials of a member, the lowest and the highest are left out.
        """
        logit, potentials = outputs[:, :, 0], outputs[:, :, 1:]
        if outputs.shape[::2] != (1, 2):  # one network with one potential: as it is
            potentials = (potentials - self.low) / self.range
            if potentials.shape[2] > 2:
                potentials = potentials.sort(2).values[:, :, 1:-1]
            potentials = bend_top(potentials)
        pairs = (torch.stack([logit, potentials.mean(2)], 2) - self.zero) / self.one  # (members, n, 2)
        share = float(self.mixing.share(0.5))
        mixed = (1 - share) * pairs[:, :, 0] + share * pairs[:, :, 1]  # (members, n)
        return ((-self.doubt * mixed).softmax(0)[:, :, None] * pairs).sum(0)

    def outputs(self, x: Tensor) -> Tensor:  # (n, p) -> (members, n, 1 + k)
        """Return each network's global logit and potentials."""
        outputs: Tensor = self.networks(self.scaled(x))
        return outputs

    def scaled(self, x: Tensor) -> Tensor:  # (n, p) -> (n, p)
        """Return the scaled rows as the networks take them, rounded to float32."""
        return self.finely_scaled(x).float()

    def finely_scaled(self, x: Tensor) -> Tensor:  # (n, p) -> (n, p)
        """Return the scaled rows before they are rounded."""
        z = (x.to(self.center.dtype) - self.center) * self.weight
        if len(self.heavy):
            z = z.index_copy(1, self.heavy, (z[:, self.heavy].asinh() - self.shift) * self.gain)
        if self.shrink is not None:
            size = z.abs()
            z = torch.where(size > KNEE, z.sign() * (KNEE + (size - KNEE).clamp(min=0).log1p()), z) * self.shrink
        if self.seen is not None and self.beyond is not None:
            above, below = (z - self.seen[1]).clamp(min=0), (self.seen[0] - z).clamp(min=0)
            z = z + (self.beyond[1] * above - self.beyond[0] * below)
        if self.context is not None:
            z = self.context(z.clamp(-LIMIT, LIMIT))
        return z.clamp(-LIMIT, LIMIT)

    def mixed(self, units: Tensor, t: Dial) -> Tensor:  # (n, 2) -> (n,), or (n, m)
        """Mix units at t; with a veto, the local one is at most ALLOWANCE / (1 - t) above the global one."""
        dial = (t if isinstance(t, Tensor) else torch.from_numpy(checked_t(t))).to(units.dtype).to(units.device)
        any_number: Any = dial  # what follows is arithmetic
        share: Any = self.mixing.share(any_number)
        of_global, of_local = (units[:, 0], units[:, 1]) if dial.dim() == 0 else (units[:, :1], units[:, 1:])
        if self.mixing.veto:
            of_local = torch.minimum(of_local, of_global + ALLOWANCE / (1 - dial))
        mixed: Tensor = (1 - share) * of_global + share * of_local
        return mixed

    def squeezed(self, units: Tensor) -> Tensor:
        """Map the real line onto (0, 1); units of "clip" lie there already."""
        if self.mixing.local_weight is None:
            return units
        size = units.abs().clamp(max=1e100)  # the cube of more would overflow
        return torch.where(units <= 0, 0.5 / (1 + size), 0.5 + 0.5 * size / (1 + size**3).pow(1 / 3))


def bend_top(u: Tensor) -> Tensor:
    """Bend values smoothly where they near 1, so that none is larger; below 1 - BEND they stay as they are."""
    top = 1 - BEND**2 / (2 * BEND - (1 - u.clamp(min=1 - BEND)))
    return torch.where(u > 1 - BEND, top, u)


def _between(values: Tensor, low_high: Tensor) -> Tensor:
    low, high = low_high[0], low_high[1]
    return (values - low) / torch.where(high > low, high - low, 1.0)


def _width(low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(high > low, high - low, 1.0)  # a flat potential stays flat instead of dividing by zero
