"""The explorer page on software rendering: its size, how soon it can draw, and what a change of t costs.

Each page is exported, opened from disk in Chromium without a graphics card, at 1400 x 900 pixels, and the slider moved;
a change of t ends when all points have been drawn and a pixel has been read back. The peer draws the same points with
Plotly's scattergl and recolours them by the same mixture; the floor draws them in one colour, with the shortest program
there is, and does nothing else. Seconds on a busy machine say little, so the seconds that
the browser's processes were computing stand beside those on the clock; on an idle machine the two nearly agree.

    python -m benchmarks.explorer
"""

import base64
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.browser import opened

from benchmarks._results import save
from centrality.apps.explorer import server
from centrality.apps.explorer.view import View

SIZES = (100_000, 1_000_000)
TS = (0.1, 0.3, 0.6, 0.8, 0.45, 0.9, 0.2)
TICKS = os.sysconf("SC_CLK_TCK")
TURN = """async (t) => {
  const canvas = document.querySelector("canvas.points"), slider = document.querySelector("input.turn");
  const gl = canvas.getContext("webgl2"), pixel = new Uint8Array(4);
  slider.value = t;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  const frame = () => new Promise((next) => requestAnimationFrame(next));
  while (canvas.dataset.t !== String(t)) await frame();
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
}"""
PEER = """<!doctype html><div id="plot" style="width:1000px;height:840px"></div><script>{plotly}</script><script>
const bytes = Uint8Array.from(atob("{data}"), (c) => c.charCodeAt(0));
const n = bytes.length / 16, part = (k) => new Float32Array(bytes.buffer, 4 * k * n, n);
const [x, y, g, l] = [0, 1, 2, 3].map(part);
const mix = (t) => Float32Array.from(g, (v, i) => v + (l[i] - v) * t);
const marker = {{ color: mix(0.5), colorscale: "Viridis", size: 3 }};
const ready = Plotly.newPlot("plot", [{{ type: "scattergl", mode: "markers", x, y, marker }}]);
ready.then(() => document.body.setAttribute("data-ready", "yes"));
async function turn(t) {{
  await Plotly.restyle("plot", {{ "marker.color": [mix(t)] }});
  const gl = document.querySelector("canvas.gl-canvas-context, canvas").getContext("webgl");
  if (gl) gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
}}
</script>"""


FLOOR = """<!doctype html><canvas width="1028" height="848"></canvas><script>
const bytes = Uint8Array.from(atob("{data}"), (c) => c.charCodeAt(0)), n = bytes.length / 8;
const gl = document.querySelector("canvas").getContext("webgl2", {{ antialias: false }}), program = gl.createProgram();
const add = (kind, source) => {{
  const shader = gl.createShader(kind);
  gl.shaderSource(shader, "#version 300 es\\n" + source);
  gl.compileShader(shader);
  gl.attachShader(program, shader);
}};
add(gl.VERTEX_SHADER, "in vec2 p; void main() {{ gl_Position = vec4(p, 0, 1); gl_PointSize = 1.7; }}");
add(gl.FRAGMENT_SHADER, "precision mediump float; out vec4 c; void main() {{ c = vec4(0.5); }}");
gl.linkProgram(program);
gl.useProgram(program);
gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STATIC_DRAW);
gl.enableVertexAttribArray(0);
gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
document.body.setAttribute("data-ready", "yes");
function turn() {{
  gl.clear(gl.COLOR_BUFFER_BIT);
  gl.drawArrays(gl.POINTS, 0, n);
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
}}
</script>"""


def made_up(n: int) -> View:
    """Twelve clusters on a plane, each row with a distance to the middle and one to its cluster's."""
    rng = np.random.default_rng(0)
    cluster = rng.integers(12, size=n)
    centers = rng.normal(0, 6, size=(12, 2))
    points = centers[cluster] + rng.normal(size=(n, 2)) * rng.uniform(0.4, 1.6, 12)[cluster, None]
    far = np.linalg.norm(points, axis=1)
    local = np.exp(-np.square(points - centers[cluster]).sum(1) / 3) + rng.normal(0, 0.02, n)
    units = np.column_stack([8 - far, 4 * local - 2])
    return View("Made up", ("UMAP 1", "UMAP 2"), points, units, np.arange(n), 0.5)


def peer(view: View) -> str | None:
    """The same points by Plotly, if it is installed."""
    try:
        from plotly.offline import get_plotlyjs
    except ModuleNotFoundError:
        return None
    columns = np.concatenate([view.points.T, view.heads.T]).astype("<f4")
    return PEER.format(plotly=get_plotlyjs(), data=base64.b64encode(columns.tobytes()).decode())


def floor(view: View) -> str:
    """The same points, bare."""
    points = view.points / np.abs(view.points).max()
    return FLOOR.format(data=base64.b64encode(points.astype("<f4").tobytes()).decode())


def computing() -> float:
    """Seconds that this process's descendants, among them the browser, have been computing."""
    parents, used = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parents[int(entry.name)] = int(fields[1])
            used[int(entry.name)] = (int(fields[11]) + int(fields[12])) / TICKS
    ours = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= grown
    return sum(used[pid] for pid in ours - {os.getpid()})


def measured(act: object) -> tuple[float, float]:
    """Seconds on the clock, and of computing."""
    clock, cpu = time.perf_counter(), computing()
    act()  # type: ignore[operator]
    return time.perf_counter() - clock, computing() - cpu


def measure(browser: object, file: Path, name: str, n: int, turn: str) -> dict[str, object]:
    tab = browser.new_page(viewport={"width": 1400, "height": 900})  # type: ignore[attr-defined]

    def open_it() -> None:
        tab.goto(file.as_uri())
        tab.wait_for_selector("[data-ready]", timeout=300_000)

    ready, ready_cpu = measured(open_it)
    if turn == TURN:
        tab.wait_for_function("(n) => document.querySelector('canvas.points').dataset.drawn === String(n)", arg=n)
    tab.wait_for_timeout(3000)
    turns = []
    for t in TS:
        turns.append(measured(lambda t=t: tab.evaluate(turn, t)))
        tab.wait_for_timeout(1200)
    tab.close()
    line = {
        "page": name,
        "points": n,
        "megabytes": file.stat().st_size / 1e6,
        "ready_s": ready,
        "ready_cpu_s": ready_cpu,
    }
    clock, cpu = (statistics.median(kind) * 1000 for kind in zip(*turns, strict=True))
    return line | {"turn_ms": round(clock), "turn_cpu_ms": round(cpu)}


def main() -> None:
    found = []
    with tempfile.TemporaryDirectory() as name, opened() as browser:
        for n in SIZES:
            view, file = made_up(n), Path(name) / "page.html"
            server.export(view, file)
            found.append(measure(browser, file, "explorer", n, TURN))
            others = {"bare points (floor)": floor(view)}
            if n <= 100_000:
                others["plotly scattergl"] = peer(view)
            for other, text in others.items():
                if text is not None:
                    file.write_text(text)
                    found.append(measure(browser, file, other, n, "(t) => turn(t)"))
    for line in found:
        line["load"] = round(os.getloadavg()[0], 1)
    save("explorer", found)


if __name__ == "__main__":
    main()
