"""What axe-core finds wrong for people who use the page without eyes, mouse or colours of ours: nothing."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer.content import columns_of
from tests.explorer.pages import exported, settle, some_view, telling

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
STATES = {
    "ranking with a card": "#row=3&rule=share_0.05",
    "review": "#panel=review&rule=share_0.05",
    "columns, table and selection": "#panel=columns&table=table&rows=1-9&colour=%3Dkind",
    "gallery, a wrong query, movers": "#table=gallery&query=nothing%3E3&list=moves&colour=move",
    "a comparison": "#panel=compare&a=selected&rows=1-9&row=3",
}
SERVED_STATES = {
    "findings": "#panel=findings",
    "a finding and a row": "#panel=findings&cause=0&row=7",
    "its review": "#panel=review&cause=-2&row=7",
    "a comparison": "#panel=compare&a=finding%200&row=7",
}
# Goes to a state of the page and comes back when the page, which listens for the same, has heard of it.
FOLLOW = """(link) => new Promise((done) => {
  if (location.hash === link) return done();
  addEventListener("hashchange", () => done(), { once: true });
  location.hash = link;
})"""
RUN = """async () => (await axe.run(document, { resultTypes: ["violations"],
  rules: { "label-content-name-mismatch": { enabled: true } } })).violations
  .map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(" | ")}`)"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    n = 300
    table = pa.table(
        {"size": np.arange(n) / 3, "kind": list("abcdefghijkl") * 25, "name": [f"thing {k}" for k in range(n)]}
    )
    view = some_view(
        n,
        columns=tuple(columns_of(table, 3)),
        features=("size", "kind"),
        reasons=telling([-0.3, 0.1], [0.2, 0.2]),
        neighbours=lambda rows: np.zeros((len(rows), 6), dtype=int),
        inliers=np.random.default_rng(0).uniform(size=(99, 2)),
    )
    return exported(view, tmp_path_factory.mktemp("access"))


@pytest.mark.parametrize("colours", ["light", "dark", "forced"])
def test_axe_finds_nothing_in_any_state(open_page, address, colours):
    if not AXE.exists():
        pytest.skip("There is no axe-core: run npm ci in web/.")
    how = {"forced_colors": "active"} if colours == "forced" else {"color_scheme": colours}
    how["reduced_motion"] = "reduce"  # states are looked at, not colours on their way from one to the next
    tab = open_page(address, bypass_csp=True, **how)
    tab.add_script_tag(path=AXE)
    found = {}
    for state, link in STATES.items():
        tab.evaluate(FOLLOW, link)
        settle(tab)
        found[state] = tab.evaluate(RUN)
    for name in ("Saved", "⋯"):
        tab.locator("summary", has_text=name).click()
        found[name] = tab.evaluate(RUN)
    tab.get_by_role("button", name="Help").click()
    found["help"] = tab.evaluate(RUN)
    assert {state: wrong for state, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("colours", ["light", "dark", "forced"])
def test_nor_in_what_only_a_served_page_has(open_page, serve, stories, colours):
    if not AXE.exists():
        pytest.skip("There is no axe-core: run npm ci in web/.")
    how = {"forced_colors": "active"} if colours == "forced" else {"color_scheme": colours}
    how["reduced_motion"] = "reduce"  # states are looked at, not colours on their way from one to the next
    tab = open_page(serve(stories), bypass_csp=True, **how)
    tab.add_script_tag(path=AXE)
    found = {}
    for state, link in SERVED_STATES.items():
        tab.evaluate(FOLLOW, link)
        settle(tab)
        tab.locator(".finding").first.wait_for(state="attached")
        found[state] = tab.evaluate(RUN)
    tab.keyboard.press("v")
    tab.locator(".whole p").wait_for()
    found["a row in full"] = tab.evaluate(RUN)
    assert {state: wrong for state, wrong in found.items() if wrong} == {}
