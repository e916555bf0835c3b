"""What commands are given: wrong input and wrong usage end with 2 and a sentence; JSON is for machines."""

import json

import pytest

from centrality.apps.cli import main


def test_json_is_for_machines(csv, model, tmp_path, capsys):
    capsys.readouterr()
    assert main(["inspect", str(model), "--json"]) == 0
    inspected = json.loads(capsys.readouterr().out)
    assert inspected["feature_names"] == ["length", "width"]
    assert inspected["parameters"]["max_steps"] == 50
    assert main(["score", str(model), str(csv), "-o", str(tmp_path / "s.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["centrality"]
    assert main(["fit", str(csv), "-o", str(model), "--columns", "width", "--max-steps", "9", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["features"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "{csv}", "-o", "{tmp}/m.safetensors", "--represent", "numbers"], "hold something else: 'name'"),
        (["fit", "{csv}", "-o", "{tmp}/m.safetensors", "--columns", "lenght"], "Did you mean 'length'?"),
        (["fit", "{tmp}/none.csv", "-o", "{tmp}/m.safetensors"], "There is no file at"),
        (["fit", "{csv}", "-o", "{tmp}/no/m.safetensors", "--columns", "width"], "does not exist"),
        (["fit", "{csv}", "-o", "{tmp}/m.safetensors", "--columns", "width", "--t", "3"], "t must lie between"),
        (
            ["fit", "{csv}", "-o", "{tmp}/m.safetensors", "--columns", "width", "--metric", "l9"],
            "metric must be one of",
        ),
        (["score", "{model}", "{csv}", "-o", "{tmp}/scores.txt"], "was wanted, got .txt"),
        (["score", "{model}", "{csv}", "-o", "{tmp}/s.csv", "--t", "0,2"], "t must lie between"),
        (["score", "{csv}", "{csv}", "-o", "{tmp}/s.csv"], "is not a model file"),
        (["score", "{model}", "{tmp}/narrow.csv", "-o", "{tmp}/s.csv"], "Missing column: 'length'"),
        (
            ["score", "{model}", "{tmp}/holes.csv", "-o", "{tmp}/s.csv"],
            "NaN or infinity (inf) in column 'width' (1 rows)",
        ),
        (["inspect", "{tmp}/none.safetensors"], "There is no model file"),
        (["depth", "tukey", "{csv}", "-o", "{tmp}/d.csv"], "NAME must be one of mahalanobis, spatial"),
        (["depth", "halfspace", "{csv}", "-o", "{tmp}/d.csv"], "hold something else: 'name'"),
    ],
)
def test_wrong_input_says_what_was_wanted_exits_2_and_writes_nothing(
    csv, model, tmp_path, capsys, *, arguments, message
):
    (tmp_path / "narrow.csv").write_text("width\n1\n")
    (tmp_path / "holes.csv").write_text("length,width\n1,2\n3,\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    capsys.readouterr()
    assert main([part.format(csv=csv, model=model, tmp=tmp_path) for part in arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("centrality: ")
    assert message in error
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scor"], "there is no command 'scor'; did you mean score?"),
        (["score"], "required: MODEL, DATA"),
        (["fit", "x.csv"], "required: -o"),
        (
            ["fit", "x", "-o", "y.safetensors", "--t", "half"],
            "--t: one number from 0 (global) to 1 (local) was wanted, got half",
        ),
        (["rank", "m", "d", "--top", "0"], "a whole number above 0 was wanted, got 0"),
        (
            ["plot", "profile", "m", "d", "-o", "x.png", "--rows=-1"],
            "row numbers from 0 on, or names of rows, were wanted, got -1",
        ),
    ],
)
def test_wrong_usage_exits_2_and_says_what_is_wrong(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
