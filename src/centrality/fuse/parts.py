"""Turn a fitted FUSE into the header and arrays of a file, and back."""

from typing import TYPE_CHECKING

import numpy as np

from centrality import __version__
from centrality._internal import model_file
from centrality._internal.checks import InputError
from centrality._internal.devices import find_device
from centrality.fuse.config import layout_of
from centrality.fuse.estimator import FUSE
from centrality.fuse.paper_fuse import PaperFUSE
from centrality.model import save

if TYPE_CHECKING:
    from torch import nn


def parts_of(model: FUSE) -> tuple[model_file.Header, model_file.Arrays]:
    """Return the header of JSON values and the arrays that a file holds of a fitted model."""
    parameters = {name: model_file.as_json(value) for name, value in model.get_params(deep=False).items()}
    header, arrays = save.parts_of(model.fitted_)
    return {"model": type(model).__name__, "version": __version__, "parameters": parameters, **header}, arrays


def from_parts(
    header: model_file.Header, arrays: model_file.Arrays, *, encoder: "nn.Module | None", device: str
) -> FUSE:
    """Return the model whose parts these are; raise a ValueError if they do not fit each other."""
    if header["model"] not in ("FUSE", "PaperFUSE"):
        raise InputError(f"a FUSE model was wanted, this one is a {header['model']}.")
    estimator = PaperFUSE if header["model"] == "PaperFUSE" else FUSE
    names = estimator().get_params(deep=False)  # a file of a later minor version may have more parameters
    parameters = {name: value for name, value in header["parameters"].items() if name in names}
    if parameters["encoder"] is not None and encoder is None:
        raise InputError(
            f"the model was fitted with an encoder of its own ({parameters['encoder']}): "
            "pass one to hold its weights, load(path, encoder=...)."
        )
    model = estimator(**(parameters | {"encoder": encoder}))
    parameters = model._parameters()  # noqa: SLF001  (it is a model of ours)
    layout = layout_of(
        parameters,
        int(header["features"]),
        members=int(header["members"]),
        potentials=len(header["noise_scale"]),
    )
    model.fitted_ = save.from_parts(header, arrays, layout, parameters["calibration"], find_device(device))
    model.n_features_in_ = model.fitted_.width
    if model.fitted_.names is not None:
        model.feature_names_in_ = np.array(model.fitted_.names, dtype=object)
    return model
