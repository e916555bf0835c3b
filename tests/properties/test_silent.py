"""What was once wrong without a word: each is right now, or says so."""

import json
import os
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from centrality import load, tables
from centrality._internal import model_file
from centrality._internal.model_file import ModelFileError
from centrality.apps.cli import main
from centrality.depths import Mahalanobis
from centrality.representations import Table
from centrality.tables.csv import CsvDialect
from tests.conftest import quick


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0])
def test_another_t_has_its_own_threshold(blob, tmp_path, t):
    model = quick(t=0.5, contamination=0.1).fit(blob)
    model.save(tmp_path / "m.safetensors")
    for other in (model, load(tmp_path / "m.safetensors")):
        other.set_params(t=t)
        assert np.mean(other.predict(blob) == -1) == pytest.approx(0.1, abs=0.01)


def test_a_model_that_learned_marks_at_one_t_does_not_guess_the_threshold_of_another(blob):
    marks = ["outlier" if x > 2 else "fine" if x > 1 else None for x in blob[:, 0]]
    model = quick().fit(blob).learn_marks(blob, marks)
    assert set(model.predict(blob)) == {-1, 1}
    with pytest.raises(ValueError, match=r"from marks at t=0\.5; there is none at t=1\. Learn the marks"):
        model.set_params(t=1.0).predict(blob)


@pytest.mark.parametrize("estimator", [quick(), Mahalanobis()], ids=["FUSE", "depth"])
def test_what_is_masked_is_no_number(estimator, blob):
    masked = np.ma.masked_array(blob, mask=blob > 2)
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        estimator.fit(masked)
    estimator.fit(blob)
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        estimator.score_samples(masked)
    unmasked = np.ma.masked_array(blob, mask=False)
    np.testing.assert_array_equal(estimator.score_samples(unmasked), estimator.score_samples(blob))


def test_what_is_masked_is_a_gap_in_a_table():
    masked = np.ma.masked_array(np.arange(20.0).reshape(10, 2), mask=np.arange(20).reshape(10, 2) == 5)
    assert "10.0% missing" in Table().fit(masked).describe()["x1"]


def test_weights_that_are_no_numbers_are_refused(blob, tmp_path):
    quick().fit(blob).save(tmp_path / "m.safetensors")
    header, arrays = model_file.read(tmp_path / "m.safetensors")
    name = next(name for name in arrays if name.startswith("network.trunks"))
    arrays[name].ravel()[3] = np.nan
    model_file.write(tmp_path / "m.safetensors", header, arrays)
    with pytest.raises(ModelFileError, match=r"the weights must be finite numbers, those of trunks.* are not"):
        load(tmp_path / "m.safetensors")


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    path = tmp_path_factory.mktemp("numbers") / "m.safetensors"
    rng = np.random.default_rng(0)
    quick().fit(pa.table({"a": rng.normal(size=200), "b": rng.uniform(size=200).round()})).save(path)
    return path


def test_resume_notices_an_older_file_of_the_same_length(numbers, tmp_path):
    """Only its time and its content tell it from the file that was scored."""
    (tmp_path / "in").mkdir()
    rng = np.random.default_rng(0)
    first, second = (pa.table({"a": rng.normal(size=100), "b": rng.normal(size=100)}) for _ in range(2))
    parquet.write_table(first, tmp_path / "in" / "1.parquet", compression="none", write_statistics=False)
    parquet.write_table(second, tmp_path / "older.parquet", compression="none", write_statistics=False)
    assert (tmp_path / "older.parquet").stat().st_size == (tmp_path / "in" / "1.parquet").stat().st_size
    os.utime(tmp_path / "older.parquet", (1e9, 1e9))
    score = ["score", str(numbers), str(tmp_path / "in"), "-o", f"{tmp_path}/out/", "--resume"]
    assert main(score) == 0
    written = (tmp_path / "out" / "1.parquet").stat().st_mtime_ns
    assert main(score) == 0
    assert (tmp_path / "out" / "1.parquet").stat().st_mtime_ns == written
    shutil.move(tmp_path / "older.parquet", tmp_path / "in" / "1.parquet")
    assert main(score) == 0
    assert tables.read(tmp_path / "out" / "1.parquet")["a"].equals(second["a"])


@pytest.mark.parametrize("given", ["0.5,0.5", "0,1,0", "0.25,0.250000001"])
@pytest.mark.parametrize("output", ["-", "out.csv", "out/"])
def test_a_column_of_scores_does_not_come_twice(numbers, tmp_path, capsys, given, output):
    tables.write(pa.table({"a": [1.0], "b": [0.0]}), tmp_path / "t.parquet")
    where = output if output == "-" else f"{tmp_path}/{output}"
    assert main(["score", str(numbers), str(tmp_path / "t.parquet"), "-o", where, "--t", given]) == 2
    assert "Every t must have a column of its own" in capsys.readouterr().err
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_truth_values_are_numbers_to_fit_and_to_score(tmp_path, kind):
    rng = np.random.default_rng(0)
    truths = rng.uniform(size=200) < 0.3
    tables.write(pa.table({"a": rng.normal(size=200), "b": truths}), tmp_path / f"t.{kind}")
    model = tmp_path / "m.safetensors"
    assert main(["fit", str(tmp_path / f"t.{kind}"), "-o", str(model), "--max-steps", "20"]) == 0
    for out in (f"o.{kind}", "o.npy"):
        assert main(["score", str(model), str(tmp_path / f"t.{kind}"), "-o", str(tmp_path / out)]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "o.npy")[:, 1], truths)


def test_later_truth_values_are_numbers_too(tmp_path):
    lines = ["a,b", *["1.5,2.5"] * 50, *["1.5,true"] * 50]
    text = ("\n".join(lines) + "\n").encode()
    dialect = CsvDialect("t.csv")
    first = text.index(b"1.5,true")
    dialect.infer(dialect.without_header(text[:first]))
    wanted = pa.schema([("a", pa.float64()), ("b", pa.float64())])
    found = dialect.parse(text[first:], wanted, strict=True)
    assert found.schema == wanted
    assert found["b"].to_pylist() == [1.0] * 50


def test_hexadecimal_numbers_are_text_to_fit_and_to_score(numbers, tmp_path, capsys):
    (tmp_path / "t.csv").write_text("a,b\n" + "1.5,0x1f\n2.5,0X2A\n" * 30)
    assert tables.read(tmp_path / "t.csv").schema.field("b").type == pa.string()
    assert main(["fit", str(tmp_path / "t.csv"), "-o", str(tmp_path / "m.safetensors"), "--represent", "numbers"]) == 2
    assert "hold something else: 'b'" in capsys.readouterr().err
    assert main(["score", str(numbers), str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.csv")]) == 2
    assert "'b'" in capsys.readouterr().err


def test_objects_to_a_model_without_names_name_its_columns_in_any_order(blob):
    from centrality.apps.service.model import served_model
    from centrality.apps.service.queue import RequestError

    served = served_model(quick().fit(blob), "1")
    found = served.from_json(json.loads('[{"x1": 2.0, "x0": 1.0}, {"x0": 3.0, "x1": 4.0}]'))
    np.testing.assert_array_equal(found, [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises((RequestError, tables.TableError), match="Missing column: 'x0', 'x1'"):
        served.from_json([{"b": 2.0, "a": 1.0}])


def test_a_masked_row_is_not_scored_by_onnx(tmp_path, blob):
    from centrality.onnx import Scorer

    quick().fit(blob).to_onnx(tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="masked in places"):
        Scorer(tmp_path / "m.onnx").heads(np.ma.masked_array(blob, mask=blob > 2))
