// What a row looks like: its picture, its text, its curve or its first columns; and how its score goes with t.

import { type App, score } from "./app";
import { many } from "./data";
import { h, s } from "./dom";
import { scoreOf } from "./scores";

/** The row itself, small on a card and larger where there is room. */
export function face(app: App, row: number, large = false): HTMLElement | "" {
  const { data, host } = app;
  if (data.kind === "picture") {
    const address = data.picture ? data.picture(row) : host.picture?.(row);
    if (address) return h("img.face", { src: address, alt: `picture of row ${data.id(row)}`, loading: "lazy" });
  }
  if (data.kind === "series" && data.curve) return h("span.face.curve", curve(data.curve(row)));
  if (data.kind === "text") {
    const column = data.columns.find((c) => c.name === data.itemColumn);
    if (column) return h("span.face.text", column.text(row) || "—");
  }
  if (large) return ""; // its columns stand below
  const columns = data.columns.slice(0, 4);
  if (!columns.length) return h("span.face.text", `row ${data.id(row)}`);
  return h("span.face.cells", ...columns.map((c) => h("span", h("i", c.name), " ", c.text(row) || "—")));
}

function curve(heights: Uint8Array): SVGElement {
  const points = Array.from(heights, (v, i) => `${((i / (heights.length - 1)) * 100).toFixed(1)},${(38 - (v / 255) * 36).toFixed(1)}`);
  return s("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("polyline", { points: points.join(" "), "vector-effect": "non-scaling-stroke" }));
}

/** A line from the global to the local score, and where t stands on it. */
export function profile(app: App, row: number, width: number, height: number): SVGElement {
  const [g, l] = heads(app, row);
  const { t } = app.state;
  const y = (f: number) => 3 + (1 - f) * (height - 6);
  const x = (u: number) => 3 + u * (width - 6);
  return s("svg.profile", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": `from ${score(g)} global to ${score(l)} local` },
    s("line.ground", { x1: x(0), x2: x(1), y1: y(0), y2: y(0) }),
    s("line.way", { x1: x(0), y1: y(g), x2: x(1), y2: y(l) }),
    s("circle", { cx: x(t), cy: y(g + (l - g) * t), r: Math.min(3.5, height / 7) }));
}

export function heads(app: App, row: number): [number, number] {
  return [scoreOf(app.data.g[row]), scoreOf(app.data.l[row])];
}

/** The row in words, for those who cannot see it. */
export function inWords(app: App, row: number): string {
  const { data, scores } = app;
  const text = data.columns.slice(0, 3).map((c) => `${c.name} ${c.text(row) || "missing"}`);
  return `row ${data.id(row)}, centrality ${score(scores.value(row))}, rank ${many(scores.rank(row))}`
    + (text.length ? `, ${text.join(", ")}` : "");
}
