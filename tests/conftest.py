import os
from collections.abc import Generator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

if TYPE_CHECKING:
    from centrality import FUSE  # imported where used: what needs no torch is also tested where there is none

# One number for as long as the tests last: numba refuses another once it has begun, and others set it for a while.
os.environ.setdefault("NUMBA_NUM_THREADS", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nobody is told of tests
settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("default")
NUMBERS = count()  # of the databases that tests make


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Examples in docstrings are those of src: test files hold none, and are not searched for them."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what a test needs: some checks of scikit-learn are about numbers, a CLIP takes long to import."""
    for item in items:
        if "clip" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
        if "check_methods_" in item.name and "FUSE" in item.name:
            item.add_marker(pytest.mark.numbers)


def quick(**changes) -> "FUSE":
    """FUSE that trains for a moment: enough where the quality of the fit is not the question.

    With one of the paper's words it is a PaperFUSE.
    """
    from centrality import FUSE, PaperFUSE

    kind = FUSE if FUSE().get_params().keys() >= changes.keys() else PaperFUSE
    return kind(**({"max_steps": 60, "hidden": (16, 16), "random_state": 0} | changes))


@pytest.fixture
def short_fits(monkeypatch) -> None:
    """Fits that are not told how long to train take 60 steps: where what is done with a model is the question."""
    for name in ("STEPS", "STEPS_WHEN_CLEAN", "STEPS_OF_EACH"):
        monkeypatch.setattr(f"centrality.fuse.config.{name}", 60)


@pytest.fixture
def torch_trains(monkeypatch):
    """Torch trains our own networks too, as it does on a GPU."""
    from centrality.fuse.torch_trainer import TorchTrainer

    for module in ("train", "paper_fuse"):
        monkeypatch.setattr(f"centrality.fuse.{module}.make_trainer", TorchTrainer)


@pytest.fixture(scope="session")
def blob() -> np.ndarray:
    """600 points of a round Gaussian in the plane."""
    return np.random.default_rng(0).normal(size=(600, 2))


@pytest.fixture(scope="session")
def fitted(blob) -> "FUSE":
    """FUSE with its defaults on the blob. Shared: tests must not change it."""
    from centrality import FUSE

    return FUSE(random_state=0).fit(blob)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets: a must in CI, a reason to skip elsewhere."""
    folder = os.environ.get("CENTRALITY_DATA")
    if folder:
        return Path(folder)
    if os.environ.get("CI"):
        pytest.fail("CENTRALITY_DATA is not set: CI must test on the real data sets.")
    pytest.skip("CENTRALITY_DATA does not point to the data sets.")


@pytest.fixture(scope="session")
def postgres_server() -> Generator[str]:
    """A PostgreSQL on loopback that lives as long as the tests: a must in CI, a reason to skip elsewhere."""
    from tests import postgres

    with TemporaryDirectory(prefix="centrality-postgres-") as folder, postgres.server(Path(folder)) as address:
        yield address


@pytest.fixture
def postgres(postgres_server) -> str:
    """The address of an empty database of it."""
    from tests.postgres import run_sql

    name = f"test_{next(NUMBERS)}"
    run_sql(f"{postgres_server}/postgres", f"CREATE DATABASE {name}")
    return f"{postgres_server}/{name}"


@pytest.fixture(scope="session")
def clip(tmp_path_factory) -> str:
    """A tiny CLIP with random weights, saved as the real one is."""
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("clip")
    text = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = {**text, "image_size": 32, "patch_size": 8}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=12)
        transformers.CLIPModel(config).save_pretrained(folder)
    transformers.CLIPImageProcessorPil(
        size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
    ).save_pretrained(folder)
    return str(folder)
