"""Define PaperFUSE: FUSE with the paper's parameters."""

from collections.abc import Callable
from inspect import Signature, signature
from typing import Any, TypeVar

from centrality.fuse.estimator import FUSE

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
