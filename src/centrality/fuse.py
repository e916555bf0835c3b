"""FUSE: the estimator people import."""

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import nn

from centrality import model_file
from centrality._checks import InputError, positive, whole, widths
from centrality._estimator import (
    CentralityEstimator,
    rows_to_fit,
    rows_to_score,
    share_of_outliers,
    unchanged_on_failure,
)
from centrality.model import saving
from centrality.model.explanations import Explained, centre_of
from centrality.model.replay import Memory
from centrality.model.scored import Scored
from centrality.network.devices import find_device
from centrality.network.network import Network, build
from centrality.network.prior import Prior
from centrality.network.scaling import Scaling
from centrality.network.scorer import Scorer
from centrality.scores.calibration import Calibration, blend, checked_calibration, checked_t
from centrality.scores.conformal import Conformal, kept, set_aside
from centrality.scores.drift import TrainingScores
from centrality.scores.report import Report, examine
from centrality.training.checkpoint import Checkpoint
from centrality.training.comparisons import compare
from centrality.training.noise import noise_scales
from centrality.training.rows import Rows
from centrality.training.schedules import History, Plan, Training
from centrality.training.schemes import SCHEMES

STEPS, STEPS_WHEN_CLEAN = 500, 4000  # clean data wants longer training, contaminated data shorter
CALIBRATION_ROWS = 20_000  # rows that fix the quantiles: their rank error is then below 0.001 at 1% and 99%
PAPER_HIDDEN = {"synthetic": (32, 32), "real": (64, 64), "outlier": (128, 128)}
FEWEST_STEPS, GENTLE_RATE = 20, 1e-3  # of partial_fit, which must not shake what is known
HELD_VALUES = 5 << 20  # values that training holds at once: 20 MiB in float32


class FUSE(Scored, Conformal, Explained, TransformerMixin, CentralityEstimator):
    """Fused Unified centrality Score Estimation: how typical is each row, from global to local.

    A global head learns which of two rows is nearer to random anchors; a local head learns a potential whose
    gradient is the score of the noised data, a smoothed log-density. Both are calibrated to [0, 1] and mixed:
    f(x, t) = (1 - t) * global + t * local. Fitting needs no labels; scoring is one forward pass and does not
    need the training rows.

    Parameters
    ----------
    t : the dial of `centrality` and `score_samples`: 0 is global, 1 is local.
    metric : "euclidean", "manhattan", "cosine", or a function of two batches of rows, (n, p) and (m, p), that
        gives their (n, m) dissimilarities. The first two compare scaled rows, the others rows as given.
    noise_scale : the paper's η, in units of the scaled rows: a number; a list, for one potential per scale,
        rescaled and averaged; or "auto", a ladder of 1/4, 1/2, 1, 2 and 3 times the spacing of the rows, which is
        the median distance to the 10th neighbour over √p.
    hidden : widths of the encoder's GELU layers; a linear projection as wide as the last one follows.
    encoder : any torch.nn.Module from (n, p) to (n, q), in place of the above. It is copied, not changed.
    shared_encoder : one encoder for both heads as in the paper, or one for each.
    scheme : 1 to 4, who is compared before whom, as in the paper's Supplement.
    anchors : how many anchors judge a pair, in schemes 1 and 2; a batch shares them, unless `epochs` is given.
    resamples : noise passes over the rows in each of the `epochs`.
    epochs : None trains for `max_steps`, taking both losses in every step. A number follows the paper's
        Algorithm 1 for that many epochs instead.
    max_steps : the budget of steps; None means 500, or 4000 with `novelty`, whatever the number of rows. With
        `epochs`, an upper limit, None meaning none.
    batch_size : rows a step for the local head, half as many for the global one; with `epochs`, rows and pairs.
    learning_rate, weight_decay : of Adam. Under a budget of steps the rate falls to zero over the second half.
    scaling : "auto" standardises columns and passes those with heavy tails (kurtosis above 6) through asinh, which
        bends them beyond one deviation (with `novelty`, beyond three); columns of like scale (deviations within a
        factor of ten) without heavy tails share one scale, so that distances keep their meaning. "standard" always
        standardises, "none" takes rows as they are. A constant column carries no weight, except with "none".
    calibration : "soft" is strictly increasing, so that no two outliers tie; "clip" is the paper's.
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1, or 0.01 with
        `novelty`.
    novelty : the training rows are clean: they are learned for longer, starting from a mixture of Gaussians around
        up to 512 centres of them. Otherwise they may hold outliers.
    ensemble : how many networks to train side by side; scores are their average, `standard_error` how they differ.
    holdout : the share of the training rows to keep aside, drawn at random, and to calibrate on (see `calibrate`).
    device : "auto" (CUDA if there is one), "cpu", "cuda", "cuda:1", "mps".
    random_state : a seed makes fits identical on the same machine and device.
    progress : show a bar while fitting.
    checkpoint : a file where a long fit keeps its state, every half a minute, until it is over: an interrupted `fit` of
        the same rows with the same settings goes on from there to the same result.

    Attributes
    ----------
    history_ : dict of lists "step", "global", "local": the losses of the first step, then means since the line before.
    noise_scale_ : tuple of the noise scales used.
    offset_ : the score below which `predict` says outlier.
    center_ : the deepest point, at the model's own t: the mean of the most central training row and its neighbours.
    n_features_in_, feature_names_in_ : as everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import FUSE
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> model = FUSE(random_state=0, max_steps=200).fit(X)
    >>> centre, edge = model.centrality([[0.0, 0.0], [4.0, 4.0]])
    >>> bool(centre > edge)
    True
    """

    network_: Network
    history_: History
    _report: Report | None
    noise_scale_: tuple[float, ...]
    n_features_in_: int

    def __init__(
        self,
        *,
        t: float = 0.5,
        metric: str | Callable[..., Any] = "euclidean",
        noise_scale: float | Sequence[float] | str = "auto",
        hidden: Sequence[int] = (128, 128),
        encoder: nn.Module | None = None,
        shared_encoder: bool = True,
        scheme: int = 1,
        anchors: int = 256,
        resamples: int = 8,
        epochs: int | None = None,
        max_steps: int | None = None,
        batch_size: int = 256,
        learning_rate: float = 4e-3,
        weight_decay: float = 0.0,
        scaling: str = "auto",
        calibration: str = "soft",
        contamination: float | str = "auto",
        novelty: bool = False,
        holdout: float | None = None,
        ensemble: int = 1,
        device: str = "auto",
        random_state: Any = None,
        progress: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
    ) -> None:
        self.t = t
        self.metric = metric
        self.noise_scale = noise_scale
        self.hidden = hidden
        self.encoder = encoder
        self.shared_encoder = shared_encoder
        self.scheme = scheme
        self.anchors = anchors
        self.resamples = resamples
        self.epochs = epochs
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.scaling = scaling
        self.calibration = calibration
        self.contamination = contamination
        self.novelty = novelty
        self.holdout = holdout
        self.ensemble = ensemble
        self.device = device
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint

    @classmethod
    def as_in_paper(cls, experiment: str, **changes: Any) -> Self:
        """FUSE with the settings of the paper's experiments: "synthetic", "real" or "outlier".

        Algorithm 1 for 30 epochs, one shared encoder, η = 1, raw features, clipping; `changes` override.
        """
        if experiment not in PAPER_HIDDEN:
            raise InputError(f"experiment must be one of {', '.join(PAPER_HIDDEN)}, got {experiment!r}.")
        settings: dict[str, Any] = {
            "hidden": PAPER_HIDDEN[experiment],
            "shared_encoder": True,
            "noise_scale": 1.0,
            "anchors": 64,
            "resamples": 8,
            "epochs": 30,
            "batch_size": 128,
            "learning_rate": 1e-3,
            "scaling": "none",
            "calibration": "clip",
        }
        return cls(**(settings | changes))

    def fit(self, X: Any, y: Any = None, *, dissimilarity: Any = None) -> Self:
        """Learn what is typical of the rows of X; `y` is ignored.

        `dissimilarity` compares rows by something other than their vectors: a square matrix, or a function of
        two row numbers (or of two arrays of them).
        """
        with unchanged_on_failure(self):
            X = rows_to_fit(self, X, at_least=3, why="an anchor and a pair to compare")
            self._fit(X, dissimilarity)
        return self

    def _fit(self, X: Any, dissimilarity: Any) -> None:
        checked_t(self.t)
        checked_calibration(self.calibration)  # now, not when training is over
        share_of_outliers(self.contamination, auto=0.1)
        device = find_device(self.device)
        seed = int(check_random_state(self.random_state).randint(2**31))
        checkpoint = None if self.checkpoint is None else Checkpoint(self, X, dissimilarity, seed)
        seed = seed if checkpoint is None else checkpoint.seed
        rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
        X, held, dissimilarity = set_aside(self.holdout, X, dissimilarity, rng)
        self._scaling = Scaling.fit(X, self.scaling, clean=self.novelty)
        plan, members = self._plan(), whole("ensemble", self.ensemble)
        rows = Rows(X, self._scaling, device, rng, room=self._room(device), most=plan.rows_used())
        comparison = compare(rows, self.metric, dissimilarity)
        self.noise_scale_ = noise_scales(self.noise_scale, rows, rng)
        plan = replace(plan, noise_scales=self.noise_scale_)
        network = build(
            rows.width,
            widths(self.hidden),
            self.encoder,
            self.shared_encoder,
            len(self.noise_scale_),
            generator,
            members,
        )
        if self.novelty and self.epochs is None:
            network.prior = Prior.fitted(rows.z.cpu().numpy(), self.noise_scale_, rng)
        network = network.to(device)
        # A user's encoder may hold dropout, which draws from torch's global generator: seed that, then restore it.
        with torch.random.fork_rng(enabled=self.encoder is not None):
            if self.encoder is not None:
                torch.manual_seed(seed)
            noise = torch.Generator(device).manual_seed(seed + 1)
            self.history_ = Training(network, rows, comparison, plan, rng, noise, checkpoint).run()
        del rows, comparison  # their memory is wanted for what follows
        self.network_ = network
        n = X.shape[0]
        seen = X if n <= CALIBRATION_ROWS else X[np.sort(rng.integers(n, size=CALIBRATION_ROWS))]
        self._settle(seen, X, 0 if held is None else held.shape[0])
        self._inliers = None if held is None else kept(self._in_blocks(held, self._calibration.heads_of))
        self._memory = Memory.of(X, rng)
        if checkpoint is not None:
            checkpoint.remove()

    def _settle(self, seen: Any, X: Any, held_aside: int) -> None:
        """All that follows from the trained network's outputs: `seen` are rows of X enough to fix quantiles."""
        self._scorer = Scorer(self.network_)
        outputs = np.moveaxis(self._in_blocks(seen, lambda outputs: np.moveaxis(outputs, 0, 1)), 1, 0)
        if self.epochs is None:  # comparisons leave g's level open: the median row is to have 1/2
            level = np.median(outputs[:, :, 0], axis=1)
            outputs[:, :, 0] -= level[:, None]
            self.network_.shift_logit(-level)
            self._scorer = Scorer(self.network_)
        self._calibration = Calibration.fit(self.calibration, outputs)
        self._training_scores = TrainingScores.of(self._calibration.heads_of(outputs))
        self.center_ = centre_of(seen, blend(self._calibration.heads_of(outputs), self.t), self._scaling)
        self._report = self._examined(X, held_aside)
        share = share_of_outliers(self.contamination, auto=0.01 if self.novelty else 0.1)
        self.offset_ = float(np.quantile(self._scores_of(outputs), share))

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Go on learning from new rows, for as many steps as their share of all rows seen so far; `y` is ignored.

        Scaling and noise scales stay as the first rows set them. Earlier rows are remembered by a small uniform sample
        (it is not saved: a loaded model learns from the new rows alone, and forgets more). What `calibrate` kept is
        dropped, since it was scored by another model.
        """
        if not hasattr(self, "network_"):
            return self.fit(X)
        with unchanged_on_failure(self):
            X = rows_to_score(self, X)
            seed = int(check_random_state(self.random_state).randint(2**31)) + self._memory.seen
            rng = np.random.default_rng(seed)
            new, self._memory = X.shape[0], self._memory.with_new(X, rng)
            if self._memory.rows.shape[0] < 3:
                raise InputError(f"partial_fit needs at least 3 rows to compare, got {new}.")
            self._go_on(new / self._memory.seen, rng, seed)
        return self

    def _go_on(self, share: float, rng: np.random.Generator, seed: int) -> None:
        plan = self._plan()
        steps = max(FEWEST_STEPS, round(share * (plan.max_steps or STEPS)))
        gentle = min(plan.learning_rate, GENTLE_RATE)
        plan = replace(plan, noise_scales=self.noise_scale_, epochs=None, max_steps=steps, learning_rate=gentle)
        network, X, device = copy.deepcopy(self.network_), self._memory.rows, self._scorer.device
        rows = Rows(X, self._scaling, device, rng, room=HELD_VALUES)
        noise = torch.Generator(device).manual_seed(seed)
        went_on = Training(network, rows, compare(rows, self.metric, None), plan, rng, noise).run()
        begun = self.history_["step"][-1]
        self.history_ = {
            name: [*self.history_[name], *(begun + x if name == "step" else x for x in went_on[name])]
            for name in self.history_
        }
        self.network_, self._inliers = network, None
        self._settle(X, X, 0)

    def _examined(self, X: Any, held_aside: int) -> Report:
        # A coin toss, and a score of zero. Our schedule weighs local losses by η², the paper's does not.
        weights = [1.0 if self.epochs is None else eta**-2 for eta in self.noise_scale_]
        return examine(
            X,
            lambda rows: self._in_blocks(rows, self._calibration.heads_of),
            held_aside=held_aside,
            history=self.history_,
            nothing={"global": float(np.log(2)), "local": 0.5 * float(np.mean(weights))},
            names=getattr(self, "feature_names_in_", None),
        )

    def report(self) -> Report:
        """Did the fit go well: was something learned, do scores tell rows apart, which columns matter, are rows enough.

        Print it, or show it in a notebook; its `warnings` say what to do.
        """
        check_is_fitted(self)
        if self._report is None:
            raise InputError("This model's file was written before there were reports: fit it again to have one.")
        return self._report

    def _plan(self) -> Plan:
        if self.scheme not in SCHEMES:
            raise InputError(f"scheme must be 1, 2, 3 or 4, got {self.scheme!r}.")
        steps = self.max_steps
        if steps is None and self.epochs is None:
            steps = STEPS_WHEN_CLEAN if self.novelty else STEPS
        return Plan(
            noise_scales=(),  # they depend on the rows
            scheme=self.scheme,
            anchors=whole("anchors", self.anchors),
            resamples=whole("resamples", self.resamples),
            epochs=None if self.epochs is None else whole("epochs", self.epochs),
            max_steps=None if steps is None else whole("max_steps", steps),
            batch_size=whole("batch_size", self.batch_size, at_least=2),
            learning_rate=positive("learning_rate", self.learning_rate),
            weight_decay=positive("weight_decay", self.weight_decay, or_zero=True),
            progress=self.progress,
        )

    def _room(self, device: torch.device) -> int:
        """How many values training may hold at once: on a GPU half of what is free there."""
        if self.epochs is not None:
            return 1 << 62  # the paper's schedule passes over all rows
        return torch.cuda.mem_get_info(device)[0] // 8 if device.type == "cuda" else HELD_VALUES

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The heads as two columns, "global" and "local"."""
        return self.heads(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        return np.array(["global", "local"], dtype=object)

    def explore(self, X: Any, items: Any = None, **options: Any) -> Any:
        """The explorer for these rows: a notebook widget, whose `export` writes a page; see docs/explorer.md."""
        # By name: the explorer lies above the models, and most users of a model never open it.
        return import_module("centrality.explorer.widget").explore(self, X, items=items, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file: no training rows, no pickle."""
        check_is_fitted(self)
        model_file.write(path, *saving.parts_of(self))

    def to_onnx(self, path: str | os.PathLike[str]) -> None:
        """Write the model as an ONNX file, which `centrality.onnx.Scorer` scores without torch."""
        from centrality.model.onnx_graph import write

        write(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def load(path: str | os.PathLike[str], *, encoder: nn.Module | None = None, device: str = "auto") -> FUSE:
    """The model that `save` wrote to `path`; it scores exactly as it did.

    A model fitted with an encoder of your own needs that module again, to hold the weights from the file.
    """
    at = find_device(device)
    header, arrays = model_file.read(path)
    try:
        model: FUSE = saving.put_together(FUSE, header, arrays, encoder, at)
    except (KeyError, TypeError, AttributeError) as error:
        raise model_file.ModelFileError(f"{path} lacks something a FUSE model needs: {error!r}.") from error
    except ValueError as error:
        raise model_file.ModelFileError(f"{path}: {error}") from error
    return model
