"""Choose the scorer of a network: the engine for our own on a CPU, torch for a user's encoder or a GPU."""

from centrality._optional import optional
from centrality.engine import engine
from centrality.network.devices import is_cpu
from centrality.network.network import Network
from centrality.network.scorer import EngineScorer, NetworkScorer


def scorer_for(network: Network, device: str = "cpu") -> NetworkScorer:
    """Return the scorer of this network on this device."""
    if network.layout.standard and is_cpu(device):
        return EngineScorer(network, engine())
    optional("torch", "torch")
    from centrality.torch.scoring import TorchScorer  # brings torch

    return TorchScorer(network, device)
