"""Draws docs/pictures/house.png, the rooms of the package floor by floor: `make house`.

Which rooms lie on a floor is read from the contract in pyproject.toml, what they hold from CONTRIBUTING.md.
"""

import re
import textwrap
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "pictures" / "house.png"
WIDE, TALL, GAP = 100.0, 8.0, 1.0  # the house, a floor, and what lies between two rooms
LETTERS = 1.95  # of a description that fit into one unit of width
LEAST, PADDING = 12.0, 2.0  # a room's width beside others, and its walls
PLAIN, TORCH = "#e4efdc", "#dbe6f4"


def contract(kind: str) -> dict[str, Any]:
    """Return the one contract of import-linter of this kind."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (found,) = [one for one in settings["contracts"] if one["type"] == kind]
    return dict(found)


def floors() -> list[list[str]]:
    """Return the rooms of each layer, from the top."""
    return [[inside(room) for room in layer.split("|")] for layer in contract("layers")["layers"]]


def without_torch() -> set[str]:
    """Return the rooms that may not import torch, in no file of theirs."""
    return {inside(room) for room in contract("forbidden")["source_modules"]}


def inside(module: str) -> str:
    """Return a module's name within the package."""
    return module.strip().removeprefix("centrality.")


def map_of_the_house() -> dict[str, str]:
    """Return each room that CONTRIBUTING.md names, in its order, and what it holds."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("<!-- house")[2].partition("<!-- end -->")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, flags=re.MULTILINE)
    if len(rows) != len(dict(rows)):
        raise ValueError("CONTRIBUTING.md names a room twice.")
    return dict(rows)


def bare(room: str) -> str:
    """Return the name by which the contract knows a file or a folder."""
    return room.removesuffix("/").removesuffix(".py")


def widths(texts: list[str]) -> list[float]:
    """Share the floor among its rooms: who has more to say gets more of it, and everybody enough."""
    free = WIDE - GAP * (len(texts) - 1) - LEAST * len(texts)
    total = sum(map(len, texts))
    return [LEAST + free * len(text) / total for text in texts]


def draw() -> Any:
    """Return the figure."""
    from matplotlib.figure import Figure

    held = {bare(room): (room, what) for room, what in map_of_the_house().items()}
    plain = without_torch()
    house = floors()
    figure = Figure(figsize=(13, 0.62 * len(house) + 0.3))
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set(xlim=(-0.2, WIDE + 0.2), ylim=(-TALL / 2, (TALL + GAP) * len(house)))
    axes.axis("off")
    for number, rooms in enumerate(house):
        left, low = 0.0, (TALL + GAP) * (len(house) - 1 - number)
        for room, width in zip(rooms, widths([held[room][1] for room in rooms]), strict=True):
            paint(axes, (left, low, width), *held[room], PLAIN if room in plain else TORCH)
            left += width + GAP
    said = "Rooms import from floors below, never from above or beside. Green rooms never import torch."
    axes.text(0, -TALL / 4, said, va="center", fontsize=9, color="#445566")
    return figure


def paint(axes: Any, place: tuple[float, float, float], name: str, what: str, colour: str) -> None:
    """Draw one room: its walls, its name and what it holds."""
    from matplotlib.patches import FancyBboxPatch

    left, low, width = place
    walls = FancyBboxPatch((left, low), width, TALL, boxstyle="round,pad=0,rounding_size=0.8")
    walls.set(facecolor=colour, edgecolor="#8899aa", linewidth=0.8)
    axes.add_patch(walls)
    lines = textwrap.fill(what, round((width - PADDING) * LETTERS))
    axes.text(left + width / 2, low + TALL - 0.9, name, ha="center", va="top", fontsize=9.5, weight="bold")
    axes.text(left + width / 2, low + 2.75, lines, ha="center", va="center", fontsize=7.5, linespacing=1.1)


if __name__ == "__main__":
    from PIL import Image

    draw().savefig(PICTURE, dpi=110)
    with Image.open(PICTURE) as picture:  # a palette is enough, and a third of the size
        picture.convert("RGB").quantize(64).save(PICTURE, optimize=True)
