"""The page for scripts names what the commands print as JSON."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from tests.commands.said import as_json

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "scripts.md"
ASKED = {
    "check": [],
    "rank": [],
    "detect": ["--contamination", "0.05"],
    "explain": ["--rows", "5"],
    "drift": [],
    "copies": [],
    "pick": ["--odd", "3"],
    "labels": ["--by", "kind"],
}


def names_said(command: str) -> set[str]:
    """Return the names in code on the page's line of a command, without values such as "near"."""
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{command}` |"))
    return set(re.findall(r"`(\w+)`", line.partition("|")[2].partition("|")[2])) - {"groups"}


def names_in(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {name for held in value.values() for name in names_in(held)}
    return {name for held in value for name in names_in(held)} if isinstance(value, list) else set()


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("scripts")
    X = rng.normal(size=(200, 2))
    X[-1], X[50] = [30, 0], X[60]
    kind = np.where(X[:, 0] > 0, "ash", "oak")
    kind[3] = "oak" if kind[3] == "ash" else "ash"
    tables.write(pa.table({"a": X[:, 0], "b": X[:, 1], "kind": kind}), folder / "rows.csv")
    return folder / "rows.csv"


@pytest.fixture(scope="module")
def other_model(rows):
    other = np.random.default_rng(1).normal(size=(400, 2))
    kind = np.where(other[:, 0] > 0, "ash", "oak")
    tables.write(pa.table({"a": other[:, 0], "b": other[:, 1], "kind": kind}), rows.parent / "other.csv")
    model = rows.parent / "m.safetensors"
    assert main(["fit", str(rows.parent / "other.csv"), "-o", str(model)]) == 0
    return model


@pytest.mark.slow
@pytest.mark.parametrize("command", list(ASKED))
def test_every_name_on_the_page_is_in_the_object(command, rows, other_model, capsys):
    files = [rows, rows] if command == "drift" else [rows]
    names = names_in(as_json(capsys, command, *files, *ASKED[command], "--quiet"))
    if command in ("rank", "detect"):  # some names are there only by a model of other rows
        names |= names_in(as_json(capsys, command, other_model, rows, "--quiet"))
    if command == "rank":
        names |= names_in(as_json(capsys, command, rows, "--ties", "--quiet"))
    missing = (
        names_said(command) - names - {"names", "skipped", "places", "cell", "cells_not_compared"}
    )  # images, apart
    assert missing <= ({"first", "last"} if command == "drift" else set()), missing
