"""Chain a representation and FUSE as one estimator and file: mixed tables, texts, images or series in, scores out."""

import os
from collections.abc import Sequence
from copy import copy
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from centrality import __version__, model_file
from centrality._checks import InputError, InputTypeError
from centrality._estimator import CheckedRows, ModelRows, unchanged_on_failure, warn_of_labels
from centrality.fuse import FUSE
from centrality.model.fitted import Fitted
from centrality.model.interface import CentralityModel
from centrality.model.reading import Features, FeatureValues, Reading
from centrality.network.devices import find_device
from centrality.representations import HOMES
from centrality.representations._base import Representation
from centrality.tables.unreadable import MOST, Unreadable, checked_share

if TYPE_CHECKING:
    from torch import nn

NOT_SAVED = ("cache", "device", "download", "progress", "unreadable")  # settings that mean nothing on another machine
LEARNED = "representation."  # how the names of a representation's arrays begin


class Chain(CentralityModel):
    """Represent, then score: FUSE on what a representation makes of the rows.

    It has every method of FUSE, on the rows as they are: a table, a list of texts, of images or of series.

    Parameters
    ----------
    representation : one of `centrality.representations`.
    model : the FUSE to fit; None means `FUSE()`. Where its scaling is "auto" and the representation is already in
        comparable units (`Table`), nothing is scaled again.

    Attributes
    ----------
    representation_, model_ : both, fitted.
    offset_ : the score below which `predict` says outlier.

    Examples
    --------
    >>> from centrality import FUSE, Chain
    >>> from centrality.datasets import houses
    >>> from centrality.representations import Table
    >>> rows = houses()
    >>> model = Chain(Table(), FUSE(random_state=0, max_steps=100)).fit(rows)
    >>> model.centrality(rows).shape
    (1200,)
    """

    representation_: Representation
    model_: FUSE

    def __init__(self, representation: Representation, model: FUSE | None = None) -> None:
        self.representation = representation
        self.model = model

    def fit(self, X: ModelRows, y: object = None) -> Self:
        """Fit the representation, then FUSE on what it makes; rows that cannot be represented are left out."""
        for name, part in (("representation", self.representation), ("model", self.model)):
            if isinstance(part, type):
                raise InputTypeError(f"{name} must be made first: {part.__name__}(), got the class {part.__name__}.")
        warn_of_labels(y)
        with unchanged_on_failure(self):
            self.representation_ = clone(self.representation)
            Z = self.representation_.fit_transform(X)
            model = FUSE() if self.model is None else clone(self.model)
            if model.scaling == "auto" and self.representation_.scaled:
                model.set_params(scaling="none")
            model._origins = self.representation_.origins()  # noqa: SLF001  (it is a part of this one)
            self.model_ = model.fit(_present(Z))
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the chain, and of both parts by names such as `model__t`: of those fitted, too.

        So `set_params(model__t=0)` scores at t = 0 from now on, as `FUSE.set_params(t=0)` does.
        """
        if self.model is None and any(name.startswith("model__") for name in params):
            self.model = FUSE()
        super().set_params(**params)
        for name, value in params.items():
            part, _, own = name.partition("__")
            if own and hasattr(self, f"{part}_"):
                getattr(self, f"{part}_").set_params(**{own: value})
        return self

    def partial_fit(self, X: ModelRows, y: object = None) -> Self:
        """Go on learning from new rows, as `FUSE.partial_fit`; the representation stays as it is."""
        if not hasattr(self, "model_"):
            return self.fit(X)
        self.model_._origins = self.representation_.origins()  # noqa: SLF001  (it is a part of this one)
        self.model_.partial_fit(_present(self.represent(X)))
        return self

    @property
    def t(self) -> float:  # type: ignore[override]
        """Return the dial of the fitted FUSE."""
        check_is_fitted(self)
        return self.model_.t

    @property
    def fitted_(self) -> Fitted:
        """Return what the FUSE inside has learned."""
        return self.model_.fitted_

    @fitted_.setter
    def fitted_(self, fitted: Fitted) -> None:
        self.model_.fitted_ = fitted

    def with_fitted(self, fitted: Fitted) -> Self:
        """Return a chain of the same representation and settings that has learned this."""
        chain = copy(self)
        chain.model_ = self.model_.with_fitted(fitted)
        return chain

    def share_of_outliers(self) -> float:
        """Return the share of the training rows that `predict` is to call outliers."""
        return self.model_.share_of_outliers()

    def represent(self, X: ModelRows) -> NDArray[Any]:  # (n, p)
        """Return the rows as FUSE sees them; all NaN where a row could not be represented."""
        check_is_fitted(self)
        return np.asarray(self.representation_.transform(X))

    def vectors(self, X: ModelRows) -> NDArray[Any]:  # (n, p)
        """Return the rows as the networks see them: as `represent` does, and given a context, relative to their kinds."""
        return np.asarray(self.fitted_.relative(self.represent(X)))

    def examined(self, X: ModelRows) -> tuple[NDArray[Any], Unreadable]:
        """Return the rows as FUSE sees them, and which of their cells the representation could not read."""
        check_is_fitted(self)
        vectors, unreadable = self.representation_.examined(X)
        return np.asarray(self.fitted_.relative(vectors)), unreadable

    def reading(self) -> Reading:
        """Say how the model reads a table: as its representation does."""
        representation = self.representation_
        return Reading(
            representation.kind,
            representation.columns_,
            representation.types(),
            one_series=representation.windowed,
            rows_at_once=representation.rows_at_once,
            unreadable=checked_share(getattr(representation, "unreadable", MOST)),
        )

    def about(self) -> dict[str, Any]:
        """Return which representation reads the rows, what it makes of each column, and which of that is doubtful."""
        read = self.representation_
        return {"representation": type(read).__name__, "reads": read.describe(), "doubts": read.doubts()}

    def warm_up(self) -> None:
        """Load the encoder, where there is one, and score something."""
        self.representation_.warm_up()
        super().warm_up()

    def settle_in(self, **settings: object) -> None:
        """Hand the settings that belong to this machine to the representation, those of them that it knows."""
        known = self.representation_.get_params(deep=False)
        self.representation_.set_params(
            **{name: value for name, value in settings.items() if value is not None and name in known}
        )

    def features(self) -> Features | None:
        """Say what explanations speak of: what the representation's numbers stand for, if that has names."""
        origins = self.representation_.origins()
        return None if origins is None else Features(*origins)

    def values_of(self, point: NDArray[np.float64]) -> Sequence[object]:
        """Return what the representation's numbers stand for, feature by feature."""
        return self.representation_.typical(self.fitted_.absolute(point[None])[0])

    def values(self, X: ModelRows, vectors: CheckedRows) -> FeatureValues:
        """Return what the rows hold, feature by feature."""
        return self.representation_.values(X)

    def by_moment(self, scores: NDArray[np.float64], length: int) -> NDArray[np.float64]:
        """Return scores of a series' windows as scores of its moments, where the rows are one series."""
        return self.representation_.spread(scores, length) if self.representation_.windowed else scores

    def rows_of(self, length: int) -> NDArray[np.intp]:
        """Return which of so many rows each vector stands for; the first of each window of a series."""
        return self.representation_.rows_of(length)

    def shown(self, X: ModelRows) -> Sequence[object] | None:
        """Return the texts, images or curves behind the vectors."""
        return self.representation_.shown(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write representation and model to one safetensors file: no training rows, no pickle."""
        check_is_fitted(self)
        state, learned = self.representation_.state()
        settings = self.representation_.get_params(deep=False).items()
        header, arrays = self.model_.parts()
        about = {
            "kind": type(self.representation_).__name__,
            "parameters": {name: model_file.as_json(value) for name, value in settings if name not in NOT_SAVED},
            "state": state,
            "columns": self.representation_.describe(),
        }
        arrays |= {f"{LEARNED}{name}": array for name, array in learned.items()}
        complete = {"model": "Chain", "version": __version__, "representation": about, "fuse": header}
        model_file.write(path, complete, arrays)

    @classmethod
    def from_parts(
        cls,
        header: model_file.Header,
        arrays: model_file.Arrays,
        *,
        encoder: "nn.Module | None",
        representation: Representation | None,
        device: str,
    ) -> Self:
        """Put together the chain that `save` took apart; a ValueError if the parts do not fit."""
        saved = header["representation"]
        kind = getattr(import_module(f"centrality.representations.{HOMES[saved['kind']]}"), saved["kind"])
        if representation is None:
            known = kind().get_params(deep=False)
            representation = kind(**{name: value for name, value in saved["parameters"].items() if name in known})
        elif type(representation) is not kind:
            raise InputError(f"the representation was a {kind.__name__}, got a {type(representation).__name__}.")
        learned = {name.removeprefix(LEARNED): array for name, array in arrays.items() if name.startswith(LEARNED)}
        rest = {name: array for name, array in arrays.items() if not name.startswith(LEARNED)}
        model = FUSE.from_parts(header["fuse"], rest, encoder=encoder, device=device)
        chain = cls(representation, model)
        chain.representation_, chain.model_ = representation.restore(saved["state"], learned), model
        return chain


def load(
    path: str | os.PathLike[str],
    *,
    encoder: "nn.Module | None" = None,
    representation: Representation | None = None,
    device: str = "auto",
) -> FUSE | Chain:
    """Return the FUSE or the Chain that `save` wrote to `path`; it scores exactly as it did.

    `encoder` holds the weights of a FUSE that was fitted with an encoder of its own. `representation` takes the
    place of the saved one where that cannot come from the file: an `Images` with a module of your own, or a model
    folder that has moved; it must be the same encoder, and that is checked.

    >>> from centrality import load
    >>> import numpy as np, tempfile
    >>> from centrality import FUSE
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FUSE(random_state=0, max_steps=20).fit(X).save(f"{folder}/m.safetensors")
    ...     load(f"{folder}/m.safetensors").centrality(X).shape
    (200,)
    """
    find_device(device)  # a device that is not there is no fault of the file
    header, arrays = model_file.read(path)
    of_chain = header.get("model") == "Chain"
    try:
        if of_chain:
            return Chain.from_parts(header, arrays, encoder=encoder, representation=representation, device=device)
        return FUSE.from_parts(header, arrays, encoder=encoder, device=device)
    except (KeyError, TypeError, AttributeError) as error:
        raise model_file.ModelFileError(
            f"{path} lacks something a {'Chain' if of_chain else 'FUSE model'} needs: {error!r}."
        ) from error
    except ValueError as error:
        raise model_file.ModelFileError(f"{path}: {error}") from error


def _present(Z: NDArray[Any]) -> NDArray[Any]:
    """Leave out the rows that could not be represented, which are all NaN."""
    return np.asarray(Z[~np.isnan(Z).all(1)])
