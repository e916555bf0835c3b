"""A short part of `make test-cpus`: saved models score as promised on two CPUs that this one can pretend to be."""

from pathlib import Path

import pytest

from tests.cpus import EMULATIONS, FLAGS, MOST_TELLING, SHORT, cpu, emulated, tested
from tests.properties.test_promise import KINDS, file_of, model_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """The models whose scores are compared, fitted by this CPU."""
    folder = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        model_of(kind).save(file_of(kind, folder))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", SHORT)
def test_scores_keep_their_promise_on_another_cpu(saved, name):
    needs, variables = EMULATIONS[name]
    if FLAGS[needs] not in cpu()[1]:
        pytest.skip(f"This CPU has no {needs}.")
    done = tested(emulated(variables, saved), *(str(ROOT / file) for file in MOST_TELLING))
    assert done.returncode == 0, done.stdout[-4000:]
