// What the parts of the page share: the data, what the reader has chosen, and what follows from both.

import { colourOf, OTHER, type Paint } from "./core/colours";
import { type Column, type Data, placesOf } from "./core/data";
import { type Checked, type Found, placed } from "./core/findings";
import type { BetterMap, Findings } from "./core/header";
import type { Acts } from "./gl/scene";
import type { Host } from "./host/hosts";
import { Marks } from "./host/marks";
import { h } from "./ui/dom";
import { QueryError, search, turnsWithMarks, turnsWithT } from "./core/query";
import { narrow } from "./core/ranges";
import { moves, RoughScores, Scores } from "./core/scores";
import { any, beginning, type Changed, type Key, readBack, type State, written } from "./core/state";
import { day, rounded } from "./core/words";

const DARK = "(prefers-color-scheme: dark)";
const LET_GO = 80; // milliseconds after something was let go: what has changed is seen before all of it is drawn
const MANY = 200_000; // rows from which, while something is dragged, colours follow a sample, and panels more slowly
const SAMPLE = 20_000;
const [SLOWLY, BARS] = [700, 90]; // milliseconds between two updates of all panels, and of those that a sample is enough for
const SHARE = 20; // panels take at most one part in so many of the time in which something is dragged
const QUIET = 300; // milliseconds without a change after which things have come to rest
/** What a reader does at once, so that the back button can undo it; the rest is turned and dragged. */
const STEPS = new Set<keyof State>(["colour", "query", "brush", "ranges", "rule", "panel", "cause", "a", "b", "list", "by", "table", "pinned", "selection"]);
const MORPH = 900; // milliseconds in which rows go from their places on one map to those on the next

export { any, type Changed };
export interface Lit {
  rows: Uint32Array;
  name: string;
}
export interface Part {
  update(changed: Changed): void;
}

export class App {
  readonly scores: Scores;
  readonly marks: Marks;
  readonly first: State;
  state: State;
  paint!: Paint;
  values?: Float32Array; // that rows are coloured by, unless it is their score
  filter?: Uint8Array; // by the query and the ranges of columns
  visible?: Uint8Array; // by the filter and the brush
  count: number; // of visible rows
  complaint = ""; // about the query
  checked?: Checked; // what is wrong with the rows, once that is known
  lit?: Lit; // rows that are lit up on the map, for as long as they are pointed at
  limit = 0; // the score below which rows are flagged
  dark = false;
  begun: boolean; // the reader has done something: what opens now was asked for
  held = false; // something is being dragged: what is dear waits until it is let go
  readonly parts: Part[] = []; // brought up to date before the frame is drawn
  readonly panels: Part[] = []; // and right after it, so that the map does not wait for them
  readonly bars: Part[] = []; // those of them that a sample is enough for while something is dragged
  readonly resting: (() => void)[] = []; // done once things have come to rest
  readonly #end = new AbortController();
  readonly gone = this.#end.signal; // aborted when the page is taken down
  #changed: Changed = new Set();
  #owed: Changed = new Set(); // to the panels
  #frame = 0;
  #saving = 0;
  #panels = 0;
  #bars = 0;
  #took = 0; // milliseconds, by the panels
  #slow = false; // panels wait until enough has been dragged
  #roughly = false; // limit and colours are of a sample
  #rough?: RoughScores;
  #settling = 0;
  #step = false; // something was done since the address was last written
  #known?: Float32Array;

  constructor(
    readonly data: Data,
    readonly host: Host,
    readonly root: HTMLElement,
    private readonly live: HTMLElement,
  ) {
    this.scores = new Scores(data);
    this.begun = host.linked && location.hash.includes("panel=review");
    this.count = data.n;
    this.first = { ...beginning(data.t), colour: data.colour, panel: data.findings ? "findings" : "review", table: data.kind === "picture" && host.linked ? "gallery" : "", ...(data.sides && { a: data.sides[0], b: data.sides[1] }) };
    if (data.findings && data.findings !== "ask") this.checked = placed(data.findings, data);
    this.state = host.linked ? readBack(location.hash.slice(1), this.first, data.n) : { ...this.first, ...host.wanted?.(data) };
    this.marks = new Marks(data, host, () => this.#note("marks"));
    if (!this.colours().some(([value]) => value === this.state.colour)) this.state.colour = "f";
  }

  begin(): void {
    const { gone: signal } = this;
    matchMedia(DARK).addEventListener("change", () => this.set({ theme: this.state.theme }), { signal });
    this.set({ ...this.state });
    void this.marks.begin(this.gone);
    if (this.host.linked) {
      // The event's own address: ours may have been written over it since, with what was chosen before.
      addEventListener("hashchange", ({ newURL }) => this.set(readBack(newURL.split("#")[1] ?? "", this.first, this.data.n)), { signal });
    }
    this.host.follow?.((change) => this.set(change), this.data);
  }

  /** What a map tells the page; `hover` is told of the row under the pointer. */
  acts(hover: (row: number) => void): Acts {
    return {
      set: (change) => this.set(change),
      hover: (row) => {
        hover(row);
        this.host.hovered?.(row < 0 ? -1 : this.data.id(row));
      },
      hold: (held) => this.hold(held),
      announce: (text) => this.announce(text),
      keys: () => this.root.dataset.keys !== "off",
      ...(this.data.kind === "picture" && { picture: async (row: number) => this.data.picture?.(row) ?? this.host.picture?.(row) }),
      linked: this.host.linked,
      gone: this.gone,
    };
  }

  /** Take the page down: nothing of it is left behind. */
  end(): void {
    this.#end.abort();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#saving);
    clearTimeout(this.#settling);
    this.host.end?.();
    this.data.end();
  }

  set(change: Partial<State>): void {
    Object.assign(this.state, change);
    for (const key of Object.keys(change) as (keyof State)[]) {
      this.#note(key);
      if (STEPS.has(key)) this.#step = true;
    }
  }

  /** Put another map in place of the first: rows glide to where they lie on it, unless the reader wants no motion. */
  remap({ axes, points }: BetterMap): void {
    const { data } = this;
    const bytes = Uint8Array.from(atob(points!), (c) => c.charCodeAt(0));
    const [from, to] = [[data.x, data.y], placesOf(bytes, axes!, data.n)];
    this.set({ x: 0, y: 0, zoom: 1 });
    const start = performance.now();
    const step = (now: number) => {
      const way = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : Math.min(1, Math.max(0, now - start) / MORPH);
      const share = way * way * (3 - 2 * way);
      const [x, y] = way < 1 ? from.map((line, k) => line.map((v, row) => v + share * (to[k][row] - v))) : to;
      Object.assign(data, { axes, x, y });
      this.#note("map");
      if (way < 1 && !this.gone.aborted) requestAnimationFrame(step);
    };
    step(start);
  }

  /** Ask the host what is wrong with the rows: once there is a picture, which that must not delay. */
  async check(): Promise<void> {
    const { data, host } = this;
    if (data.findings !== "ask" || !host.ask) return;
    try {
      data.findings = await host.ask<Findings>("findings", 0);
    } catch (error) {
      data.findings = { verdict: `These rows were not checked: ${(error as Error).message}`, rows: 0, findings: [] };
    }
    this.checked = placed(data.findings, data);
    this.#note("findings");
  }

  /** The finding that is open, if one is. */
  get open(): Found | undefined {
    return this.checked?.found[this.state.cause];
  }

  /** Light up these rows on the map, with a name; or no longer. */
  light(lit?: Lit): void {
    if (lit === this.lit) return;
    this.lit = lit;
    this.#note("lit");
  }

  #note(key: Key): void {
    this.#changed.add(key);
    this.#frame ||= requestAnimationFrame(() => this.#refresh());
  }

  /** Keys pressed anywhere are ours where the page is; in a notebook only those pressed in the widget. */
  onKey(act: (event: KeyboardEvent) => void): void {
    const where: EventTarget = this.host.linked ? document : this.root;
    where.addEventListener("keydown", (event) => act(event as KeyboardEvent), { signal: this.gone });
  }

  /** Single letters are commands, unless they are switched off, typed into a field or pressed in a dialog. */
  onLetter(act: (event: KeyboardEvent) => boolean): void {
    this.onKey((event) => {
      const target = event.target as HTMLElement;
      if (this.root.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey || this.root.querySelector("dialog[open]")) return;
      if (target.matches("input:not([type=range]), select, textarea")) return;
      if (act(event)) event.preventDefault();
    });
  }

  /** Enter ends what is typed here: the map has the keys again, so that the next letter is a command. */
  untilEnter<E extends HTMLElement>(input: E): E {
    input.addEventListener("keydown", ({ key }) => key === "Enter" && this.root.querySelector<HTMLElement>("canvas.points")!.focus({ preventScroll: true }));
    return input;
  }

  /** Something is dragged, or let go. */
  hold(held: boolean): void {
    if (held === this.held) return;
    this.held = held;
    clearTimeout(this.#settling);
    if (held) return;
    if (this.#roughly) this.#note("t"); // now exactly
    else if (this.#owed.size) this.#schedulePanels();
    this.#settling = setTimeout(() => this.#rest(), LET_GO);
  }

  /** The scores that colours and bars follow: of all rows, or while something is dragged of a sample of very many. */
  get swift(): Scores {
    if (!this.held || this.data.n <= MANY) return this.scores;
    this.#roughly = true;
    this.#rough ??= new RoughScores(this.data, SAMPLE);
    this.#rough.at(this.state.t);
    return this.#rough;
  }

  /** What follows from the scores of all rows. */
  #exactly(): void {
    this.#roughly = false;
    this.limit = this.judged(this.scores);
    if (this.paint.byScore) this.paint.range = this.usual(this.scores);
  }

  #rest(): void {
    if (this.#frame) this.#refresh();
    for (const act of this.resting) act();
  }

  /** Everything that follows from a change, at most once a frame. */
  #refresh(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const changed = this.#changed;
    this.#changed = new Set();
    this.#follow(changed);
    for (const part of this.parts) part.update(changed);
    // While something is dragged the map comes first: panels follow a few times a second.
    this.#schedulePanels();
    for (const key of changed) this.#owed.add(key);
    this.host.tell?.(this.state, changed, this.data);
    clearTimeout(this.#settling);
    if (!this.held) this.#settling = setTimeout(() => this.#rest(), QUIET);
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => this.#save(), 250);
  }

  #schedulePanels(): void {
    const slowly = this.held && this.data.n > MANY;
    if (slowly) this.#bars ||= setTimeout(() => this.#refreshBars(), BARS);
    if (this.#owed.size && (slowly || !this.#slow)) return; // they are on their way
    clearTimeout(this.#panels);
    this.#slow = slowly;
    this.#panels = setTimeout(() => this.#refreshPanels(), slowly ? Math.max(SLOWLY, SHARE * this.#took) : 0);
  }

  #follow(changed: Changed): void {
    const { state } = this;
    if (changed.has("theme")) {
      this.root.dataset.theme = state.theme;
      this.dark = state.theme ? state.theme === "dark" : matchMedia(DARK).matches;
    }
    if (changed.has("t")) this.scores.at(state.t);
    const turned = (changed.has("t") && turnsWithT(state.query)) || (changed.has("marks") && turnsWithMarks(state.query));
    if (changed.has("marks") && ["mark", "tags"].includes(state.colour)) changed.add("colour");
    if (any(changed, "query", "ranges") || turned) this.#find();
    if (turned) changed.add("query"); // it finds other rows now
    if (any(changed, "query", "ranges", "brush") || (changed.has("t") && state.brush)) this.#see();
    if (any(changed, "t", "rule", "level")) this.limit = this.judged(this.swift);
    if (any(changed, "colour", "theme")) this.#choosePaint();
    if (this.paint.byScore) this.paint.range = this.usual(this.swift);
  }

  #refreshBars(): void {
    this.#bars = 0;
    if (!this.gone.aborted) for (const part of this.bars) part.update(this.#owed);
  }

  #refreshPanels(): void {
    if (this.gone.aborted) return;
    const start = performance.now();
    if (this.#roughly) this.#exactly();
    const changed = this.#owed;
    this.#owed = new Set();
    for (const panel of this.panels) panel.update(changed);
    this.#took = performance.now() - start;
    this.begun = true;
  }

  #save(): void {
    if (!this.host.linked) return;
    const link = this.link();
    if (link !== location.href) history[this.#step ? "pushState" : "replaceState"](null, "", link);
    this.#step = false;
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
  readonly shown = (row: number): boolean => !this.visible || this.visible[row] > 0;

  flagged(row: number): boolean {
    return this.scores.f[row] < this.limit;
  }

  /** Told to those who cannot see the map. */
  announce(text: string): void {
    this.live.textContent = text;
  }

  /** Tell everybody something, for a moment. */
  flash(text: string): void {
    const note = h("div.flash", { "aria-hidden": "true" }, text);
    this.root.append(note);
    this.announce(text);
    setTimeout(() => note.remove(), 2000 + 60 * text.length);
  }

  /** What rows can be coloured by: value and name. */
  colours(): [string, string][] {
    const columns = this.data.columns.filter((column) => column.kind !== "text");
    return [["f", "Odd to typical"], ["move", "Change with the dial"], ["mark", "Mark"], ["tags", "Tags"],
      ...columns.map((column): [string, string] => [`=${column.name}`, column.name])];
  }

  colourOf(row: number): string {
    return colourOf(this, row);
  }

  #find(): void {
    const { query, ranges } = this.state;
    this.complaint = "";
    this.filter = undefined;
    try {
      this.filter = search(query, this.data, this.scores, this.marks.columns());
      if (this.filter && !this.filter.includes(1)) {
        this.filter = undefined;
        this.#missed(query);
      }
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      this.complaint = error.message;
    }
    if (!Object.keys(ranges).length) return;
    this.filter ??= new Uint8Array(this.data.n).fill(1);
    narrow(this.filter, ranges, this.data.columns);
  }

  /** Nothing is found: the map stays as it is, and a word that may be the start of a column's name is answered by it. */
  #missed(query: string): void {
    const words = query.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter((word) => word.length > 2);
    const meant = this.data.columns.find(({ name }) => words.some((word) => name.toLowerCase().includes(word)));
    this.complaint = `No row holds “${query}”.${meant ? ` Did you mean a column: ${meant.name}${meant.kind === "number" ? ">" : ":"}… ?` : ""}`;
  }

  /** Which rows are visible now, and how many. */
  #see(): void {
    const { filter, data } = this;
    const { brush } = this.state;
    this.visible = filter;
    this.count = data.n;
    if (brush) {
      const { f } = this.scores;
      const [low, high] = [brush[0] - 1e-9, brush[1] + 1e-9];
      const visible = new Uint8Array(data.n);
      for (let row = 0; row < data.n; row++) visible[row] = f[row] >= low && f[row] <= high ? (filter ? filter[row] : 1) : 0;
      this.visible = visible;
    }
    if (!this.visible) return;
    this.count = 0;
    for (let row = 0; row < data.n; row++) this.count += this.visible[row];
  }

  /** The score below which the chosen rule calls rows outliers. */
  judged(scores: Scores): number {
    const { rule, level } = this.state;
    return rule === "share" ? scores.limitByShare(level) : rule === "fdr" ? scores.limitByFdr(level) : 0;
  }

  #choosePaint(): void {
    const { colour } = this.state;
    const column = this.data.columns.find((c) => `=${c.name}` === colour) ?? this.marks.columns().slice(0, 2).find((c) => c.name === colour);
    this.values = undefined;
    if (colour === "move") {
      // Colours want numbers from 0 to 1; half stands for no change.
      this.values = Float32Array.from(this.moves, (m) => 0.5 + m / 2);
      const most = this.moves.reduce((a, m) => Math.max(a, Math.abs(m)), 0.02) / 2;
      this.paint = { map: "change", byScore: false, range: [0.5 - most, 0.5 + most], label: "change with the dial",
        ends: [`falls ${Math.round(200 * most)}%`, `rises ${Math.round(200 * most)}%`] };
    } else if (column?.kind === "category") {
      this.values = Float32Array.from(column.values!, (code) => (code ? Math.min(code - 1, OTHER) / 255 : -1));
      this.paint = { map: "kinds", byScore: false, range: [0, 1], label: column.name, ends: ["", ""], column };
    } else if (column?.values) {
      this.#paintNumbers(column);
    } else {
      this.paint = { map: "even", byScore: true, range: [0, 1], label: "centrality", ends: ["odd", "typical"] };
    }
  }

  /** Colours span nearly all values; where some lie beyond, the legend says so. */
  #paintNumbers(column: Column): void {
    const values = column.values!;
    const { low, high, least, most } = column.summary!();
    const width = high > low ? high - low : 1;
    this.values = Float32Array.from(values, (v) => (isNaN(v) ? -1 : Math.max(0, Math.min(1, (v - low) / width))));
    const text = column.kind === "date" ? day : (v: number) => rounded(v);
    const ends: [string, string] = [(least < low ? "≤ " : "") + text(low), (most > low + width ? "≥ " : "") + text(low + width)];
    this.paint = { map: "even", byScore: false, range: [0, 1], label: column.name, ends, column };
  }

  /** The scores that colours span: nearly all at this t. */
  usual(scores: Scores): [number, number] {
    const low = scores.quantile(0.01);
    return [low, Math.max(scores.quantile(0.99), low + 1e-3)];
  }
}
