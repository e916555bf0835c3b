"""A model as one torch module: it says what the engine says, and its gradient is the slope of what it says."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import NotFittedError

from centrality import FUSE, Chain
from centrality.network.calibration import ALLOWANCE, squeezed
from centrality.representations import Table
from centrality.torch.module import Centrality
from tests.conftest import quick
from tests.pairwise import pairwise
from tests.promise import assert_same_scores, assert_same_unbounded

pytestmark = pytest.mark.numbers
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(400, 4)) * (1, 1, 30, 1), 100 * RNG.standard_cauchy(400)])
Q = (
    RNG.normal(size=(300, 5)) * (1, 1, 30, 1, 100) * np.geomspace(1, 1e4, 300)[:, None]
)  # typical rows, and ever farther
T = [0.0, 0.3, 1.0]
KINDS = {
    f"{members} members, {'one trunk' if shared else 'two trunks'}, {calibration}, {potentials} potentials": {
        "ensemble": members,
        "shared_encoder": shared,
        "calibration": calibration,
        "noise_scale": "auto" if potentials == 5 else 1.0,
    }
    for members, shared, calibration, potentials in pairwise([1, 5], [True, False], ["soft", "clip"], [1, 5])
} | {
    "clean": {"novelty": True},
    "clean, five members": {"novelty": True, "ensemble": 5},
    "two potentials": {"noise_scale": [0.5, 1.0]},
    "unscaled": {"scaling": "none"},
    "an encoder of one's own": {"encoder": torch.nn.Linear(5, 4), "novelty": True},
}


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return quick(**KINDS[request.param]).fit(X)


def expected_units(model: FUSE, rows: np.ndarray) -> np.ndarray:
    """Units by their equations, from what the engine says of the networks' outputs."""
    calibration, outputs = model.fitted_.calibration, model.fitted_.scorer(model.fitted_.scaling.apply(rows))
    members, _, width = outputs.shape
    logit, local = outputs[:, :, 0], outputs[:, :, 1:]
    if (members, width) != (1, 2):
        low, high = calibration.potentials[:, None, :, 0], calibration.potentials[:, None, :, 1]
        local = (local - low) / (high - low)
    limits = getattr(calibration, "members", np.broadcast_to([0.0, 1.0], (members, 2, 2)))
    pairs = np.stack([logit, local.mean(2)], axis=2)
    pairs = (pairs - limits[:, None, :, 0]) / (limits[:, None, :, 1] - limits[:, None, :, 0])
    g, l = pairs.min(0).T  # noqa: E741
    if calibration.kind == "clip":
        low, high = calibration.ends[1]
        return np.column_stack([1 / (1 + np.exp(-g)), np.clip((l - low) / (high - low), 0, 1)])
    (low, high), (its_low, its_high) = calibration.halves
    g, l = (g - low) / (high - low), (l - its_low) / (its_high - its_low)  # noqa: E741
    return np.column_stack([g, l])


def test_units_heads_and_scores_are_the_engines(model):
    module, units = model.to_torch(), expected_units(model, Q)
    found = module.units(torch.from_numpy(Q))
    assert found.dtype == torch.float64
    assert_same_unbounded(found, units)
    weight = model.fitted_.calibration.mixing.local_weight
    share = np.array(T) if weight is None else weight * np.array(T) / (1 + (weight - 1) * np.array(T))
    with np.errstate(divide="ignore"):
        allowance = ALLOWANCE / (1 - np.array(T)) if model.fitted_.calibration.mixing.veto else np.inf
    mixed = units[:, :1] * (1 - share) + np.minimum(units[:, 1:], units[:, :1] + allowance) * share
    squeeze = squeezed if weight is not None else np.asarray
    assert_same_scores(module.heads(torch.from_numpy(Q)), squeeze(units), room=10)
    assert_same_scores(module(torch.from_numpy(Q), T), squeeze(mixed), room=10)
    assert_same_scores(module(torch.from_numpy(Q), 0.3), squeeze(mixed)[:, 1], room=10)
    assert_same_unbounded(module.scores(torch.from_numpy(Q), 0.3), mixed[:, 1])


def test_in_float32_as_on_a_gpu_it_keeps_the_promise_too(model):
    """Trunks compute in float32 there; the rest as here."""
    module = model.to_torch()
    exact = module.heads(torch.from_numpy(Q))
    module.networks.trunks.float()
    assert_same_scores(module.heads(torch.from_numpy(Q)), exact)


def test_the_gradient_is_the_slope(model):
    """Central differences over ±.002 of a column's deviation; rows are rounded to float32 on the way, 6e-8 of them."""
    module, step = model.to_torch(), 2e-3 * np.median(np.abs(X - np.median(X, 0)), 0)
    rows = torch.from_numpy(X[:40] + 0.1 * step).requires_grad_()
    module.scores(rows, 0.4).sum().backward()
    assert rows.grad is not None
    for column in range(5):
        either = [X[:40] + 0.1 * step + sign * step * np.eye(5)[column] for sign in (1, -1)]
        high, low = (module.scores(torch.from_numpy(each), 0.4) for each in either)
        expected, found = (high - low) / 2, rows.grad[:, column] * step[column]
        close = (expected - found).abs() <= 1e-2 * expected.abs() + 1e-4
        assert close.double().mean() >= 0.9  # a kink may lie on the way: another potential, the veto, an end of "clip"


def test_its_weights_are_fixed_and_it_is_in_no_training_mode(model):
    module = model.to_torch()
    assert not module.training
    assert not any(parameter.requires_grad for parameter in module.parameters())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64])
def test_rows_of_any_kind_of_number_are_taken(model, dtype):
    rows = torch.from_numpy(X[:20].clip(-1000, 1000)).to(dtype)
    torch.testing.assert_close(model.to_torch().heads(rows), model.to_torch().heads(rows.double()))


def test_the_dial_is_the_models_own_where_none_is_given(blob):
    model = quick(t=0.2).fit(blob)
    module, rows = model.to_torch(), torch.from_numpy(blob[:9])
    torch.testing.assert_close(module(rows), module(rows, 0.2))
    torch.testing.assert_close(module(rows), module(rows, torch.tensor(0.2, dtype=torch.float64)))
    with pytest.raises(ValueError, match="t must lie between 0"):
        module(rows, 2)


def test_it_is_saved_as_any_module_is(blob, tmp_path):
    first, other = (quick(random_state=seed).fit(blob).to_torch() for seed in (0, 1))
    torch.save(first.state_dict(), tmp_path / "weights.pt")
    other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    rows = torch.from_numpy(blob[:9])
    torch.testing.assert_close(other.heads(rows), first.heads(rows))


def test_of_each_head_the_lowest_member_decides(blob):
    fitted = quick(ensemble=3, noise_scale=1.0).fit(blob).fitted_
    module = Centrality(fitted.network, fitted.scaling, fitted.calibration, t=0.5)
    outputs = module.outputs(torch.from_numpy(blob))
    each = torch.stack([_alone(module, member).raw(outputs[[member] * 3]) for member in range(3)])
    lowest, which = each.min(0)
    assert all(which[:, head].unique().numel() == 3 for head in (0, 1))  # so that each of them decides somewhere
    torch.testing.assert_close(module.raw(outputs), lowest)


def _alone(module: Centrality, member: int) -> Centrality:
    """A module in which all members are measured as this one is."""
    alone = copy.deepcopy(module)
    for name in ("low", "range", "zero", "one"):
        setattr(alone, name, getattr(module, name)[[member] * 3])
    return alone


def test_of_a_chain_it_scores_the_vectors():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "kind": rng.choice(["a", "b"], 200)})
    chain = Chain(Table(), quick(novelty=True)).fit(frame)
    fresh = frame.assign(x=frame.x + 0.01)
    found = chain.to_torch()(torch.from_numpy(np.asarray(chain.representation_.transform(fresh))), 0.5)
    assert_same_scores(found, chain.centrality(fresh, 0.5))


def test_a_model_that_is_not_fitted_has_none():
    with pytest.raises(NotFittedError):
        FUSE().to_torch()
