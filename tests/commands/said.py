"""What a command says, run in this process."""

import json
from typing import Any

from centrality.apps.cli import main


def said(capsys: Any, *arguments: object) -> str:
    assert main([str(a) for a in arguments]) == 0
    return str(capsys.readouterr().out)


def as_json(capsys: Any, *arguments: object) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))
