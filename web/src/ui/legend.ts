// What the colours mean, below the map so that it covers no point; the levels of a category are also a filter.

import { any, type App, type Changed, type Part } from "../app";
import { css, OTHER, shade } from "../core/colours";
import { SIGNS } from "../gl/overlay";
import { MARKS } from "../host/marks";
import { h, on, s } from "./dom";
import { withRange } from "../core/ranges";
import { plural, score } from "../core/words";

export class Legend implements Part {
  readonly #colours = h("div.colours", { role: "group" });
  readonly #key = h("div.key", { label: "What the signs on the map mean", role: "group" });
  readonly #colour: HTMLSelectElement;
  readonly element: HTMLElement;

  constructor(private readonly app: App) {
    this.#colour = h("select.small", { label: "Colour by" }, ...app.colours().map(([value, name]) => h("option", { value }, name)));
    on(this.#colour, { change: () => app.set({ colour: this.#colour.value }) });
    this.element = h("div.below", this.#colour, h("div.legend", this.#colours, this.#key));
  }

  update(changed: Changed): void {
    const { paint } = this.app;
    this.#colour.value = this.app.state.colour;
    if (any(changed, "marks", "selection", "rule", "level", "t", "theme", "map", "pinned")) this.#drawKey();
    if (!any(changed, "colour", "theme") && !(changed.has("t") && paint.byScore) && !(changed.has("ranges") && paint.column)) return;
    if (paint.map === "kinds") this.#drawLevels();
    else this.#drawScale();
  }

  /** Rings, marks and triangles, as far as there are any on the map. */
  #drawKey(): void {
    const { marks, state, limit, data } = this.app;
    const circle = (kind: string) => s("circle", { cx: 8, cy: 8, r: 5, class: kind });
    const lines = (mark: keyof typeof SIGNS) => SIGNS[mark].map((line) => s("polyline", { points: line.map(([x, y]) => `${8 + x},${8 + y}`).join(" ") }));
    const entry = (text: string, ...parts: SVGElement[]) => h("span.sign", s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, ...parts), text);
    this.#key.replaceChildren(...[
      limit > 0 && entry("below the threshold", circle("odd")),
      state.selection.length > 0 && entry("selected", circle("chosen")),
      state.pinned >= 0 && entry("the row of the card", circle("ring")),
      ...MARKS.map((mark) => marks.count(mark) > 0 && entry(mark, ...lines(mark))),
      Math.max(...data.axes.reach) > 1 && entry("beyond the map", s("path.far", { d: "M13 8 4 3.5v9Z" })),
    ].filter((one) => one !== false));
  }

  #drawLevels(): void {
    const { paint, dark, data, state } = this.app;
    const { name, values } = paint.column!;
    const levels = paint.column!.levels!;
    const range = Object.hasOwn(state.ranges, name) ? state.ranges[name] : undefined;
    const entry = (k: number, text: string, codes: number[]) => {
      const spot = h("span.spot");
      spot.style.background = css(shade("kinds", k / 255, dark));
      const on = !range || codes.some((code) => range.includes(code));
      return h("button.entry", { "aria-pressed": String(on), title: `Show or hide ${text}`, onclick: () => this.#toggle(codes) }, spot, text);
    };
    const named = levels.slice(0, OTHER).map((text, k) => entry(k, text, [k + 1]));
    const rest = levels.slice(OTHER).map((_, k) => k + OTHER + 1);
    if (rest.length) named.push(entry(OTHER, plural(rest.length, "more level"), rest));
    if (values!.subarray(0, Math.min(data.n, 1e5)).includes(0)) named.push(entry(-255, ["mark", "tags"].includes(state.colour) ? `no ${name}` : "missing", [0]));
    this.#colours.replaceChildren(h("b", paint.label), ...named);
    this.#colours.ariaLabel = `Colours: ${paint.label}`;
  }

  /** The first click leaves only these levels, further ones take others in or out. */
  #toggle(codes: number[]): void {
    const { column } = this.app.paint;
    const { ranges } = this.app.state;
    const { name, levels } = column!;
    const range = Object.hasOwn(ranges, name) ? ranges[name] : undefined;
    const now = !range ? codes : codes.some((code) => range.includes(code)) ? range.filter((code) => !codes.includes(code)) : [...range, ...codes];
    const all = now.filter(Boolean).length === levels!.length;
    this.app.set({ ranges: withRange(ranges, name, now.length && !all ? now : undefined) });
  }

  #drawScale(): void {
    const { paint, dark } = this.app;
    const bar = h("div.gradient");
    bar.style.background = `linear-gradient(90deg, ${Array.from({ length: 17 }, (_, k) => css(shade(paint.map, k / 16, dark))).join(",")})`;
    const [low, high] = paint.range;
    const ends = paint.byScore ? [`≤ ${score(low)}`, `≥ ${score(high)}`] : paint.ends;
    const words = paint.byScore ? paint.ends : ["", ""];
    const end = (k: number) => h("span.end", words[k] ? h("i", words[k]) : null, h("span.number", ends[k]));
    this.#colours.replaceChildren(h("b", paint.label), end(0), bar, end(1));
    this.#colours.ariaLabel = `Colours: ${paint.label}, from ${ends[0]} to ${ends[1]}`;
  }
}
