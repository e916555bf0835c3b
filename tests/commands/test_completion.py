"""centrality completion: what shells complete."""

import shutil
import subprocess

import pytest

from centrality.apps import commands
from tests.commands.said import said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(shell, capsys):
    script = said(capsys, "completion", shell)
    assert all(name in script for name in commands.ALL)
    assert "false-positives" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_bash_completes_a_command_an_option_and_a_file(capsys, tmp_path, monkeypatch):
    (tmp_path / "houses.csv").touch()
    monkeypatch.chdir(tmp_path)
    script = said(capsys, "completion", "bash")
    for words, expected in (
        (["centrality", "expl"], "explain explore"),
        (["centrality", "rank", "--to"], "--top"),
        (["centrality", "rank", "hou"], "houses.csv"),
    ):
        given = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}"
        done = subprocess.run(
            ["bash", "-c", f"{script}\n{given}; _shtab_centrality; echo ${{COMPREPLY[@]}}"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected
