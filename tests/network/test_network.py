"""A network as arrays: what it consists of, how it begins, and which weights fit it."""

import numpy as np
import pytest

from centrality._internal.checks import InputError
from centrality.network.network import Layout, build, restore


def test_a_layout_names_every_weight_and_its_shape():
    layout = Layout(width=5, hidden=(32, 16), shared=False, potentials=2, members=3)
    layers = ((0, (32, 5)), (2, (16, 32)), (4, (16, 16)))
    trunks = {f"trunks.{k}.{place}": shape for k in (0, 1) for place, shape in layers}
    weights = trunks | {"global_head": (1, 16), "local_head": (2, 16)}
    expected: dict[str, tuple[int, ...]] = {f"{name}.weight": (3, *shape) for name, shape in weights.items()}
    expected |= {f"{name}.bias": (3, shape[0]) for name, shape in weights.items()}
    assert layout.shapes() == expected


def test_initial_weights_lie_within_one_over_the_root_of_the_fan_in_and_members_differ():
    network = build(Layout(width=25, hidden=(100, 100), members=2), np.random.default_rng(0))
    for name in ("trunks.0.0", "trunks.0.2", "global_head"):
        first, second = network.weights[f"{name}.weight"]
        bound = first.shape[1] ** -0.5
        assert 0.8 * bound < np.abs(first).max() <= bound
        assert (first != second).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.pop("global_head.bias"), "global_head.bias is missing"),
        (lambda weights: weights.update(more=np.zeros(1)), "it has no more"),
        (
            lambda weights: weights.update({"global_head.bias": np.zeros((1, 2), dtype=np.float32)}),
            r"must hold float32 numbers of shape \(1, 1\), got float32 \(1, 2\)",
        ),
    ],
)
def test_weights_that_do_not_fit_are_named(change, message):
    layout = Layout(width=3, hidden=(8,))
    weights = dict(build(layout, np.random.default_rng(0)).weights)
    assert restore(layout, weights).weights == weights
    change(weights)
    with pytest.raises(InputError, match=f"the weights do not fit the network: .*{message}"):
        restore(layout, weights)
