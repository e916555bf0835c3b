"""Every decision of one fit: parameters, checked, and what "auto" comes to for these rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._internal.checks import InputError, positive, whole_number, widths
from centrality._internal.devices import find_device
from centrality._internal.input import CheckedRows, Dissimilarity, share_of_outliers
from centrality.fuse.comparisons import check_metric
from centrality.fuse.data import rows_in_memory
from centrality.fuse.initialize import check_noise_scale
from centrality.fuse.paper import Scheme, check_scheme
from centrality.network.calibration import checked_calibration, one_t
from centrality.network.folds import LEFT_OUT
from centrality.network.network import Layout
from centrality.network.scaling import check_scaling
from centrality.tables.columns import require

if TYPE_CHECKING:
    from centrality.model.fitted import FittedModel

STEPS, STEPS_WHEN_CLEAN = 500, 1000  # clean data wants longer training, contaminated data shorter
STEPS_OF_EACH = 200  # for each network of an ensemble, which has half of the rows to learn
SMALL_BATCH, BATCH = 64, 128  # rows a step: the first is as good, for half of the arithmetic, where it was measured
MOST_TOGETHER = 1 << 16  # rows of a batch, and anchors: more would only fill memory
FEWEST_STEPS, GENTLE_RATE = 20, 1e-3  # for further training
MEMBERS = 4  # networks where rows are few: measured, six detect no better
MEMBERS_GIVEN = len(LEFT_OUT)  # given a context, where four were not measured
ROWS_PER_COLUMN, FEW_ROWS = 30, 3000  # with fewer rows than either, rows are few
VALUES_IN_MEMORY = 5 << 20  # values that training holds at once: 20 MiB in float32
METRICS_GIVEN = ("euclidean", "manhattan")  # that compare rows relative to their context

FeatureMap = tuple[Sequence[str], NDArray[np.intp]]  # names of features, and of each column the feature it belongs to


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """Every decision of one fit. `PaperFUSE` makes those of the paper's Algorithm 1 from it."""

    t: float
    seed: int  # of all draws; weights begin from seed + 1
    noise_seed: int
    device: str
    progress: bool
    clean: bool  # no training row is an outlier

    # Rows.
    names: tuple[str, ...] | None  # of the columns
    feature_map: FeatureMap | None  # where the columns are not the user's own
    metric: str | Callable[..., Any]
    scaling: str
    context_columns: NDArray[np.int64] | None  # (q,) None: there is no context
    context_features: NDArray[np.int64] | None  # (q,) the feature that each of these belongs to
    holds_out: bool  # each member learns without some rows, on which it is calibrated
    same_for_all: bool  # all members learn without the same rows
    max_values: int  # in memory while training
    max_rows: int | None  # more are of no use: the steps cannot look at them
    synthetic_rows: bool  # are compared too

    # Networks.
    layout: Layout
    background: bool  # potentials start from one
    noise_scale: str | tuple[float, ...]  # as the user wants it
    noise_scales: tuple[float, ...] = ()  # what that comes to, once the rows are scaled

    # Training.
    steps: int
    batch_size: int
    scheme: Scheme
    anchors: int
    learning_rate: float
    weight_decay: float

    # Calibration.
    calibration: str
    share_of_outliers: float
    for_new_rows: bool  # the share is one of new rows, not of the training rows
    center_logit: bool  # comparisons leave the level of g open: it is set to 0 at the median row

    @classmethod
    def for_rows(
        cls,
        parameters: Mapping[str, Any],
        X: CheckedRows,
        dissimilarity: Dissimilarity,
        *,
        seed: int,
        names: Sequence[str] | None,
        feature_map: FeatureMap | None,
        members: int | None = None,
    ) -> "FitConfig":
        """Check all parameters, and decide for the rows X; `members` is set where there are networks already."""
        n, p = X.shape
        given = parameters["given"] is not None
        clean = bool(parameters["novelty"])
        metric = check_metric(parameters["metric"])
        context_columns, context_features = None, None
        if given:
            _check_given(parameters, dissimilarity, X)
            columns = names if feature_map is None else feature_map[0]
            owner = np.arange(p) if feature_map is None else feature_map[1]
            context_columns, context_features = find_context(parameters["given"], columns, owner)
        members = count_members(parameters, n, p) if members is None else members
        batch_size = _batch_size(parameters)
        steps = STEPS_WHEN_CLEAN if clean else STEPS if members == 1 else STEPS_OF_EACH
        if parameters["max_steps"] is not None:
            steps = whole_number("max_steps", parameters["max_steps"])
        layout = layout_of(parameters, p, members=members)
        return cls(
            t=one_t(parameters["t"]),
            seed=seed,
            noise_seed=seed + 2,
            device=find_device(parameters["device"]),
            progress=parameters["progress"],
            clean=clean,
            names=None if names is None else tuple(map(str, names)),
            feature_map=feature_map,
            metric=metric,
            scaling=check_scaling(parameters["scaling"]),
            context_columns=context_columns,
            context_features=context_features,
            holds_out=True,
            same_for_all=clean or rows_in_memory(n, p, VALUES_IN_MEMORY) < n,
            max_values=VALUES_IN_MEMORY,
            max_rows=2 * batch_size * steps if members == 1 else None,
            # With `novelty` the background says what lies off the data. Measured: synthetic rows cost .03 of average
            # precision there. They are scaled rows, so that nothing but a metric of scaled rows can compare them.
            synthetic_rows=not clean and dissimilarity is None and metric in METRICS_GIVEN,
            layout=layout,
            background=layout.standard and not given,  # which would find contexts odd by themselves
            noise_scale=check_noise_scale(parameters["noise_scale"]),
            steps=steps,
            batch_size=batch_size,
            scheme=check_scheme(parameters["scheme"]),
            anchors=whole_number("anchors", parameters["anchors"], at_most=MOST_TOGETHER),
            learning_rate=positive("learning_rate", parameters["learning_rate"]),
            weight_decay=positive("weight_decay", parameters["weight_decay"], or_zero=True),
            calibration=checked_calibration(parameters["calibration"]),
            share_of_outliers=share_of_outliers(parameters["contamination"], clean=clean),
            for_new_rows=parameters["contamination"] == "auto",
            center_logit=True,
        )

    def with_noise_scales(self, noise_scales: tuple[float, ...]) -> "FitConfig":
        """Return the decisions with these noise scales, for each of which a network has a potential."""
        return replace(self, noise_scales=noise_scales, layout=replace(self.layout, potentials=len(noise_scales)))

    def for_update(self, fitted: "FittedModel", share: float) -> "FitConfig":
        """Return the decisions of further training on new rows, this share of all: few small steps forget less."""
        steps = max(FEWEST_STEPS, round(share * self.steps))
        rate = min(self.learning_rate, GENTLE_RATE)
        config = replace(self, steps=steps, learning_rate=rate, max_values=VALUES_IN_MEMORY, max_rows=None)
        context_columns = None if fitted.context is None else fitted.context.given
        same_for_all = not fitted.independent_halves
        config = replace(config, context_columns=context_columns, same_for_all=same_for_all, noise_seed=self.seed)
        return config.with_noise_scales(fitted.noise_scale)


def layout_of(parameters: Mapping[str, Any], width: int, *, members: int, potentials: int = 1) -> Layout:
    """Return the shape of the networks that these parameters ask for."""
    shared = parameters["shared_encoder"]
    return Layout(
        width=width,
        hidden=widths(parameters["hidden"]),
        encoder=parameters["encoder"],
        shared=members == 1 if shared == "auto" else bool(shared),
        potentials=potentials,
        members=members,
    )


def count_members(parameters: Mapping[str, Any], n: int, p: int) -> int:
    """Return how many networks are trained on n rows of p columns.

    Where rows are few, a network overfits them: several, each trained on another half, can score every row unseen.
    Only one is trained with a user's encoder, whose copies cannot be trained together, or on clean rows, which take
    long.
    """
    if parameters["ensemble"] != "auto":
        return whole_number("ensemble", parameters["ensemble"])
    if parameters["novelty"] or parameters["encoder"] is not None or n >= max(ROWS_PER_COLUMN * p, FEW_ROWS):
        return 1
    return MEMBERS if parameters["given"] is None else MEMBERS_GIVEN


def _batch_size(parameters: Mapping[str, Any]) -> int:
    """Return the number of rows in a step: the user's, or one that was measured to be enough."""
    if parameters["batch_size"] is not None:
        return whole_number("batch_size", parameters["batch_size"], at_least=2, at_most=MOST_TOGETHER)
    return BATCH if parameters["given"] is not None or parameters["encoder"] is not None else SMALL_BATCH


def _check_given(parameters: Mapping[str, Any], dissimilarity: Dissimilarity, X: CheckedRows) -> None:
    """Raise if a parameter of FUSE, or the kind of rows, does not go with `given`."""
    for wrong, what in (
        (parameters["metric"] not in METRICS_GIVEN, f"metric={parameters['metric']!r}: take euclidean or manhattan"),
        (dissimilarity is not None, "a dissimilarity, which does not know the context"),
        (sparse.issparse(X), "sparse rows: give a dense array"),
    ):
        if wrong:
            raise InputError(f"given={parameters['given']!r} does not go with {what}.")


def find_context(
    given: object, names: Sequence[str] | None, owner: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of the context columns, and the feature of each, from the names or positions in `given`.

    `owner` says which feature each column belongs to.
    """
    count = int(owner.max()) + 1
    chosen = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    features = sorted({_feature(name, names, count) for name in chosen})
    if not 0 < len(features) < count:
        raise InputError(
            f"given must name at least one column and leave one to be judged, got {given!r} of {count} columns."
        )
    columns = np.flatnonzero(np.isin(owner, features))
    return columns.astype(np.int64), owner[columns].astype(np.int64)


def _feature(name: object, names: Sequence[str] | None, count: int) -> int:
    """Return the number of the feature that a name or a position means."""
    if isinstance(name, str):
        if names is None:
            raise InputError(f"given names the column {name!r}, but the rows came without names: give its position.")
        require(list(names), [name])
        return list(names).index(name)
    if isinstance(name, bool) or not isinstance(name, Integral) or not -count <= int(name) < count:
        raise InputError(f"given must hold names, or positions from 0 to {count - 1}, got {name!r}.")
    return int(name) % count
