"""What the parser says of mistakes."""

import pytest

from centrality.apps.cli import main


@pytest.mark.parametrize("command", ["rank", "detect", "explain"])
def test_one_t_is_wanted_where_there_is_one_answer(folder, capsys, command):
    with pytest.raises(SystemExit) as ended:
        main([command, str(folder / "m.safetensors"), str(folder / "rows.csv"), "--t", "0,1"])
    assert ended.value.code == 2
    assert "one number from 0 (global) to 1 (local) was wanted, got 0,1; score --t takes several" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["detetc", "a", "b"], "there is no command 'detetc'; did you mean detect?"),
        (["rank", "m", "d", "--topp", "3"], "there is no option --topp; did you mean --top?"),
        (["rank", "m", "d", "e"], "too many arguments: e"),
        (["fit", "d.csv", "-o", "m.pkl"], "a model file ends in .safetensors, got m.pkl: try -o m.safetensors"),
    ],
)
def test_a_mistake_is_answered_with_what_was_probably_meant(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pick", "m.safetensors", "rows.csv", "--odd", "201"], "at most 200, got 201"),
        (["pick", "m.safetensors", "rows.csv", "--odd", "3", "-o", "rows.csv"], "would be overwritten"),
        (["copies", "rows.csv", "--represent", "series"], "--represent must be text:COLUMN"),
        (["copies", "rows.csv", "-o", "rows.csv"], "would be overwritten"),
        (["explore", "rows.csv", "--marks", "m.safetensors", "--export", "m.safetensors"], "would be overwritten"),
        (["labels", "rows.csv", "--by", "colour"], "'colour'"),
        (["labels", "rows.csv", "--by", "length"], "At least two classes of 10 rows"),
    ],
)
def test_wrong_input_is_told_in_a_sentence(trees, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(trees)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
