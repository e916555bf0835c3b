"""What a reader does on the explorer page, on software rendering: drag the dial, brush a column, scroll the table.

The page holds a million points (or as many as are given) with three columns. Frames are counted by the browser's own
requestAnimationFrame while the act goes on; a brush ends when the filtered map has been drawn and a pixel read back,
and a second time when the panels have been drawn too. On a busy machine the clock says little: milliseconds of
computing, of all the browser's processes, stand beside it. With --memory the page is driven for so many minutes, and
widgets are shown and closed, and the memory that is left after collecting garbage is compared.

    python -m benchmarks.explorer_acts [--points 1000000] [--memory 5]
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.browser import opened

from benchmarks._results import save
from benchmarks.explorer import computing, made_up
from centrality.apps.explorer import server
from centrality.apps.explorer.content import columns_of
from centrality.apps.explorer.payload import pack
from centrality.apps.explorer.view import View

FRAME = "const frame = () => new Promise((next) => requestAnimationFrame(next));"
PIXEL = """const gl = document.querySelector("canvas.points").getContext("webgl2");
  const read = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));"""
# A dial held and moved, a step a frame; each frame's picture is waited for.
DRAG = f"""async (moves) => {{
  {FRAME} {PIXEL}
  const slider = document.querySelector("input.turn");
  slider.dispatchEvent(new PointerEvent("pointerdown", {{ bubbles: true }}));
  for (let k = 0; k < 5; k++) await frame();
  const start = performance.now();
  for (let k = 1; k <= moves; k++) {{
    slider.value = 0.5 + 0.4 * Math.sin(k / 4);
    slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
    await frame();
    read();
  }}
  const seconds = (performance.now() - start) / 1000;
  slider.dispatchEvent(new Event("change", {{ bubbles: true }}));
  return moves / seconds;
}}"""
# The same without waiting for pictures: what scripts take of a frame.
TURNS = DRAG.replace("read();", "")
BRUSH = f"""async ([from, to]) => {{
  {FRAME} {PIXEL}
  const column = [...document.querySelectorAll("li.column")].find((c) => c.textContent.includes("size"));
  const field = column.querySelector(".field");
  const panel = document.querySelector(".columns-panel"), box = field.getBoundingClientRect();
  field.setPointerCapture = () => {{}};
  const finger = (type, at) => field.dispatchEvent(new PointerEvent(type,
    {{ pointerId: 7, clientX: box.left + at * box.width, clientY: box.top + 9, bubbles: true }}));
  finger("pointerdown", from);
  await frame();
  const before = panel.dataset.drawn, start = performance.now();
  finger("pointermove", to);
  finger("pointerup", to);
  await frame();
  read();
  const map = performance.now() - start;
  while (panel.dataset.drawn === before) await new Promise((next) => setTimeout(next));
  return [map, performance.now() - start];
}}"""
SCROLL = f"""async (moves) => {{
  {FRAME}
  const scroller = document.querySelector(".scroller");
  const start = performance.now();
  for (let k = 0; k < moves; k++) {{
    scroller.scrollTop += 1500;
    await frame();
  }}
  return (moves * 1000) / (performance.now() - start);
}}"""
DRIVE = f"""async (seconds) => {{
  {FRAME}
  const slider = document.querySelector("input.turn"), until = performance.now() + 1000 * seconds;
  for (let k = 0; performance.now() < until; k++) {{
    slider.value = 0.5 + 0.4 * Math.sin(k / 10);
    slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
    if (k % 10 === 0) location.hash = ["#panel=review", "#panel=columns&table=table", "#table=gallery&row=5",
      "#colour=%3Dkind&query=size>3", "#rows=5-99&panel=columns", "#panel=compare&rows=5-99", ""][(k / 10) % 7] || "#";
    await frame();
    await new Promise((next) => setTimeout(next, 30));
  }}
  // Home, where it is measured: a table or a second map that happens to be shown holds memory of its own.
  slider.value = 0.5;
  slider.dispatchEvent(new Event("input", {{ bubbles: true }}));
  location.hash = "#";
  await new Promise((next) => setTimeout(next, 3000));
}}"""


def with_columns(view: View) -> View:
    rng = np.random.default_rng(1)
    n = len(view)
    table = pa.table(
        {"size": rng.gamma(2, 3, n).round(2), "kind": rng.choice(list("abcdefgh"), n), "code": rng.integers(0, 99, n)}
    )
    return View(view.title, view.axes, view.points, view.units, view.rows, view.t, columns=tuple(columns_of(table, 3)))


def ready(tab: Any, address: str) -> float:
    start = time.perf_counter()
    tab.goto(address)
    tab.wait_for_selector("[data-ready]", state="attached", timeout=300_000)
    return time.perf_counter() - start


def script_time(tab: Any, script: str, moves: int) -> float:
    """Milliseconds that the page's scripts took for each move, by the browser's own count."""
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        return next(
            m["value"] for m in session.send("Performance.getMetrics")["metrics"] if m["name"] == "ScriptDuration"
        )

    before = seconds()
    tab.evaluate(script, moves)
    used = seconds() - before
    session.detach()
    return 1000 * used / moves


def acts(browser: Any, view: View, folder: Path) -> list[dict[str, object]]:
    """Each act's figure, with what is wanted of it."""
    n = len(view)
    file, bare = folder / "page.html", folder / "bare.html"
    server.export(view, file)
    server.export(View(view.title, view.axes, view.points, view.units, view.rows, view.t), bare)
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    found: list[dict[str, object]] = []

    def note(act: str, value: float, unit: str, wanted: str, cpu: float | str = "") -> None:
        line = {"act": act, "points": n, "value": round(value, 1), "unit": unit, "wanted": wanted}
        found.append(
            {**line, "computing_ms": cpu if cpu == "" else round(float(cpu)), "load": round(os.getloadavg()[0], 1)}
        )

    def several(script: str, moves: int, times: int = 3) -> tuple[float, float]:
        """Frames a second, and milliseconds of computing for each, of all the browser's processes together."""
        before = computing()
        rates = [tab.evaluate(script, moves) for _ in range(times)]
        return statistics.median(rates), 1000 * (computing() - before) / (times * moves)

    note("size without columns", bare.stat().st_size / 1e6, "MB", "14 at most")
    before = computing()
    opened_in = ready(tab, bare.as_uri())
    note("ready, without columns", opened_in, "s", "3 at most", 1000 * (computing() - before))
    tab.wait_for_timeout(4000)
    ready(tab, file.as_uri() + "#panel=columns")
    tab.wait_for_timeout(6000)
    tab.evaluate(DRAG, 10)  # compiled and adapted
    rate, cpu = several(DRAG, 30)
    note("drag of t", rate, "frames/s", "10 at least", cpu)
    note("script of a frame of that drag", script_time(tab, TURNS, 60), "ms", "8 at most")
    tab.wait_for_timeout(5000)
    tab.evaluate(BRUSH, [0.2, 0.4])
    tab.wait_for_timeout(4000)
    times = []
    for span in ([0.1, 0.5], [0.3, 0.9], [0.2, 0.35]):
        times.append(tab.evaluate(BRUSH, span))
        tab.wait_for_timeout(4000)
    for what, each in zip(("brush to filtered map", "brush to all panels"), zip(*times, strict=True), strict=True):
        note(what, statistics.median(each), "ms", "150 at most" if "map" in what else "")
    tab.goto("about:blank")
    ready(tab, file.as_uri() + "#table=table")
    tab.wait_for_timeout(6000)
    tab.evaluate(SCROLL, 20)
    rate, cpu = several(SCROLL, 60)
    note("scroll of the table", rate, "frames/s", "30 at least", cpu)
    tab.close()
    return found


def heap(tab: Any) -> float:
    """MB that the page keeps after a collection of garbage: of scripts, of arrays, and of the document."""
    session = tab.context.new_cdp_session(tab)
    for _ in range(3):
        session.send("HeapProfiler.collectGarbage")
    used = session.send("Runtime.getHeapUsage")
    session.detach()
    return sum(float(used.get(part, 0)) for part in ("usedSize", "embedderHeapUsedSize", "backingStorageSize")) / 1e6


NOTEBOOK = """<!doctype html><style>[STYLE]</style><div id="cells"></div>
<script type="text/plain" id="source">[SCRIPT]</script>
<script type="module">
const text = document.querySelector("#source").textContent;
const module = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
const bytes = await (await fetch("data:application/octet-stream;base64,[BYTES]")).arrayBuffer();
window.one = async () => {
  const traits = { height: 500, t: 0.5, query: "", hovered: -1, selection: null, marks: {}, notes: {},
    _bytes: new DataView(bytes) };
  const model = { get: (name) => traits[name], set() {}, save_changes() {}, send() {}, on() {}, off() {} };
  const el = document.createElement("div");
  document.querySelector("#cells").replaceChildren(el);
  const end = module.default.render({ model, el });
  while (!el.querySelector("[data-ready]")) await new Promise((next) => setTimeout(next, 10));
  el.querySelector("button[aria-label^='A second map']").click();
  await new Promise((next) => setTimeout(next, 100));
  end();
};
document.body.setAttribute("data-ready", "yes");
</script>"""


def memory(browser: Any, minutes: float, folder: Path) -> list[dict[str, object]]:
    """How much more memory is held after driving, and after fifty widgets."""
    import base64

    view = with_columns(made_up(50_000))
    server.export(view, folder / "page.html")
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    ready(tab, (folder / "page.html").as_uri())
    tab.set_default_timeout(0)
    tab.evaluate(DRIVE, 60)  # all has been seen, and what the browser compiles is compiled: on a busy machine, too
    before = heap(tab)
    tab.evaluate(DRIVE, 60 * minutes)
    after = heap(tab)
    tab.close()
    parts = {"STYLE": server.built_file("explorer.css"), "SCRIPT": server.built_file("explorer.js"),
             "BYTES": base64.b64encode(pack(view, pictures=False, reasons=False)).decode()}  # fmt: skip
    text = NOTEBOOK
    for name, part in parts.items():
        text = text.replace(f"[{name}]", part)
    (folder / "notebook.html").write_text(text)
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    ready(tab, (folder / "notebook.html").as_uri())
    for _ in range(10):
        tab.evaluate("one()")
    first = heap(tab)
    for _ in range(50):
        tab.evaluate("one()")
    last = heap(tab)
    load = round(os.getloadavg()[0], 1)
    return [
        {"act": f"memory after {minutes:g} minutes of driving", "points": len(view), "before_mb": before,
         "after_mb": after, "change": f"{100 * (after / before - 1):+.1f}%", "wanted": "within 5%", "load": load},
        {"act": "memory after 50 widgets", "points": len(view), "before_mb": first, "after_mb": last,
         "change": f"{100 * (last / first - 1):+.1f}%", "wanted": "within 5%", "load": load},
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--memory", type=float, metavar="MINUTES", help="measure memory instead")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, opened() as browser:
        if arguments.memory:
            save("explorer_memory", memory(browser, arguments.memory, Path(name)))
        else:
            save("explorer_acts", acts(browser, with_columns(made_up(arguments.points)), Path(name)))


if __name__ == "__main__":
    main()
