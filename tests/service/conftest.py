"""A fitted model's file, and servers of a test's own."""

import numpy as np
import pandas as pd
import pytest

from tests.conftest import quick
from tests.foreground import foreground
from tests.served import Server, Where

COLUMNS = ["a", "b", "c"]


@pytest.fixture(scope="package")
def file(tmp_path_factory):
    """The file of a model of three columns."""
    path = tmp_path_factory.mktemp("serve") / "m.safetensors"
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 3)), columns=COLUMNS)
    quick(holdout=0.3).fit(rows).save(path)
    return path


@pytest.fixture
def start():
    """Starts servers of a test's own; none outlives it, whatever happens."""
    started: list[Server] = []

    def make(*arguments: str, where: Where = foreground) -> Server:
        started.append(Server(*arguments, where=where))
        return started[-1]

    yield make
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.ended()
