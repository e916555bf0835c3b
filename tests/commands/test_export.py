"""centrality export: a model as an ONNX file."""

import json

import numpy as np
import onnx
import pandas as pd
import pytest

from centrality import Chain
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.onnx import Scorer
from centrality.representations import Table, Text
from tests.conftest import quick
from tests.promise import assert_same_scores

RNG = np.random.default_rng(0)


def test_export_writes_what_to_onnx_writes(blob, tmp_path, capsys):
    model = quick().fit(blob)
    model.save(tmp_path / "m.safetensors")
    assert main(["export", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.onnx"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["opset"], said["features"], said["without"]) == (20, 2, None)
    model.to_onnx(tmp_path / "same.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == (tmp_path / "same.onnx").read_bytes()
    assert said["bytes"] == (tmp_path / "m.onnx").stat().st_size


def test_the_model_of_a_table_is_exported_as_a_whole_and_its_vectors_alone_if_asked(tmp_path, capsys):
    frame = pd.DataFrame({"x": RNG.normal(size=200), "kind": RNG.choice(["a", "b"], 200)})
    chain = Chain(Table(), quick(ensemble=1)).fit(frame)  # several would know rows next to trained ones
    chain.save(tmp_path / "m.safetensors")
    fresh = frame.assign(x=1.01 * frame.x)
    assert main(["export", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.onnx")]) == 0
    assert "The whole model: the file takes 2 columns as they are" in capsys.readouterr().out
    assert_same_scores(Scorer(tmp_path / "m.onnx").heads(fresh), chain.heads(fresh))
    assert main(["export", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.onnx"), "--vectors"]) == 0
    assert "Only the FUSE part: Table stays in Python" in capsys.readouterr().out
    found = Scorer(tmp_path / "m.onnx").heads(chain.representation_.transform(fresh))
    assert_same_scores(found, chain.heads(fresh))


def test_what_cannot_be_exported_as_a_whole_is_said_with_the_way_out(tmp_path, capsys):
    Chain(Text(), quick()).fit([f"a text of {word}" for word in ("cats", "dogs", "birds") * 20]).save(tmp_path / "m.st")
    assert main(["export", str(tmp_path / "m.st"), "-o", str(tmp_path / "m.onnx")]) == 2
    assert "a model of Text reads more than columns of a table" in (said := capsys.readouterr().err)
    assert "centrality export --vectors" in said
    assert not (tmp_path / "m.onnx").exists()


@pytest.mark.parametrize(
    ("output", "message"), [("m.pb", "must end in .onnx"), ("no/m.onnx", "the folder"), ("m.onnx", "no model file")]
)
def test_wrong_exports_exit_2_with_a_sentence(tmp_path, monkeypatch, capsys, output, message):
    monkeypatch.chdir(tmp_path)
    assert main(["export", "none.safetensors", "-o", output]) == 2
    assert message in capsys.readouterr().err


def test_no_other_kind_of_number_is_written_and_the_command_asks_for_it(blob, tmp_path):
    model = quick().fit(blob)
    with pytest.raises(InputError, match="rows must be one of float64, float32, got 'float16'"):
        model.to_onnx(tmp_path / "m.onnx", rows="float16")
    model.save(tmp_path / "m.safetensors")
    assert main(["export", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "m.onnx"), "--float32"]) == 0
    assert onnx.load(tmp_path / "m.onnx").graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT
