// The rows as moments: each channel over time below the map, odd stretches shaded. What is dragged over is selected on the
// map, what is selected there is marked here, and the odd stretch that is open is drawn beside a typical one.

import { any, type App, type Changed, type Part } from "../app";
import { css, ODD } from "../core/colours";
import type { Column } from "../core/data";
import type { Found } from "../core/findings";
import type { TimelineNames } from "../core/header";
import { extremes, inOrder, typicalStart } from "../core/moments";
import { NONE } from "../core/state";
import { day, plural, rounded } from "../core/words";
import { Brush, sharp, type Span } from "./brush";
import { h } from "./dom";

const [LANE, NAME, PAIR, MOST] = [52, 12, 64, 6]; // pixels of a channel, of its name, and of the pair of windows; channels that are drawn
const AROUND = 2; // lengths of a stretch that are seen on either side of it

export class Timeline implements Part {
  readonly element: HTMLElement;
  readonly #brush: Brush;
  readonly #events = h("div.events");
  readonly #beside = h("figure.beside", { hidden: true });
  readonly #said = h("span.said");
  readonly #whole = h("button.plain", { hidden: true, onclick: () => this.#see() }, "whole time");
  readonly #series = h("select.small", { label: "Series", onchange: () => this.#choose() });
  readonly #time: Column;
  readonly #by?: Column;
  readonly #channels: Column[];
  #rows!: Uint32Array; // of the series, in the order of time
  #span!: Span; // the times that are seen
  #band?: Span; // those that were dragged over
  #own?: Uint32Array; // and the rows in them
  #dragged = false; // they are not selected yet

  constructor(private readonly app: App, { time, by, channels }: TimelineNames) {
    const named = (name: string) => app.data.columns.find((column) => column.name === name)!;
    [this.#time, this.#by, this.#channels] = [named(time), by ? named(by) : undefined, channels.map(named)];
    this.#brush = new Brush(app, "lanes", ["First moment selected", "Last moment selected"], (span) => {
      this.#band = span;
      this.#select();
    });
    app.resting.push(() => this.#dragged && this.#select());
    this.#series.append(...(this.#by?.levels ?? []).map((level) => h("option", level)));
    this.#series.hidden = !this.#by;
    this.element = h("section.timeline", { label: "Timeline" }, h("div.row", h("h2", "Timeline"), this.#series, this.#said, this.#whole), this.#brush.element, this.#events, this.#beside);
    const watch = new ResizeObserver(() => app.paint && this.#draw());
    watch.observe(this.#brush.element);
    app.gone.addEventListener("abort", () => watch.disconnect());
    this.#choose();
  }

  update(changed: Changed): void {
    const { app } = this;
    if (changed.has("findings")) this.#list();
    if (changed.has("cause") || changed.has("findings")) this.#open();
    if (changed.has("selection") && app.state.selection !== this.#own) this.#band = undefined;
    if (any(changed, "findings", "cause", "selection", "pinned", "theme", "query", "ranges", "brush")) this.#draw();
  }

  /** The odd stretches of this series. */
  get #stretches(): Found[] {
    const { checked } = this.app;
    return (checked?.found ?? []).filter(({ kind, rows }) => kind === "stretch" && rows.length > 0 && this.#inside(rows[0]));
  }

  #inside = (row: number) => !this.#by?.levels || this.#by.values![row] === this.#series.selectedIndex + 1;

  #choose(): void {
    this.#rows = inOrder(this.#time.values!, this.#inside);
    this.#see();
    this.#list();
  }

  /** See so much of the time, or all of it. */
  #see(span?: Span): void {
    const at = (row: number) => this.#time.values![row];
    const [first, last] = [at(this.#rows[0]), at(this.#rows[this.#rows.length - 1])];
    this.#span = span ? [Math.max(first, span[0]), Math.min(last, span[1])] : [first, last];
    this.#whole.hidden = !span;
    this.#band = undefined;
    if (this.app.paint) this.#draw();
  }

  #text = (at: number) => (this.#time.kind === "date" ? day(at, 16) : rounded(at));

  #list(): void {
    const { app } = this;
    const found = this.#stretches;
    this.#said.textContent = app.checked ? plural(found.length, "odd stretch", "odd stretches") : "Looking for odd stretches …";
    this.#events.replaceChildren(...found.map((one) =>
      h("button.small", { title: one.reason, onclick: () => app.set({ panel: "findings", cause: app.open === one ? NONE : app.checked!.found.indexOf(one) }) }, one.sentence)));
  }

  /** The stretch that is open: time is seen around it, and beside it a typical window. */
  #open(): void {
    const { app } = this;
    let { open } = app;
    if (open && open.kind === "stretch" && this.#by?.levels && !this.#inside(open.rows[0])) {
      this.#series.selectedIndex = this.#by.values![open.rows[0]] - 1;
      this.#choose();
    }
    open = this.#stretches.find((one) => one === app.open);
    this.#beside.hidden = !open;
    [...this.#events.children].forEach((button, k) => (button.ariaPressed = String(this.#stretches[k] === open)));
    if (!open) return;
    const [from, to] = this.#ends(open);
    const around = AROUND * Math.max(to - from, 1);
    this.#see([from - around, to + around]);
    this.#compare(open);
  }

  #ends({ rows }: Found): Span {
    const times = Array.from(rows, (row) => this.#time.values![row]);
    return [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))];
  }

  /** Rows are selected once it is let go: what is shown of them must not move the field under the pointer. */
  #select(): void {
    const [[from, to], span] = [this.#span, this.#band];
    if ((this.#dragged = this.app.held)) return this.#draw();
    const [low, high] = (span ?? [0, 0]).map((at) => from + at * (to - from));
    this.#own = span ? this.#rows.filter((row) => this.#time.values![row] >= low && this.#time.values![row] <= high).sort() : new Uint32Array();
    this.app.set({ selection: this.#own });
  }

  /** The channels that are drawn: those to blame first, where there are too many. */
  #drawn(): Column[] {
    const blamed = new Set(this.#stretches.flatMap(({ columns }) => columns));
    const first = [...this.#channels].sort((a, b) => Number(blamed.has(b.name)) - Number(blamed.has(a.name))).slice(0, MOST);
    return this.#channels.filter((column) => first.includes(column));
  }

  #draw(): void {
    const { app } = this;
    const channels = this.#drawn();
    const height = LANE * channels.length + 16;
    const canvas = this.#brush.canvas;
    canvas.style.height = `${height}px`;
    const [c, width] = sharp(canvas, height);
    const [from, to] = this.#span;
    const x = (at: number) => ((at - from) / (to - from)) * width;
    const odd = css(app.dark ? ODD.dark : ODD.light);
    c.font = "11px system-ui, sans-serif";
    for (const one of this.#stretches) {
      const [left, right] = this.#ends(one).map(x);
      channels.forEach(({ name }, k) => {
        c.globalAlpha = one.columns.includes(name) ? 0.3 : 0.08;
        c.fillStyle = odd;
        c.fillRect(left, k * LANE, Math.max(2, right - left), LANE);
      });
    }
    c.globalAlpha = 1;
    channels.forEach((column, k) => this.#course(c, column, this.#rows, this.#span, width, k * LANE + NAME, LANE - NAME, app.dark ? "#9fb4d8" : "#3b528b"));
    c.fillStyle = app.dark ? "#e8eaed" : "#1c1e21";
    channels.forEach(({ name }, k) => c.fillText(name, 2, k * LANE + NAME));
    const { selection, pinned } = app.state;
    for (const row of selection) if (this.#inside(row)) c.fillRect(x(this.#time.values![row]), height - 16, 1.5, 4);
    if (pinned >= 0 && this.#inside(pinned)) c.fillRect(x(this.#time.values![pinned]) - 1, 0, 2, height - 12);
    c.fillText(this.#text(from), 2, height - 1);
    c.textAlign = "right";
    c.fillText(this.#text(to), width - 2, height - 1);
    canvas.dataset.from = String(from);
    this.#brush.show(this.#band, (at) => this.#text(from + at * (to - from)));
  }

  /** The course of a channel: from the lowest to the highest value of each pixel, and on to the next. */
  #course(c: CanvasRenderingContext2D, column: Column, rows: Uint32Array, span: Span, width: number, top: number, tall: number, colour: string, range = column.summary!()): void {
    const [low, high] = extremes(column.values!, this.#time.values!, rows, span, Math.floor(width));
    const scale = (tall - 8) / (range.most - range.least || 1);
    const y = (value: number) => top + tall - 4 - (value - range.least) * scale;
    c.strokeStyle = colour;
    c.beginPath();
    low.forEach((value, at) => {
      if (isNaN(value)) return;
      c.lineTo(at + 0.5, y(value));
      c.lineTo(at + 0.5, y(high[at]));
    });
    c.stroke();
  }

  /** The channel to blame in the odd stretch, over a typical window as long. */
  #compare(open: Found): void {
    const { app } = this;
    const odd = new Uint8Array(app.data.n);
    for (const { rows } of this.#stretches) for (const row of rows) odd[row] = 1;
    const time = this.#time.values!;
    const first = this.#rows.indexOf(this.#rows.find((row) => open.rows.includes(row))!);
    const length = open.rows.length;
    const step = this.#time.kind === "date" ? (time[this.#rows[this.#rows.length - 1]] - time[this.#rows[0]]) / (this.#rows.length - 1) : 0;
    const start = typicalStart(this.#rows, app.scores.f, odd, first, length, step);
    const column = this.#channels.find(({ name }) => name === open.columns[0]) ?? this.#channels[0];
    const canvas = h("canvas.pair", { role: "img", label: `${column.name} in the odd stretch, over a typical one` });
    const windows: [number, string][] = [...(start < 0 ? [] : [[start, app.dark ? "#9aa3ad" : "#5c6066"] as [number, string]]), [first, css(app.dark ? ODD.dark : ODD.light)]];
    this.#beside.replaceChildren(canvas, h("figcaption", `${column.name}: ${open.reason}. `,
      start < 0 ? "" : `Grey: a typical stretch as long, from ${this.#text(time[this.#rows[start]])}.`));
    const [c, width] = sharp(canvas, PAIR);
    c.lineWidth = 1.5;
    const shown = windows.map(([begin, colour]) => ({ rows: this.#rows.slice(begin, begin + length), colour }));
    const values = shown.flatMap(({ rows }) => Array.from(rows, (row) => column.values![row])).filter((value) => !isNaN(value));
    const range = { ...column.summary!(), least: Math.min(...values), most: Math.max(...values) };
    for (const { rows, colour } of shown) {
      const [from, to] = [time[rows[0]], time[rows[rows.length - 1]]];
      this.#course(c, column, rows, [from, to + (to - from) / length || 1], width, 0, PAIR, colour, range);
    }
  }
}
