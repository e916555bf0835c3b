"""A browser for the page, and rows to show."""

import os
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer import server
from centrality.apps.explorer.content import columns_of
from centrality.apps.explorer.view import View, view_of
from centrality.chain import Chain
from centrality.representations import Table
from tests.browser import CHEAP, chromium, opened
from tests.conftest import quick
from tests.explorer.pages import serving, settle, units_of, with_panel

USUAL: dict[str, Any] = {"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"}


@pytest.fixture(scope="package")
def browser():
    """One Chromium for all pages; each test opens tabs of its own."""
    if chromium() is None:
        if os.environ.get("CI"):
            pytest.fail("There is no Chromium: CI must test the page.")
        pytest.skip("There is no Chromium: apt-get install chromium, or set CENTRALITY_CHROMIUM.")
    with opened(*CHEAP) as browser:
        yield browser


@pytest.fixture(scope="package")
def window(browser, tmp_path_factory):
    """What most tabs are opened in: the processes of its pages are kept alive by an empty page of each kind."""
    window = browser.new_context(**USUAL)
    empty = tmp_path_factory.mktemp("window") / "empty.html"
    empty.write_text("<title>Empty</title>")
    window.new_page().goto(empty.as_uri())
    of_servers = window.new_page()
    of_servers.route("**/*", lambda route: route.fulfill(body="", content_type="text/html"))
    of_servers.goto("http://127.0.0.1/")
    return window


@pytest.fixture
def open_page(browser, window):
    """Opens an address in a fresh tab, keeps what it asks for, and expects no error from it.

    The tabs of a test share what the browser keeps for the page; one that is `alone`, that has a `clock` which tests
    can set forward, or other options, does not.
    """
    tabs = []

    def go(address: str, *, ready: bool = True, panel: str = "ranking", alone=False, clock=False, **options):
        tab = browser.new_page(**(USUAL | options)) if alone or clock or options else window.new_page()
        if clock:
            tab.clock.install()
        tab.requests, tab.problems = [], []
        tab.on("request", lambda request: tab.requests.append(request.url))
        tab.on("pageerror", lambda error: tab.problems.append(str(error)))
        tab.on("console", lambda said: tab.problems.append(said.text) if said.type == "error" else None)
        tabs.append(tab)
        tab.goto(with_panel(address, panel))
        if ready:
            tab.wait_for_selector("[data-ready]")
            settle(tab)
        return tab

    yield go
    for tab in tabs:
        assert tab.problems == []
        tab.close()
    window.clear_cookies()
    window.pages[0].evaluate("localStorage.clear()")  # that of all files


@pytest.fixture(scope="module")
def serve():
    """Serves a view and returns the address to open."""
    with ExitStack() as servers:
        yield lambda view, **options: servers.enter_context(serving(view, **options)).url


@pytest.fixture(scope="module")
def stories():
    """A table of 400 rows in two groups, with a long text that the model does not read; row 7 is odd by its width."""
    rng = np.random.default_rng(0)
    kind = np.repeat(["barn", "house"], 200)
    width = rng.normal(size=400) + np.where(kind == "barn", 0.0, 8.0)
    width[7] = 30.0
    table = pa.table(
        {
            "story": [f"The story of row {i}. " + "It goes on and on. " * 40 for i in range(400)],
            "kind": kind,
            "width": width,
            "height": rng.normal(size=400),
        }
    )
    model = Chain(Table(), quick(max_steps=200, holdout=0.2)).fit(table.drop_columns(["story"]))
    return view_of(model, table, on=("width", "height"), title="Stories")


@pytest.fixture(scope="package")
def cloud() -> View:
    """2000 rows with columns, texts and calibration rows, of which the first 60 are odd."""
    rng = np.random.default_rng(0)
    n = 2000
    heads = rng.beta(5, 3, size=(n, 2))
    heads[:60] = rng.uniform(0, 0.002, size=(60, 2))
    table = pa.table(
        {
            "name": [f"item {i}, said" for i in range(n)],
            "group": np.array(["red", "green", "blue"])[np.arange(n) % 3],
            "size": np.arange(n) / 10,
            "day": np.datetime64("2020-01-01", "D") + np.arange(n),
        }
    )
    return View(
        "A cloud", ("UMAP 1", "UMAP 2"), rng.normal(size=(n, 2)), units_of(heads), np.arange(n), 0.5,
        columns=tuple(columns_of(table, 10)), inliers=units_of(rng.beta(5, 3, size=(1500, 2))),
    )  # fmt: skip


@pytest.fixture(scope="package")
def cloud_page(cloud, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("cloud") / "page.html"
    server.export(cloud, path)
    return path.as_uri()


@pytest.fixture(scope="module")
def mixed():
    """A table of two features and a name, one row of which has an odd width, and a model of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[7] = [0.1, 30.0, 0.2]
    table = pa.table(
        {"name": [f"row {i}" for i in range(300)], **dict(zip(("length", "width", "height"), X.T, strict=True))}
    )
    return quick(max_steps=200, holdout=0.2).fit(table.drop_columns(["name"])), table
