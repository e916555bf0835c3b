"""Commands import scikit-learn without SciPy's statistics and pandas, and both are there for whoever needs them."""

import json
import subprocess
import sys

import pytest

LEAN = """
import json, sys
from centrality.commands._lean_imports import import_scikit_learn
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

    from centrality.commands._lean_imports import import_scikit_learn

    before = dict(sys.modules)
    import_scikit_learn()
    assert dict(sys.modules) == before
    assert scipy.stats.rankdata([2, 1]).tolist() == [2.0, 1.0]
