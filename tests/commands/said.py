"""What a command says, run in this process."""

import json
from typing import Any

from centrality.apps.cli import main


def said(capsys: Any, *arguments: object) -> str:
    assert main([str(a) for a in arguments]) == 0
    return str(capsys.readouterr().out)


def as_json(capsys: Any, *arguments: object) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def refused(capsys: Any, *arguments: object) -> str:
    """Return the one line in which a command says what of its input is wrong."""
    assert main([str(a) for a in arguments]) == 2
    error = str(capsys.readouterr().err)
    assert "Traceback" not in error
    return error
