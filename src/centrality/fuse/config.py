"""Every decision of one fit: parameters, their defaults, what they come to for these rows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._internal.checks import InputError, optional, positive, whole_number, widths
from centrality._internal.input import CheckedRows, share_of_outliers
from centrality.fuse.background import background_of
from centrality.fuse.comparisons import Comparison
from centrality.fuse.data import TrainingData, rows_in_memory
from centrality.fuse.schemes import SCHEMES, Scheme, checked_scheme
from centrality.network.folds import LEFT_OUT, Folds, Units, split
from centrality.network.network import Layout, Network, build
from centrality.tables.columns import require

STEPS, STEPS_WHEN_CLEAN = 500, 1000  # clean data wants longer training, contaminated data shorter
STEPS_OF_EACH = 200  # for each network of an ensemble, which has half of the rows to learn
SMALL_BATCH, BATCH = 64, 128  # rows a step: the first is as good, for half of the arithmetic, where it was measured
MOST_TOGETHER = 1 << 16  # rows of a batch, and anchors: more would only fill memory
FEWEST_STEPS, GENTLE_RATE = 20, 1e-3  # for further training
# What FUSE does; `PaperFUSE` can be told otherwise. The same defaults stand in its signature, and a test compares them.
FUSE_DEFAULTS: dict[str, Any] = {
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

    def rows_needed(self) -> int | None:
        """Return how many rows the budget of steps can use; more need not be held. None: there is no limit."""
        return None if self.epochs is not None or self.max_steps is None else 2 * self.batch_size * self.max_steps

    @classmethod
    def of(cls, settings: Mapping[str, Any], members: int) -> "Plan":
        """Return the plan of these settings; noise scales and folds are filled in later."""
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
            batch_size=_batch_size(settings),
            learning_rate=positive("learning_rate", settings["learning_rate"]),
            weight_decay=positive("weight_decay", settings["weight_decay"], or_zero=True),
            progress=settings["progress"],
            literal=_checked_literal(settings["literal"], epochs),
        )

    def for_update(self, noise_scales: tuple[float, ...], share: float) -> "Plan":
        """Return the plan of further training on new rows, this share of all: few small steps, so as not to forget."""
        steps = max(FEWEST_STEPS, round(share * (self.max_steps or STEPS)))
        rate = min(self.learning_rate, GENTLE_RATE)
        return replace(self, noise_scales=noise_scales, epochs=None, literal=False, max_steps=steps, learning_rate=rate)


def _batch_size(settings: Mapping[str, Any]) -> int:
    """Return the number of rows in a step: the user's, or one that was measured to be enough."""
    if settings["batch_size"] is not None:
        return whole_number("batch_size", settings["batch_size"], at_least=2, at_most=MOST_TOGETHER)
    return BATCH if any(settings[name] is not None for name in ("epochs", "given", "encoder")) else SMALL_BATCH


def _checked_literal(literal: object, epochs: object) -> bool:
    if literal and epochs is None:
        raise InputError("literal=True is about the paper's Algorithm 1: give its number of epochs, for example 30.")
    return bool(literal)


@dataclass(frozen=True, kw_only=True)
class Task:
    """Hold a network to train, the rows to train it on, the plan to follow and the random generators."""

    network: Network
    rows: TrainingData
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


MEMBERS = 4  # networks where rows are few: measured, six detect no better
MEMBERS_GIVEN = len(LEFT_OUT)  # given a context, where four were not measured
ROWS_PER_COLUMN, FEW_ROWS = 30, 3000  # with fewer rows than either, rows are few
HELD_VALUES = 5 << 20  # values that training holds at once: 20 MiB in float32


class Settings(dict[str, Any]):
    """Hold a model's parameters by name; the paper's parameters that it lacks have FUSE's values."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__(FUSE_DEFAULTS | parameters)

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

    def split(self, X: CheckedRows, rng: np.random.Generator) -> Folds | None:
        """Choose the rows that each network leaves out: different ones, unless they share a background or sample."""
        members = self.members(*X.shape)
        if self.by_paper:
            return None  # the paper's schedule learns from all rows
        n, width = X.shape
        alike = self["novelty"] or rows_in_memory(n, width, self.max_values) < n
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

    def initialize(
        self, rows: TrainingData, plan: Plan, members: int, rng: np.random.Generator, start: np.random.Generator
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


METRICS = ("euclidean", "manhattan")  # that compare rows relative to their kinds


def require_possible(settings: Mapping[str, object], dissimilarity: object, X: object) -> None:
    """Raise if a setting of FUSE, or the kind of rows, does not go with `given`."""
    for wrong, what in (
        (settings["epochs"] is not None, "epochs, which follow the paper: leave them out"),
        (settings["metric"] not in METRICS, f"metric={settings['metric']!r}: take euclidean or manhattan"),
        (dissimilarity is not None, "a dissimilarity, which does not know the context"),
        (sparse.issparse(X), "sparse rows: give a dense array"),
    ):
        if wrong:
            raise InputError(f"given={settings['given']!r} does not go with {what}.")


def places_of(
    given: object, names: Sequence[str] | None, owner: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the context columns, and the feature of each, from the names or positions in `given`.

    `owner` says which feature each column belongs to.
    """
    count = int(owner.max()) + 1
    chosen = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    features = sorted({_place(each, names, count) for each in chosen})
    if not 0 < len(features) < count:
        raise InputError(
            f"given must name at least one column and leave one to be judged, got {given!r} of {count} columns."
        )
    places = np.flatnonzero(np.isin(owner, features))
    return places.astype(np.int64), owner[places].astype(np.int64)


def _place(each: object, names: Sequence[str] | None, count: int) -> int:
    if isinstance(each, str):
        if names is None:
            raise InputError(f"given names the column {each!r}, but the rows came without names: give its position.")
        require(list(names), [each])
        return list(names).index(each)
    if isinstance(each, bool) or not isinstance(each, Integral) or not -count <= int(each) < count:
        raise InputError(f"given must hold names, or positions from 0 to {count - 1}, got {each!r}.")
    return int(each) % count
