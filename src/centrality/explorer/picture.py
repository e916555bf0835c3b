"""Draw the map of a view as a small picture, for places that cannot run the page: saved notebooks, mails."""

import io

import numpy as np
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.explorer.view import View

WIDTH, HEIGHT, MARGIN = 900, 560, 46  # pixels
MOST_POINTS = 50_000
# viridis at 17 equal steps, as in web/src/core/colours.ts
STOPS = "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1fa08828ae803fbc735ec96284d44baddc30d8e219fde725"


def picture_of(view: View, t: float) -> bytes:
    """Return the map at this t as a PNG file: dark blue is peripheral and drawn last, yellow is central."""
    image = optional("PIL.Image", "explore").new("RGB", (WIDTH, HEIGHT), "#fbfaf7")
    draw = optional("PIL.ImageDraw", "explore").Draw(image)
    centrality = view.centrality(t)
    rows = np.argsort(-centrality, kind="stable")
    rows = rows[:: -(-len(rows) // MOST_POINTS)]
    radius = float(np.clip(60 / np.sqrt(len(rows)), 1.0, 4.0))
    for (x, y), colour in zip(_places(view)[rows].tolist(), _colours(centrality)[rows].tolist(), strict=True):
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=tuple(colour))
    about = f"{view.title.encode('latin-1', 'replace').decode('latin-1')}: {len(view):,} rows at t = {t:.2f}"
    draw.text((14, 12), about, fill="#1c1e21")
    draw.text((14, HEIGHT - 24), "dark blue: peripheral, yellow: central. Run the cell to explore.", fill="#5c6066")
    file = io.BytesIO()
    image.quantize(64).save(file, "PNG", optimize=True)
    return file.getvalue()


def _places(view: View) -> NDArray[np.float64]:  # (n, 2)
    """Return the position of each row on the picture, in pixels; rows far from all others are put at its edge."""
    low, high = np.quantile(view.points, (0.01, 0.99), axis=0)
    span = np.where(high > low, high - low, 1.0)
    if not view.own_scales:
        span = np.full(2, span.max())
    room = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    scale = room / (1.25 * span) if view.own_scales else np.full(2, (room / (1.25 * span)).min())
    away = (view.points - (low + high) / 2) * scale * [1, -1]
    return np.asarray(
        (away + np.array([WIDTH, HEIGHT]) / 2).clip(MARGIN / 2, [WIDTH - MARGIN / 2, HEIGHT - MARGIN / 2])
    )


def _colours(centrality: NDArray[np.float64]) -> NDArray[np.uint8]:  # (n, 3)
    stops = np.frombuffer(bytes.fromhex(STOPS), dtype=np.uint8).reshape(-1, 3)
    low, high = np.quantile(centrality, (0.01, 0.99))
    at = 0.93 * ((centrality - low) / max(high - low, 1e-3)).clip(0, 1) * (len(stops) - 1)
    return np.column_stack([np.interp(at, np.arange(len(stops)), stops[:, k]) for k in range(3)]).astype(np.uint8)
