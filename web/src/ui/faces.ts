// What a row looks like: its picture, its text, its curve or its first columns; and how its score goes with t.

import type { App } from "../app";
import { guiltyFirst } from "./typical";
import { ODD } from "../core/colours";
import { h, s } from "./dom";
import { blocksOf } from "../core/parts";
import { thing } from "./things";
import type { Heat, Why, Words } from "../core/header";
import { mixer, type Pair } from "../core/mixing";
import { adding, guiltyFeatures, NO_WORDS, unitsAt, warmth } from "./why";
import { score } from "../core/words";

const STOPS = 10; // on the way from global to local

/** The row itself, small on a card and larger where there is room; "" if its columns stand below anyway. */
export function face(app: App, row: number, large = false, why?: Why, words: Words = NO_WORDS): HTMLElement | "" {
  const { data } = app;
  const shot = data.kind === "picture" ? picture(app, row, why) : "";
  if (data.parts.length && !large) return thing(app, row, shot, cells(app, row, why));
  if (shot) return shot;
  if (data.kind === "series" && data.curve) return h("span.face.curve", curve(app, row, data.curve(row), why));
  if (data.kind === "text") {
    const column = data.columns.find((c) => c.name === data.itemColumn);
    if (words.words.length) return h("span.face.text", ...guiltyWords(app, row, words));
    if (column) return h("span.face.text", column.text(row) || "—");
  }
  if (large) return ""; // its columns stand below
  return cells(app, row, why) || h("span.face.text", `row ${data.id(row)}`);
}

/** The first cells of a row, those that make it odd first; parts that are seen by themselves are not among them. */
function cells(app: App, row: number, why?: Why): HTMLElement | "" {
  const seen = blocksOf(app.data).map(({ name }) => name);
  const columns = guiltyFirst(app.data.columns, guiltyFeatures(app, row, why)).filter(({ name }) => !seen.includes(name)).slice(0, 4);
  return columns.length > 0 && h("span.face.cells", ...columns.map((c) => h("span", h("i", c.name), " ", c.brief(row) || "—"))) || "";
}

/** The text, with the words painted without which it would be more typical. */
export function guiltyWords(app: App, row: number, { words, typical }: Words): (HTMLElement | string)[] {
  const at = adding(app, unitsAt(app, row), typical);
  const values = words.map(({ global, local }) => at(global, local));
  const most = Math.min(...values, 0) || -1;
  return words.map(({ text }, k) => {
    const weight = values[k] / most;
    if (weight < 0.2) return text;
    const word = h("mark.guilty", text);
    word.style.setProperty("--weight", `${Math.round(12 + 48 * weight)}%`);
    return word;
  });
}

/** A picture, from the page or from the host; an empty place where there is none. */
function picture(app: App, row: number, why?: Why): HTMLElement {
  const { data, host } = app;
  const image = h("img.face", { alt: `picture of row ${data.id(row)}`, loading: "lazy" });
  const missing = () => image.replaceWith(h("span.face.missing", "no picture"));
  on_error(image, missing);
  const known = data.picture?.(row);
  if (known) image.src = known;
  else if (host.picture) void host.picture(row).then((address) => (address ? (image.src = address) : missing()), missing);
  else return h("span.face.missing", "no picture");
  return why?.heat ? h("span.face.painted", image, painted(app, row, why.heat, why.typical)) : image;
}

const on_error = (image: HTMLImageElement, act: () => void) => image.addEventListener("error", act, { once: true });

/** The pixels that take from the score in the colour of odd rows, over the picture. */
function painted(app: App, row: number, heat: Heat, typical: Pair): HTMLCanvasElement {
  const canvas = h("canvas.heat", { width: heat.width, height: heat.height, role: "img", label: "what makes it odd, in red" });
  const c = canvas.getContext("2d")!;
  const image = c.createImageData(heat.width, heat.height);
  warmth(app, heat, unitsAt(app, row), typical).forEach((value, k) => {
    if (value < 0) image.data.set([...ODD.dark, 255 * Math.min(1, -value) ** 0.7], 4 * k);
  });
  c.putImageData(image, 0, 0);
  return canvas;
}

function curve(app: App, row: number, heights: Uint8Array, why?: Why): SVGElement {
  const place = (v: number, i: number) => `${((i / (heights.length - 1)) * 100).toFixed(1)},${(38 - (v / 255) * 36).toFixed(1)}`;
  const values = why?.heat && warmth(app, why.heat, unitsAt(app, row), why.typical);
  // Where the curve takes from the score, a red line lies over it, the wider the more.
  const guilty = values ? Array.from(heights).flatMap((v, i) => {
    const weight = -values[Math.floor((i / heights.length) * values.length)];
    if (weight < 0.25 || !i) return [];
    return [s("polyline.guilty", { points: `${place(heights[i - 1], i - 1)} ${place(v, i)}`, "stroke-width": 1 + 3 * weight, "vector-effect": "non-scaling-stroke" })];
  }) : [];
  return s("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" },
    s("polyline", { points: Array.from(heights, place).join(" "), "vector-effect": "non-scaling-stroke" }), ...guilty);
}

/** How the score goes from global to local, and where t stands on it. */
export function profile(app: App, row: number, width: number, height: number): SVGElement {
  const [g, l] = heads(app, row);
  const { t } = app.state;
  const f = (at: number) => mixer(app.data.mixing, at)(...unitsAt(app, row));
  const y = (f: number) => 3 + (1 - f) * (height - 6);
  const x = (u: number) => 3 + u * (width - 6);
  return s("svg.profile", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    label: `from ${score(g)} among all rows to ${score(l)} nearby` },
    s("line.ground", { x1: x(0), x2: x(1), y1: y(0), y2: y(0) }),
    s("polyline.way", { points: Array.from({ length: STOPS + 1 }, (_, k) => `${x(k / STOPS).toFixed(1)},${y(f(k / STOPS)).toFixed(1)}`).join(" ") }),
    s("circle", { cx: x(t), cy: y(f(t)), r: Math.min(3.5, height / 7) }));
}

export function heads(app: App, row: number): [number, number] {
  return [0, 1].map((t) => mixer(app.data.mixing, t)(...unitsAt(app, row))) as [number, number];
}

/** The row in words, for those who cannot see it. */
export function inWords(app: App, row: number): string {
  const { data, scores } = app;
  const text = data.columns.slice(0, 3).map((c) => `${c.name} ${c.text(row) || "missing"}`);
  return `row ${data.id(row)}, centrality ${score(scores.f[row])}, ${scores.standing(row)}`
    + (text.length ? `, ${text.join(", ")}` : "");
}
