"""What a fit must not keep to itself: each alarm is provoked here, and comes from `fit`, with what to do about it."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from centrality import FUSE, Chain, load
from centrality._internal import model_file
from centrality._internal.model_file import ModelFileError
from centrality.analysis.drift_columns import TrainingColumns
from centrality.apps.cli import main
from centrality.fuse.finish import FitRows, finish_fit
from centrality.representations import Table
from centrality.representations.base import Representation
from tests.conftest import quick
from tests.fuse.cases import config_of


def alarms(fit) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fit()
    return said


def test_a_good_fit_gives_no_alarm(blob):
    assert not alarms(lambda: quick(holdout=0.2).fit(blob))


def test_a_head_that_is_all_but_constant():
    X = np.random.default_rng(0).normal(size=(500, 2))
    X[:10] *= 1e6  # two in a hundred stretch the scale that percentiles fix
    said = alarms(lambda: quick(scaling="none", noise_scale=1.0, calibration="clip").fit(X))
    assert any("head has collapsed: half of the rows lie within" in str(one.message) for one in said)
    assert {one.filename for one in said} == {__file__}  # the line that called `fit`, not one of ours


def with_a_far_dense_group() -> np.ndarray:
    """A tenth of the rows, far away and close together."""
    rng = np.random.default_rng(0)
    return np.concatenate([100 + 1e-3 * rng.normal(size=(60, 2)), rng.normal(size=(540, 2))])


def test_heads_that_contradict_each_other_about_extreme_rows():
    said = [
        str(one.message) for one in alarms(lambda: quick(calibration="clip", ensemble=1).fit(with_a_far_dense_group()))
    ]
    assert any("rows lie far from all others, and the local head finds them typical" in text for text in said)


def test_where_the_global_head_has_a_say_a_far_group_is_odd_however_dense():
    X = with_a_far_dense_group()
    model = quick()
    alarms(lambda: model.fit(X))
    f = model.centrality(X, [0.0, 0.25, 0.5])
    assert (f[:60].max(0) < np.quantile(f[60:], 0.1, axis=0)).all()


@pytest.mark.slow
def test_rows_held_aside_that_score_otherwise_than_those_learned_from():
    X = np.random.default_rng(0).normal(size=(200, 20))
    of_paper = {"holdout": 0.4, "noise_scale": 0.3, "random_state": 0}
    with pytest.warns(UserWarning, match=r"Rows held aside score lower .* train less: .* fewer epochs"):
        model = FUSE.as_in_paper("synthetic", epochs=100, **of_paper).fit(X)
    fresh = np.random.default_rng(1).normal(size=(1000, 20))
    assert (model.predict(fresh) == -1).mean() > 0.2  # a tenth was asked for: the alarm is no false one
    assert (model.p_values(fresh) <= 0.1).mean() < 0.2


def test_scores_that_are_no_numbers_though_losses_were(blob):
    fitted = quick().fit(blob).fitted_
    name, first = next(iter(fitted.network.weights.items()))
    network = replace(fitted.network, weights={**fitted.network.weights, name: np.full_like(first, np.nan)})
    rows = FitRows(X=blob, as_new=blob)
    with pytest.raises(FloatingPointError, match=r"600 of 600 training rows have scores that are not finite"):
        finish_fit(
            network,
            fitted.history,
            fitted.scaling,
            None,
            rows=rows,
            column_summary=lambda: TrainingColumns.of(blob),
            config=config_of(blob),
            rng=np.random.default_rng(0),
            untrained_local_loss=0.5,
        )


@pytest.mark.parametrize(
    "name", ["calibration.ends", "calibration.halves", "calibration.members", "calibration.potentials"]
)
def test_quantiles_of_a_file_that_are_out_of_order(blob, tmp_path, name):
    path = tmp_path / "m.safetensors"
    quick().fit(blob).save(path)
    header, arrays = model_file.read(path)
    model_file.write(path, header, arrays | {name: arrays[name][..., ::-1].copy()})
    with pytest.raises(ModelFileError, match=f"{name} must hold a low and a high value"):
        load(path)


def test_training_scores_of_a_file_that_are_out_of_order(blob, tmp_path):
    path = tmp_path / "m.safetensors"
    quick().fit(blob).save(path)
    header, arrays = model_file.read(path)
    model_file.write(path, header, arrays | {"training.quantiles": arrays["training.quantiles"][:, ::-1].copy()})
    with pytest.raises(ModelFileError, match=r"training\.quantiles must rise"):
        load(path)


@pytest.fixture
def with_a_wild_cell() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(list("xyz"), 300), "size": rng.normal(size=300)})
    frame.loc[7, "size"] = 99999.0
    return frame


def test_a_wild_cell_of_a_table_is_in_a_column_of_the_users(with_a_wild_cell):
    with pytest.warns(UserWarning, match="variance of column size comes from 1 of its cells"):
        Chain(Table(), quick()).fit(with_a_wild_cell)


class TwoForOne(Representation):
    """Gives every column of an array two numbers, which have no names of their own."""

    kind, scaled = "twos", True

    def fit(self, X, y=None):
        self.columns_ = None
        return self

    def transform(self, X):
        return np.repeat(np.asarray(X), 2, axis=1)

    def origins(self):
        return ["weight", "size"], np.array([0, 0, 1, 1])


def test_alarms_about_what_a_representation_made_speak_of_the_users_columns(blob):
    X = blob.copy()
    X[7, 1] = 99999.0
    chain = Chain(TwoForOne(), quick(scaling="standard"))
    for learn in (chain.fit, chain.partial_fit):
        said = [str(one.message) for one in alarms(lambda learn=learn: learn(X))]
        assert any("variance of column size comes from" in text for text in said)
        assert set(chain.report().wild) == {"size"}


@pytest.mark.slow
def test_a_wild_cell_of_a_table_leaves_the_others_in_their_order_and_is_odd_itself(with_a_wild_cell):
    rows = with_a_wild_cell
    model = Chain(Table(), FUSE(random_state=0))  # in full: short fits of other rows hardly agree by themselves
    before = model.fit(rows.drop(index=7)).centrality(rows, t=[0.0, 0.5, 1.0])
    for value in (1e3, 99999.0, -1e9, 1e100):
        rows.loc[7, "size"] = value
        with pytest.warns(UserWarning, match="variance of column size"):
            model.fit(rows)
        after = model.centrality(rows, t=[0.0, 0.5, 1.0])
        assert (after[7] <= np.sort(after, axis=0)[5]).all()  # among the six oddest of 300 rows at every t
        orders = [spearmanr(np.delete(a, 7), np.delete(b, 7))[0] for a, b in zip(after.T, before.T, strict=True)]
        assert orders[0] > 0.95  # two seeds agree to .99 at t = 0
        assert orders[1] > 0.5  # and to .85 at t = 1/2: three thin groups, whose densities are much alike


def test_the_command_says_it_on_stderr(with_a_wild_cell, tmp_path, capsys):
    with_a_wild_cell.to_csv(tmp_path / "t.csv", index=False)
    out = str(tmp_path / "m.safetensors")
    assert main(["fit", str(tmp_path / "t.csv"), "-o", out, "--represent", "table", "--max-steps", "20"]) == 0
    assert "centrality: note: Nearly all variance of column size comes from 1 of its cells" in capsys.readouterr().err
