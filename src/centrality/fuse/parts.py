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
    """Return the model made of these parts, the inverse of `parts_of`; raise a ValueError if they do not fit."""
    if header["model"] not in ("FUSE", "PaperFUSE"):
        raise InputError(f"a FUSE model was wanted, this one is a {header['model']}.")
    given = header["parameters"]
    kind = PaperFUSE if header["model"] == "PaperFUSE" else FUSE
    known = kind().get_params(deep=False)  # a file of a later minor version may know more
    parameters = {name: value for name, value in given.items() if name in known}
    if parameters["encoder"] is not None and encoder is None:
        raise InputError(
            f"the model was fitted with an encoder of its own ({parameters['encoder']}): "
            "pass one to hold its weights, load(path, encoder=...)."
        )
    model = kind(**(parameters | {"encoder": encoder}))
    parameters, potentials = model._parameters(), len(header["noise_scale"])  # noqa: SLF001  (it is a model of ours)
    layout = layout_of(parameters, int(header["features"]), members=int(header["members"]), potentials=potentials)
    model.fitted_ = save.from_parts(header, arrays, layout, parameters["calibration"], find_device(device))
    model.n_features_in_ = model.fitted_.width
    if model.fitted_.names is not None:
        model.feature_names_in_ = np.array(model.fitted_.names, dtype=object)
    return model
