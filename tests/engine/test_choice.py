"""Which build computes: the best that runs here, the one that is asked for, or torch."""

import subprocess
import sys

import numpy as np
import pytest

from centrality.engine import VARIABLE, engine, engine_name
from centrality.network.scorer import EngineScorer
from centrality.network.torch_scorer import TorchScorer
from tests.conftest import quick
from tests.engine.cases import BUILDS, computed_by, needs_engine


@needs_engine
def test_unless_asked_otherwise_the_best_build_that_runs_here_computes(monkeypatch, blob):
    monkeypatch.delenv(VARIABLE, raising=False)
    engine.cache_clear()
    assert engine_name() == next(iter(BUILDS))
    assert isinstance(quick().fit(blob).fitted_.scorer, EngineScorer)
    engine.cache_clear()


@pytest.mark.parametrize("build", BUILDS)
def test_a_build_that_is_asked_for_computes(build):
    with computed_by(build):
        assert engine_name() == build
        assert engine() is BUILDS[build]


def test_where_none_is_asked_for_torch_computes(blob):
    with computed_by("none"):
        assert engine_name() == "torch"
        model = quick().fit(blob)
        assert isinstance(model.fitted_.scorer, TorchScorer)
        assert np.isfinite(model.raw(blob)).all()


def test_without_the_engine_torch_is_imported_and_computes():
    code = (
        "import sys, numpy, centrality\n"
        "X = numpy.random.default_rng(0).normal(size=(100, 2))\n"
        "model = centrality.FUSE(max_steps=5, random_state=0).fit(X)\n"
        "assert 'torch' in sys.modules\n"
        "print(type(model.fitted_.scorer).__name__)"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "none")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "TorchScorer\n"


@pytest.mark.parametrize("name", ["sse9", "../avx2", "engine"])
def test_a_build_that_does_not_exist_is_an_error_that_names_it(name, blob):
    with computed_by(name):
        with pytest.raises(
            ImportError, match=f"{VARIABLE} asks for the engine '{name}', which this installation lacks"
        ):
            engine()
        with pytest.raises(ImportError, match=name):
            quick().fit(blob)


def test_what_needs_torch_uses_torch_beside_the_engine(blob):
    from torch import nn

    assert isinstance(quick(encoder=nn.Linear(2, 3)).fit(blob).fitted_.scorer, TorchScorer)
