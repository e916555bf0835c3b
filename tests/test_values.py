"""A fitted model is a value: equal by content, and nothing changes it in place."""

import copy
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from centrality import FUSE, load
from centrality._values import Value, locked
from centrality.model.interface import with_fitted
from centrality.network.scorer import EngineScorer
from tests.conftest import quick


@dataclass(frozen=True, eq=False)
class Pair(Value):
    array: Any
    other: Any = None


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (np.arange(3), np.arange(3), True),
        (np.arange(3), np.arange(4), False),
        (np.arange(3), np.arange(3.0), False),  # another type is another value
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
        (np.array(["a", "b"]), np.array(["a", "b"]), True),
        ({"w": np.ones(2)}, {"w": np.ones(2)}, True),
        ({"w": np.ones(2)}, {"v": np.ones(2)}, False),
        ({"loss": [np.nan, 1.0]}, {"loss": [np.nan, 1.0]}, True),
        ([1.0, 2.0], [1.0], False),
        (np.ones(2), None, False),
        ("soft", "clip", False),
    ],
)
def test_values_are_equal_by_content(a, b, same):
    assert (Pair(a) == Pair(b)) is same
    assert (Pair(0, a) == Pair(0, b)) is same


def test_a_value_is_equal_to_nothing_of_another_kind_and_is_no_key():
    assert Pair(1) != 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(Pair(1))


def test_locking_leaves_the_givers_array_as_it_was():
    given = np.zeros(3)
    value = Pair(given)
    given[0] = 1.0  # whoever made it may write to it still
    with pytest.raises(ValueError, match="read-only"):
        value.array[0] = 2.0
    assert locked("text") == "text"


def test_a_mapping_of_arrays_cannot_be_changed():
    value = Pair({"w": np.zeros(2)})
    with pytest.raises(TypeError, match="does not support item assignment"):
        value.array["w"] = np.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        value.array["w"][0] = 1


@pytest.mark.parametrize("twin", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_is_equal_and_locked_too(twin):
    value = Pair({"w": np.zeros(2)}, np.ones(3))
    again = twin(value)
    assert again == value
    assert isinstance(again.array, MappingProxyType)
    assert not again.other.flags.writeable
    assert not again.array["w"].flags.writeable


# The fitted model.

KINDS = {
    "defaults": {},
    "one network, clipped": {"ensemble": 1, "calibration": "clip"},
    "clean": {"novelty": True},
    "held aside": {"holdout": 0.2},
    "the paper's": {"epochs": 1},
}


@pytest.fixture(scope="module", params=KINDS)
def model(request, blob) -> FUSE:
    return quick(max_steps=20, **KINDS[request.param]).fit(blob)


def arrays_in(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from arrays_in(each)
    elif is_dataclass(value):
        for each in fields(value):
            yield from arrays_in(getattr(value, each.name))


def test_a_fitted_value_equals_its_copy_its_pickle_and_its_saved_and_loaded_self(model, tmp_path):
    fitted = model.fitted_
    model.save(tmp_path / "m.safetensors")
    others = [copy.copy(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))]
    for other in (*others, load(tmp_path / "m.safetensors").fitted_):
        assert other == fitted
    assert replace(fitted, offset=fitted.offset + 1) != fitted
    weights = dict(fitted.network.weights)
    name = next(iter(weights))
    nudged = replace(fitted.network, weights={**weights, name: np.nextafter(weights[name], np.float32(9))})
    assert replace(fitted, network=nudged) != fitted


def test_two_fits_with_one_seed_are_equal_and_with_another_are_not(blob):
    first, second, other = (quick(max_steps=10, random_state=seed).fit(blob).fitted_ for seed in (0, 0, 1))
    assert first == second
    assert first != other


def test_no_array_of_a_fitted_model_can_be_written_to(model, tmp_path):
    model.save(tmp_path / "m.safetensors")
    for fitted in (model.fitted_, load(tmp_path / "m.safetensors").fitted_, pickle.loads(pickle.dumps(model.fitted_))):
        held = [
            array
            for each in fields(fitted)
            if each.name != "remembered"
            for array in arrays_in(getattr(fitted, each.name))
        ]
        assert len(held) > 10
        for array in held:
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


@pytest.fixture
def packed(monkeypatch) -> list[EngineScorer]:
    """Every engine scorer that is made from now on."""
    made: list[EngineScorer] = []
    make = EngineScorer.__init__

    def counted(self, *args, **kwargs):
        made.append(self)
        make(self, *args, **kwargs)

    monkeypatch.setattr(EngineScorer, "__init__", counted)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_packs_one_scorer_of_what_is_kept_and_no_other(blob, packed, kind):
    quick(max_steps=5, **KINDS[kind]).fit(blob)
    assert len(packed) == 1


def test_calibrate_makes_a_new_value_with_the_scorer_it_has(blob, packed):
    model = quick(max_steps=5).fit(blob)
    before, twin = model.fitted_, copy.deepcopy(model.fitted_)
    packed.clear()
    model.calibrate(blob[:50] + 0.1)
    assert model.fitted_ is not before
    assert model.fitted_ != before
    assert before == twin
    assert packed == []


def test_partial_fit_makes_a_new_value_and_packs_one_scorer(blob, packed):
    model = quick(max_steps=5).fit(blob)
    before, twin = model.fitted_, copy.deepcopy(model.fitted_)
    scores = model.heads(blob)
    packed.clear()
    model.partial_fit(blob[:50] + 0.1)
    assert len(packed) == 1
    assert model.fitted_ != before
    assert before == twin
    np.testing.assert_array_equal(with_fitted(model, before).heads(blob), scores)
