"""Hold all settings of one fit, and compute what follows from them before training."""

from dataclasses import replace
from typing import Any

import numpy as np

from centrality._checks import whole_number, widths
from centrality._estimator import CheckedRows, share_of_outliers
from centrality._optional import optional
from centrality.network.background import background_of
from centrality.network.folds import LEFT_OUT, Split, Units, split
from centrality.network.network import Layout, Network, build
from centrality.training.plan import OURS, Plan
from centrality.training.rows import Rows, held_at_once

MEMBERS = 4  # networks where rows are few: measured, six detect no better
MEMBERS_GIVEN = len(LEFT_OUT)  # given a context, where four were not measured
ROWS_PER_COLUMN, FEW_ROWS = 30, 3000  # with fewer rows than either, rows are few
HELD_VALUES = 5 << 20  # values that training holds at once: 20 MiB in float32


class Settings(dict[str, Any]):
    """Hold a model's parameters by name; the paper's parameters that it lacks have FUSE's values."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(OURS | parameters)

    @property
    def by_paper(self) -> bool:
        """Say whether training follows the paper's schedule."""
        return self["epochs"] is not None

    @property
    def max_values(self) -> int:
        """Return how many values training holds at once; without limit in the paper's schedule, which uses all rows."""
        return 1 << 62 if self.by_paper else HELD_VALUES

    def share_of_outliers(self) -> float:
        """Return the share of the training rows that `predict` calls outliers."""
        return share_of_outliers(self["contamination"], clean=self["novelty"])

    def members(self, n: int, p: int) -> int:
        """Return how many networks are trained on n rows of p columns.

        Where rows are few, a network overfits them: several, each trained on another half, can score every row unseen.
        Only one is trained with a user's encoder, whose copies cannot be trained together, or on clean rows, which take
        long.
        """
        if self["ensemble"] != "auto":
            return whole_number("ensemble", self["ensemble"])
        if self.by_paper or self["novelty"] or self["encoder"] is not None or n >= max(ROWS_PER_COLUMN * p, FEW_ROWS):
            return 1
        return MEMBERS if self["given"] is None else MEMBERS_GIVEN

    def split(self, X: CheckedRows, rng: np.random.Generator) -> Split | None:
        """Choose the rows that each network leaves out: different ones, unless they share a background or sample."""
        members = self.members(*X.shape)
        if self.by_paper:
            return None  # the paper's schedule learns from all rows
        n, width = X.shape
        alike = self["novelty"] or held_at_once(n, width, self.max_values) < n
        return split(n, members, rng, alike=alike, given=self["given"] is not None, units=Units.of(X))

    def loss_weights(self, noise_scales: tuple[float, ...], columns: int) -> list[float]:
        """Return the factor of each scale's local loss that makes it comparable to the loss of an untrained head.

        Our schedule weighs local losses by η², the paper's does not; read literally, it adds up the columns.
        """
        return [(columns if self["literal"] else 1) * eta**-2 if self.by_paper else 1.0 for eta in noise_scales]

    def layout(self, width: int, potentials: int, members: int) -> Layout:
        """Return the shape of the networks."""
        shared = self["shared_encoder"]
        return Layout(
            width=width,
            hidden=widths(self["hidden"]),
            encoder=self["encoder"],
            shared=members == 1 if shared == "auto" else bool(shared),
            potentials=potentials,
            members=members,
        )

    def untrained(
        self, rows: Rows, plan: Plan, members: int, rng: np.random.Generator, start: np.random.Generator
    ) -> Network:
        """Return the networks before training: `start` draws their weights, and `rng` fits the background below them.

        The paper has no background, and one would find contexts odd by themselves.
        """
        layout = self.layout(rows.width, len(plan.noise_scales), members)
        network = build(layout, start) if layout.standard else _around_encoder(layout, start)
        if self.by_paper or self["given"] is not None or not layout.standard:
            return network
        of_folds = {folds: rows.z[rows.without(folds)] for folds in map(plan.left_out_by, range(members))}
        learned = [of_folds[plan.left_out_by(member)] for member in range(members)]
        background = background_of(learned, plan.noise_scales, rng, clean=self["novelty"])
        return replace(network, background=background)


def _around_encoder(layout: Layout, rng: np.random.Generator) -> Network:
    optional("torch", "torch")
    from centrality.torch.networks import build_around_encoder  # brings torch

    return build_around_encoder(layout, rng)
