"""A model of a table scores in the web's runtime as in Python: ONNX Runtime for the web, in Node."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.onnx_runtime import MODULES, RUNTIME, in_node

from centrality import Chain
from centrality.datasets import houses
from centrality.onnx import Scorer
from centrality.representations import Table
from tests.conftest import quick
from tests.onnx.tables import frame, model, spoiled
from tests.promise import assert_same_scores

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def node() -> str:
    """Node, where the web's runtime is installed: a must in CI, a reason to skip elsewhere."""
    found = shutil.which("node")
    if found is not None and (MODULES / RUNTIME).exists():
        return found
    if os.environ.get("CI"):
        pytest.fail("There is no Node with onnxruntime-web: CI must test the web's runtime. Call make test-web before.")
    return pytest.skip("There is no Node with onnxruntime-web: install Node 20, and call npm ci in web/.")


@pytest.mark.numbers
@pytest.mark.filterwarnings("ignore::centrality.tables.columns.DataNote")
def test_the_webs_runtime_scores_a_table_as_python_does(node, tmp_path):
    """Rows as they are, and rows with gaps, unknown categories and cells in other forms."""
    chain = model()
    chain.to_onnx(tmp_path / "m.onnx")
    scorer = Scorer(tmp_path / "m.onnx")
    rows = pd.concat([frame(seed=2), spoiled(frame(seed=3))])
    found, _ = in_node(node, tmp_path / "m.onnx", rows)
    np.testing.assert_array_equal(np.isnan(found["centrality"]), np.isnan(scorer.centrality(rows)))
    scored = ~np.isnan(found["centrality"])
    assert scored.mean() > 0.8
    assert_same_scores(found["centrality"][scored], chain.centrality(rows)[scored])
    assert_same_scores(found["heads"].reshape(-1, 2)[scored], chain.heads(rows)[scored])
    np.testing.assert_allclose(found["severity"], scorer.severity(rows), rtol=1e-3)  # other ranks are next to none
    np.testing.assert_allclose(found["p_value"], scorer.p_values(rows), atol=2 / (scorer.calibration_rows + 1))


def test_what_the_guide_shows_for_the_web_is_what_python_says(node, tmp_path):
    """The guide's script in JavaScript, run as it stands there on the file of its Python."""
    guide = (ROOT / "docs" / "guides" / "onnx.md").read_text()
    [script] = re.findall(r"```js\n(.*?)```", guide, flags=re.DOTALL)
    rows = houses()
    chain = Chain(Table(), quick()).fit(rows)
    chain.to_onnx(tmp_path / "houses.onnx")
    (tmp_path / "node_modules").symlink_to(MODULES)
    (tmp_path / "score.mjs").write_text(script)
    done = subprocess.run([node, "score.mjs"], cwd=tmp_path, check=True, capture_output=True, text=True)
    cells = {
        "district": ["Hafen", "Hafen"],
        "sold": [np.datetime64("2023-05-01"), np.datetime64("2023-05-01")],
        "built": [1990.0, 1990.0],
        "area": [118.0, np.nan],
        "rooms": [4.0, 4.0],
        "heating": ["gas", None],
        "garden": ["yes", "no"],
        "price": [480.0, 4900.0],
    }
    asked = pd.DataFrame(cells).assign(sold=lambda table: table["sold"].astype("datetime64[us]"))
    expected = chain.centrality(asked)
    assert_same_scores([float(line.split()[0]) for line in done.stdout.splitlines()], expected)
