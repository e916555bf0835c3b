"""Score with torch: users' encoders anywhere, and all models on a GPU."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality._estimator import CheckedRows
from centrality.network.network import Network
from centrality.network.scaling import Scaling
from centrality.network.scorer import Back, Outputs
from centrality.torch.module import Centrality
from centrality.torch.networks import to_score

ROWS_AT_ONCE = 1 << 16  # on a GPU

# A forked child has none of its parent's threads, but OpenMP waits for them for ever: it computes with its own alone.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


class TorchScorer:
    """Computes a network's outputs with torch; arrays of scaled rows in, arrays out."""

    def __init__(self, network: Network, device: str) -> None:
        self._network, self.device, self.members = network, device, network.members
        self._networks = to_score(network, device)
        self._one_at_a_time = threading.Lock()  # torch has threads of its own, and callers have too

    def __reduce__(self) -> tuple[type["TorchScorer"], tuple[Network, str]]:
        return TorchScorer, (self._network, self.device)  # the rest is made of it

    def __call__(self, z: NDArray[np.float32]) -> Outputs:
        """Return the outputs for rows that are scaled."""
        with self._one_at_a_time, torch.no_grad(), exact_products():
            return np.asarray(self._networks(self._there(z)).cpu().numpy())

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
            places = self._there(points).requires_grad_()
            outputs: Tensor = self._networks(places)

        def back(by: NDArray[np.float32]) -> NDArray[np.float32]:
            with self._one_at_a_time, exact_products():
                given = self._there(by).reshape(outputs.shape)
                (by_points,) = torch.autograd.grad(outputs, places, given, retain_graph=True)  # once for each head
            return np.asarray(by_points.view(n, s, -1).sum(1).cpu().numpy())

        return outputs.detach().view(self.members, n, s, -1).cpu().numpy(), back

    def _there(self, array: NDArray[np.float32]) -> Tensor:
        """Copy an array to the device."""
        return torch.from_numpy(np.require(array, np.float32, ["C", "W"])).to(self.device)


class DeviceScorer:
    """Scores from end to end on a GPU, whether rows lie there or in the host's memory; only the units come back."""

    def __init__(self, module: Centrality, device: str) -> None:
        self._module, self._device = module, device

    def units(self, rows: CheckedRows | Tensor) -> NDArray[np.float64]:  # (n, p) -> (n, 2)
        """Return both heads in the units in which they are mixed."""
        blocks = (rows[start : start + ROWS_AT_ONCE] for start in range(0, rows.shape[0], ROWS_AT_ONCE))
        with torch.no_grad(), exact_products():
            found = [self._module.units(self._there(block)) for block in blocks]
            return np.asarray(torch.cat(found).cpu().numpy(), dtype=np.float64)

    def _there(self, block: CheckedRows | Tensor) -> Tensor:
        if isinstance(block, Tensor):
            return block.to(self._device)
        own = torch.from_numpy(np.require(block, requirements=["C", "W"]))
        if self._device.startswith("cuda"):
            own = own.pin_memory()  # the next block is copied while this one is computed with
        return own.to(self._device, non_blocking=True)


@contextmanager
def exact_products() -> Iterator[None]:
    """Compute products in full float32 inside the block, even if the user allows TF32, which has three digits."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
