"""Hold the user's choices about training (`Plan`), and all that a schedule works with (`Task`)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError, positive, whole_number
from centrality.network.network import Network
from centrality.training.comparisons import Comparison
from centrality.training.rows import Rows
from centrality.training.schemes import SCHEMES, Scheme, checked_scheme

STEPS, STEPS_WHEN_CLEAN = 250, 1000  # clean data wants longer training, contaminated data shorter
STEPS_OF_EACH = 200  # for each network of an ensemble, which has half of the rows to learn
SMALL_BATCH, BATCH = 64, 128  # rows a step: the first is as good, for half of the arithmetic, where it was measured
MANY_COLUMNS = 32  # with fewer, one network may have many small groups to learn, which a small batch would not all see
MOST_TOGETHER = 1 << 16  # rows of a batch, and anchors: more would only fill memory
FEWEST_STEPS, GENTLE_RATE = 20, 1e-3  # for further training
# What FUSE does; `PaperFUSE` can be told otherwise. The same defaults stand in its signature, and a test compares them.
OURS: dict[str, Any] = {
    "epochs": None,
    "scheme": 1,
    "anchors": 256,
    "resamples": 8,
    "shared_encoder": "auto",
    "batch_size": None,
    "learning_rate": 4e-3,
    "weight_decay": 0.0,
    "calibration": "soft",
    "literal": False,
}
HIDDEN_BY_EXPERIMENT = {"synthetic": (32, 32), "real": (64, 64), "outlier": (128, 128)}

Losses = NDArray[np.float32]  # (steps, 2) global, local
History = dict[str, list[float]]  # the losses of a run of training, line by line


def paper_settings(experiment: str) -> dict[str, Any]:
    """Return the parameters of one of the paper's experiments: Algorithm 1 for 30 epochs, one scale of noise."""
    if experiment not in HIDDEN_BY_EXPERIMENT:
        raise InputError(f"experiment must be one of {', '.join(HIDDEN_BY_EXPERIMENT)}, got {experiment!r}.")
    return {
        "hidden": HIDDEN_BY_EXPERIMENT[experiment],
        "shared_encoder": True,
        "noise_scale": 1.0,
        "anchors": 64,
        "resamples": 8,
        "epochs": 30,
        "batch_size": BATCH,
        "learning_rate": 1e-3,
        "scaling": "none",
        "calibration": "clip",
    }


@dataclass(frozen=True)
class Plan:
    """Everything about training that the user can choose, already checked."""

    noise_scales: tuple[float, ...]
    scheme: int
    anchors: int
    resamples: int
    epochs: int | None
    max_steps: int | None
    batch_size: int
    learning_rate: float
    weight_decay: float
    progress: bool
    literal: bool = False  # the paper's formulas to the letter, see `PaperFUSE`
    left_out: tuple[tuple[int, ...], ...] | None = None  # the folds that each member must not learn from; None: none

    def left_out_by(self, member: int) -> tuple[int, ...]:
        """Return the folds that this member must not learn from."""
        return () if self.left_out is None else self.left_out[member]

    def rows_used(self) -> int | None:
        """Return how many rows the budget of steps can use; more need not be held. None: there is no limit."""
        return None if self.epochs is not None or self.max_steps is None else 2 * self.batch_size * self.max_steps

    @classmethod
    def of(cls, settings: Mapping[str, Any], members: int, width: int) -> "Plan":
        """Return the plan of these settings for rows of this width; noise scales and folds are filled in later."""
        epochs, steps = settings["epochs"], settings["max_steps"]
        if steps is None and epochs is None:
            steps = STEPS_WHEN_CLEAN if settings["novelty"] else STEPS if members == 1 else STEPS_OF_EACH
        return cls(
            noise_scales=(),
            scheme=checked_scheme(settings["scheme"]),
            anchors=whole_number("anchors", settings["anchors"], at_most=MOST_TOGETHER),
            resamples=whole_number("resamples", settings["resamples"]),
            epochs=None if epochs is None else whole_number("epochs", epochs),
            max_steps=None if steps is None else whole_number("max_steps", steps),
            batch_size=_batch_size(settings, members, width),
            learning_rate=positive("learning_rate", settings["learning_rate"]),
            weight_decay=positive("weight_decay", settings["weight_decay"], or_zero=True),
            progress=settings["progress"],
            literal=_checked_literal(settings["literal"], epochs),
        )

    def gentle(self, noise_scales: tuple[float, ...], share: float) -> "Plan":
        """Return the plan of further training on new rows, this share of all: few small steps, so as not to forget."""
        steps = max(FEWEST_STEPS, round(share * (self.max_steps or STEPS)))
        rate = min(self.learning_rate, GENTLE_RATE)
        return replace(self, noise_scales=noise_scales, epochs=None, literal=False, max_steps=steps, learning_rate=rate)


def _batch_size(settings: Mapping[str, Any], members: int, width: int) -> int:
    """Return the number of rows in a step: the user's, or one that was measured to be enough."""
    if settings["batch_size"] is not None:
        return whole_number("batch_size", settings["batch_size"], at_least=2, at_most=MOST_TOGETHER)
    if any(settings[name] is not None for name in ("epochs", "given", "encoder")):
        return BATCH
    return SMALL_BATCH if members > 1 or settings["novelty"] or width >= MANY_COLUMNS else BATCH


def _checked_literal(literal: object, epochs: object) -> bool:
    if literal and epochs is None:
        raise InputError("literal=True is about the paper's Algorithm 1: give its number of epochs, for example 30.")
    return bool(literal)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Hold a network to train, the rows to train it on, the plan to follow and the random generators."""

    network: Network
    rows: Rows
    comparison: Comparison
    plan: Plan
    rng: np.random.Generator  # draws rows
    seed: int  # of the noise, and of the random numbers of a user's encoder, such as dropout
    device: str

    @property
    def scheme(self) -> Scheme:
        return SCHEMES[self.plan.scheme]

    @cached_property
    def noise(self) -> np.random.Generator:
        """Return the generator that draws noise; it is the same one each time."""
        return np.random.default_rng(self.seed)
