"""Training follows one of two schedules that combine the two losses: `steps`, ours, or `epochs`, the paper's."""

from typing import Any

import numpy as np

from centrality.network.network import Network
from centrality.training.checkpoint import Checkpoint
from centrality.training.comparisons import Comparison
from centrality.training.epochs import Epochs
from centrality.training.history import History
from centrality.training.plan import Plan, Task
from centrality.training.rows import Rows
from centrality.training.steps import Steps

__all__ = ["History", "Plan", "train"]


def train(
    network: Network,
    rows: Rows,
    comparison: Comparison,
    plan: Plan,
    *,
    rng: np.random.Generator,
    seed: int,
    device: str,
    checkpoint: Checkpoint | None = None,
) -> tuple[Network, History]:
    """Train a copy of the network on the rows as planned; return it, and the history of its losses.

    `rng` draws rows, `seed` is that of the noise. A `checkpoint` that holds an interrupted run lets it go on.
    """
    noise = np.random.default_rng(seed)
    task = Task(
        network=network, rows=rows, comparison=comparison, plan=plan, rng=rng, noise=noise, seed=seed, device=device
    )
    schedule: Steps | Epochs = Steps(task) if plan.epochs is None else Epochs(task)
    with (
        schedule.learner.running(),
        _progress_bar(schedule.planned_steps, visible=plan.progress) as bar,
    ):
        for steps in schedule.run(checkpoint):
            bar.update(steps)
    return schedule.learner.finish(), schedule.history


def _progress_bar(total: int, *, visible: bool) -> Any:
    from tqdm import tqdm  # here: only a fit needs it

    return tqdm(total=total, disable=not visible, desc="FUSE", unit="step", leave=False)
