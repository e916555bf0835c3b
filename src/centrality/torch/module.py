"""Define a fitted model as one differentiable torch module: rows in the user's units in; units, heads, f(x, t) out.

This is the one place where torch computes a score, by the formulas that an ONNX file has too (`network/formulas.py`).
The engine computes the same on the CPU (`engine/scoring.h`), and a test compares the two.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality.network import formulas
from centrality.network.context import Context
from centrality.network.kinds import Kinds
from centrality.network.network import Network
from centrality.network.scaling import Scaling
from centrality.scores.calibration import Calibration
from centrality.scores.mixing import checked_t
from centrality.scores.refinement import Refinement
from centrality.torch.context import Buffers, TorchContext, TorchKinds
from centrality.torch.networks import finest, to_score

Dial = float | Sequence[float] | NDArray[np.float64] | Tensor


class Centrality(Buffers):
    """Scores rows as the model does that it was made of; `FUSE.to_torch` makes it.

    Everything but the network computes in float64, as it does elsewhere. Weights are fixed: `requires_grad_()` frees
    those of the network. `forward(x, t)` is f(x, t), in [0, 1]; `t` is the model's own where none is given.
    """

    center: Tensor
    knots: Tensor | None  # of the shift that marks have taught; None: there are no marks

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
        own = scaling if context is None else context.scaling
        self.hold(finest(device), formulas.constants_of(own, calibration, refinement))
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
        return units if self.knots is None else units + formulas.shift_by_marks(self, z.type_as(fine))[:, None]

    def calibrated(self, raw: Tensor) -> Tensor:  # (n, 2) -> (n, 2)
        """Return raw scores in the units in which they are mixed."""
        return torch.stack(formulas.calibrated(self, raw[:, 0], raw[:, 1]), 1)

    def raw(self, outputs: Tensor) -> Tensor:  # (members, n, 1 + k) -> (n, 2)
        """Return the uncalibrated global and local score: of each head, the lowest of the members'."""
        return torch.stack(formulas.raw(self, outputs[:, :, 0], outputs[:, :, 1:]), 1)

    def outputs(self, x: Tensor) -> Tensor:  # (n, p) -> (members, n, 1 + k)
        """Return each network's global logit and potentials."""
        outputs: Tensor = self.networks(self.finely_scaled(x).float())
        return outputs

    def finely_scaled(self, x: Tensor) -> Tensor:  # (n, p) -> (n, p)
        """Return the scaled rows before they are rounded to float32 for the networks."""
        scaled: Tensor = formulas.scaled(self, x.to(self.center.dtype))
        return scaled

    def mixed(self, units: Tensor, t: Dial) -> Tensor:  # (n, 2) -> (n,), or (n, m)
        """Mix units at t, before they are squeezed."""
        dial = (t if isinstance(t, Tensor) else torch.from_numpy(checked_t(t))).to(units.dtype).to(units.device)
        pair = (units[:, 0], units[:, 1]) if dial.dim() == 0 else (units[:, :1], units[:, 1:])
        mixed: Tensor = formulas.mixed(self.mixing, *pair, dial)
        return mixed

    def squeezed(self, units: Tensor) -> Tensor:
        """Map the real line onto (0, 1); units of "clip" lie there already."""
        squeezed: Tensor = formulas.squeezed(self.mixing, units)
        return squeezed
