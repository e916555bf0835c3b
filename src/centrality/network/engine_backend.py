"""Score rows with a trained network, by the compiled engine: outputs, head scores, mixtures, and their slopes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows, as_floats
from centrality.engine import Engine, engine
from centrality.network.calibration import Calibration, rescaling
from centrality.network.network import BACKGROUND_PARTS, LOWEST, Network
from centrality.network.scaling import Scaling

Outputs = NDArray[np.floating]  # (members, n, 1 + k) the global logit and the potentials
Matrix = NDArray[np.float64]
Number = TypeVar("Number", bound=np.generic)
Prepared = tuple[Scaling, Calibration, object, object, object]  # both, then engine.Scaling, Calibration and Units
Back = Callable[[NDArray[np.float32]], NDArray[np.float32]]  # from derivatives by outputs to those by points

NOT_FINITE = (
    "This model gives scores that are not finite: its weights are damaged or out of range. Copy its file again, "
    "or fit it again."
)


class NetworkScorer(ABC):
    """Scores rows with a trained network: outputs, raw scores, head scores and mixtures.

    Head scores are the units of `network/calibration.py`.
    """

    device: str
    members: int

    @abstractmethod
    def __call__(self, z: NDArray[np.float32]) -> Outputs:
        """Return the outputs for rows that are scaled."""

    @abstractmethod
    def of_rows(self, rows: CheckedRows, scaling: Scaling) -> Outputs:
        """Return the outputs for rows in the user's units."""

    @abstractmethod
    def along(
        self, start: NDArray[np.float32], step: NDArray[np.float32], at: NDArray[np.float32]
    ) -> tuple[Outputs, Back]:
        """Return outputs at the points start + at * step of n lines, and the function back from there.

        `start` (n or 1, p), `step` (n, p) and `at` (n, s) give outputs (members, n, s, 1 + k). The function takes
        derivatives by these outputs, and returns derivatives by the points, summed over the s points of each line,
        (n, p).
        """

    def raw(self, rows: CheckedRows, scaling: Scaling, calibration: Calibration) -> Matrix:  # (n, 2)
        """Return the raw scores of rows in the user's units."""
        return require_finite_scores(calibration.raw(require_finite_scores(self.of_rows(rows, scaling))))

    def head_scores(self, rows: CheckedRows, scaling: Scaling, calibration: Calibration) -> Matrix:  # (n, 2)
        """Return both heads' calibrated scores of rows in the user's units."""
        return calibration.units(self.raw(rows, scaling, calibration))

    def mixtures(
        self, scaling: Scaling, calibration: Calibration, t: float, rows: CheckedRows, *, squeezed: bool
    ) -> Matrix:  # (n,)
        """Return the head scores mixed at t, squeezed into [0, 1] or not."""
        mixing = calibration.mixing
        scores = mixing.mixed(self.head_scores(rows, scaling, calibration), t)
        return mixing.squeeze(scores) if squeezed else scores


def require_finite_scores(scores: NDArray[Number]) -> NDArray[Number]:
    """Return the scores; raise if one is not finite: rows are, so the model is damaged."""
    if not np.isfinite(scores).all():
        raise InputError(NOT_FINITE)
    return scores


class EngineScorer(NetworkScorer):
    """Scores on a CPU with the compiled engine: from rows in the user's units to scores in one call.

    A trunk's projection is linear, so it is folded into the heads above it. Weights are float32, heads compute in
    float64, and every sum has one fixed order: a row's scores have the same bits in any batch, on any CPU.
    """

    device = "cpu"

    def __init__(self, network: Network, build: Engine | None = None) -> None:
        self._network = network
        self._engine = engine() if build is None else build
        self.members = network.members
        members = [trunks_of(network, member) for member in range(self.members)]
        self._model = self._engine.Model(members, background_in(self._engine, network))
        self._scaling: tuple[Scaling, object] | None = None  # the last one used, as the engine takes it
        self._prepared: Prepared | None = None  # the last ones used

    def __reduce__(self) -> tuple[type["EngineScorer"], tuple[Network]]:
        return type(self), (self._network,)  # what the engine holds cannot be pickled

    def __call__(self, z: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the outputs for rows that are scaled."""
        return self._model.outputs(np.ascontiguousarray(z, dtype=np.float32), None)

    def of_rows(self, rows: CheckedRows, scaling: Scaling) -> Outputs:
        """Return the outputs for rows in the user's units."""
        if self._scaling is None or self._scaling[0] is not scaling:
            self._scaling = scaling, scaling.to_engine(self._engine)
        return self._model.outputs(as_floats(rows), self._scaling[1])

    def raw(self, rows: CheckedRows, scaling: Scaling, calibration: Calibration) -> Matrix:  # (n, 2)
        """Return the raw scores of rows in the user's units."""
        try:
            return self._model.head_scores(as_floats(rows), *self._prepare(scaling, calibration)[2:4], None)
        except OverflowError:
            raise InputError(NOT_FINITE) from None

    def head_scores(self, rows: CheckedRows, scaling: Scaling, calibration: Calibration) -> Matrix:  # (n, 2)
        """Return both heads' calibrated scores of rows in the user's units."""
        if calibration.kind != "soft":
            return super().head_scores(rows, scaling, calibration)
        try:
            return self._model.head_scores(as_floats(rows), *self._prepare(scaling, calibration)[2:])
        except OverflowError:
            raise InputError(NOT_FINITE) from None

    def mixtures(
        self, scaling: Scaling, calibration: Calibration, t: float, rows: CheckedRows, *, squeezed: bool
    ) -> Matrix:  # (n,)
        """Return the head scores mixed at t, squeezed into [0, 1] or not."""
        if calibration.kind != "soft":
            return super().mixtures(scaling, calibration, t, rows, squeezed=squeezed)
        if (prepared := self._prepared) is None or prepared[0] is not scaling or prepared[1] is not calibration:
            prepared = self._prepare(scaling, calibration)
        mixing = calibration.mixing
        try:
            return self._model.mixtures(as_floats(rows), *prepared[2:], mixing.share(t), mixing.allowance(t), squeezed)
        except OverflowError:
            raise InputError(NOT_FINITE) from None

    def _prepare(self, scaling: Scaling, calibration: Calibration) -> Prepared:
        """Return these as the engine takes them, and remember them for the next block of rows."""
        if (prepared := self._prepared) is None or prepared[0] is not scaling or prepared[1] is not calibration:
            low, width = rescaling(calibration.halves)
            prepared = (
                scaling,
                calibration,
                scaling.to_engine(self._engine),
                calibration.to_engine(self._engine),
                self._engine.Units(np.ascontiguousarray(low), width),
            )
            self._prepared = prepared
        return prepared

    def along(
        self, start: NDArray[np.float32], step: NDArray[np.float32], at: NDArray[np.float32]
    ) -> tuple[Outputs, Back]:
        """Return outputs at points on lines, and the function back from there."""
        start = np.ascontiguousarray(np.broadcast_to(start, step.shape), dtype=np.float32)
        step = np.ascontiguousarray(step, dtype=np.float32)
        at = np.ascontiguousarray(at, dtype=np.float32)

        def back(by: NDArray[np.float32]) -> NDArray[np.float32]:
            return self._model.back(start, step, at, np.ascontiguousarray(by, dtype=np.float32))

        return self._model.along(start, step, at), back


def trunks_of(network: Network, member: int) -> list[object]:
    """Return a member's trunks as the engine takes them: the layers of each, and the heads above it."""
    layout = network.layout
    trunks: list[object] = []
    for trunk in range(layout.trunks):
        layers = [network.linear(f"trunks.{trunk}.{2 * place}", member) for place in range(len(layout.hidden))]
        weights = []
        biases = []
        for number, head in enumerate(("global_head", "local_head")):
            weight, bias = folded_head(network, member, head, trunk)
            is_above = layout.trunks == 1 or number == trunk  # else the head takes nothing from this trunk
            weights.append(weight if is_above else np.zeros_like(weight))
            biases.append(bias if is_above else np.zeros_like(bias))
        trunks.append((layers, (np.concatenate(weights), np.concatenate(biases))))
    return trunks


def background_in(engine: Engine, network: Network) -> object | None:
    """Return the network's background as the engine takes it."""
    if not network.background:
        return None
    return engine.Background(*(network.background[name] for name in BACKGROUND_PARTS), LOWEST)


def folded_head(
    network: Network, member: int, head: str, trunk: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a head and the projection below it as one linear layer, rounded to float32 once."""  # (out, q), (out,)
    number_of_projection = 2 * len(network.layout.hidden)
    weight, bias = network.linear(f"trunks.{trunk}.{number_of_projection}", member)
    head_weight, head_bias = network.linear(head, member)
    upper = head_weight.astype(np.float64)
    with np.errstate(over="ignore"):
        folded_weight = (upper @ weight.astype(np.float64)).astype(np.float32)
        folded_bias = (head_bias.astype(np.float64) + upper @ bias.astype(np.float64)).astype(np.float32)
    return folded_weight.astype(np.float64), folded_bias.astype(np.float64)
