"""Views to show, and what a person would do and see on the page."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image

from centrality.apps.explorer import server
from centrality.apps.explorer.content import columns_of
from centrality.apps.explorer.payload import MARK
from centrality.apps.explorer.server import Explorer
from centrality.apps.explorer.session import Explained
from centrality.apps.explorer.view import View
from centrality.network.calibration import SOFT, Mixing

PERIPHERAL, CENTRAL = (68, 1, 84), (195, 223, 37)  # the ends of the colours on a light ground, to the nearest few units


def units_of(heads: np.ndarray, mixing: Mixing = SOFT) -> np.ndarray:
    """The units that give these scores: squeezing is 1/(2 (1 - u)) below a half, (1 + u / (1 + u³)^⅓) / 2 above it."""
    if mixing.local_weight is None:
        return heads
    above = np.clip(2 * heads - 1, 0, 1 - 1e-9)
    return np.where(heads <= 0.5, 1 - 0.5 / np.maximum(heads, 1e-30), above / np.cbrt(1 - above**3))


def made(parts: dict) -> View:
    """A view whose rows, and calibration rows, have the `heads` and `inliers` that these parts say."""
    mixing = parts.get("mixing", SOFT)
    heads = {name: units_of(np.asarray(parts[name]), mixing) for name in ("heads", "inliers") if name in parts}
    units = {{"heads": "units"}.get(name, name): units for name, units in heads.items()}
    return View(**{name: part for name, part in parts.items() if name not in heads} | units)


def telling(*features):
    """Reasons that are the same for all rows: for each feature what it contributes, globally and locally."""
    parts = np.array(features, dtype=float).T[None]
    return lambda rows: told(np.repeat(parts, len(rows), axis=0))


def told(parts: np.ndarray) -> Explained:  # (k, 2, features)
    """These contributions, of rows that would have the units 0 without them."""
    return Explained(parts, parts.sum(2), np.zeros((len(parts), 2)))


def grid(**changes) -> View:
    """Nine rows on a square of three by three: global scores rise to the right, local ones to the top."""
    x, y = (part.ravel() for part in np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]))
    heads = np.column_stack([(x + 1.1) / 2.2, (y + 1.1) / 2.2])
    parts = {"title": "Grid", "axes": ("PCA 1", "PCA 2"), "points": np.column_stack([x, y]), "heads": heads}
    return made(parts | {"rows": np.arange(9), "t": 0.0} | changes)


def some_view(n: int = 50, **changes) -> View:
    rng = np.random.default_rng(0)
    parts = {
        "title": "Some rows",
        "axes": ("PCA 1", "PCA 2"),
        "points": rng.normal(size=(n, 2)),
        "heads": rng.uniform(size=(n, 2)),
        "rows": np.arange(n),
        "t": 0.5,
    }
    return made(parts | changes)


class Checked:
    """Stands for the jobs of a view whose rows were checked, with these findings."""

    def __init__(self, verdict: str, *found: dict) -> None:
        usual = {"reason": "", "columns": [], "severity": 10.0, "typical": None, "advice": ""}
        findings = [{"count": len(one["rows"]), "examples": one["rows"][:5]} | usual | one for one in found]
        self.found = {"verdict": verdict, "rows": 40, "findings": findings}

    def findings(self) -> dict:
        return self.found


def faulty(**changes) -> View:
    """Forty rows called 100 to 139, of which three hold 99999, one has no name, and a column is constant."""
    gain = np.arange(40.0)
    gain[[3, 4, 9]] = 99999
    table = pa.table({"name": ["" if k == 7 else f"row {k}" for k in range(40)], "gain": gain, "same": ["x"] * 40})
    jobs = Checked(
        "Mostly fine. One fault, one thing to check.",
        {"kind": "placeholder", "sentence": "gain is exactly 99999", "reason": "the next highest value is 39",
         "columns": ["gain"], "rows": [103, 104, 109], "severity": 2e5, "typical": 120, "advice": "Ask who wrote it."},
        {"kind": "gaps", "sentence": "name is empty", "rows": [107], "columns": ["name"]},
        {"kind": "constant", "sentence": "same has one value only", "rows": [], "columns": ["same"], "severity": 1.0},
    )  # fmt: skip
    return some_view(40, rows=np.arange(40) + 100, columns=tuple(columns_of(table, 3)), jobs=jobs, **changes)


def with_panel(address: str, panel: str) -> str:
    """The address of a page with this panel open, unless it names one itself; "" leaves it as it is."""
    if not panel or "panel=" in address or address == "about:blank":
        return address
    return f"{address}{'&' if '#' in address else '#'}panel={panel}"


def settle(tab) -> None:
    """Until everything that follows from the last change has been shown: the map in a frame, the panels after it."""
    tab.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""
    )


def menu(tab, name: str, of: str = "More") -> None:
    """Press a button of one of the two menus: what is saved, and more."""
    tab.locator("summary", has_text="Saved" if of == "Saved" else "⋯").click()
    tab.locator(".menu[open]").get_by_role("button", name=name).first.click()
    settle(tab)


def later(tab, seconds: float) -> None:
    """Set the clock of a page that has one forward: what it wants to do by then it does now."""
    tab.clock.fast_forward(round(1000 * seconds))
    settle(tab)


def search(tab, query: str) -> str:
    """Type into the search of a page that has a clock, and return what it says is left."""
    tab.locator("input[type=search]").fill(query)
    later(tab, 0.2)  # it searches when the typist pauses
    return tab.locator(".bar .rows").inner_text()


@contextmanager
def serving(view: View | None, **options: Any) -> Iterator[Explorer]:
    """A server of the view; that it should end it hears within a fiftieth of a second, not half a one."""
    server = Explorer(view, **({"port": 0} | options))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def exported(view: View, folder: Path) -> str:
    server.export(view, folder / "page.html")
    return (folder / "page.html").as_uri()


def turn(tab, t: float) -> None:
    tab.locator("input.turn").evaluate(
        "(slider, t) => { slider.value = t; slider.dispatchEvent(new Event('input')); }", t
    )
    tab.wait_for_function("(t) => document.querySelector('canvas.points').dataset.t === String(t)", arg=t)
    settle(tab)


def pixels(tab, folder: Path) -> np.ndarray:
    """(height, width, 3) the map as it is seen, without what floats over it."""
    tab.evaluate(
        "for (const e of document.querySelectorAll('.legend, .tools, .detail, .island')) e.style.visibility = 'hidden'"
    )
    tab.locator("canvas.points").screenshot(path=folder / "map.png")
    tab.evaluate(
        "for (const e of document.querySelectorAll('.legend, .tools, .detail, .island')) e.style.visibility = ''"
    )
    with Image.open(folder / "map.png") as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def place(tab, x: float, y: float) -> tuple[float, float]:
    """Where a place of the map, from -1 to 1 each way, lies on the canvas at the beginning."""
    box = tab.locator("canvas.points").bounding_box()
    half = 0.46 * min(box["width"], box["height"])
    return box["width"] / 2 + x * half, box["height"] / 2 - y * half


def on_page(tab, x: float, y: float) -> tuple[float, float]:
    box = tab.locator("canvas.points").bounding_box()
    px, py = place(tab, x, y)
    return box["x"] + px, box["y"] + py


def colour_at(image: np.ndarray, tab, x: float, y: float) -> np.ndarray:
    px, py = place(tab, x, y)
    return image[round(py), round(px)]


def close(colour, wanted, by: int = 45) -> bool:
    return bool(np.abs(np.asarray(colour) - wanted).max() <= by)


def stored_units(data: np.ndarray, n: int) -> np.ndarray:  # (n, 2)
    """The units in this array: as they are, or the first bytes of each float32, from the highest on."""
    if data.dtype == np.float64:
        return data.reshape(2, n).T
    planes = data.reshape(2, -1, n)
    whole = np.zeros((2, n, 4), dtype=np.uint8)
    whole[:, :, : planes.shape[1]] = planes.swapaxes(1, 2)
    return whole.view(">f4")[:, :, 0].T.astype(float)


def unpacked(data: bytes) -> tuple[dict, dict]:
    """The header and the arrays it points to, read as the page reads them."""
    assert data[:8] == MARK
    body = gzip.decompress(data[8:])
    size = int.from_bytes(body[:4], "little")
    header = json.loads(body[4 : 4 + size])

    def get(place: dict) -> np.ndarray:
        return np.frombuffer(body, place["type"], place["length"], 4 + size + place["at"])

    n = header["n"]
    points = get(header["points"]).reshape(2, 3, n).astype(float).swapaxes(1, 2) @ 256.0 ** np.arange(3)[::-1]
    axes = {name: np.array(header["axes"][name]) for name in ("half", "reach", "center")}
    half, center = axes["half"] * axes["reach"], axes["center"]
    found = {
        "points": (points.T / (2**24 - 1) * 2 - 1) * half + center,
        "units": stored_units(get(header["units"]), n),
    }
    return header, found | {"get": get}
