"""The page says what Python says: in a real browser, at five t, served, exported and in a notebook, within 1e-6.

What the page rounds for the eye it tells in full to those who point at it (`title`). What it paints (cells, pixels,
words) is held to the step of the paint.
"""

import csv
import io
import json
from itertools import product

import numpy as np
import pytest

from centrality.apps.explorer import server
from centrality.apps.explorer.questions import words
from centrality.apps.explorer.widget import Widget
from tests.explorer.contract import CASES, DIAL, FDR, SHARE, Differences, case, clusters, texts
from tests.explorer.pages import exported, settle, turn
from tests.explorer.test_notebook import NOTEBOOK

pytestmark = pytest.mark.browser
__all__ = ["case"]  # a fixture
STEP = 0.5 + 1e-3  # of what is painted in whole per cents, or in 256 steps

# What stands on the page: the card of a row, or its review.
READ = """(() => {
  const all = (where) => [...document.querySelectorAll(where)];
  const number = (element) => Number(element.title);
  const named = (where, name) => all(where).map((line) =>
    [line.querySelector(name).firstChild.data, number(line.querySelector(".amount"))]);
  const weight = (element) => Number(element.style.cssText.match(/([\\d.]+)%/)[1]);
  return {
    fixed: all(".detail.fixed").length > 0,
    f: all(".detail .big").map(number), heads: all(".detail .along b").map(number),
    place: all(".detail .place").map((line) => [line.textContent, line.title])[0],
    p: all(".detail .soft[title]").map(number),
    reasons: named(".detail .reasons li", ".name"),
    sentences: named(".sentences li", "b"), told: all(".sentences li").map((line) => line.textContent),
    cells: Object.fromEntries(all(".cells-beside td.guilty").map((cell) =>
      [cell.parentElement.firstChild.textContent, weight(cell)])),
    heat: all(".review canvas.heat").map((canvas) =>
      [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].filter((_, k) => k % 4 === 3)),
    words: all(".review mark.guilty").map((word) => [word.textContent, weight(word)]),
    limit: all(".outliers .said").map(number), said: all(".outliers .said").map((line) => line.textContent),
  };
})()"""
TURNED = "(t) => document.querySelector('canvas.points').dataset.t === String(t)"
COME = """(label) => document.querySelector('.detail').ariaLabel === label
  && document.querySelector('.detail .reasons li')"""


@pytest.fixture(scope="module")
def differences(request):
    """Tells the largest differences when all is done."""
    found = Differences()
    yield found
    told = "; ".join(f"{name} {apart:.1e}" for name, apart in found.most.items())
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\nPage against Python, largest differences: {told}")


@pytest.fixture
def tab(case, open_page, serve, tmp_path):
    """The page of a case, every second one served and the others exported: both show it by the same code."""
    served = list(CASES).index(case.name) % 2 == 0
    return open_page(serve(case.view) if served else exported(case.view, tmp_path))


def go(tab, t: float, row: int = -1, **more: str) -> dict:
    """What the page shows of a row at t, once all of it has come."""
    parts = {"t": t, "row": row, "panel": "ranking", **more}
    tab.evaluate("(text) => { location.hash = text; }", "&".join(f"{name}={value}" for name, value in parts.items()))
    tab.wait_for_function(TURNED, arg=t)
    settle(tab)
    if row >= 0 and "panel" not in more:
        tab.wait_for_function(COME, arg=f"Row {row}")
    return tab.evaluate(READ)


def hold_card(differences: Differences, case, row: int, t: float, shown: dict) -> None:
    """Scores, rank, p-value and reasons on the card of a row; one that floats over the map says less."""
    differences.hold("scores", shown["f"], case.f(t)[row])
    if shown["fixed"]:
        differences.hold("heads", shown["heads"], case.heads[row])
    assert shown["place"] == case.place(row, t)
    p = case.model.p_values(case.X, t)[row]
    differences.hold("p-values", shown["p"], [p] if p <= 0.1 else [], within=1e-12)  # of typical rows none is told
    wanted = case.reasons(case.parts[t][row])[: 5 if shown["fixed"] else 3]
    assert [name for name, _ in shown["reasons"]] == [name for name, _ in wanted]
    differences.hold("reasons", [value for _, value in shown["reasons"]], [value for _, value in wanted])


def test_scores_ranks_p_values_and_reasons_are_pythons(tab, case, differences):
    for k, row in enumerate(case.rows):
        for t in DIAL if k == 0 else DIAL[k % 2 :: 2]:
            hold_card(differences, case, row, t, go(tab, t, row))


def test_sentences_red_cells_and_heat_are_pythons(tab, case, differences):
    for k, row in enumerate(case.rows[-3:]):
        go(tab, DIAL[0], row)  # what is asked of the server has come
        for t in DIAL if k == 0 else DIAL[k % 2 :: 2]:
            shown, parts = go(tab, t, row, panel="review"), case.parts[t][row]
            most, reasons = np.abs(parts).max(), case.reasons(parts)
            if case.view.heat_shape is not None:
                wanted = 255 * np.minimum(1, np.maximum(-parts / most, 0)) ** 0.7
                differences.hold("heat, of 255 steps", shown["heat"], [wanted], within=STEP)
                continue
            lowering = [(name, value) for name, value in reasons if value < 0][:4]
            assert [name for name, _ in shown["sentences"]] == [name for name, _ in lowering]
            differences.hold("sentences", [v for _, v in shown["sentences"]], [v for _, v in lowering])
            if case.model.fitted_.context is not None:  # what is usual is that of the row's kind, in Python's words
                told = {reason.feature: reason.typical for reason in case.model.reasons(case.X.slice(row, 1), t)[0]}
                for name, line in zip(dict(lowering), shown["told"], strict=True):
                    assert name not in told or f", typically {told[name]}" in line
            red = {name: 12 + 48 * -value / most for name, value in reasons if value / most < -0.05}
            typical = case.view.neighbours(np.array([row]))[0, 0]
            here, there = case.view.cells(np.array([row, typical])).to_pylist()
            red = {name: paint for name, paint in red.items() if here[name] != there[name]}  # else it is not to blame
            assert shown["cells"].keys() == red.keys()
            differences.hold("red cells, %", [shown["cells"][name] for name in red], list(red.values()), within=STEP)


def test_thresholds_are_pythons(tab, case, differences):
    for (rule, level), t in product([("share", SHARE), ("fdr", FDR)], DIAL):
        shown, limit = go(tab, t, rule=f"{rule}_{level}"), case.threshold(rule, t)
        differences.hold("thresholds", shown["limit"], limit)
        called = int((case.f(t) < limit).sum())
        assert shown["said"][0].startswith(f"{called} outlier")
        assert not called or shown["said"][0].endswith(f" below {float(f'{limit:.6g}')!r}")


def test_the_order_of_all_rows_is_pythons(case, open_page, tmp_path, differences):
    n = len(case.view)
    tab = open_page(f"{exported(case.view, tmp_path)}#rows=0-{np.base_repr(n - 1, 36).lower()}")
    for t in DIAL:
        turn(tab, t)
        with tab.expect_download() as download:
            tab.locator(".selection").get_by_role("button", name="CSV").click()
        lines = list(csv.reader(io.StringIO(download.value.path().read_text())))
        shown = np.array([line[:4] for line in lines[1:]], dtype=float)
        assert shown[:, 0].tolist() == list(range(n))
        differences.hold("heads", shown[:, 1:3].ravel(), case.heads.ravel())
        differences.hold("scores", shown[:, 3], case.f(t))
        wanted = case.model.fitted_.mixing.mixed(case.view.units, t)
        assert np.argsort(shown[:, 3], kind="stable").tolist() == np.argsort(wanted, kind="stable").tolist()


MARKED = "(count) => document.querySelectorAll('.review mark.guilty').length === count"


def test_guilty_words_are_pythons(open_page, serve, differences):
    case = texts()
    tab, view = open_page(serve(case.view)), case.view
    for row in case.rows:
        told = words(view, row, "item")
        parts = np.array([[word["global"], word["local"]] for word in told["words"]]).T[None]
        for t in DIAL:
            tab.evaluate("(text) => { location.hash = text; }", f"t={t}&row={row}&panel=review")
            tab.locator("figcaption", has_text="in red what makes it odd").wait_for()
            added = view.mixing.contributions(parts, view.units[[row]], np.array([told["typical"]]), t)[0]
            weights = added / (min(0, added.min()) or -1)
            red = [(word["text"], 12 + 48 * weight) for word, weight in zip(told["words"], weights, strict=True)]
            red = [(text, paint) for (text, paint), weight in zip(red, weights, strict=True) if weight >= 0.2]
            go(tab, t, row, panel="review")
            tab.wait_for_function(MARKED, arg=len(red))  # of another row or t they may still be shown
            shown = tab.evaluate(READ)["words"]
            assert [text for text, _ in shown] == [text for text, _ in red]
            differences.hold("words, %", [paint for _, paint in shown], [paint for _, paint in red], within=STEP)


def test_a_notebook_shows_the_same(case, open_page, tmp_path, differences):
    """What the page sends reaches the handler of the widget, and what that sends reaches the page, as in a notebook."""
    widget, sent = Widget(case.view), []
    widget.send = lambda content, buffers=None: sent.append(content)

    def ask(content: dict) -> dict:
        widget._handle_custom_msg(content, [])  # noqa: SLF001  (what a notebook calls)
        return sent.pop()

    text = NOTEBOOK.replace("= answered(content);", "= await window.askPython(content);")
    text = text.replace("send: (content) => {", "send: async (content) => {")
    parts = {"STYLE": server.built_file("explorer.css"), "SCRIPT": server.built_file("explorer.js"), "ANSWERS": "[]"}
    parts |= {"BYTES": json.dumps(list(widget.get_state("_bytes")["_bytes"])), "PNG": "[]"}
    for name, part in parts.items():
        text = text.replace(f"[{name}]", part)
    (tmp_path / "notebook.html").write_text(text, encoding="utf-8")
    tab = open_page("about:blank", ready=False)
    tab.expose_function("askPython", ask)
    tab.goto((tmp_path / "notebook.html").as_uri())
    tab.wait_for_selector("[data-ready]")
    for k, row in enumerate(case.rows[-2:]):
        for t in DIAL[k::2]:
            tab.evaluate("([t, row]) => { model.set('t', t); model.set('hovered', row); }", [t, row])
            tab.wait_for_function(TURNED, arg=t)
            tab.wait_for_function(COME, arg=f"Row {row}")
            settle(tab)
            hold_card(differences, case, row, t, tab.evaluate(READ))


def test_the_veto_acts_on_some_of_the_rows_that_are_looked_at():
    case = clusters()  # elsewhere it may act on none: that is up to the fit
    units = case.view.units[case.rows]
    vetoed = (case.model.fitted_.mixing.weights(units, 0.5) == [1.0, 0.0]).all(1)
    assert 0 < vetoed.sum() < len(units)
