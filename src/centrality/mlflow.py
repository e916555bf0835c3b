"""Log models with MLflow, and load and serve them from there: one file without pickle inside.

This needs MLflow: pip install '.[mlflow]' in a clone
"""

import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from centrality import __version__
from centrality._internal.checks import InputError, optional
from centrality._internal.input import RowsLike
from centrality.chain import Chain, load_rows_model
from centrality.fuse import FUSE
from centrality.model.interface import CentralityModel

optional("pandas", "mlflow")  # MLflow's own server hands rows over as frames of pandas
with warnings.catch_warnings():  # its modules warn of each other when they are imported
    warnings.simplefilter("ignore")
    _mlflow = optional("mlflow", "mlflow")
    optional("mlflow.pyfunc", "mlflow")

if TYPE_CHECKING:
    from mlflow.models.model import ModelInfo

__all__ = ["load_model", "log_model", "save_model"]

FLAVOR = "centrality"
FILE = "model.safetensors"


def save_model(model: CentralityModel, path: str | os.PathLike[str], **settings: Any) -> None:
    """Write a fitted model as a folder that MLflow can load and serve.

    Parameters
    ----------
    model : a fitted `FUSE` or `Chain`.
    path : the folder to write; it must be new or empty.
    **settings : `signature`, `input_example`, `pip_requirements`, `metadata`, `code_paths` and others, which go to
        `mlflow.pyfunc.save_model` as they are.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from centrality import FUSE
    >>> from centrality.mlflow import load_model, save_model
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> model = FUSE(random_state=0, max_steps=20).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model")
    ...     loaded = load_model(f"{folder}/model")
    >>> bool((loaded.centrality(X) == model.centrality(X)).all())
    True
    """
    from mlflow.models import Model
    from mlflow.pyfunc import save_model as save_pyfunc

    if not isinstance(model, FUSE | Chain):
        raise InputError(f"A fitted FUSE or Chain was wanted, got {type(model).__name__}.")
    check_is_fitted(model)
    if settings.get("signature") is None:
        settings["signature"] = signature_of(model)
    if not {"pip_requirements", "conda_env"} & settings.keys():
        settings["pip_requirements"] = [f"centrality[mlflow]=={__version__}"]
    described: Model = settings.pop("mlflow_model", None) or Model()
    described.add_flavor(FLAVOR, data=f"data/{FILE}", centrality_version=__version__)
    with tempfile.TemporaryDirectory(prefix="centrality-") as folder:
        file = Path(folder) / FILE
        model.save(file)
        with warnings.catch_warnings():  # an example is the user's choice: the signature does not rest on it
            warnings.filterwarnings("ignore", ".*An input example was not provided", UserWarning)
            save_pyfunc(
                str(path), loader_module="centrality.mlflow", data_path=str(file), mlflow_model=described, **settings
            )


def log_model(model: CentralityModel, name: str = "model", **settings: Any) -> "ModelInfo":
    """Log a fitted model to MLflow's current run, or to a new one; returns MLflow's description of it.

    Parameters
    ----------
    model : a fitted `FUSE` or `Chain`.
    name : what the model is called there.
    **settings : `registered_model_name`, `params`, `tags` and others of MLflow's own flavors, and those of
        `save_model`.

    Examples
    --------
    >>> import mlflow
    >>> from centrality import FUSE
    >>> from centrality.mlflow import log_model
    >>> def train_and_log(X):
    ...     with mlflow.start_run():
    ...         return log_model(FUSE(random_state=0).fit(X)).model_uri
    """
    from mlflow.models import Model

    info: ModelInfo = Model.log(artifact_path=None, flavor=sys.modules[__name__], name=name, model=model, **settings)
    return info


def load_model(model_uri: str, dst_path: str | None = None) -> FUSE | Chain:
    """Load a model that `log_model` or `save_model` wrote, by its folder or its address at MLflow.

    It scores exactly as it did.

    Parameters
    ----------
    model_uri : a folder, or an address such as `models:/orders/3` or `runs:/.../model`.
    dst_path : the folder to which it is downloaded; None is a temporary one.

    Examples
    --------
    >>> from centrality.mlflow import load_model
    >>> def score(X):
    ...     return load_model("models:/orders/3").centrality(X)
    """
    from mlflow.models import Model

    folder = _mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri), dst_path=dst_path)
    flavors = Model.load(folder).flavors
    if FLAVOR not in flavors:
        raise InputError(
            f"{model_uri}: a model that centrality.mlflow logged was wanted, got one of {', '.join(flavors)}."
        )
    return load_rows_model(Path(folder) / flavors[FLAVOR]["data"])


def signature_of(model: CentralityModel) -> Any:
    """Return MLflow's description of what is answered, and of the parameter t.

    The rows themselves are not described: the model's own reader knows better which cells it can take, and says so.
    """
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

    columns = Schema([ColSpec("double", name) for name in columns_of(model)])
    dial = ParamSchema([ParamSpec("t", "double", float(model.t))])
    return ModelSignature(outputs=columns, params=dial)


def columns_of(model: CentralityModel) -> list[str]:
    """Return the names of the columns that are answered; without rows left out of training, there are no p-values."""
    return ["centrality"] if model.fitted_.inliers is None else ["centrality", "p_value"]


class Scores:
    """What MLflow calls to score rows."""

    def __init__(self, model: CentralityModel) -> None:
        self._model = model

    def predict(self, rows: RowsLike, params: dict[str, Any] | None = None) -> Any:
        """Return the centrality and the p-value of each row as a frame of pandas; `params` may hold t."""
        import pandas as pd

        t = (params or {}).get("t", self._model.t)
        scores: dict[str, NDArray[np.float64]] = {"centrality": self._model.centrality(rows, t=t)}
        if "p_value" in columns_of(self._model):
            scores["p_value"] = self._model.p_values(rows, t=t)
        return pd.DataFrame(scores, index=rows.index if isinstance(rows, pd.DataFrame) else None)


def _load_pyfunc(path: str) -> Scores:
    """Return what scores rows by the model in this file: MLflow looks for a function of this name."""
    return Scores(load_rows_model(path))
