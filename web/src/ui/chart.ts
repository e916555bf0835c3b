// One column as a small histogram or a bar for each level: all rows, those visible, and those selected.

import type { App } from "../app";
import { Brush, sharp } from "./brush";
import type { Column } from "../core/data";
import { h } from "./dom";
import { withRange } from "../core/ranges";
import { day, many, percent, rounded } from "../core/words";

const BINS = 40;
const HEIGHT = 44;
const LEVELS = 6; // bars of a category; the other levels share one more
const GAP = 255; // the bin of rows without a value

export class ColumnChart {
  readonly element: HTMLElement & { chart: ColumnChart };
  readonly #said = h("span.said");
  readonly #brush?: Brush;
  readonly #levels = h("ul.levels");
  readonly #ends = h("div.ends-of-column");
  #bins?: Uint8Array; // of each row
  #all?: Uint32Array; // rows in each bin
  #span: [number, number] = [0, 1]; // values at both ends of a histogram

  constructor(
    private readonly app: App,
    private readonly column: Column,
  ) {
    const { name } = column;
    if (!column.levels) this.#brush = new Brush(app, "mini", [`Lowest ${name} shown`, `Highest ${name} shown`], (span) => this.#set(span));
    const body = this.#brush ? [this.#brush.element, this.#ends] : [this.#levels];
    this.element = Object.assign(h("li.column", h("h3", { title: name }, name), this.#said, ...body), { chart: this });
  }

  /** What it says of the selection. */
  say(text: string): void {
    this.#said.textContent = text;
  }

  /** All rows, those visible, and over them `some`: what is selected, or the kind of the row of the card. */
  draw(some: Uint32Array): void {
    if (!this.#bins) this.#sort();
    const { app } = this;
    const shown = app.visible ? this.#count(app.visible) : this.#all!;
    const chosen = new Uint32Array(256);
    for (const row of some) chosen[this.#bins![row]]++;
    if (this.#brush) this.#drawBars(shown, chosen, some.length);
    else this.#drawLevels(shown, chosen, some.length);
  }

  /** The bin of each row: equal parts of the usual range, both ends open; levels as they are. */
  #sort(): void {
    const values = this.column.values!;
    this.#bins = new Uint8Array(values.length);
    if (this.column.levels) {
      for (let row = 0; row < values.length; row++) this.#bins[row] = values[row];
    } else {
      const { least, most, low, high } = this.column.summary!();
      const wide = most - least > 3 * (high - low) && high > low; // a few far values would squeeze the others
      const [from, to] = (this.#span = wide ? [low, high] : [least, most > least ? most : least + 1]);
      const scale = BINS / (to - from);
      for (let row = 0; row < values.length; row++) {
        const v = values[row];
        this.#bins[row] = v !== v ? GAP : Math.max(0, Math.min(BINS - 1, Math.floor((v - from) * scale)));
      }
    }
    this.#all = this.#count();
  }

  #count(of?: Uint8Array): Uint32Array {
    const out = new Uint32Array(256);
    const bins = this.#bins!;
    if (of) for (let row = 0; row < bins.length; row++) out[bins[row]] += of[row];
    else for (let row = 0; row < bins.length; row++) out[bins[row]]++;
    return out;
  }

  #drawBars(shown: Uint32Array, chosen: Uint32Array, size: number): void {
    const { app } = this;
    const [c, width] = sharp(this.#brush!.canvas, HEIGHT);
    const bar = width / BINS;
    const most = Math.sqrt(Math.max(...this.#all!.subarray(0, BINS), 1));
    const mostChosen = Math.sqrt(Math.max(...chosen.subarray(0, BINS), 1));
    const draw = (counts: Uint32Array, top: number, fill: string, inset: number) => {
      c.fillStyle = fill;
      for (let b = 0; b < BINS; b++) {
        const tall = counts[b] ? Math.max(1.5, (Math.sqrt(counts[b]) / top) * (HEIGHT - 2)) : 0;
        c.fillRect(b * bar + 0.5 + inset, HEIGHT - tall, bar - 1 - 2 * inset, tall);
      }
    };
    draw(this.#all!, most, app.dark ? "#39424e" : "#dcd8ce", 0);
    draw(shown, most, app.dark ? "#5f7f9b" : "#8fa6c4", 0);
    if (size) draw(chosen, mostChosen, app.dark ? "#e8eaed" : "#1c1e21", bar / 4); // to its own scale
    this.#drawOwn(c, bar);
    const text = this.column.kind === "date" ? day : (v: number) => rounded(v, Math.max(4, Math.ceil(Math.log10(Math.abs(v) + 1)))); // an id keeps its digits
    const { least, most: top } = this.column.summary!();
    const [from, to] = this.#span;
    const gaps = this.#all![GAP];
    const missing = /\s/.test(this.column.name) ? `missing:"${this.column.name}"` : `missing:${this.column.name}`;
    this.#ends.replaceChildren(h("span", (least < from ? "≤ " : "") + text(from)),
      gaps ? h("button.plain", { title: "Show these rows only", onclick: () => app.set({ query: missing }) }, `${many(gaps)} missing`) : "",
      h("span", (top > to ? "≥ " : "") + text(to)));
    const range = this.#range;
    const place = (v: number) => Math.max(0, Math.min(1, (v - from) / (to - from)));
    this.#brush!.show(range ? [place(range[0]), place(range[1])] : undefined, (at) => text(from + at * (to - from)));
  }

  /** A line where the row of the card lies. */
  #drawOwn(c: CanvasRenderingContext2D, bar: number): void {
    const { dark, state: { pinned } } = this.app;
    const bin = pinned < 0 ? GAP : this.#bins![pinned];
    if (bin === GAP) return;
    c.fillStyle = dark ? "#ff6b6b" : "#c2183c";
    c.fillRect((bin + 0.5) * bar - 1, 0, 2, HEIGHT);
  }

  get #range(): readonly number[] | undefined {
    const { ranges } = this.app.state;
    return Object.hasOwn(ranges, this.column.name) ? ranges[this.column.name] : undefined;
  }

  /** A range that reaches an end takes in all beyond it. */
  #set(span?: [number, number]): void {
    const { least, most } = this.column.summary!();
    const [from, to] = this.#span;
    const value = (at: number) => (at <= 0 ? Math.min(least, from) : at >= 1 ? Math.max(most, to) : from + at * (to - from));
    this.app.set({ ranges: withRange(this.app.state.ranges, this.column.name, span && [value(span[0]), value(span[1])]) });
  }

  #drawLevels(shown: Uint32Array, chosen: Uint32Array, size: number): void {
    const levels = this.column.levels!;
    const order = levels.map((_, k) => k + 1).sort((a, b) => this.#all![b] - this.#all![a]);
    const rest = order.splice(levels.length > LEVELS + 1 ? LEVELS : levels.length);
    const lines: [string, number[]][] = order.map((code) => [levels[code - 1], [code]]);
    if (rest.length) lines.push([`${rest.length} more`, rest]);
    if (this.#all![0]) lines.push(["missing", [0]]);
    const sum = (counts: Uint32Array, codes: number[]) => codes.reduce((total, code) => total + counts[code], 0);
    const most = Math.max(...lines.map(([, codes]) => sum(this.#all!, codes)), 1);
    const range = this.#range;
    const { pinned } = this.app.state;
    const own = pinned < 0 ? -1 : this.column.values![pinned];
    this.#levels.replaceChildren(...lines.map(([text, codes]) => {
      const part = (kind: string, share: number) => {
        const bar = h(`span.${kind}`);
        bar.style.width = `${100 * share}%`;
        return bar;
      };
      const on = !range || codes.some((code) => range.includes(code));
      const share = size ? percent(sum(chosen, codes) / size) : percent(sum(shown, codes) / Math.max(1, this.app.count));
      return h("li", h("button.level", { "aria-pressed": String(on), onclick: () => this.#toggle(codes) }, h(codes.includes(own) ? "span.name.own" : "span.name", text),
        h("span.bars-of-level", part("all", sum(this.#all!, codes) / most), part("shown", sum(shown, codes) / most),
          size > 0 && part("chosen", sum(chosen, codes) / size)),
        h("span.share", share)));
    }));
  }

  #toggle(codes: number[]): void {
    const range = this.#range;
    const now = !range ? codes : codes.some((code) => range.includes(code)) ? range.filter((code) => !codes.includes(code)) : [...range, ...codes];
    this.app.set({ ranges: withRange(this.app.state.ranges, this.column.name, now.length ? now : undefined) });
  }
}
