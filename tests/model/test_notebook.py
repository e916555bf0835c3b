"""Notebooks in a real kernel, in the README's own installation: without torch."""

from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

START = """
import sys
from tests.without import Without
sys.meta_path[:] = [Without(finder, frozenset({"torch"})) for finder in sys.meta_path]
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from centrality import FUSE, Chain
from centrality.representations import Table
X = np.random.default_rng(0).normal(size=(60, 2))
"""
MODELS = {
    "new": "FUSE(max_steps=5)",
    "fitted": "FUSE(max_steps=5, random_state=0).fit(X)",
    "new_chain": "Chain(Table(), FUSE(max_steps=5))",
    "chain": "Chain(Table(), FUSE(max_steps=5, random_state=0)).fit(X)",
    "new_pipeline": "make_pipeline(StandardScaler(), FUSE(max_steps=5))",
    "pipeline": "make_pipeline(StandardScaler(), FUSE(max_steps=5, random_state=0)).fit(X)",
}
LOOK = """
import inspect
import pydoc
assert "fit" in dir(model)
assert dict(inspect.getmembers(model))["fit"]
assert "fit" in pydoc.render_doc(model)
"""


@pytest.fixture(scope="module")
def kernel():
    manager, client = start_new_kernel(kernel_name="python3")
    said(client, START)
    assert said(client, "import importlib.util; importlib.util.find_spec('torch') is None")["text/plain"] == "True"
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def said(kernel, code):
    """What the kernel shows as the result of this cell."""
    shown = list[dict[str, Any]]()
    reply = kernel.execute_interactive(code, output_hook=shown.append, timeout=120)["content"]
    assert reply["status"] == "ok", reply
    return next((one["content"]["data"] for one in shown if one["msg_type"] == "execute_result"), None)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_looked_at_completed_and_shown_without_torch(kernel, name):
    said(kernel, f"model = {MODELS[name]}")
    said(kernel, LOOK)
    assert "fit" in kernel.complete("model.fi", reply=True, timeout=60)["content"]["matches"]
    shown = said(kernel, "model")
    assert "FUSE" in shown["text/plain"]
    assert "FUSE" in shown["text/html"]
