"""Define PaperFUSE: FUSE with the paper's parameters, trained by Algorithm 1 if asked to."""

from collections.abc import Callable
from dataclasses import replace
from inspect import Signature, signature
from typing import Any, TypeVar

import numpy as np

from centrality._internal.checks import InputError, whole_number
from centrality._internal.input import CheckedRows, Dissimilarity
from centrality.fuse.comparisons import Comparison
from centrality.fuse.config import BATCH, STEPS, FitConfig, layout_of
from centrality.fuse.data import TrainingData
from centrality.fuse.estimator import FUSE
from centrality.fuse.paper import Algorithm1
from centrality.fuse.train import append_line, empty_history, make_trainer, require_finite_losses
from centrality.model.fitted import FittedModel, History
from centrality.network.network import Network

HIDDEN_BY_EXPERIMENT = {"synthetic": (32, 32), "real": (64, 64), "outlier": (128, 128)}

Init = TypeVar("Init", bound=Callable[..., None])


def _takes_settings_of_fuse(init: Init) -> Init:
    """Replace **settings by FUSE's parameters in the signature, which scikit-learn and `help` read."""
    *own, _ = signature(init).parameters.values()
    _, *inherited = signature(FUSE.__init__).parameters.values()
    init.__signature__ = Signature([own[0], *inherited, *own[1:]])  # type: ignore[attr-defined]
    return init


class PaperFUSE(FUSE):
    """FUSE with the words of the paper: what its experiments set, and FUSE decides by itself.

    `FUSE.as_in_paper(experiment)` makes one with the paper's settings. Left alone, each word means what FUSE does, so
    that one of them can be changed at a time.

    Parameters
    ----------
    epochs : int or None, default=None
        Follow the paper's Algorithm 1 for so many epochs; `max_steps` is then an upper limit. None trains for
        `max_steps`, taking both losses in every step.
    scheme : {1, 2, 3, 4}, default=1
        Which rows are compared, and with respect to which anchors, as in the paper's Supplement.
    anchors : int, default=256
        How many anchors judge a pair, in schemes 1 and 2; a batch shares them, unless `epochs` is given.
    resamples : int, default=8
        Noise passes over the rows in each of the `epochs`.
    shared_encoder : bool or "auto", default="auto"
        One encoder for both heads as in the paper, or one for each; "auto" gives each head its own where several
        networks are trained, since there the two would take what rows teach from each other.
    batch_size : int or None, default=None
        Rows a step for the local head, half as many for the global one; with `epochs`, rows and pairs. None means 128,
        and 64 where one network learns rows that may hold outliers.
    learning_rate : float, default=0.004
        Adam's. Under a budget of steps it falls to zero over the second half.
    weight_decay : float, default=0.0
        Adam's.
    calibration : {"soft", "clip"}, default="soft"
        "soft" is strictly increasing, so that no two outliers tie, and mixes the heads on scales without ends; "clip"
        is the paper's, and mixes them linearly: (1 - t) * global + t * local.
    literal : bool, default=False
        With `epochs`: the local loss is the sum over columns, as printed, not their mean, and an anchor as far from
        both rows of a pair counts against the first one; otherwise it does not vote.
    **settings : object
        Those of `FUSE`.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import FUSE
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = FUSE.as_in_paper("synthetic", epochs=2, random_state=0).fit(X)
    >>> model.epochs, model.calibration
    (2, 'clip')
    """

    @_takes_settings_of_fuse
    def __init__(
        self,
        *,
        epochs: int | None = None,
        scheme: int = 1,
        anchors: int = 256,
        resamples: int = 8,
        shared_encoder: bool | str = "auto",
        batch_size: int | None = None,
        learning_rate: float = 4e-3,
        weight_decay: float = 0.0,
        calibration: str = "soft",
        literal: bool = False,
        **settings: Any,
    ) -> None:
        super().__init__(**settings)
        self.epochs = epochs
        self.scheme = scheme
        self.anchors = anchors
        self.resamples = resamples
        self.shared_encoder = shared_encoder
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.calibration = calibration
        self.literal = literal

    def _config(
        self, X: CheckedRows, dissimilarity: Dissimilarity, seed: int, before: FittedModel | None = None
    ) -> FitConfig:
        """Decide as FUSE does, but for Algorithm 1: it learns from all rows, and from nothing but rows."""
        config = super()._config(X, dissimilarity, seed, before)
        whole_number("resamples", self.resamples)
        if self.epochs is None:
            if self.literal:
                raise InputError(
                    "literal=True is about the paper's Algorithm 1: give its number of epochs, for example 30."
                )
            return config
        whole_number("epochs", self.epochs)
        if self.given is not None:
            raise InputError(f"given={self.given!r} does not go with epochs, which follow the paper: leave them out.")
        members = 1 if self.ensemble == "auto" and before is None else config.layout.members
        return replace(
            config,
            layout=layout_of(self._parameters(), X.shape[1], members=members),
            batch_size=self.batch_size or BATCH,
            steps=self.max_steps or STEPS,  # of partial_fit
            holds_out=False,
            synthetic_rows=False,
            background=False,
            max_values=1 << 62,
            max_rows=None,
            center_logit=False,
        )

    def _train(
        self,
        network: Network,
        data: TrainingData,
        comparison: Comparison,
        config: FitConfig,
        rng: np.random.Generator,
    ) -> tuple[Network, History]:
        """Train by Algorithm 1, if `epochs` says for how long; the history has a line for each epoch."""
        if self.epochs is None:
            return super()._train(network, data, comparison, config, rng)
        algorithm = Algorithm1(
            scheme=config.scheme,
            T=self.epochs,
            R=self.resamples,
            m=config.anchors,
            b=config.batch_size,
            eta=config.noise_scales,
            rate=config.learning_rate,
            budget=self.max_steps,
            literal=self.literal,
        )
        trainer = make_trainer(
            network,
            data,
            comparison,
            balance=1.0,
            weight_decay=config.weight_decay,
            device=config.device,
            seed=config.noise_seed,
        )
        history = empty_history()
        noise = np.random.default_rng(config.noise_seed)
        with trainer.running(algorithm.updates(len(data)), progress=config.progress):
            for step, *losses in algorithm.train(trainer, len(data), comparison, rng, noise):
                append_line(history, step, *(float("nan") if loss is None else loss for loss in losses))
                require_finite_losses(np.array([[loss or 0.0 for loss in losses]]), step, config)
        return trainer.network(), history

    def _untrained_local_loss(self, config: FitConfig) -> float:
        """Return the loss of a local head that has learned nothing; the paper's is not weighed by the noise."""
        if self.epochs is None:
            return super()._untrained_local_loss(config)
        columns = config.layout.width if self.literal else 1
        return 0.5 * float(np.mean([columns * eta**-2 for eta in config.noise_scales]))


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
