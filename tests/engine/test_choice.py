"""Which build computes: the best that runs here, or the one that is asked for."""

import numpy as np
import pytest

from centrality.apps.cli import main
from centrality.engine import FASTEST_FIRST, VARIABLE, EngineError, engine, engine_name
from centrality.network.engine_backend import EngineScorer
from tests.conftest import quick
from tests.engine.cases import BUILDS, computed_by


def test_every_installation_has_a_build_that_runs_anywhere():
    assert FASTEST_FIRST[-1] == "portable"
    assert "portable" in BUILDS


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


UNKNOWN = ["sse9", "../avx2", "engine", "AVX2", "none", "torch"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_build_that_does_not_exist_is_an_error_that_lists_those_that_do(name, blob):
    said = f"{VARIABLE} must name a build of the engine, avx512, avx2, neon, portable, got '{name}'"
    with computed_by(name):
        with pytest.raises(EngineError, match=said):
            engine()
        with pytest.raises(ImportError, match=said):
            quick().fit(blob)


def test_a_build_that_cannot_run_here_is_an_error_that_says_what_to_do():
    (elsewhere, *_) = [name for name in FASTEST_FIRST if name not in BUILDS]  # neon, or those of other CPUs
    with computed_by(elsewhere), pytest.raises(EngineError, match=f"the build '{elsewhere}' .* leave {VARIABLE} unset"):
        engine()


def test_an_installation_without_any_build_says_what_to_install(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr("centrality.engine.__name__", "centrality.nowhere")
    engine.cache_clear()
    with pytest.raises(EngineError, match=r"has no compiled engine: install a wheel, or .* a C\+\+ compiler"):
        engine()


@pytest.mark.parametrize("command", [["version"], ["fit", "rows.csv", "-o", "m.safetensors"]])
def test_on_the_command_line_it_is_one_line_and_exit_2(command, blob, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savetxt("rows.csv", blob[:100], delimiter=",", header="a,b", comments="")
    with computed_by("AVX2"):
        assert main(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"centrality: {VARIABLE} must name a build of the engine")
    assert line.endswith("got 'AVX2'.")
