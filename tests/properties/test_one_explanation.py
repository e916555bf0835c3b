"""Scores and reasons are the same at every door: command line and HTTP say what the model says, at five t.

The page has a test of its own, in a real browser: `explorer/test_contract.py`.
"""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from centrality import load, tables
from centrality._internal.text import column_name
from centrality.apps.cli import main
from centrality.model.reader import reader_of
from tests.conftest import quick
from tests.served import Server

DIAL = (0.0, 0.25, 0.5, 0.75, 1.0)
CLOSE = 1e-6
NAMES = ("length", "width", "height")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A cloud, far from it a dense group, and the file of a model of both."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("doors")
    X = np.concatenate([rng.normal(size=(340, 3)), 0.02 * rng.normal(size=(60, 3)) + [9.0, 9.0, 0.0]])
    rows = pa.table(dict(zip(NAMES, X.T, strict=True)))
    tables.write(rows, folder / "rows.csv")
    quick(max_steps=400).fit(rows).save(folder / "m.safetensors")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return load(folder / "m.safetensors")


@pytest.fixture(scope="module")
def rows(folder):
    return tables.read(folder / "rows.csv")


def said(capsys, folder, command: str, *arguments) -> dict:
    """What a command answers in JSON."""
    files = [str(folder / "m.safetensors"), str(folder / "rows.csv")]
    assert main([command, *files, *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def hold(found: list[dict], wanted: list) -> None:
    """The reasons in an answer are these, in this order."""
    assert [reason["feature"] for reason in found] == [reason.feature for reason in wanted]
    assert [reason["contribution"] for reason in found] == pytest.approx([r.contribution for r in wanted], abs=CLOSE)


def test_the_veto_acts_on_the_last_rows(model, rows):
    units = model.fitted_.units(reader_of(model).vectors(rows))[-60:]
    assert (model.fitted_.mixing.weights(units, 0.5) == [1.0, 0.0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("t", DIAL)
def test_the_reasons_of_a_model_are_its_explanation(model, rows, t):
    parts, reasons = model.explain(rows, t), model.reasons(rows, t, top=3)
    assert any(len(row) > 1 for row in reasons)
    for row, wanted in zip(reasons, parts, strict=True):
        lowering = [(NAMES[j], wanted[j]) for j in np.argsort(wanted, kind="stable") if wanted[j] <= -0.005]
        assert [(reason.feature, reason.contribution) for reason in row] == [
            (name, pytest.approx(value, abs=CLOSE)) for name, value in lowering
        ]


@pytest.mark.parametrize("t", DIAL)
def test_explain_says_what_the_model_says(folder, model, rows, capsys, t):
    chosen = [0, 17, 350, 363]
    found = said(capsys, folder, "explain", "--rows", ",".join(map(str, chosen)), "--t", t, "--top", 3)["rows"]
    some = rows.take(chosen)
    assert [row["row"] for row in found] == chosen
    assert [row["centrality"] for row in found] == pytest.approx(model.centrality(some, t), abs=CLOSE)
    heads = [[row["global"], row["local"]] for row in found]
    np.testing.assert_allclose(heads, model.heads(some), atol=CLOSE)
    for row, wanted in zip(found, model.reasons(some, t, top=3), strict=True):
        hold(row["reasons"], wanted)
    sums = model.explain(some, t).sum(1)  # all of them, so that the typical point's score is right as well
    assert [row["centrality"] - row["typical_point"] for row in found] == pytest.approx(sums, abs=1e-3)


@pytest.mark.parametrize("t", DIAL)
def test_rank_says_what_the_model_says(folder, model, rows, capsys, t):
    found, f = said(capsys, folder, "rank", "--top", 5, "--t", t), model.centrality(rows, t)
    order = np.argsort(f, kind="stable")
    for end, wanted in (("peripheral", order[:5]), ("central", order[::-1][:5])):
        assert [row["row"] for row in found[end]] == wanted.tolist()
        assert [row["centrality"] for row in found[end]] == pytest.approx(f[wanted], abs=CLOSE)
        profile = model.centrality(rows.take(wanted), DIAL)
        np.testing.assert_allclose([row["profile"] for row in found[end]], profile, atol=CLOSE)
        for row, reasons in zip(found[end], model.reasons(rows.take(wanted), t), strict=True):
            hold(row["reasons"], reasons)


@pytest.mark.slow
def test_score_says_what_the_model_says(folder, model, rows, tmp_path):
    out = tmp_path / "scores.csv"
    files = [str(folder / "m.safetensors"), str(folder / "rows.csv"), "-o", str(out)]
    assert main(["score", *files, "--explain", "--t", ",".join(map(str, DIAL))]) == 0
    with out.open(newline="") as file:
        written = list(csv.DictReader(file))
    for t in DIAL:
        scores = [float(row[column_name("centrality", t, model.t)]) for row in written]
        assert scores == pytest.approx(model.centrality(rows, t), abs=CLOSE)
        assert [row[column_name("reasons", t, model.t)] for row in written] == model.reasons(rows, t).short()


@pytest.mark.slow
def test_the_service_says_what_the_model_says(folder, model, rows):
    chosen = rows.take([0, 17, 350, 363])
    server = Server(str(folder / "m.safetensors"))
    try:
        for t in DIAL:
            found = server.score(rows=chosen.to_pylist(), t=t, explain=True)
            assert found[column_name("centrality", t, model.t)] == pytest.approx(model.centrality(chosen, t), abs=CLOSE)
            parts = np.column_stack([found[f"contribution_{name}"] for name in NAMES])
            np.testing.assert_allclose(parts, model.explain(chosen, t), atol=CLOSE)
    finally:
        server.stop()
