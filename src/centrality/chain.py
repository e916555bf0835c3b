"""Chain a representation and FUSE as one estimator and file: mixed tables, texts, images or series in, scores out."""

import os
from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from centrality import __version__
from centrality._internal import model_file
from centrality._internal.checks import InputError, InputTypeError, warn_caller, whole_number
from centrality._internal.devices import find_device
from centrality._internal.input import Dissimilarity, ModelRows, read_once, unchanged_on_failure, warn_of_labels
from centrality.fuse import FUSE
from centrality.fuse.parts import from_parts, parts_of
from centrality.model.fitted import FittedModel
from centrality.model.interface import CentralityModel, with_fitted
from centrality.model.reader import RepresentationReader
from centrality.network.folds import restrict_dissimilarity
from centrality.pictures import PictureRegions
from centrality.representations import representation_named
from centrality.representations.base import Representation, as_arrow, is_frame
from centrality.representations.blocks import nearest_rows, part_of
from centrality.series import Timeline
from centrality.tables import with_columns
from centrality.tables.columns import first_few

if TYPE_CHECKING:
    from PIL.Image import Image

# Settings that mean nothing on another machine.
NOT_SAVED = ("cache", "device", "download", "folder", "progress", "unreadable")
TIMES_BEYOND = 10  # the largest severity that is told, against the number of training rows, as in `severity`
LEARNED = "representation."  # how the names of a representation's arrays begin


class Chain(CentralityModel):
    """Represent, then score: FUSE on what a representation makes of the rows.

    It has every method of FUSE, on the rows as they are: a table, a list of texts, of images or of series.

    Parameters
    ----------
    representation : one of `centrality.representations`.
    model : the FUSE to fit; None means `FUSE()`. Where its scaling is "auto" and the representation is already in
        comparable units (`Table`), nothing is scaled again but numbers beyond all that occurred in fitting.

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

    @classmethod
    def as_in_paper(cls, experiment: str, **changes: Any) -> Self:
        """Return a chain of `representation`, one of the changes, and FUSE with the settings of the paper's experiment.

        >>> from centrality import Chain
        >>> from centrality.representations import Table
        >>> Chain.as_in_paper("real", representation=Table()).model.epochs
        30
        """
        if "representation" not in changes:
            raise InputTypeError("as_in_paper of a Chain wants a representation=, such as Table().")
        return cls(changes.pop("representation"), FUSE.as_in_paper(experiment, **changes))

    def fit(self, X: ModelRows, y: object = None, *, dissimilarity: Dissimilarity = None) -> Self:
        """Fit the representation, then FUSE on what it makes; rows that cannot be represented are left out.

        `dissimilarity` compares rows by something other than their vectors, as in `FUSE.fit`.
        """
        for name, part in (("representation", self.representation), ("model", self.model)):
            if isinstance(part, type):
                raise InputTypeError(f"{name} must be made first: {part.__name__}(), got the class {part.__name__}.")
        warn_of_labels(y)
        X = read_once(X)
        with unchanged_on_failure(self):
            self.representation_ = clone(self.representation)
            model = FUSE() if self.model is None else clone(self.model)
            context = [model.given] if isinstance(model.given, str) else model.given
            names = list(context) if isinstance(context, Iterable) else []
            self.representation_.read_context([name for name in names if isinstance(name, str)])
            Z = self.representation_.fit_transform(X)
            # Context that is the same in every row distinguishes no rows.
            if constant := [name for name in names if name in self.representation_.watched()]:
                verb = "is" if len(constant) == 1 else "are"
                warn_caller(f"given: {first_few(constant)} {verb} the same in every row, and ignored.")
                model.set_params(given=[name for name in names if name not in constant] or None)
            model._is_measurement = self.representation_.measurements()  # noqa: SLF001  (it is a part of this one)
            model._feature_map = self.representation_.origins()  # noqa: SLF001  (it is a part of this one)
            as_new = self.representation_.transform_as_new(X)
            represented = ~np.isnan(Z).all(1)
            self.model_ = model._fit(  # noqa: SLF001
                Z[represented],
                dissimilarity=restrict_dissimilarity(dissimilarity, np.flatnonzero(represented), len(Z)),
                as_new=None if as_new is None else as_new[represented],
            )
        return self

    def blocks(self, X: ModelRows) -> Any:
        """Say of each part of a row one in how many rows is as odd: a frame of the kind that came in.

        A part is a picture, a long text or a vector; all other columns are one together. Of two parts that say
        something of each other, a column tells in how many rows they go together as badly. `whole` is `severity`.
        Numbers above the number of training rows are extrapolated. A part that is missing has NaN.

        >>> import numpy as np
        >>> import pyarrow as pa
        >>> from centrality import FUSE, Chain
        >>> from centrality.representations import Table
        >>> rng = np.random.default_rng(0)
        >>> kinds = rng.integers(2, size=400)
        >>> vectors = rng.normal(size=(400, 8)) + 4 * kinds[:, None]
        >>> rows = pa.table({"embedding": list(vectors), "kind": np.where(kinds, "lamp", "toaster")})
        >>> model = Chain(Table(), FUSE(random_state=0, max_steps=100)).fit(rows)
        >>> swapped = rows.slice(0, 1).set_column(1, "kind", [["lamp" if kinds[0] == 0 else "toaster"]])
        >>> odd = model.blocks(swapped)
        >>> odd.column_names
        ['whole', 'embedding', 'the other columns', 'embedding and the other columns']
        >>> odd["embedding"][0].as_py() < 50 < odd["embedding and the other columns"][0].as_py()
        True
        """
        check_is_fitted(self)
        severities = self.representation_.severities(X)
        if not severities:
            raise InputError(
                "This model reads no pictures, long texts or vectors beside other columns, so that its rows are one "
                "part each: severity(rows) says how odd they are."
            )
        largest = TIMES_BEYOND * (self.fitted_.remembered.seen + 1)
        columns = {"whole": self.severity(X)} | {name: np.minimum(odd, largest) for name, odd in severities.items()}
        frame = nw.from_native(X if is_frame(X) and not isinstance(X, pa.RecordBatch) else as_arrow(X), eager_only=True)
        names = {name: f"{name} " for name in frame.columns if name in columns}  # so that none is replaced
        complete = nw.from_native(with_columns(frame.rename(names).to_native(), columns), eager_only=True)
        return complete.select(list(columns)).to_native()

    def like(
        self, X: "ModelRows | str | Path | Image", among: ModelRows, *, top: int = 10, block: str | None = None
    ) -> NDArray[np.intp]:
        """Return the positions of the `top` rows of `among` that are most like each row of X, the nearest first.

        X may be a phrase, such as "red lamp", or a picture: a file's name or an image of PIL. Then rows are found by
        their long text, or by their picture; `block` names the column where there are several.

        Every part of a row counts alike, or only this `block`: the column of a picture, a long text or a vector. Rows
        equal to that of X are left out, so that it may be among them. The result is (n, top).

        >>> import numpy as np
        >>> import pyarrow as pa
        >>> from centrality import FUSE, Chain
        >>> from centrality.representations import Table
        >>> rows = pa.table({"x": np.arange(100.0), "kind": ["a", "b"] * 50})
        >>> model = Chain(Table(), FUSE(random_state=0, max_steps=50)).fit(rows)
        >>> sorted(model.like(rows.slice(50, 1), rows, top=2)[0].tolist())
        [48, 52]
        """
        check_is_fitted(self)
        return most_similar(self.representation_, X, among, whole_number("top", top), block)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the chain, and of both parts by names such as `model__t`: of those fitted, too.

        So `set_params(model__t=0)` scores at t = 0 from now on, as `FUSE.set_params(t=0)` does.
        """
        if self.model is None and any(name.startswith("model__") for name in params):
            self.model = FUSE()
        super().set_params(**params)
        for name, value in params.items():
            part, _, parameter = name.partition("__")
            if parameter and hasattr(self, f"{part}_"):
                getattr(self, f"{part}_").set_params(**{parameter: value})
        return self

    def partial_fit(self, X: ModelRows, y: object = None) -> Self:
        """Go on learning from new rows, as `FUSE.partial_fit`; the representation stays as it is."""
        if not hasattr(self, "model_"):
            return self.fit(X)
        model = copy(self.model_)  # a copy of this chain holds the same one
        model._feature_map = self.representation_.origins()  # noqa: SLF001  (it is a part of this one)
        Z = np.asarray(self.representation_.transform(X))
        self.model_ = model.partial_fit(Z[~np.isnan(Z).all(1)])
        return self

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            if name not in ("t", "fitted_"):
                return super().__getattr__(name)
            check_is_fitted(self)
            return getattr(self.model_, name)  # of the FUSE inside

    def _learn(self, fitted: FittedModel) -> None:
        self.model_ = with_fitted(self.model_, fitted)

    def _reader(self) -> RepresentationReader:
        check_is_fitted(self)
        return RepresentationReader(self.representation_, self.model_.fitted_)

    def to_onnx(self, path: str | os.PathLike[str], *, rows: str = "float64") -> None:
        """Write the whole model of a table as an ONNX file, which takes the columns as they are.

        Numbers come as `rows`, "float64" or "float32", categories as texts, dates as microseconds since 1970 or as the
        texts they were. What cannot be written (n-grams of texts, pictures, vectors beside other columns) is said
        before anything is. The network alone is written by `model_.to_onnx`: it takes `representation_.transform(X)`.

        >>> import pytest, tempfile
        >>> import numpy as np
        >>> from centrality import FUSE, Chain
        >>> from centrality.datasets import houses
        >>> from centrality.representations import Table
        >>> onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
        >>> from centrality.onnx import Scorer
        >>> rows = houses()
        >>> model = Chain(Table(), FUSE(random_state=0, max_steps=50)).fit(rows.slice(0, 900))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.to_onnx(f"{folder}/m.onnx")
        ...     scorer = Scorer(f"{folder}/m.onnx")
        >>> new = rows.slice(900)
        >>> bool(abs(scorer.centrality(new) - model.centrality(new)).max() < 1e-5)
        True
        """
        from centrality.onnx.export import write  # here: only an export needs it
        from centrality.representations.onnx import table_reader

        check_is_fitted(self)
        write(self.fitted_, path, t=self.t, rows=rows, reader=table_reader(self.representation_))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write representation and model to one safetensors file: no training rows, no pickle."""
        check_is_fitted(self)
        state, learned = self.representation_.state()
        settings = self.representation_.get_params(deep=False).items()
        header, arrays = parts_of(self.model_)
        description = {
            "kind": type(self.representation_).__name__,
            "parameters": {name: model_file.as_json(value) for name, value in settings if name not in NOT_SAVED},
            "state": state,
            "columns": self.representation_.describe(),
        }
        arrays |= {f"{LEARNED}{name}": array for name, array in learned.items()}
        complete = {"model": "Chain", "version": __version__, "representation": description, "fuse": header}
        model_file.write(path, complete, arrays)


def most_similar(
    representation: Representation,
    X: "ModelRows | str | Path | Image",
    among: ModelRows,
    top: int,
    block: str | None,
) -> NDArray[np.intp]:  # (n, top)
    """Return the positions of the rows that are most like each row of X, as `Chain.like` does."""
    if isinstance(X, str | Path) or type(X).__module__.startswith("PIL."):
        place, places = representation.places_around(X, among, block)
        return nearest_rows(place, places, top, with_same=True)
    return nearest_rows(representation.places(X, block), representation.places(among, block), top)


def fuse_of(model: CentralityModel) -> FUSE:
    """Return the FUSE that a model is, or holds, fitted or not."""
    if isinstance(model, FUSE):
        return model
    inner = getattr(model, "model_", None) or getattr(model, "model", None)
    return inner if isinstance(inner, FUSE) else FUSE()


def load(
    path: str | os.PathLike[str],
    *,
    encoder: Any = None,  # a module; the encoder of PictureRegions may be a function, too
    representation: Representation | None = None,
    device: str = "auto",
) -> Any:  # one of four estimators: a union would make every caller ask which
    """Return the FUSE, Chain, Timeline or PictureRegions that `save` wrote to `path`; it scores exactly as it did.

    `encoder` holds the weights of a FUSE that was fitted with an encoder of its own, or is that of a PictureRegions.
    `representation` takes the place of the saved one where that cannot come from the file: an `Images` with a module of
    your own, or a model folder that has moved; it must be the same encoder, and that is checked.

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
    kind = header.get("model")
    try:
        if kind == "Timeline":
            return Timeline.from_file_parts(header, arrays, device=device)
        if kind == "PictureRegions":
            return PictureRegions.from_file_parts(header, arrays, encoder=encoder, device=device)
        if kind != "Chain":
            return from_parts(header, arrays, encoder=encoder, device=device)
        saved = header["representation"]
        cls = representation_named(saved["kind"])
        if representation is None:
            names = cls().get_params(deep=False)
            representation = cls(**{name: value for name, value in saved["parameters"].items() if name in names})
        elif type(representation) is not cls:
            raise InputError(f"the representation was a {cls.__name__}, got a {type(representation).__name__}.")
        rest = {name: array for name, array in arrays.items() if not name.startswith(LEARNED)}
        model = from_parts(header["fuse"], rest, encoder=encoder, device=device)
        chain = Chain(representation, model)
        chain.representation_ = representation.restore(saved["state"], part_of(arrays, LEARNED))
        chain.model_ = model
        return chain
    except (KeyError, TypeError, AttributeError) as error:
        what = kind if kind in ("Chain", "Timeline", "PictureRegions") else "FUSE model"
        raise model_file.ModelFileError(f"{path} lacks something a {what} needs: {error!r}.") from error
    except ValueError as error:
        raise model_file.ModelFileError(f"{path}: {error}") from error


def load_rows_model(path: str | os.PathLike[str], *, device: str = "auto") -> FUSE | Chain:
    """Return the model of rows in this file; raise if it is one of a series."""
    model: FUSE | Chain | Timeline | PictureRegions = load(path, device=device)
    if isinstance(model, PictureRegions):
        raise InputError(
            f"{path} is a model of the patches of pictures: load it in Python, and ask it for regions(picture)."
        )
    if isinstance(model, Timeline):
        raise InputError(
            f"{path} is a model of series, and judges moments: rank, detect, score, drift and serve take it."
        )
    return model
