"""A representation and FUSE as one estimator in one file: mixed tables, texts, images or series in, scores out."""

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from centrality import __version__, fuse, model_file
from centrality._checks import InputError, whole
from centrality._estimator import CentralityEstimator, unchanged_on_failure
from centrality.fuse import FUSE
from centrality.model import saving
from centrality.model.explanations import LOW, PROFILE, grouped, kinds
from centrality.network.devices import find_device
from centrality.scores.calibration import blend, checked_t
from centrality.scores.drift import Drift
from centrality.scores.reasons import Reasons

HOMES = {"Table": "table", "Text": "text", "Images": "images", "Series": "series"}
OF_THIS_MACHINE = ("cache", "device", "download", "progress")  # settings that mean nothing elsewhere: not saved


class Chain(TransformerMixin, CentralityEstimator):
    """Represent, then score: FUSE on what a representation makes of the rows.

    Parameters
    ----------
    representation : one of `centrality.representations`.
    model : the FUSE to fit; None means `FUSE()`. Where its scaling is "auto" and the representation is already in
        comparable units (`Table`), nothing is scaled again.

    Attributes
    ----------
    representation_, model_ : both, fitted.
    offset_ : the score below which `predict` says outlier.
    """

    representation_: Any
    model_: FUSE

    def __init__(self, representation: Any, model: FUSE | None = None) -> None:
        self.representation = representation
        self.model = model

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the representation, then FUSE on what it makes; rows that cannot be represented are left out."""
        with unchanged_on_failure(self):
            self.representation_ = clone(self.representation)
            Z = self.representation_.fit_transform(X)
            model = FUSE() if self.model is None else clone(self.model)
            if model.scaling == "auto" and self.representation_.scaled:
                model.set_params(scaling="none")
            self.model_ = model.fit(Z[_there(Z)])
            self.offset_ = self.model_.offset_
        return self

    @property
    def t(self) -> float:
        """The dial of the fitted FUSE."""
        return self.model_.t

    def represent(self, X: Any) -> NDArray[Any]:
        """(n, p) the rows as FUSE sees them."""
        check_is_fitted(self)
        return np.asarray(self.representation_.transform(X))

    def heads(self, X: Any) -> NDArray[np.float64]:
        """(n, 2) global and local centrality; NaN where a row could not be represented."""
        return self._of_rows(self.represent(X), self.model_.heads)

    def raw(self, X: Any) -> NDArray[np.float64]:
        """(n, 2) uncalibrated."""
        return self._of_rows(self.represent(X), self.model_.raw)

    def centrality(self, X: Any, t: float | Sequence[float] | None = None) -> NDArray[np.float64]:
        """How central each row is, in [0, 1], at the model's own t or at these."""
        check_is_fitted(self)
        t = self.t if t is None else t
        checked_t(t)
        return blend(self.heads(X), t)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """FUSE's `score_samples` of what the representation makes of the rows: larger means more normal."""
        return self._of_rows(self.represent(X), self.model_.score_samples)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The heads as two columns, "global" and "local"."""
        return self.heads(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        return np.array(["global", "local"], dtype=object)

    def explain(self, X: Any, t: float | None = None, *, baseline: Any = None) -> NDArray[np.float64]:
        """(n, columns) what each column contributes to a row's centrality, as `FUSE.explain`.

        The numbers that stand for one column of a `Table` are taken together. A `Series` has its features for columns,
        texts and images have the numbers of their vectors. `baseline` is a row to compare with, as X has them.
        """
        start = None if baseline is None else self.represent(baseline)
        Z = self.represent(X)
        parts = self._of_rows(Z, lambda rows: self.model_.explain(rows, t, baseline=start), Z.shape[1])
        origins = self.representation_.origins()
        return parts if origins is None else grouped(parts, origins[1], len(origins[0]))

    def reasons(self, X: Any, t: float | None = None, *, top: int = 3) -> Reasons:
        """For each row the columns that lower its centrality the most, in words."""
        parts, t = self.explain(X, t), self.t if t is None else t
        origins = self.representation_.origins()
        if origins is None:
            raise InputError(
                f"{type(self.representation_).__name__} turns items into vectors whose numbers have no names: there is "
                "nothing to put into words. `explain` gives their contributions."
            )
        typical = self.representation_.typical(self.model_.center_)
        values = self.representation_.values(X)
        return Reasons.of(t, self.centrality(X, t), parts, origins[0], values, typical, whole("top", top))

    def toward_center(self, X: Any, steps: int = 20, t: float | None = None) -> NDArray[np.float64]:
        """(n, steps + 1, q) the way each row's vector would take to become typical, as `FUSE.toward_center`."""
        Z = self.represent(X)
        width = (whole("steps", steps) + 1) * Z.shape[1]
        ways = self._of_rows(Z, lambda rows: self.model_.toward_center(rows, steps, t).reshape(-1, width), width)
        return ways.reshape(len(Z), steps + 1, Z.shape[1])

    def profile(self, X: Any, ts: Sequence[float] = PROFILE) -> NDArray[np.float64]:
        """(n, len(ts)) the centrality of each row along t, from global to local."""
        return self.centrality(X, t=list(ts))

    def kind(self, X: Any, *, low: float = LOW) -> NDArray[np.str_]:
        """(n,) "global", "local", "both" or "typical": which head finds the row odd, as `FUSE.kind`."""
        return kinds(self.heads(X), self.model_._bounds(low))

    def drift(self, X: Any) -> Drift:
        """Do these rows score as the training rows did?"""
        Z = self.represent(X)
        return self.model_.drift(Z[_there(Z)])

    def explore(self, X: Any, items: Any = None, **options: Any) -> Any:
        """The explorer for these rows: a notebook widget, whose `export` writes a page; see docs/explorer.md."""
        # By name: the explorer lies above the models, and most users of a model never open it.
        return import_module("centrality.explorer.widget").explore(self, X, items=items, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write representation and model to one safetensors file: no training rows, no pickle."""
        check_is_fitted(self)
        settings, learned = self.representation_.state()
        parameters = {
            name: model_file.as_json(value)
            for name, value in self.representation_.get_params(deep=False).items()
            if name not in OF_THIS_MACHINE
        }
        header, arrays = saving.parts_of(self.model_)
        model_file.write(
            path,
            {
                "model": "Chain",
                "version": __version__,
                "representation": {
                    "kind": type(self.representation_).__name__,
                    "parameters": parameters,
                    "state": settings,
                    "columns": self.representation_.describe(),
                },
                "fuse": header,
            },
            arrays | {f"representation.{name}": array for name, array in learned.items()},
        )

    def _of_rows(self, Z: NDArray[Any], score: Any, width: int = 2) -> NDArray[np.float64]:
        there = _there(Z)
        if there.all():
            return np.asarray(score(Z))
        found = np.asarray(score(Z[there])) if there.any() else np.empty((0, width))
        result = np.full((len(Z), *found.shape[1:]), np.nan)
        result[there] = found
        return result


def load(path: str | os.PathLike[str], *, encoder: Any = None, representation: Any = None, device: str = "auto") -> Any:
    """The FUSE or the Chain that `save` wrote to `path`; it scores exactly as it did.

    `encoder` holds the weights of a FUSE that was fitted with an encoder of its own. `representation` takes the
    place of the saved one where that cannot come from the file: an `Images` with a module of your own, or a model
    folder that has moved; it must be the same encoder, and that is checked.
    """
    header, arrays = model_file.read(path)
    if header.get("model") != "Chain":
        return fuse.load(path, encoder=encoder, device=device)
    try:
        return _put_together(header, arrays, encoder, representation, device)
    except (KeyError, TypeError, AttributeError) as error:
        raise model_file.ModelFileError(f"{path} lacks something a Chain needs: {error!r}.") from error
    except ValueError as error:
        raise model_file.ModelFileError(f"{path}: {error}") from error


def _put_together(header: Any, arrays: Any, encoder: Any, representation: Any, device: str) -> Chain:
    saved = header["representation"]
    kind = getattr(import_module(f"centrality.representations.{HOMES[saved['kind']]}"), saved["kind"])
    if representation is None:
        known = kind().get_params(deep=False)
        representation = kind(**{name: value for name, value in saved["parameters"].items() if name in known})
    elif type(representation) is not kind:
        raise InputError(f"the representation was a {kind.__name__}, got a {type(representation).__name__}.")
    mark = "representation."
    learned = {name.removeprefix(mark): array for name, array in arrays.items() if name.startswith(mark)}
    rest = {name: array for name, array in arrays.items() if not name.startswith(mark)}
    model = saving.put_together(FUSE, header["fuse"], rest, encoder, find_device(device))
    chain = Chain(representation, model)
    chain.representation_ = representation.restore(saved["state"], learned)
    chain.model_, chain.offset_ = model, model.offset_
    return chain


def _there(Z: NDArray[Any]) -> NDArray[np.bool_]:
    """(n,) the rows that have been represented: one that could not be is all NaN."""
    return np.asarray(~np.isnan(Z).all(1))
