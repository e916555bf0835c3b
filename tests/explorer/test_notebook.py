"""The front end as anywidget loads it: shown, shown again, changed from both sides, taken down."""

import json

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer import server
from centrality.apps.explorer.content import columns_of, items_of
from centrality.apps.explorer.payload import pack
from centrality.apps.explorer.questions import why
from centrality.network.calibration import LINEAR
from tests.explorer.pages import grid, on_page, settle, telling

pytestmark = pytest.mark.browser

# A model as a notebook has it: traits with change events, messages to Python and back.
NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>[STYLE]</style><div id="cells"></div>
<script type="text/plain" id="source">[SCRIPT]</script>
<script type="module">
const source = new Blob([document.querySelector("#source").textContent], { type: "text/javascript" });
const module = await import(URL.createObjectURL(source));
const answers = [ANSWERS], png = new Uint8Array([PNG]);
const considered = ({ given = {} }) => given.size === null ? { wrong: "size must be a number" }
  : { answer: { units: [given.size ?? 0, 0], reasons: [], typical: [0, 0] } }; // as if a model had scored it
const answered = (content) => content.ask === "why" ? { answer: answers[content.row] } : considered(content);
window.makeModel = () => {
  const listeners = {}, model = { asked: [], saved: 0,
    traits: { height: 640, t: 0, query: "", hovered: -1, selection: null, marks: {}, notes: {},
      _bytes: new DataView(new Uint8Array([BYTES]).buffer) },
    get: (name) => model.traits[name],
    set: (name, value) => { model.traits[name] = value; model.fire(`change:${name}`); },
    save_changes: () => model.saved++,
    on: (event, then) => (listeners[event] ??= new Set()).add(then),
    off: (event, then) => listeners[event]?.delete(then),
    fire: (event, ...parts) => [...(listeners[event] ?? [])].forEach((then) => then(...parts)),
    listening: () => Object.values(listeners).reduce((sum, each) => sum + each.size, 0),
    send: (content) => {
      model.asked.push(content);
      const files = "picture" in content ? [new DataView(png.buffer)] : [];
      const answer = answered(content);
      setTimeout(() => model.fire("msg:custom", { question: content.question, ...answer }, files));
    } };
  return model;
};
window.show = (model) => {
  const el = document.createElement("div");
  document.querySelector("#cells").append(el);
  return module.default.render({ model, el });
};
window.selected = (model) => [...new Uint32Array(model.traits.selection?.buffer ?? new ArrayBuffer(0))];
window.model = makeModel();
window.end = show(model);
</script>"""


class Changeable:
    """Says that the column size may be changed."""

    columns, texts = ("size",), ()


@pytest.fixture
def notebook(open_page, tmp_path):
    pictures = np.arange(9)[:, None, None] * np.full((9, 6, 6), 28, dtype=np.uint8)
    view = grid(
        items=items_of(pictures, 9), rows=np.arange(9) + 100, features=("a", "b"), live=Changeable(), mixing=LINEAR,
        columns=tuple(columns_of(pa.table({"size": np.arange(9) / 9}), 1)),
        reasons=telling([0.0, -0.008], [0.1, 0.1]),
    )  # fmt: skip
    parts = {
        "STYLE": server.built_file("explorer.css"),
        "SCRIPT": server.built_file("explorer.js"),
        "BYTES": str(list(pack(view, pictures=False, reasons=False))),  # as if there were too many pictures
        "ANSWERS": json.dumps({row: why(view, row) for row in range(9)}),
        "PNG": str(list(view.items.picture(3))),
    }
    text = NOTEBOOK
    for name, part in parts.items():
        text = text.replace(f"[{name}]", part)
    (tmp_path / "notebook.html").write_text(text, encoding="utf-8")
    tab = open_page((tmp_path / "notebook.html").as_uri(), panel="")
    tab.get_by_role("tab", name="Ranking").click()
    settle(tab)
    return tab


def test_a_notebook_gets_the_same_page_and_what_is_done_there_reaches_python(notebook):
    tab = notebook
    assert tab.locator("canvas.points").bounding_box()["height"] > 300
    tab.wait_for_function("() => [...document.querySelectorAll('.cards img')].every((i) => i.naturalWidth === 6)")
    assert tab.evaluate("model.asked.filter((q) => 'picture' in q).length") == 9  # each once, from Python
    tab.mouse.move(*on_page(tab, 1, 1))
    tab.locator(".reasons li").first.wait_for()
    assert tab.evaluate("model.traits.hovered") == 108
    tab.keyboard.down("Shift")
    tab.mouse.move(*on_page(tab, -1.05, -1.05))
    tab.mouse.down()
    tab.mouse.move(*on_page(tab, -0.5, 1.05), steps=5)
    tab.mouse.up()
    tab.keyboard.up("Shift")
    tab.wait_for_function("() => selected(model).length === 3")
    assert tab.evaluate("selected(model)") == [100, 103, 106]
    assert "in Python: widget.selection" in tab.locator(".selection").inner_text()
    assert tab.evaluate("location.hash") == ""  # the address is the notebook's
    tab.get_by_role("tab", name="Review").click()
    settle(tab)
    tab.keyboard.press("o")
    settle(tab)
    assert list(tab.evaluate("model.traits.marks").values()) == ["outlier"]
    tab.locator("input[type=search]").fill("#104")
    tab.wait_for_function("() => model.traits.query === '#104'")


def test_what_python_sets_is_shown_and_not_sent_back(notebook):
    tab = notebook
    saved = tab.evaluate("model.saved")
    tab.evaluate("model.set('t', 0.75)")
    tab.wait_for_function("() => document.querySelector('input.turn').value === '0.75'")
    tab.evaluate("model.set('query', '#103')")
    tab.wait_for_function("() => document.querySelector('.bar .rows').textContent.startsWith('1 of 9 rows')")
    tab.evaluate("model.set('selection', new DataView(Uint32Array.of(101, 108).buffer))")
    tab.locator(".selection", has_text="2 rows").wait_for()
    tab.evaluate("model.set('marks', {108: 'fine'})")
    tab.get_by_role("tab", name="Review").click()
    tab.locator(".review h2", has_text="1 fine").wait_for()
    assert tab.evaluate("model.saved") == saved
    tab.evaluate("model.set('hovered', 104)")
    tab.locator(".detail", has_text="Row 104").wait_for()


def test_showing_a_widget_again_keeps_everything_and_the_first_is_taken_down(notebook):
    tab = notebook
    tab.evaluate("model.set('selection', new DataView(Uint32Array.of(101, 108).buffer)); model.set('t', 0.5)")
    tab.locator(".selection", has_text="2 rows").wait_for()
    tab.evaluate("() => { window.first = model.listening(); end(); window.end = show(model); }")
    tab.wait_for_function("() => document.querySelectorAll('[data-ready]').length === 1")
    tab.locator(".selection", has_text="2 rows").wait_for()
    assert tab.evaluate("selected(model)") == [101, 108]
    assert tab.locator("input.turn").input_value() == "0.5"
    assert tab.evaluate("model.listening() === first")  # the first one has let go


def test_many_widgets_live_side_by_side_and_twenty_come_and_go(notebook):
    """A browser has sixteen maps at a time, and takes the oldest's away for another."""
    tab = notebook
    tab.evaluate("() => show(makeModel())")
    tab.wait_for_function("() => document.querySelectorAll('[data-ready]').length === 2")
    names = tab.evaluate("() => [...document.querySelectorAll('#cells [id]')].map((e) => e.id)")
    assert len(set(names)) == len(names)
    tab.evaluate(
        """async () => {
          for (let k = 0; k < 20; k++) {
            const end = show(makeModel());
            while (![...document.querySelectorAll('#cells > div')].at(-1).querySelector('[data-ready]'))
              await new Promise(requestAnimationFrame);
            end();
          }
        }"""
    )
    lost = "() => [...document.querySelectorAll('canvas.points')].map((c) => c.getContext('webgl2').isContextLost())"
    assert tab.evaluate(lost) == [False, False]  # the first ones still have their graphics card
    assert tab.locator("#cells .centrality").count() == 2


def test_pictures_in_full_are_asked_of_python(notebook):
    tab = notebook
    tab.locator(".cards button").first.click()
    tab.get_by_role("button", name="in full").click()
    tab.wait_for_function("() => document.querySelector('.whole img')?.naturalWidth === 6")
    assert tab.evaluate("model.asked.filter((q) => q.full).length") == 1
