"""Columns may be called anything: names reach pages as text, and terminals as characters that command nothing."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from tests.conftest import quick

NAMES = [
    "<script>alert(1)</script>",
    "'><img src=x onerror=alert(1)>",
    "\x1b[2J\x1b]0;gone\x07",
    'two\nlines\tand, "quotes"',
    "=cmd|' /C calc'!A0",
    "\u202etxet desrever",
    "é" * 3000,
]
RNG = np.random.default_rng(0)
OLD = pd.DataFrame(RNG.normal(size=(300, len(NAMES))), columns=NAMES)
NEW = OLD + 3  # every column has changed: all of them are named


class Tags(HTMLParser):
    """Collects the tags of a page, and the names of their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found |= {tag, *(name for name, _ in attrs)}


@pytest.fixture(scope="module")
def model():
    return quick(max_steps=30).fit(OLD)


@pytest.mark.parametrize(
    "shown",
    [
        lambda model: model.report(),
        lambda model: model.drift(NEW),
        lambda model: model.drift_report(NEW),
        lambda model: model.reasons(NEW[:5]),
        lambda model: model,
    ],
    ids=["report", "drift", "drift by windows", "reasons", "model"],
)
def test_a_page_in_a_notebook_shows_names_as_text(model, shown):
    page = shown(model)._repr_html_()
    assert Tags(page).found.isdisjoint({"img", "onerror"})
    assert "<script>alert" not in page


@pytest.mark.parametrize("command", ["drift", "rank", "explain", "inspect", "score"])
def test_a_terminal_is_not_commanded_by_names(model, tmp_path, capsys, command):
    model.save(tmp_path / "m.safetensors")
    tables.write(pa.Table.from_pandas(NEW, preserve_index=False), tmp_path / "new.parquet")
    data = [] if command == "inspect" else [str(tmp_path / "new.parquet")]
    more = ["-o", str(tmp_path / "out.csv")] if command == "score" else []
    assert main([command, str(tmp_path / "m.safetensors"), *data, *more]) == 0
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err
    assert "\u202e" not in said.out + said.err
