"""Score on a GPU from end to end: rows are scaled, pass the network and are calibrated where they lie.

Only the scores come back. Rows in the host's memory go through two pinned blocks, of which one is copied while the
other is computed with. Everything but the network computes in float64, as it does on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality.network.scaling import KNEE, LIMIT, Scaling
from centrality.scores.calibration import BEND, Calibration
from centrality.scores.mixing import checked_t

if TYPE_CHECKING:
    from centrality.network.torch_scorer import Folded

ROWS_AT_ONCE = 1 << 18
KINDS = ("soft", "clip")  # that are written below; other calibrations are those of old files


class OnDevice:
    """Holds what scoring needs as tensors on one GPU."""

    def __init__(self, network: Folded, scaling: Scaling, calibration: Calibration, device: str) -> None:
        self._network, self._device, self._calibration = network, torch.device(device), calibration
        parts = (scaling.center, scaling.weight, scaling.shift, scaling.gain, scaling.shrink)
        self._center, self._weight, self._shift, self._gain, self._shrink = (
            None if part is None else self._constant(part) for part in parts
        )
        self._heavy = torch.from_numpy(scaling.heavy).to(self._device)
        low, high = (self._constant(calibration.potentials[:, None, :, end]) for end in (0, 1))
        self._low, self._unit = low, torch.where(high > low, high - low, 1.0)
        self._halves, self._ends = self._constant(calibration.halves), self._constant(calibration.ends)

    def _constant(self, array: NDArray[np.float64]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def heads(self, rows: Any) -> NDArray[np.float64]:
        """Return both heads, calibrated to [0, 1]."""  # (n, 2)
        return self._finished(rows, lambda raw: self._squeezed(self._units(raw)), 2)

    def centrality(self, rows: Any, t: float | Sequence[float]) -> NDArray[np.float64]:
        """Return the heads mixed at t."""  # (n,), or (n, len(t)) for several
        dial = checked_t(t)
        found = self._finished(rows, lambda raw: self._squeezed(self._mixed(self._units(raw), dial)), dial.size)
        return found[:, 0] if dial.ndim == 0 else found

    def scores(self, rows: Any, t: float) -> NDArray[np.float64]:
        """Return the same before it is squeezed into [0, 1]."""  # (n,)
        dial = checked_t(t)
        return self._finished(rows, lambda raw: self._mixed(self._units(raw), dial), 1)[:, 0]

    @torch.no_grad()
    def _finished(self, rows: Any, finish: Any, columns: int) -> NDArray[np.float64]:
        n = rows.shape[0]
        result = torch.empty(n, columns, dtype=torch.float64, pin_memory=True)
        start = 0
        with exact_products():
            for block in self._blocks(rows):
                stop = start + len(block)
                result[start:stop].copy_(finish(self._raw(self._network(self._scaled(block)))), non_blocking=True)
                start = stop
            torch.cuda.synchronize(self._device)
        return np.asarray(result.numpy())

    def _blocks(self, rows: Any) -> Iterator[Tensor]:
        if isinstance(rows, Tensor):
            yield from torch.split(rows.to(self._device), ROWS_AT_ONCE)
            return
        kind = torch.float32 if rows.dtype == np.float32 else torch.float64
        size = min(ROWS_AT_ONCE, max(1, len(rows)))
        pinned = [torch.empty(size, rows.shape[1], dtype=kind, pin_memory=True) for _ in range(2)]
        copied: list[Any] = [None, None]  # events: a pinned block may be overwritten once it has been copied
        aside = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
        for number, start in enumerate(range(0, len(rows), size)):
            turn, part = number % 2, torch.from_numpy(np.ascontiguousarray(rows[start : start + size]))
            if copied[turn] is not None:
                copied[turn].synchronize()
            pinned[turn][: len(part)].copy_(part)
            with torch.cuda.stream(aside):
                block = pinned[turn][: len(part)].to(self._device, non_blocking=True)
                copied[turn] = aside.record_event()
            current = torch.cuda.current_stream(self._device)
            current.wait_event(copied[turn])
            block.record_stream(current)
            yield block

    def _scaled(self, block: Tensor) -> Tensor:
        """Do what `Scaling.apply` does."""
        assert self._center is not None
        assert self._weight is not None
        z = block.to(torch.float64).sub(self._center).mul_(self._weight)
        if len(self._heavy):
            assert self._shift is not None
            assert self._gain is not None
            z[:, self._heavy] = (z[:, self._heavy].asinh() - self._shift) * self._gain
        if self._shrink is not None:
            size = z.abs()
            z = torch.where(size > KNEE, z.sign() * (KNEE + (size - KNEE).clamp_(min=0).log1p()), z).mul_(self._shrink)
        return z.clamp_(-LIMIT, LIMIT).float()

    def _raw(self, outputs: Tensor) -> Tensor:  # (members, n, 1 + k) -> (n, 2)
        """Do what `calibration.raw_scores` does."""
        outputs = outputs.double()
        if outputs.shape[::2] == (1, 2):
            return outputs[0]
        rescaled = (outputs[:, :, 1:] - self._low) / self._unit
        if rescaled.shape[2] > 2:
            rescaled = rescaled.sort(2).values[:, :, 1:-1]
        top = 1 - BEND**2 / (2 * BEND - (1 - rescaled.clamp(min=1 - BEND)))
        local = torch.where(rescaled > 1 - BEND, top, rescaled).mean((0, 2))
        return torch.stack([outputs[:, :, 0].mean(0), local], 1)

    def _units(self, raw: Tensor) -> Tensor:
        """Do what `Calibration.units` does."""
        if self._calibration.kind == "clip":
            return torch.stack([raw[:, 0].sigmoid(), _between(raw[:, 1], self._ends[1]).clamp(0.0, 1.0)], 1)
        return torch.stack([_between(raw[:, head], self._halves[head]) for head in (0, 1)], 1)

    def _mixed(self, units: Tensor, dial: NDArray[np.float64]) -> Tensor:  # (n, 2) -> (n, m)
        """Do what `Mixing.in_units` does."""
        mixing, t = self._calibration.mixing, np.atleast_1d(dial)
        share, room = (self._constant(np.asarray(part, dtype=np.float64)) for part in (mixing.share(t), mixing.room(t)))
        of_global, of_local = units[:, :1], units[:, 1:]
        if mixing.veto:
            of_local = torch.minimum(of_local, of_global + room)
        return (1 - share) * of_global + share * of_local

    def _squeezed(self, units: Tensor) -> Tensor:
        """Do what `Mixing.heads` does."""
        if self._calibration.mixing.local_weight is None:
            return units
        size = units.abs().clamp_(max=1e100)
        above = 0.5 + 0.5 * size / (1 + size**3).pow(1 / 3)
        return torch.where(units <= 0, 0.5 / (1 + size), above)


def _between(values: Tensor, low_high: Tensor) -> Tensor:
    low, high = low_high[0], low_high[1]
    return (values - low) / torch.where(high > low, high - low, 1.0)


@contextmanager
def exact_products() -> Iterator[None]:
    """Compute products in full float32, whatever the user allows elsewhere: TF32 has three digits."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
