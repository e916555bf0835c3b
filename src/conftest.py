"""Mark the examples in docstrings that need more than Python: they are skipped, with a reason, where it is missing."""

import os
import shutil
import sys
from importlib.util import find_spec

import pytest

# Both leave sockets and processes of their own to the garbage collector, and still call what Python has deprecated.
TOLERATED = ("ResourceWarning", "pytest.PytestUnraisableExceptionWarning", "DeprecationWarning", "FutureWarning")
NEEDS = {
    "centrality.distributed": (
        pytest.mark.cluster,
        find_spec("ray") is None,
        "needs Ray: pip install 'centrality[cluster]'",
    ),
    "centrality.spark": (
        pytest.mark.spark,
        find_spec("pyspark") is None or shutil.which("java") is None,
        "needs Spark and Java: pip install 'centrality[spark]', apt install openjdk-17-jre-headless",
    ),
}
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the examples by what they need."""
    for item in items:
        module = ".".join(item.name.split(".")[:2])
        if isinstance(item, pytest.DoctestItem) and module in NEEDS:
            mark, missing, reason = NEEDS[module]
            for needed in (mark, pytest.mark.slow, pytest.mark.skipif(missing, reason=reason)):
                item.add_marker(needed)
            for warning in TOLERATED:
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{warning}"))
