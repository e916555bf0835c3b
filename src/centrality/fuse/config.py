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

STEPS = 500  # of one network, where rows may hold outliers
STEPS_WHEN_CLEAN = 1000  # clean rows want longer training
STEPS_OF_EACH = 200  # for each network of an ensemble, which has half of the rows to learn
BATCH = 128  # rows a step, with a context or a user's encoder
SMALL_BATCH = 64  # rows a step otherwise: measured to be as good, for half of the arithmetic
LARGEST_BATCH = 1 << 16  # rows of a batch, and anchors, that a user may ask for: more would only fill memory
FEWEST_STEPS = 20  # of a `partial_fit`
HIGHEST_RATE = 1e-3  # the highest learning rate of a `partial_fit`
MEMBERS = 4  # networks where rows are few: measured, six detect no better
MEMBERS_GIVEN = len(LEFT_OUT)  # given a context, where four were not measured
FEW_ROWS = 3000  # rows are few where there are fewer than this,
FEW_PER_COLUMN = 30  # or fewer than this for each column
VALUES_IN_MEMORY = 5 << 20  # values that training holds at once: 20 MiB in float32
SCALED_METRICS = ("euclidean", "manhattan")  # that compare scaled rows; the others compare rows as given

# Parameters that PaperFUSE has, and that FUSE keeps at these defaults.
EXPERT_DEFAULTS: Mapping[str, Any] = {
    "scheme": 1,
    "anchors": 256,
    "shared_encoder": "auto",
    "batch_size": None,
    "learning_rate": 4e-3,
    "weight_decay": 0.0,
    "calibration": "soft",
}

FeatureMap = tuple[Sequence[str], NDArray[np.intp]]  # names of the features; for each column, which feature it is of


@dataclass(frozen=True, kw_only=True)
class FitConfig:
    """Every decision of one fit; `PaperFUSE` changes some of them to those of the paper's Algorithm 1."""

    t: float
    seed: int  # of all draws; weights begin from seed + 1
    noise_seed: int
    device: str
    progress: bool
    clean: bool  # no training row is an outlier

    # Rows.
    names: tuple[str, ...] | None  # of the columns
    feature_map: FeatureMap | None  # None: each column is one of the user's own features
    metric: str | Callable[..., Any]
    scaling: str
    context_columns: NDArray[np.int64] | None  # (q,) None: there is no context
    context_features: NDArray[np.int64] | None  # (q,) the feature that each of these belongs to
    holds_out: bool  # each member learns without some rows, on which it is calibrated
    members_differ: bool  # several members each learn without other rows, not all without the same
    max_values: int  # in memory while training
    max_rows: int | None  # in memory while training: the steps cannot look at more; None: no limit
    synthetic_rows: bool  # the global head compares synthetic rows too

    # Networks.
    layout: Layout
    background: bool  # the local head starts from a background
    noise_scale: str | tuple[float, ...]  # the user's parameter
    noise_scales: tuple[float, ...] = ()  # its values, known once the rows are scaled

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
    for_new_rows: bool  # this share of new rows is to be called outliers, not this share of the training rows
    center_logit: bool  # the logit g is set to 0 at the median row: comparisons learn g up to a constant

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
        """Check all parameters, and decide for the rows X; networks that exist already are `members` in number."""
        n, p = X.shape
        has_context = parameters["given"] is not None
        clean = bool(parameters["novelty"])
        metric = check_metric(parameters["metric"])
        context_columns = None
        context_features = None
        if has_context:
            check_goes_with_context(parameters, X, dissimilarity)
            features = names if feature_map is None else feature_map[0]
            feature_of_column = np.arange(p) if feature_map is None else feature_map[1]
            context_columns, context_features = find_context(parameters["given"], features, feature_of_column)
        # Where rows are few, a network overfits them. So several are trained, each on another half of the rows: every
        # row is then new to some of them. But there is one only for a user's encoder, whose copies cannot be trained
        # together, and for clean rows, which are trained on for longer.
        if members is None and parameters["ensemble"] != "auto":
            members = whole_number("ensemble", parameters["ensemble"])
        elif members is None:
            is_one_enough = clean or parameters["encoder"] is not None or n >= max(FEW_PER_COLUMN * p, FEW_ROWS)
            several = MEMBERS_GIVEN if has_context else MEMBERS
            members = 1 if is_one_enough else several
        if parameters["batch_size"] is not None:
            batch_size = whole_number("batch_size", parameters["batch_size"], at_least=2, at_most=LARGEST_BATCH)
        else:
            batch_size = BATCH if has_context or parameters["encoder"] is not None else SMALL_BATCH
        if parameters["max_steps"] is not None:
            steps = whole_number("max_steps", parameters["max_steps"])
        elif clean:
            steps = STEPS_WHEN_CLEAN
        else:
            steps = STEPS if members == 1 else STEPS_OF_EACH
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
            members_differ=not clean and rows_in_memory(n, p, VALUES_IN_MEMORY) == n,
            max_values=VALUES_IN_MEMORY,
            max_rows=2 * batch_size * steps if members == 1 else None,
            # Synthetic rows are scaled, so only a metric of scaled rows can compare them. With `novelty` the background
            # tells what lies off the data, and synthetic rows cost .03 of average precision (measured).
            synthetic_rows=not clean and dissimilarity is None and metric in SCALED_METRICS,
            layout=layout,
            background=layout.standard and not has_context,  # a background would find some contexts odd by themselves
            noise_scale=check_noise_scale(parameters["noise_scale"]),
            steps=steps,
            batch_size=batch_size,
            scheme=check_scheme(parameters["scheme"]),
            anchors=whole_number("anchors", parameters["anchors"], at_most=LARGEST_BATCH),
            learning_rate=positive("learning_rate", parameters["learning_rate"]),
            weight_decay=positive("weight_decay", parameters["weight_decay"], or_zero=True),
            calibration=checked_calibration(parameters["calibration"]),
            share_of_outliers=share_of_outliers(parameters["contamination"], clean=clean),
            for_new_rows=parameters["contamination"] == "auto",
            center_logit=True,
        )

    def with_noise_scales(self, noise_scales: tuple[float, ...]) -> "FitConfig":
        """Return the decisions with these noise scales; a network has a potential for each."""
        return replace(self, noise_scales=noise_scales, layout=replace(self.layout, potentials=len(noise_scales)))

    def for_update(self, fitted: "FittedModel", share: float) -> "FitConfig":
        """Return the decisions of a `partial_fit` whose rows are this share of all; few small steps forget less."""
        config = replace(
            self,
            noise_seed=self.seed,
            context_columns=None if fitted.context is None else fitted.context.given,
            members_differ=fitted.members_differ,
            max_values=VALUES_IN_MEMORY,
            max_rows=None,
            steps=max(FEWEST_STEPS, round(share * self.steps)),
            learning_rate=min(self.learning_rate, HIGHEST_RATE),
        )
        return config.with_noise_scales(fitted.noise_scale)


def layout_of(parameters: Mapping[str, Any], width: int, *, members: int, potentials: int = 1) -> Layout:
    """Return the layout of the networks that these parameters ask for."""
    shared = parameters["shared_encoder"]
    return Layout(
        width=width,
        hidden=widths(parameters["hidden"]),
        encoder=parameters["encoder"],
        shared=members == 1 if shared == "auto" else bool(shared),
        potentials=potentials,
        members=members,
    )


def check_goes_with_context(parameters: Mapping[str, Any], X: CheckedRows, dissimilarity: Dissimilarity) -> None:
    """Raise if the metric, the dissimilarity or the type of the rows cannot be used with `given`."""
    obstacle = None
    if parameters["metric"] not in SCALED_METRICS:
        obstacle = f"metric={parameters['metric']!r}: take euclidean or manhattan"
    elif dissimilarity is not None:
        obstacle = "a dissimilarity, which does not know the context"
    elif sparse.issparse(X):
        obstacle = "sparse rows: give a dense array"
    if obstacle is not None:
        raise InputError(f"given={parameters['given']!r} does not go with {obstacle}.")


def find_context(
    given: object, names: Sequence[str] | None, feature_of_column: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the context columns, and the feature of each.

    `given` holds names or positions of features; `names` are those of all features, None if they have none.
    """
    count = int(feature_of_column.max()) + 1
    features = set()
    for name in given if isinstance(given, Iterable) and not isinstance(given, str) else [given]:
        if isinstance(name, str):
            if names is None:
                raise InputError(
                    f"given names the column {name!r}, but the rows came without names: give its position."
                )
            require(list(names), [name])
            features.add(list(names).index(name))
        elif isinstance(name, bool) or not isinstance(name, Integral) or not -count <= int(name) < count:
            raise InputError(f"given must hold names, or positions from 0 to {count - 1}, got {name!r}.")
        else:
            features.add(int(name) % count)
    if not 0 < len(features) < count:
        raise InputError(
            f"given must name at least one column and leave one to be judged, got {given!r} of {count} columns."
        )
    columns = np.flatnonzero(np.isin(feature_of_column, sorted(features)))
    return columns.astype(np.int64), feature_of_column[columns].astype(np.int64)
