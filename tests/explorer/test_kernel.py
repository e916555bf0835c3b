"""The widget in a real kernel, with the page in a real browser: what each says reaches the other over the kernel's
own messages. What JupyterLab would do between the two, passing comm messages on, is done here."""

import base64
import json

import pytest

from centrality.apps.explorer import server
from tests.explorer.pages import settle

pytestmark = [pytest.mark.browser, pytest.mark.slow]
jupyter_client = pytest.importorskip("jupyter_client")

NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>[STYLE]</style><div id="cells"></div>
<script type="text/plain" id="source">[SCRIPT]</script>
<script type="module">
const source = new Blob([document.querySelector("#source").textContent], { type: "text/javascript" });
const module = await import(URL.createObjectURL(source));
const view = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const text = (view) => btoa(String.fromCharCode(...new Uint8Array(view.buffer, view.byteOffset, view.byteLength)));
window.models = {};
window.show = (id, state, files) => {
  const listeners = {}, changed = new Set();
  const take = (state, files) => {
    for (const [name, file] of Object.entries(files)) state[name] = view(file);
    for (const [name, value] of Object.entries(state)) { model.traits[name] = value; model.fire(`change:${name}`); }
  };
  const model = models[id] = { traits: {}, take,
    get: (name) => model.traits[name],
    set: (name, value) => { model.traits[name] = value; changed.add(name); model.fire(`change:${name}`); },
    save_changes: () => {
      const state = {}, files = {};
      for (const name of changed) model.traits[name] instanceof DataView ? files[name] = text(model.traits[name])
        : state[name] = model.traits[name];
      changed.clear();
      void toKernel(id, { method: "update", state }, files);
    },
    send: (content) => void toKernel(id, { method: "custom", content }, {}),
    on: (event, then) => (listeners[event] ??= new Set()).add(then),
    off: (event, then) => listeners[event]?.delete(then),
    fire: (event, ...parts) => [...(listeners[event] ?? [])].forEach((then) => then(...parts)) };
  take(state, files);
  const el = document.createElement("div");
  el.id = `cell-${id}`;
  document.querySelector("#cells").append(el);
  module.default.render({ model, el });
};
window.loaded = true;
</script>"""
MADE = """
import numpy as np
from tests.explorer.pages import some_view
from centrality.apps.explorer.widget import Widget
view = some_view(40, keys=tuple(f"k{k}" for k in range(40)))
one, other = Widget(view), Widget(view)
"""


class Kernel:
    """A kernel, and a tab that shows its widgets; `pump` takes messages from the one to the other."""

    def __init__(self, tab) -> None:
        self.tab = tab
        self.manager, self.client = jupyter_client.manager.start_new_kernel(kernel_name="python3")
        self.widgets: list[str] = []  # ids, in the order in which they were made
        tab.expose_function("toKernel", self.to_kernel)

    def to_kernel(self, comm: str, data: dict, files: dict[str, str]) -> None:
        parts = {**data, "buffer_paths": [[name] for name in files]} if data["method"] == "update" else data
        message = self.client.session.msg("comm_msg", {"comm_id": comm, "data": parts})
        self.client.session.send(
            self.client.shell_channel.socket, message, buffers=[base64.b64decode(file) for file in files.values()]
        )

    def run(self, code: str) -> str:
        """Run code, pass on what comes of it, and return what it printed."""
        question, printed = self.client.execute(code), ""
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            self.pass_on(message)
            if message["parent_header"].get("msg_id") != question:
                continue
            printed += message["content"]["text"] if message["msg_type"] == "stream" else ""
            if message["content"].get("execution_state") == "idle":
                return printed

    def value(self, expression: str):
        return json.loads(self.run(f"import json; print(json.dumps({expression}))"))

    def wait_for(self, expression: str, wanted: object) -> None:
        """Pass messages on until Python has heard of what was done on the page."""
        for _ in range(500):  # frames of the page
            if (found := self.value(expression)) == wanted:
                return
            settle(self.tab)
        assert found == wanted

    def pass_on(self, message: dict) -> None:
        kind, content = message["msg_type"], message["content"]
        assert kind != "error", content
        if kind not in ("comm_open", "comm_msg"):
            return
        comm, data = content["comm_id"], content["data"]
        paths = data.get("buffer_paths", [])
        files = {
            path[0]: base64.b64encode(file).decode() for path, file in zip(paths, message["buffers"], strict=False)
        }
        if kind == "comm_open" and "_esm" in data["state"]:
            self.widgets.append(comm)
            state = {name: value for name, value in data["state"].items() if name not in ("_esm", "_css")}
            self.tab.evaluate("([id, state, files]) => show(id, state, files)", [comm, state, files])
        elif comm in self.widgets and data.get("method") == "update":
            self.tab.evaluate("([id, state, files]) => models[id].take(state, files)", [comm, data["state"], files])
        elif comm in self.widgets and data.get("method") == "custom":
            self.tab.evaluate("([id, content]) => models[id].fire('msg:custom', content, [])", [comm, data["content"]])

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel(open_page, tmp_path):
    text = NOTEBOOK.replace("[STYLE]", server.built_file("explorer.css")).replace(
        "[SCRIPT]", server.built_file("explorer.js")
    )
    (tmp_path / "notebook.html").write_text(text, encoding="utf-8")
    tab = open_page("about:blank", ready=False, clock=True)
    kernel = Kernel(tab)
    tab.goto((tmp_path / "notebook.html").as_uri())
    tab.wait_for_function("() => window.loaded")
    yield kernel
    kernel.end()


def test_marks_and_selection_go_both_ways_for_two_widgets_and_a_restart_is_said(kernel):
    tab = kernel.tab
    kernel.run(MADE)
    assert len(kernel.widgets) == 2
    cells = [tab.locator(f"[id='cell-{widget}'] [data-ready]") for widget in kernel.widgets]
    for cell in cells:
        cell.wait_for()
    # From the page to Python, and to the other widget nothing.
    cells[0].get_by_role("button", name="Review the 40 oddest rows").click()
    cells[0].locator(".facts").wait_for()
    cells[0].locator(".verdict.outlier").click()
    kernel.wait_for("[list(w.marks.values()) for w in (one, other)]", [["outlier"], []])
    # From Python to the page.
    kernel.run("other.selection = [3, 4, 5]; other.marks = {7: 'fine'}; other.tags = {7: 'typo'}")
    cells[1].locator(".bulk", has_text="3 selected rows").wait_for()
    assert cells[0].locator(".bulk").is_hidden()
    cells[1].get_by_text("0 outlier, 1 fine, 0 later").wait_for()
    cells[1].locator(".bulk").get_by_role("button", name="later").click()
    kernel.wait_for("sorted(other.marked('later').tolist())", [3, 4, 5])
    assert kernel.value("list(one.marks.values())") == ["outlier"]
    # The kernel is started again: what is said now is kept by nobody, and the page says so.
    kernel.manager.restart_kernel(now=True)
    kernel.client.wait_for_ready(timeout=60)
    cells[0].locator(".verdict.fine").click()
    settle(tab)
    tab.clock.fast_forward(10_000)  # for so long it may be busy
    cells[0].locator(".unkept", has_text="Python does not answer").wait_for()
