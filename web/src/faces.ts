// What a row looks like: its picture, its text, its curve or its first columns; and how its score goes with t.

import type { App } from "./app";
import { guiltyFirst } from "./compare";
import { ODD } from "./colours";
import { h, s } from "./dom";
import type { Heat, Word } from "./header";
import { scoreOf } from "./scores";
import { warmth } from "./why";
import { many, score } from "./words";

/** The row itself, small on a card and larger where there is room; "" if its columns stand below anyway. */
export function face(app: App, row: number, large = false, heat?: Heat, words: Word[] = []): HTMLElement | "" {
  const { data } = app;
  if (data.kind === "picture") return picture(app, row, heat);
  if (data.kind === "series" && data.curve) return h("span.face.curve", curve(app, data.curve(row), heat));
  if (data.kind === "text") {
    const column = data.columns.find((c) => c.name === data.itemColumn);
    if (words.length) return h("span.face.text", ...guilty(words, app.state.t));
    if (column) return h("span.face.text", column.text(row) || "—");
  }
  if (large) return ""; // its columns stand below
  const columns = guiltyFirst(data.columns, data.guilty).slice(0, 4);
  if (!columns.length) return h("span.face.text", `row ${data.id(row)}`);
  return h("span.face.cells", ...columns.map((c) => h("span", h("i", c.name), " ", c.text(row) || "—")));
}

/** The text, with the words painted without which it would be more typical. */
function guilty(words: Word[], t: number): (HTMLElement | string)[] {
  const values = words.map(({ global, local }) => (1 - t) * global + t * local);
  const most = Math.min(...values, -1e-9);
  return words.map(({ text }, k) => {
    const weight = values[k] / most;
    if (weight < 0.2) return text;
    const word = h("mark.guilty", text);
    word.style.setProperty("--weight", `${Math.round(12 + 48 * weight)}%`);
    return word;
  });
}

/** A picture, from the page or from the host; an empty place where there is none. */
function picture(app: App, row: number, heat?: Heat): HTMLElement {
  const { data, host } = app;
  const image = h("img.face", { alt: `picture of row ${data.id(row)}`, loading: "lazy" });
  const missing = () => image.replaceWith(h("span.face.missing", "no picture"));
  on_error(image, missing);
  const known = data.picture?.(row);
  if (known) image.src = known;
  else if (host.picture) void host.picture(row).then((address) => (address ? (image.src = address) : missing()), missing);
  else return h("span.face.missing", "no picture");
  return heat ? h("span.face.painted", image, painted(app, heat)) : image;
}

const on_error = (image: HTMLImageElement, act: () => void) => image.addEventListener("error", act, { once: true });

/** The pixels that take from the score in the colour of odd rows, over the picture. */
function painted(app: App, heat: Heat): HTMLCanvasElement {
  const canvas = h("canvas.heat", { width: heat.width, height: heat.height, role: "img", label: "what makes it odd, in red" });
  const c = canvas.getContext("2d")!;
  const image = c.createImageData(heat.width, heat.height);
  warmth(heat, app.state.t).forEach((value, k) => {
    if (value < 0) image.data.set([...ODD.dark, 255 * Math.min(1, -value) ** 0.7], 4 * k);
  });
  c.putImageData(image, 0, 0);
  return canvas;
}

function curve(app: App, heights: Uint8Array, heat?: Heat): SVGElement {
  const place = (v: number, i: number) => `${((i / (heights.length - 1)) * 100).toFixed(1)},${(38 - (v / 255) * 36).toFixed(1)}`;
  const values = heat && warmth(heat, app.state.t);
  // Where the curve takes from the score, a red line lies over it, the wider the more.
  const guilty = values ? Array.from(heights).flatMap((v, i) => {
    const weight = -values[Math.floor((i / heights.length) * values.length)];
    if (weight < 0.25 || !i) return [];
    return [s("polyline.guilty", { points: `${place(heights[i - 1], i - 1)} ${place(v, i)}`, "stroke-width": 1 + 3 * weight, "vector-effect": "non-scaling-stroke" })];
  }) : [];
  return s("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("polyline", { points: Array.from(heights, place).join(" "), "vector-effect": "non-scaling-stroke" }), ...guilty);
}

/** A line from the global to the local score, and where t stands on it. */
export function profile(app: App, row: number, width: number, height: number): SVGElement {
  const [g, l] = heads(app, row);
  const { t } = app.state;
  const y = (f: number) => 3 + (1 - f) * (height - 6);
  const x = (u: number) => 3 + u * (width - 6);
  return s("svg.profile", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    label: `from ${score(g)} global to ${score(l)} local` },
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
