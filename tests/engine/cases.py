"""Networks and tasks of every shape, and the builds of the engine that run here."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from centrality.engine import FASTEST_FIRST, VARIABLE, Engine, engine
from centrality.fuse.background import backgrounds_of_members
from centrality.fuse.batches import BatchSampler
from centrality.fuse.comparisons import Comparison, compare
from centrality.fuse.config import FitConfig
from centrality.fuse.data import TrainingData
from centrality.fuse.torch_trainer import TorchTrainer
from centrality.fuse.train import EngineTrainer
from centrality.network.network import LOWEST, Layout, Network, Weights, build
from centrality.network.scaling import Scaling
from tests.fuse.cases import config_of

ROWS = 60
PARTS = ("mean", "axes", "precision", "rest", "level")  # of a background
ETAS = (0.3, 0.5, 1.0, 2.0, 3.0)


def builds() -> dict[str, Engine]:
    """Those that are installed and that this CPU can run."""
    found: dict[str, Any] = {}
    for name in FASTEST_FIRST:
        try:
            found[name] = importlib.import_module(f"centrality.engine.{name}")
        except ImportError:
            continue
    return found


BUILDS = builds()


@contextmanager
def computed_by(name: str) -> Iterator[None]:
    """Everything is computed by this build of the engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, name)
        engine.cache_clear()
        try:
            yield
        finally:
            engine.cache_clear()


def rows_of(width: int, n: int = ROWS, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, width)).astype(np.float32)


@cache
def background_for(width: int, potentials: int, members: int = 1) -> Weights:
    """Each member has groups of its own, the first one more than the others."""
    rng, parts = np.random.default_rng(0), []
    for member in range(members):
        rows = rows_of(width, 200, seed=7 + member)
        groups = [rows[start::3] + 2 * start for start in range(3 if member == 0 else 2)]
        each = [backgrounds_of_members([group], ETAS[:potentials], rng, clean=False) for group in groups]
        each += each[:1] * (3 - len(each))
        joined = {
            name: np.concatenate([part[name] for part in each], 1 if name in ("mean", "axes") else 2) for name in PARTS
        }
        if member:
            joined["level"][:, :, -1] = LOWEST
        bounds = np.tile(np.float32([-0.1, 0.1]), (1, potentials, 1))  # a good part of the untrained outputs is beyond
        parts.append({**joined, "degrees": each[0]["degrees"], "bounds": bounds})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def network_of(layout: Layout, *, background: bool = False, seed: int = 0) -> Network:
    made = build(layout, np.random.default_rng(seed))
    parts = background_for(layout.width, layout.potentials, layout.members) if background else {}
    return Network(layout, made.weights, parts)


def gaps(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(a[:, None] - b).max(2)


METRICS: dict[str, Any] = {name: name for name in ("euclidean", "manhattan", "cosine")} | {"given": gaps}


class Task(NamedTuple):
    """What a step of training needs."""

    network: Network
    data: TrainingData
    comparison: Comparison
    config: FitConfig
    rng: np.random.Generator

    def engine_trainer(self, build: Engine, *, balance: float) -> EngineTrainer:
        decay = self.config.weight_decay
        return EngineTrainer(self.network, self.data, self.comparison, build, balance=balance, weight_decay=decay)

    def torch_trainer(self, *, balance: float) -> TorchTrainer:
        return TorchTrainer(
            self.network,
            self.data,
            self.comparison,
            balance=balance,
            weight_decay=self.config.weight_decay,
            device="cpu",
            seed=2,
        )

    def sampler(self) -> BatchSampler:
        return BatchSampler(self.data, self.comparison, self.config, self.rng)


def task_of(
    layout: Layout,
    *,
    metric: str = "euclidean",
    scheme: int = 1,
    weight_decay: float = 0.0,
    background: bool = False,
) -> Task:
    """The same one each time: its generators begin anew."""
    X, rng = rows_of(layout.width).astype(np.float64), np.random.default_rng(1)
    config = config_of(
        X,
        noise_scale=ETAS[: layout.potentials],
        ensemble=layout.members,
        scheme=scheme,
        anchors=7,
        batch_size=32,
        weight_decay=weight_decay,
    )
    data = TrainingData(X, Scaling.fit(X, "none"), rng, max_values=1 << 20)
    network = network_of(layout, background=background)
    return Task(network, data, compare(data, METRICS[metric], None), config, rng)
