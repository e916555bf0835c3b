"""A network while it is trained: the two losses, their gradient and the optimizer's update as one."""

from collections.abc import Sequence

from torch import Tensor

from centrality.network.network import Network
from centrality.training.adam import Adam
from centrality.training.gradients import ClosedForm
from centrality.training.losses import Autograd, Batch


class Learner:
    """Teaches a network one batch after another.

    `balance` weighs what the global loss teaches against the local loss, where a batch has both.
    """

    def __init__(self, network: Network, *, balance: float, weight_decay: float) -> None:
        self._network = network
        self._gradients: ClosedForm | Autograd = (
            ClosedForm(network, balance) if network.standard else Autograd(network, balance)
        )
        self._optimizer = Adam(self._gradients.parameters, weight_decay)

    def learn(self, batch: Batch, rate: Tensor) -> Tensor:
        """Take one step at this rate (see `adam.rates`), and return the losses before it."""  # -> (2,) global, local
        losses = self._gradients.losses(batch)
        self._optimizer.step(rate)
        return losses

    def finish(self) -> None:
        """Give the network back: its parameters have memory of their own again."""
        self._gradients.finish()

    def tensors(self) -> dict[str, Tensor]:
        """Return everything that a step changes, where it lies, by name."""
        lists: dict[str, Sequence[Tensor]] = {"parameter": self._gradients.parameters, **self._optimizer.moments()}
        found = {f"{kind}.{place}": tensor for kind, tensors in lists.items() for place, tensor in enumerate(tensors)}
        return found | {f"buffer.{name}": buffer for name, buffer in self._network.named_buffers()}
