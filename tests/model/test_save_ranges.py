"""Files with a right checksum and wrong numbers are refused by name; broken models never give a score."""

import numpy as np
import pytest

from centrality import load
from centrality._internal import model_file
from centrality._internal.checks import InputError
from centrality._internal.model_file import ModelFileError
from centrality.apps.cli import main
from centrality.network.engine_backend import folded_head
from tests.conftest import quick


@pytest.fixture(scope="module")
def saved(tmp_path_factory, blob):
    path = tmp_path_factory.mktemp("ranges") / "m.safetensors"
    quick(novelty=True).fit(blob).save(path)
    return path


def huge_weights(header, arrays):
    for name in arrays:
        if name.startswith("network.trunks"):
            arrays[name] = np.full_like(arrays[name], 3e38)


def changed(**values):
    return lambda header, arrays: header.update(values)


CRAFTED = {
    "weights of 3e38": (huge_weights, r"network\.trunks.* must hold numbers up to 1e\+09, got 3e\+38"),
    "a linear mixture of what has no ends": (
        changed(mixing={"local_weight": None, "veto": True}),
        "mixing is none that a fitted model has: {'local_weight': None, 'veto': True}",
    ),
    "a negative weight": (changed(mixing={"local_weight": -3.0, "veto": True}), "mixing is none"),
    "a mixture of text": (changed(mixing="soft"), "mixing is none that a fitted model has: 'soft'"),
    "an unknown calibration": (
        lambda header, arrays: header.update(
            model="PaperFUSE", parameters=header["parameters"] | {"calibration": "isotonic"}
        ),
        "calibration must be one of soft, clip, got 'isotonic'",
    ),
    "t beyond its ends": (lambda header, arrays: header["parameters"].update(t=7.0), "t is none .* 7.0"),
    "a threshold of text": (changed(offset="low"), "offset is none that a fitted model has: 'low'"),
    "a threshold at no t": (changed(offset_at_t=-1.0), "offset_at_t is none"),
    "noise below zero": (lambda h, a: h.update(noise_scale=[-x for x in h["noise_scale"]]), "noise_scale is none"),
    "no rows": (changed(training_rows=0), "training_rows is none"),
    "halves of seventeen": (changed(halves=17), "halves is none that a fitted model has: 17"),
    "columns of no rows": (changed(rows_of_columns=0), "rows_of_columns is none"),
    "all inliers dirty": (changed(contamination_of_inliers=2.0), "contamination_of_inliers is none"),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_what_no_fit_could_have_written_is_refused_by_name(saved, tmp_path, capsys, case):
    change, said = CRAFTED[case]
    header, arrays = model_file.read(saved)
    change(header, arrays)
    crafted = tmp_path / "m.safetensors"
    model_file.write(crafted, header, arrays)
    with pytest.raises(ModelFileError, match=said):
        load(crafted)
    assert main(["inspect", str(crafted)]) in (0, 2)
    assert "Traceback" not in capsys.readouterr().err


def array(name, change):
    """Return what changes one array of a file by a function; None: leaves it out."""

    def crafted(header, arrays):
        held = arrays.pop(name)
        if change is not None:
            arrays[name] = change(held.copy())

    return crafted


def filled(value):
    return lambda held: np.full_like(held, value)


CRAFTED_CONTEXTS = {
    "no narrowest spread": (array("context.narrowest", filled(0)), "narrowest must hold numbers above 0"),
    "ends upside down": (array("context.range", lambda held: held[::-1].copy()), "range must hold lower ends, then"),
    "contexts upside down": (array("context.seen", lambda held: held[::-1].copy()), "seen must hold lower ends, then"),
    "a slope of 1e300": (array("context.line", filled(1e300)), r"line must hold numbers up to 1e\+30"),
    "a tree that goes up": (
        array("context.usual.children", lambda held: np.roll(held, 1, axis=1)),
        "children must lead downward",
    ),
    "a feature that is none": (
        array("context.usual.feature", filled(2)),
        "feature must hold whole numbers from 0 to 1",
    ),
    "levels of no column": (
        array("context.levels.0.columns", filled(9)),
        "columns must hold whole numbers from 0 to 1",
    ),
    "one level four times": (array("context.levels.0.keys", filled(0)), "keys must hold each level once"),
    "a context named twice": (array("context.given", filled(0)), "given must name some of the 4 columns, each once"),
    "contexts in disorder": (array("context.given", lambda held: held[::-1].copy()), "given must name .* in order"),
    "a scaling that shrinks to nothing": (
        array("context.scaling.shrink", filled(0)),
        "shrink must hold numbers above 0",
    ),
    "knots of scores that fall": (array("context.kinds.knots", lambda held: -held), "knots and shares must rise"),
    "knots at one place": (array("context.kinds.knots", filled(0)), "knots and shares must rise"),
    "a knot that is no number": (
        array("context.kinds.knots", filled(np.nan)),
        r"context\.kinds\.knots must hold finite float64 numbers",
    ),
    "knots for one head": (
        array("context.kinds.knots", lambda held: held[:1].copy()),
        r"context\.kinds\.knots must hold finite float64 numbers",
    ),
    "more rows than all": (array("context.kinds.shares", lambda held: 2 * held), "knots and shares must rise"),
    "shares without knots": (array("context.kinds.knots", None), "knots"),
    "an own share of -1": (array("context.kinds.own.0", filled(-1)), "own must hold shares from 0 to 1"),
    "own shares of other levels": (array("context.kinds.own.0", lambda held: held[1:].copy()), "own.0 must hold"),
    "levels without effects": (array("context.kinds.levels.0.effects", None), "effects"),
    "effects on few knots": (
        array("context.kinds.levels.0.effects", lambda held: held[:, 1:].copy()),
        "effects must hold finite float64 numbers of shape",
    ),
    "an effect without end": (array("context.kinds.levels.0.effects", filled(np.inf)), "effects must hold finite"),
    "kinds by a column that is none": (
        array("context.kinds.levels.0.columns", filled(2)),
        "columns must hold whole numbers from 0 to 1",
    ),
    "a tree of kinds that goes up": (
        array("context.kinds.forest.children", lambda held: np.roll(held, 1, axis=1)),
        "children must lead downward",
    ),
    "half of what marks taught": (array("refinement.knots", None), "knots and refinement.values go together"),
    "the other half": (array("refinement.values", None), "knots and refinement.values go together"),
    "knots that fall": (array("refinement.knots", lambda held: -held), "refinement.knots must rise along each column"),
    "a shift beyond all scores": (array("refinement.values", filled(1e300)), "values must hold numbers up to 1e"),
}


@pytest.fixture(scope="module")
def with_context(tmp_path_factory):
    """Return the file of a model that knows kinds, and has learned from marks."""
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=200)
    rows = np.column_stack([kind, rng.normal(size=200), 3 * kind + rng.normal(size=200), rng.normal(size=200)])
    path = tmp_path_factory.mktemp("context") / "m.safetensors"
    marks = ["outlier", "fine", "fine", "outlier", *[None] * 196]
    quick(given=[0, 1], max_steps=3).fit(rows).learn_marks(rows, marks).save(path)
    assert load(path).centrality(rows).shape == (200,)
    return path


@pytest.mark.parametrize("case", CRAFTED_CONTEXTS)
def test_a_context_or_a_lesson_that_no_fit_could_have_written_is_refused_by_name(with_context, tmp_path, case):
    change, said = CRAFTED_CONTEXTS[case]
    header, arrays = model_file.read(with_context)
    change(header, arrays)
    crafted = tmp_path / "m.safetensors"
    model_file.write(crafted, header, arrays)
    with pytest.raises(ModelFileError, match=said):
        load(crafted)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_score_that_is_no_number_is_an_error_at_every_door(saved, blob, tmp_path, capsys, monkeypatch, value):
    np.save(tmp_path / "rows.npy", blob)

    def broken(*arguments):
        weight, bias = folded_head(*arguments)  # as weights do that overflow
        return weight, np.full_like(bias, value)

    monkeypatch.setattr("centrality.network.engine_backend.folded_head", broken)
    model = load(saved)
    for method in ("centrality", "heads", "raw", "score_samples", "predict", "p_values", "detect", "transform"):
        with pytest.raises(InputError, match="gives scores that are not finite: its weights are damaged"):
            getattr(model, method)(blob)
    assert main(["score", str(saved), str(tmp_path / "rows.npy"), "-o", str(tmp_path / "o.csv")]) == 2
    assert "not finite" in capsys.readouterr().err
    assert not (tmp_path / "o.csv").exists()
