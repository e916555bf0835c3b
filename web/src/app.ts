// What the parts of the page share: the data, what the reader has chosen, and what follows from both.

import { css, type Map, OTHER, shade } from "./colours";
import type { Column, Data } from "./data";
import type { Host } from "./hosts";
import { QueryError, search } from "./query";
import { moves, Scores } from "./scores";
import { beginning, readBack, type State, written } from "./state";

const DARK = "(prefers-color-scheme: dark)";
export type Changed = Set<keyof State>;
export const any = (changed: Changed, ...keys: (keyof State)[]) => keys.some((key) => changed.has(key));
export interface Part {
  update(changed: Changed): void;
}

/** How rows are coloured now. */
export interface Paint {
  map: Map;
  byScore: boolean;
  range: [number, number];
  label: string;
  ends: [string, string]; // what the ends of the colours mean
  column?: Column;
}

export class App {
  readonly scores: Scores;
  readonly first: State;
  state: State;
  paint!: Paint;
  values?: Float32Array; // that rows are coloured by, unless it is their score
  filter?: Uint8Array;
  complaint = ""; // about the query
  limit = 0; // the step below which rows are flagged
  dark = false;
  readonly parts: Part[] = []; // brought up to date before the frame is drawn
  readonly panels: Part[] = []; // and right after it, so that the map does not wait for them
  #changed: Changed = new Set();
  #owed: Changed = new Set(); // to the panels
  #frame = 0;
  #saving = 0;
  #known?: Float32Array;

  constructor(
    readonly data: Data,
    readonly host: Host,
    readonly root: HTMLElement,
    private readonly live: HTMLElement,
  ) {
    this.scores = new Scores(data);
    this.first = beginning(data.t);
    this.state = host.linked ? readBack(location.hash.slice(1), this.first, data.n) : { ...this.first };
    if (!this.colours().some(([value]) => value === this.state.colour)) this.state.colour = "f";
  }

  begin(): void {
    matchMedia(DARK).addEventListener("change", () => this.set({ theme: this.state.theme }));
    this.set({ ...this.state });
    if (this.host.linked) {
      addEventListener("hashchange", () => this.set(readBack(location.hash.slice(1), this.first, this.data.n)));
    }
  }

  set(change: Partial<State>): void {
    Object.assign(this.state, change);
    for (const key of Object.keys(change) as (keyof State)[]) this.#changed.add(key);
    this.#frame ||= requestAnimationFrame(() => this.#refresh());
  }

  /** Everything that follows from a change, at most once a frame. */
  #refresh(): void {
    this.#frame = 0;
    const changed = this.#changed;
    this.#changed = new Set();
    const { state } = this;
    if (changed.has("theme")) {
      this.root.dataset.theme = state.theme;
      this.dark = state.theme ? state.theme === "dark" : matchMedia(DARK).matches;
    }
    if (changed.has("t")) this.scores.at(state.t);
    if (changed.has("query")) this.#find();
    if (any(changed, "t", "rule", "level")) this.#judge();
    if (any(changed, "colour", "theme")) this.#choosePaint();
    if (this.paint.byScore) this.paint.range = this.#usualScores();
    for (const part of this.parts) part.update(changed);
    if (!this.#owed.size) window.setTimeout(() => this.#refreshPanels());
    for (const key of changed) this.#owed.add(key);
    if (changed.has("selection")) this.host.select?.(Uint32Array.from(state.selection, this.data.id));
    clearTimeout(this.#saving);
    this.#saving = window.setTimeout(() => this.host.linked && history.replaceState(null, "", this.link()), 250);
  }

  #refreshPanels(): void {
    const changed = this.#owed;
    this.#owed = new Set();
    for (const panel of this.panels) panel.update(changed);
  }

  link(): string {
    const text = written(this.state, this.first);
    return `${location.href.split("#")[0]}${text ? `#${text}` : ""}`;
  }

  get moves(): Float32Array {
    this.#known ??= moves(this.data);
    return this.#known;
  }

  /** Is the row neither filtered nor brushed away? */
  readonly shown = (row: number): boolean => {
    if (this.filter && !this.filter[row]) return false;
    const { brush } = this.state;
    if (!brush) return true;
    const f = this.scores.value(row);
    return f >= brush[0] && f <= brush[1];
  };

  countShown(): number {
    if (!this.filter && !this.state.brush) return this.data.n;
    let count = 0;
    for (let row = 0; row < this.data.n; row++) if (this.shown(row)) count++;
    return count;
  }

  flagged(row: number): boolean {
    return this.scores.f[row] < this.limit;
  }

  /** Told to those who cannot see the map. */
  announce(text: string): void {
    this.live.textContent = text;
  }

  /** What rows can be coloured by: value and name. */
  colours(): [string, string][] {
    const columns = this.data.columns.filter((column) => column.kind !== "text");
    return [["f", "Centrality"], ["move", "Change of place"],
      ...columns.map((column): [string, string] => [`=${column.name}`, column.name])];
  }

  colourOf(row: number): string {
    const { paint, values } = this;
    const value = paint.byScore ? this.scores.value(row) : values![row];
    if (value < 0 && !paint.byScore) return "#8a8f98";
    const at = (value - paint.range[0]) / (paint.range[1] - paint.range[0]);
    return css(shade(paint.map, Math.max(0, Math.min(1, at)), this.dark));
  }

  #find(): void {
    this.complaint = "";
    try {
      this.filter = search(this.state.query, this.data);
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      this.complaint = error.message;
      this.filter = undefined;
    }
  }

  #judge(): void {
    const { rule, level } = this.state;
    this.limit = rule === "share" ? this.scores.limitByShare(level) : rule === "fdr" ? this.scores.limitByFdr(level) : 0;
  }

  #choosePaint(): void {
    const { colour } = this.state;
    const column = this.data.columns.find((c) => `=${c.name}` === colour);
    this.values = undefined;
    if (colour === "move") {
      // Colours want numbers from 0 to 1; half stands for no change.
      this.values = Float32Array.from(this.moves, (m) => 0.5 + m / 2);
      const most = this.moves.reduce((a, m) => Math.max(a, Math.abs(m)), 0.02) / 2;
      this.paint = { map: "change", byScore: false, range: [0.5 - most, 0.5 + most], label: "change of place",
        ends: [`falls ${Math.round(200 * most)}%`, `rises ${Math.round(200 * most)}%`] };
    } else if (column?.kind === "category") {
      this.values = Float32Array.from(column.values!, (code) => (code ? Math.min(code - 1, OTHER) / 255 : -1));
      this.paint = { map: "kinds", byScore: false, range: [0, 1], label: column.name, ends: ["", ""], column };
    } else if (column?.values) {
      this.#paintNumbers(column);
    } else {
      this.paint = { map: "even", byScore: true, range: [0, 1], label: "centrality", ends: ["peripheral", "central"] };
    }
  }

  #paintNumbers(column: Column): void {
    const values = column.values!;
    const sorted = Float64Array.from(values).filter((v) => !Number.isNaN(v)).sort();
    const low = sorted[Math.floor(0.01 * (sorted.length - 1))] ?? 0;
    const high = sorted[Math.ceil(0.99 * (sorted.length - 1))] ?? 1;
    const width = high > low ? high - low : 1;
    this.values = Float32Array.from(values, (v) => (Number.isNaN(v) ? -1 : Math.max(0, Math.min(1, (v - low) / width))));
    const text = (v: number) => (column.kind === "date" ? new Date(v).toISOString().slice(0, 10) : short(v));
    this.paint = { map: "even", byScore: false, range: [0, 1], label: column.name, ends: [text(low), text(low + width)], column };
  }

  /** The scores that colours span: nearly all at this t. */
  #usualScores(): [number, number] {
    const low = this.scores.quantile(0.01);
    return [low, Math.max(this.scores.quantile(0.99), low + 1e-3)];
  }
}

export const short = (value: number) => String(Number(value.toPrecision(3)));
/** A score: three decimals, or two digits where these would all be zero. */
export const score = (f: number) => (f >= 0.0995 || f === 0 ? f.toFixed(3) : f >= 0.001 ? f.toFixed(4) : f.toExponential(1));
export const percent = (share: number) => `${share >= 0.1 ? Math.round(100 * share) : Number((100 * share).toPrecision(2))}%`;
