"""The examples of the commands."""

import shlex

import pytest

from centrality.apps import commands
from centrality.apps.commands._parser import EXAMPLES, parser


@pytest.mark.parametrize(("name", "example"), [(name, e) for name, lines in EXAMPLES.items() for e in lines])
def test_every_command_has_an_example_that_parses(name, example):
    words = shlex.split(example.partition(">>")[0])
    assert words[:2] == ["centrality", name]
    parser().parse_args(words[1:])
    assert set(EXAMPLES) == set(commands.ALL)
