"""Commands import scikit-learn without SciPy's statistics and pandas, and both are there for whoever needs them."""

import json
import subprocess
import sys

import pytest

AFTERWARDS = """
import json, sys
from centrality.apps.commands import _lean_imports
_lean_imports.import_scikit_learn()
import numpy as np, pandas, scipy.stats
from scipy import stats
from sklearn.preprocessing import StandardScaler
stand_ins = [name for name, module in list(sys.modules.items()) for value in vars(module or object).values()
             if type(value) is _lean_imports._Statistics]
frame = pandas.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.0]}, index=["x", "y", "z"])
scaled = StandardScaler().set_output(transform="pandas").fit(frame)
try:
    scaled.transform(frame.rename(columns={"a": "c"}))
except ValueError as error:
    refused = str(error)
print(json.dumps({
    "stand-ins": stand_ins,
    "real": [module.__spec__.origin is not None for module in (scipy.stats, stats, pandas)],
    "one module": scipy.stats is stats is sys.modules["scipy.stats"],
    "names": scaled.feature_names_in_.tolist(),
    "labels": scaled.transform(frame).index.tolist(),
    "refused": refused,
}))
"""


@pytest.mark.slow
def test_afterwards_both_are_the_real_modules_and_scikit_learn_knows_pandas_frames():
    run = subprocess.run([sys.executable, "-c", AFTERWARDS], capture_output=True, text=True, check=True)
    found = json.loads(run.stdout)
    assert found.pop("refused").startswith("The feature names should match those that were passed during fit.")
    assert found == {
        "stand-ins": [], "real": [True] * 3, "one module": True, "names": ["a", "b"], "labels": ["x", "y", "z"],
    }  # fmt: skip


LEAN = """
import json, sys
from centrality.apps.commands._arguments import import_scikit_learn
import_scikit_learn()
import sklearn.base
left_out = [name for name in ("scipy.stats", "pandas") if name in sys.modules]
import scipy
ranks = scipy.stats.rankdata([30, 10, 20]).tolist()  # as scikit-learn's helpers would ask
import pandas, scipy.stats
again = scipy.stats.rankdata([30, 10, 20]).tolist()
print(json.dumps([left_out, ranks, again, pandas.Series([1, 2]).sum().item()]))
"""


@pytest.mark.slow
def test_scikit_learn_comes_without_statistics_and_pandas_which_both_work_afterwards():
    run = subprocess.run([sys.executable, "-c", LEAN], capture_output=True, text=True, check=True)
    left_out, ranks, again, total = json.loads(run.stdout)
    assert left_out == []
    assert ranks == again == [3.0, 1.0, 2.0]
    assert total == 3


def test_a_process_that_has_scikit_learn_is_left_as_it_is():
    import scipy.stats

    from centrality.apps.commands._arguments import import_scikit_learn

    before = dict(sys.modules)
    import_scikit_learn()
    assert dict(sys.modules) == before
    assert scipy.stats.rankdata([2, 1]).tolist() == [2.0, 1.0]
