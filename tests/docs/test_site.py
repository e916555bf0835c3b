"""The site answers what people ask: every public name and command is in it, and everybody can read its pages."""

import functools
import http.server
import importlib.util
import os
import sys
import threading
from pathlib import Path

import pytest

import centrality
from centrality.apps import commands
from tests.browser import CHEAP, chromium, opened

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "_build" / "html"


def module(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def api():
    return module("api_pages", ROOT / "docs" / "_ext" / "api_pages.py")


@pytest.fixture(scope="module")
def check(api):
    return module("docs_check", ROOT / "docs" / "check.py")


def test_the_reference_has_every_public_module_and_name(api):
    rooms = {f"centrality.{room}" for room in centrality._ROOMS}
    assert rooms | {"centrality"} <= set(api.MODULES)
    assert {name for name in centrality.__all__ if not name.startswith("_")} == set(api.public_names("centrality"))
    for room in api.MODULES:
        assert api.public_names(room), f"{room} has no public names"


def test_every_page_of_the_reference_shows_a_sentence(api):
    without = [
        f"{room}.{name}"
        for room in api.MODULES
        for name in api.public_names(room)
        if callable(thing := getattr(sys.modules[room], name)) and not (thing.__doc__ or "").strip()
    ]
    assert without == []


def test_methods_that_people_need_first_exist_and_those_for_extensions_are_left_out(api):
    groups = api.grouped_methods(centrality.FUSE)
    assert groups["Methods"][1][:4] == ["fit", "partial_fit", "centrality", "heads"]
    assert set(api.FIRST) <= set(groups["Methods"][1]) | set(groups["Properties"][1])
    table = centrality.representations.Table
    assert {"fit", "transform", "describe"} <= set(api.grouped_methods(table)["Methods"][1])
    assert set(dir(table)) >= api.FOR_EXTENSIONS
    assert not api.FOR_EXTENSIONS & set(api.grouped_methods(table)["Methods"][1])


def test_a_page_of_the_reference_links_to_pages_whose_code_uses_the_name(api):
    assert "tutorials/penguins" in api.using("Table")
    assert "- :doc:`/tutorials/cars`" in api.page("centrality.depths", "Halfspace")
    assert api.using("no_such_name") == []


def test_the_reference_of_the_command_line_has_every_command_and_option(tmp_path):
    pages = module("cli_pages", ROOT / "docs" / "_ext" / "cli_pages.py")
    pages.write(tmp_path)
    assert {path.stem for path in tmp_path.glob("*.md")} == {*commands.ALL, "index"}
    assert "`--false-positives N`" in (tmp_path / "detect.md").read_text()
    assert "| [drift](drift.md) |" in (tmp_path / "index.md").read_text()


def test_parameters_get_a_description_of_their_own(api):
    lines = [
        "Say.",
        "",
        "Parameters",
        "----------",
        "t : the dial.",
        "    More.",
        "k : int, default=3",
        "    How many.",
        "",
        "Examples",
        "--------",
        ">>> a : b",
    ]
    api.describe_parameters(None, "class", "x", None, None, lines)
    assert lines[4:9] == ["t", "    the dial.", "    More.", "k : int, default=3", "    How many."]
    assert lines[-1] == ">>> a : b"


def test_thirty_questions_have_an_answer_that_exists(check):
    asked = check.questions()
    assert len(asked) >= 30
    assert len({question for question, _ in asked}) == len(asked)
    for question, pages in asked:
        assert pages, question
        assert all((ROOT / "docs" / f"{page}.md").exists() for page in pages), question


def test_versions_can_be_switched_where_a_list_of_them_is_served(monkeypatch):
    monkeypatch.delenv("CENTRALITY_DOCS_VERSIONS", raising=False)
    alone = module("docs_conf", ROOT / "docs" / "conf.py").html_theme_options
    assert "switcher" not in alone
    assert "version-switcher" not in alone["navbar_end"]
    monkeypatch.setenv("CENTRALITY_DOCS_VERSIONS", "https://somewhere.org/versions.json")
    one_of_many = module("docs_conf", ROOT / "docs" / "conf.py").html_theme_options
    assert one_of_many["switcher"] == {
        "json_url": "https://somewhere.org/versions.json",
        "version_match": centrality.__version__,
    }
    assert "version-switcher" in one_of_many["navbar_end"]


def test_a_link_that_leads_nowhere_is_found(check, tmp_path, monkeypatch):
    (tmp_path / "index.html").write_text('<a href="a.html#there">a</a><a href="b.html">b</a><img src="a.html">')
    (tmp_path / "a.html").write_text('<p id="here"></p><a href="#here"></a><a href="https://elsewhere.org/x">x</a>')
    monkeypatch.setattr(check, "SITE", tmp_path)
    assert check.broken_links(check.pages()) == [
        "index.html: a.html#there has no such anchor",
        "index.html: b.html leads nowhere",
        "index.html: the picture a.html has no text",
    ]


@pytest.fixture(scope="module")
def address():
    """The built site, served on this machine."""
    if not (SITE / "index.html").exists():
        if os.environ.get("CI"):
            pytest.fail("The site is not built: make docs.")
        pytest.skip("The site is not built: make docs.")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


PAGES = (
    "index.html", "questions.html", "start/python.html", "guides/index.html", "guides/choosing_t.html",
    "tutorials/penguins.html", "tutorials/wine.html", "gallery/index.html", "api/index.html",
    "api/centrality.FUSE.html", "cli/index.html", "cli/fit.html", "internals/lab_notebook.html", "search.html",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="no Chromium")
def test_axe_finds_nothing_serious_in_light_and_dark_and_no_page_is_wider_than_a_phone(address):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened(*CHEAP) as browser:
        tab = browser.new_page(viewport={"width": 400, "height": 900}, color_scheme="light")
        for page in PAGES:
            tab.goto(f"{address}/{page}")
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                tab.wait_for_selector(f"html[data-theme={scheme}]")
                serious = [
                    (violation["id"], violation["nodes"][0]["html"])
                    for violation in axe.run(tab).response["violations"]
                    if violation["impact"] in ("serious", "critical")
                ]
                assert serious == [], (page, scheme)
                assert tab.evaluate("document.documentElement.scrollWidth") <= 400, (page, scheme)


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="no Chromium")
def test_the_search_works_without_a_network(address):
    with opened() as browser:
        tab = browser.new_page()
        tab.route("**/*", lambda route: route.continue_() if route.request.url.startswith(address) else route.abort())
        tab.goto(f"{address}/search.html?q=drift")
        tab.wait_for_selector("#search-results li a:has-text('New data against old')")
