// What the colours mean, below the map so that it covers no point; the levels of a category are also a filter.

import { any, type App, type Changed, type Part } from "../app";
import { css, OTHER, shade } from "../core/colours";
import { h } from "./dom";
import { withRange } from "../core/ranges";
import { plural, score } from "../core/words";

export class Legend implements Part {
  readonly element = h("div.legend", { role: "group" });

  constructor(private readonly app: App) {}

  update(changed: Changed): void {
    const { paint } = this.app;
    if (!any(changed, "colour", "theme") && !(changed.has("t") && paint.byScore) && !(changed.has("ranges") && paint.column)) return;
    if (paint.map === "kinds") this.#drawLevels();
    else this.#drawScale();
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
    if (values!.subarray(0, Math.min(data.n, 1e5)).includes(0)) named.push(entry(-255, "missing", [0]));
    this.element.replaceChildren(h("b", paint.label), ...named);
    this.element.ariaLabel = `Colours: ${paint.label}`;
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
    this.element.replaceChildren(h("b", paint.label), end(0), bar, end(1));
    this.element.ariaLabel = `Colours: ${paint.label}, from ${ends[0]} to ${ends[1]}`;
  }
}
