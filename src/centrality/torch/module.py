"""A fitted model as a torch module, and scoring on a GPU.

This is the one place where torch computes a score, by the formulas that an ONNX file has too (`network/formulas.py`).
The engine computes the same on the CPU (`engine/scoring.h`), and a test compares the two.
"""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality._internal.input import CheckedRows
from centrality.network import formulas
from centrality.network.calibration import Calibration, checked_t
from centrality.network.context import SAME_CATEGORY, CategoryEffects, Context, ContextCalibration
from centrality.network.engine_backend import Back, NetworkScorer, Outputs
from centrality.network.forest import Forest
from centrality.network.formulas import Constants
from centrality.network.network import Network
from centrality.network.refinement import Refinement
from centrality.network.scaling import Scaling
from centrality.torch.networks import finest, to_score


class Buffers(nn.Module):
    """A module of arrays as buffers, floating ones in the most precise type that the device has."""

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
    below: Tensor  # the children of nodes; `children` is a method of every module
    value: Tensor

    def __init__(self, forest: Forest, finest: torch.dtype) -> None:
        super().__init__()
        self.depth = forest.depth()
        parts = {name: getattr(forest, name) for name in ("feature", "threshold", "value")}
        self.hold(finest, {"below": forest.children, **parts})

    def forward(self, c: Tensor) -> Tensor:  # (n, q) -> (n, d)
        tree = torch.arange(len(self.feature), device=c.device)[:, None]
        row = torch.arange(len(c), device=c.device)
        x = c.float().to(c.dtype)  # thresholds were found for float32
        node = torch.zeros(len(self.feature), len(c), dtype=torch.long, device=c.device)
        for _ in range(self.depth):
            right = x[row, self.feature[tree, node]] > self.threshold[tree, node]
            node = self.below[tree, node, right.long()]
        return self.value[tree, node].mean(0)


class TorchCategoryEffects(Buffers):
    """Return the effects of the rows' categories, 0 for a category that did not occur in fitting."""

    columns: Tensor
    keys: Tensor
    effects: Tensor

    def __init__(self, effects: CategoryEffects, finest: torch.dtype) -> None:
        super().__init__()
        self.hold(finest, {"columns": effects.columns, "keys": effects.keys, "effects": effects.effects})

    def forward(self, c: Tensor) -> Tensor:  # (n, q) -> (n, d)
        nearest = (c[:, None, self.columns] - self.keys).abs().amax(2).min(1)
        return torch.where((nearest.values <= SAME_CATEGORY)[:, None], self.effects[nearest.indices], 0.0)


class TorchContext(Buffers):
    """Turns scaled rows into relative rows."""

    def __init__(self, context: Context, finest: torch.dtype) -> None:
        super().__init__()
        self.hold(finest, formulas.constants_of_context(context))
        self.center_forest = TorchForest(context.center_forest, finest)
        self.spread_forest = TorchForest(context.spread_forest, finest)
        self.center_effects = nn.ModuleList(TorchCategoryEffects(part, finest) for part in context.center_effects)
        self.spread_effects = nn.ModuleList(TorchCategoryEffects(part, finest) for part in context.spread_effects)

    def forward(self, z: Tensor) -> Tensor:  # (n, p) -> (n, p)
        relative: Tensor = formulas.relative(self, z)
        return relative


class TorchContextCalibration(Buffers):
    """Shifts units so that they compare between contexts."""

    def __init__(self, calibration: ContextCalibration, finest: torch.dtype) -> None:
        super().__init__()
        self.hold(finest, formulas.constants_of_context_calibration(calibration))
        self.forest = TorchForest(calibration.forest, finest)
        effects = calibration.category_effects
        self.category_effects = nn.ModuleList(TorchCategoryEffects(part, finest) for part in effects)

    def rising(self, x: Tensor) -> Tensor:  # (n, 2, k)
        """Raise each value to the largest before it."""
        return x.cummax(2).values

    def forward(self, units: Tensor, z: Tensor) -> Tensor:  # (n, 2), (n, p) -> (n, 2)
        shifted: Tensor = formulas.shift_by_context(self, units, z)
        return shifted


Dial = float | Sequence[float] | NDArray[np.float64] | Tensor


class Centrality(Buffers):
    """Scores rows as a fitted model does; `FUSE.to_torch` returns it.

    Everything but the network computes in float64, as it does elsewhere. Weights are fixed; `requires_grad_()` frees
    those of the network. `forward(x, t)` is f(x, t), in [0, 1]; without `t` it is at the model's own.
    """

    center: Tensor
    knots: Tensor | None  # of the correction learned from marks; None: no marks were learned

    def __init__(
        self,
        network: Network,
        scaling: Scaling,
        calibration: Calibration,
        refinement: Refinement | None = None,
        *,
        context: Context | None = None,
        context_calibration: ContextCalibration | None = None,
        t: float,
        device: str = "cpu",
    ) -> None:
        super().__init__()
        precision = finest(device)
        self.networks = to_score(network, device)
        self.t = t
        self.kind = calibration.kind
        self.mixing = calibration.mixing
        of_columns = scaling if context is None else context.scaling
        self.hold(precision, formulas.constants_of(of_columns, calibration, refinement))
        self.context = None if context is None else TorchContext(context, precision)
        self.context_calibration = None
        if context_calibration is not None:
            self.context_calibration = TorchContextCalibration(context_calibration, precision)
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
        if self.context_calibration is not None:
            units = self.context_calibration(units, fine)
        return units if self.knots is None else units + formulas.shift_by_marks(self, z.type_as(fine))[:, None]

    def calibrated(self, raw: Tensor) -> Tensor:  # (n, 2) -> (n, 2)
        """Return the units of raw scores."""
        return torch.stack(formulas.calibrated(self, raw[:, 0], raw[:, 1]), 1)

    def raw(self, outputs: Tensor) -> Tensor:  # (members, n, 1 + k) -> (n, 2)
        """Return the raw scores: of each head, the lowest member's."""
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
        mixed: Tensor = formulas.mixed(self.mixing, units[:, :1], units[:, 1:], dial)
        return mixed[:, 0] if dial.dim() == 0 else mixed

    def squeezed(self, units: Tensor) -> Tensor:
        """Map the real line onto (0, 1); units of "clip" lie there already."""
        squeezed: Tensor = formulas.squeezed(self.mixing, units)
        return squeezed


ROWS_AT_ONCE = 1 << 16  # on a GPU

# A forked child has none of its parent's threads, but OpenMP waits for them for ever: it computes with its own alone.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


class TorchScorer(NetworkScorer):
    """Computes a network's outputs with torch; arrays of scaled rows in, arrays out."""

    def __init__(self, network: Network, device: str) -> None:
        self._network = network
        self.device = device
        self.members = network.members
        self._networks = to_score(network, device)
        self._one_at_a_time = threading.Lock()  # torch has threads of its own, and callers have too

    def __reduce__(self) -> tuple[type["TorchScorer"], tuple[Network, str]]:
        return TorchScorer, (self._network, self.device)  # the rest is made of it

    def __call__(self, z: NDArray[np.float32]) -> Outputs:
        """Return the outputs for rows that are scaled."""
        with self._one_at_a_time, torch.no_grad(), exact_products():
            return np.asarray(self._networks(self._to_device(z)).cpu().numpy())

    def of_rows(self, rows: CheckedRows, scaling: Scaling) -> Outputs:
        """Return the outputs for rows in the user's units."""
        return self(scaling.apply(rows))

    def along(
        self, start: NDArray[np.float32], step: NDArray[np.float32], at: NDArray[np.float32]
    ) -> tuple[Outputs, Back]:
        """Return outputs at points on lines, and a function from derivatives by them to those by points."""
        n, s = at.shape
        points = (start[:, None] + at[:, :, None] * step[:, None]).reshape(n * s, -1)
        with self._one_at_a_time, exact_products():
            places = self._to_device(points).requires_grad_()
            outputs: Tensor = self._networks(places)

        def back(by: NDArray[np.float32]) -> NDArray[np.float32]:
            with self._one_at_a_time, exact_products():
                by_outputs = self._to_device(by).reshape(outputs.shape)
                (by_points,) = torch.autograd.grad(outputs, places, by_outputs, retain_graph=True)  # once for each head
            return np.asarray(by_points.view(n, s, -1).sum(1).cpu().numpy())

        return outputs.detach().view(self.members, n, s, -1).cpu().numpy(), back

    def _to_device(self, array: NDArray[np.float32]) -> Tensor:
        """Copy an array to the device."""
        return torch.from_numpy(np.require(array, np.float32, ["C", "W"])).to(self.device)


class DeviceScorer:
    """Scores from end to end on a GPU, whether rows lie there or in the host's memory; only the units come back."""

    def __init__(self, module: Centrality, device: str) -> None:
        self._module = module
        self._device = device

    def units(self, rows: CheckedRows | Tensor) -> NDArray[np.float64]:  # (n, p) -> (n, 2)
        """Return both heads in the units in which they are mixed."""
        blocks = (rows[start : start + ROWS_AT_ONCE] for start in range(0, rows.shape[0], ROWS_AT_ONCE))
        with torch.no_grad(), exact_products():
            units = [self._module.units(self._to_device(block)) for block in blocks]
            return np.asarray(torch.cat(units).cpu().numpy(), dtype=np.float64)

    def _to_device(self, block: CheckedRows | Tensor) -> Tensor:
        if isinstance(block, Tensor):
            return block.to(self._device)
        rows = torch.from_numpy(np.require(block, requirements=["C", "W"]))
        if self._device.startswith("cuda"):
            rows = rows.pin_memory()  # the next block is copied while this one is computed with
        return rows.to(self._device, non_blocking=True)


@contextmanager
def exact_products() -> Iterator[None]:
    """Compute products in full float32 inside the block, even if the user allows TF32, which has three digits."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
