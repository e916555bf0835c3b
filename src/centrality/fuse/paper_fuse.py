"""Define PaperFUSE: FUSE with the paper's parameters, trained by Algorithm 1 if asked to."""

from collections.abc import Callable
from dataclasses import replace
from inspect import Signature, signature
from typing import Any, TypeVar

import numpy as np

from centrality._internal.checks import InputError, whole_number
from centrality._internal.input import CheckedRows, Dissimilarity
from centrality.fuse.comparisons import Comparison
from centrality.fuse.config import BATCH, EXPERT_DEFAULTS, STEPS, FitConfig, layout_of
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
    itself, *of_paper, _ = signature(init).parameters.values()
    _, *of_fuse = signature(FUSE.__init__).parameters.values()
    init.__signature__ = Signature([itself, *of_fuse, *of_paper])  # type: ignore[attr-defined]
    return init


class PaperFUSE(FUSE):
    """FUSE with more parameters: what the paper's experiments set, and what FUSE decides by itself.

    `FUSE.as_in_paper(experiment)` makes one with the paper's settings. By default each parameter is as in FUSE, so that
    one of them can be changed at a time.

    Parameters
    ----------
    epochs : int or None, default=None
        Follow the paper's Algorithm 1 for so many epochs; `max_steps` is then an upper limit. None trains for
        `max_steps`, taking both losses in every step.
    scheme : {1, 2, 3, 4}, default=1
        Which rows are compared, and with respect to which anchors, as in the paper's Supplement.
    anchors : int, default=256
        How many anchors compare a pair, in schemes 1 and 2. Without `epochs`, the pairs of a batch share them.
    resamples : int, default=8
        How often each of the `epochs` goes through the rows with new noise.
    shared_encoder : bool or "auto", default="auto"
        One encoder for both heads as in the paper, or one for each; "auto" gives each head its own where several
        networks are trained: rows are few there, and heads that share an encoder learn less from them.
    batch_size : int or None, default=None
        How many rows get noise in a step; half as many are compared. With `epochs`, the rows or the pairs of an update.
        None means 128 with `epochs`, `given` or an encoder, and 64 elsewhere.
    learning_rate : float, default=0.004
        Adam's. Without `epochs` it falls to zero over the second half of the steps.
    weight_decay : float, default=0.0
        Adam's.
    calibration : {"soft", "clip"}, default="soft"
        "soft" mixes unbounded head scores and squeezes the mixture into [0, 1], so that no two outliers tie; "clip" is
        the paper's, and mixes heads in [0, 1]: (1 - t) * global + t * local.
    literal : bool, default=False
        With `epochs`, follow the paper to the letter: the local loss is the sum over the columns, not the mean, and an
        anchor as far from both rows of a pair counts against the first one, in place of not counting.
    **settings : object
        The parameters of `FUSE`.

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
        scheme: int = EXPERT_DEFAULTS["scheme"],
        anchors: int = EXPERT_DEFAULTS["anchors"],
        resamples: int = 8,
        shared_encoder: bool | str = EXPERT_DEFAULTS["shared_encoder"],
        batch_size: int | None = EXPERT_DEFAULTS["batch_size"],
        learning_rate: float = EXPERT_DEFAULTS["learning_rate"],
        weight_decay: float = EXPERT_DEFAULTS["weight_decay"],
        calibration: str = EXPERT_DEFAULTS["calibration"],
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
        """Decide as FUSE does; but Algorithm 1 holds no rows out, has no synthetic rows and no background."""
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
            steps=self.max_steps or STEPS,  # what `partial_fit` takes a share of
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
        """Train by Algorithm 1, with a line of the history for each epoch; without `epochs`, as FUSE does."""
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
            for step, of_global, of_local in algorithm.train(trainer, len(data), comparison, rng, noise):
                append_line(
                    history,
                    step,
                    float("nan") if of_global is None else of_global,
                    float("nan") if of_local is None else of_local,
                )
                require_finite_losses(np.array([[of_global or 0.0, of_local or 0.0]]), step, config)
        return trainer.network(), history

    def _untrained_local_loss(self, config: FitConfig) -> float:
        """Return the loss of a local head that has learned nothing; the paper's loss has no weight η²."""
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
