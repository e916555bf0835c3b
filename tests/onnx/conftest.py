import numpy as np
import pytest

from centrality import FUSE
from centrality.onnx import Scorer
from tests.conftest import quick
from tests.onnx.samples import KINDS, PLAIN, X, exported


@pytest.fixture(scope="package", params=KINDS)
def pair(request, tmp_path_factory) -> tuple[FUSE, Scorer, np.ndarray]:
    """A model of each kind, the scorer of its file, and the rows it was fitted on."""
    rows = PLAIN if request.param == "unscaled" else X
    model = quick(**KINDS[request.param]).fit(rows)
    return model, exported(model, tmp_path_factory.mktemp("onnx")), rows


@pytest.fixture(scope="package")
def fuse_and_scorer(tmp_path_factory) -> tuple[FUSE, Scorer]:
    """A model of clean rows, and the scorer of its file."""
    model = quick(novelty=True).fit(X)
    assert np.asarray(model.fitted_.scaling.shrink)[3] < 1  # the case in which a column is bent
    return model, exported(model, tmp_path_factory.mktemp("onnx"))
