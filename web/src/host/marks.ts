// What readers have said of rows: outlier, fine or later, tags and notes. Changes are sent to the host, again and again
// until they are kept; what others have said of other rows stays. Undone step by step, however many rows a step is about.

import { type Column, type Data, takeKeys } from "../core/data";
import type { Change, Mark } from "../core/header";
import { csv, harmless } from "../core/words";
import type { Host } from "./hosts";
import { keep, kept, keptJson } from "./kept";

export type Said = Mark["mark"];
export type Saying = Partial<Pick<Mark, "mark" | "note" | "tags">>;
type Step = [number, Saying][]; // numbers of rows in the data, and what was said of them before
const MOST_STEPS = 500; // that can be undone
const AGAIN = 3000; // milliseconds after which what was not kept is sent again
const AT_ONCE = 5000; // changes in one message
const BY_COLOUR = ["later", "outlier", "fine"]; // the first three colours of levels are blue, red and green, as on the buttons
const MOST_LEVELS = 250; // different sets of tags that are a category
const NAME = "centrality reviewer";
export const MARKS: Exclude<Said, "">[] = ["outlier", "fine", "later"];

export class Marks {
  readonly #marks = new Map<number, Mark>(); // by the row's number in the data
  readonly #undo: Step[] = [];
  readonly #unsent = new Map<number, Change>(); // what is not kept yet
  #elsewhere: Mark[] = []; // of rows that are not here
  #version = 0; // the newest that is known
  #sending = false;
  #again = 0;
  #asked?: Promise<void>; // for keys
  #columns?: Column[];
  #by = "";
  trouble = ""; // why marks are not kept

  constructor(
    private readonly data: Data,
    private readonly host: Host,
    private readonly changed: () => void,
  ) {
    this.#by = kept(NAME) ?? "";
  }

  /** Who says it. */
  get by(): string {
    return this.#by;
  }

  set by(name: string) {
    this.#by = name;
    this.host.reviewer?.(name);
    keep(NAME, name);
  }

  /** Take over what was said before, and what others say while the page is open. */
  async begin(gone: AbortSignal): Promise<void> {
    for (const change of this.#stashed()) this.#unsent.set(change.row, change);
    if (this.#by) this.host.reviewer?.(this.#by);
    this.host.marks.follow?.((marks) => this.#take(marks));
    addEventListener("focus", () => void this.refresh(), { signal: gone });
    addEventListener("beforeunload", (event) => this.#unsent.size && event.preventDefault(), { signal: gone });
    gone.addEventListener("abort", () => clearTimeout(this.#again));
    await this.refresh();
  }

  /** Ask the host what is kept now, and send what is not. */
  async refresh(): Promise<void> {
    try {
      await this.#keys();
      const { marks, trouble } = await this.host.marks.load(this.data.print);
      this.trouble = trouble;
      this.#take(marks);
      if (this.#unsent.size) await this.#send();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  /** Get the rows' keys, if they were not needed for the first picture. */
  async #keys(): Promise<void> {
    if (!this.data.keysLater) return;
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    this.#asked ??= this.host.keys!().then((bytes) => takeKeys(this.data, bytes)).finally(() => (this.#asked = undefined));
    await this.#asked;
  }

  of(row: number): Mark {
    const id = this.data.id(row);
    return this.#marks.get(id) ?? { key: this.data.key(row), row: id, mark: "", tags: "", note: "", by: "", at: "", version: 0 };
  }

  /** How many rows have been called this. */
  count(said: Said): number {
    let count = 0;
    for (const { mark } of this.#marks.values()) if (mark === said) count++;
    return count;
  }

  /** The rows that have been called this. */
  rows(said: Said): number[] {
    return [...this.#marks.values()].filter(({ mark }) => mark === said).map(({ row }) => this.data.row(row)).sort((a, b) => a - b);
  }

  get size(): number {
    return this.#marks.size;
  }

  /** How many marks are of rows that are not here, and how many are not kept. */
  get missing(): number {
    return this.#elsewhere.length;
  }

  get unsent(): number {
    return this.#unsent.size;
  }

  /** All tags that were given, in the order of their names. */
  get tags(): string[] {
    const names = new Set<string>();
    for (const { tags } of this.#marks.values()) for (const name of split(tags)) names.add(name);
    return [...names].sort();
  }

  /** Say something of rows, in one step. */
  set(rows: ArrayLike<number>, say: Saying | ((before: Mark) => Saying)): void {
    const step: Step = [];
    for (let k = 0; k < rows.length; k++) {
      const before = this.of(rows[k]);
      const said = typeof say === "function" ? say(before) : say;
      const keys = Object.keys(said) as (keyof Saying)[];
      if (keys.every((key) => said[key] === before[key])) continue;
      step.push([before.row, Object.fromEntries(keys.map((key) => [key, before[key]]))]);
      this.#put(before, said);
    }
    if (!step.length) return;
    this.#undo.push(step);
    if (this.#undo.length > MOST_STEPS) this.#undo.shift();
    this.#tell();
  }

  /** Give rows a tag, or take it from them if all of them have it. */
  tag(rows: ArrayLike<number>, name: string): void {
    const all = Array.from(rows).every((row) => split(this.of(row).tags).includes(name));
    this.set(rows, ({ tags }) => {
      const others = split(tags).filter((one) => one !== name);
      return { tags: (all ? others : [...others, name].sort()).join("; ") };
    });
  }

  /** Take back the last step; the numbers of its rows in the data. */
  undo(): number[] {
    const last = this.#undo.pop() ?? [];
    for (const [id, said] of last) this.#put(this.of(this.data.row(id)), said);
    if (last.length) this.#tell();
    return last.map(([id]) => id);
  }

  get canUndo(): boolean {
    return this.#undo.length > 0;
  }

  /** What was said as columns, by which rows are searched, coloured and sorted like by those of the data. */
  columns(): Column[] {
    return (this.#columns ??= [
      this.#category("mark", BY_COLOUR, ({ mark }) => mark), this.#category("tags", [], ({ tags }) => tags),
      this.#text("note", ({ note }) => note), this.#text("by", ({ by }) => by)]);
  }

  #category(name: string, levels: string[], read: (mark: Mark) => string): Column {
    const codes = new Map(levels.map((level, k) => [level, k + 1]));
    const values = new Uint8Array(this.data.n);
    for (const mark of this.#marks.values()) {
      const text = read(mark);
      if (!text) continue;
      if (!codes.has(text) && codes.size < MOST_LEVELS) codes.set(text, codes.size + 1);
      values[this.data.row(mark.row)] = codes.get(text) ?? 0;
    }
    return { ...this.#text(name, read), kind: "category", values, levels: [...codes.keys()] };
  }

  #text(name: string, read: (mark: Mark) => string): Column {
    const text = (row: number) => read(this.of(row));
    return { name, kind: "text", text, cell: text, brief: text };
  }

  #put(before: Mark, said: Saying): void {
    const { key, row } = before;
    const waiting = this.#unsent.get(row);
    this.#hold({ ...before, ...said, by: this.#by, at: "" });
    this.#unsent.set(row, { key, row, ...waiting, ...said, ...(this.#by && { by: this.#by }), ...("note" in said && { was: waiting?.was ?? before.note }) });
  }

  #tell(): void {
    this.#stash();
    void this.#send();
    this.#now();
  }

  #now(): void {
    this.#columns = undefined;
    this.changed();
  }

  #hold(mark: Mark): void {
    if (mark.mark || mark.note || mark.tags) this.#marks.set(mark.row, mark);
    else this.#marks.delete(mark.row);
  }

  /** All marks that are kept, and over them what is not kept yet. */
  #take(marks: Mark[]): void {
    const rows = this.#rowsOf(marks);
    this.#marks.clear();
    this.#elsewhere = marks.filter((_, k) => rows[k] < 0);
    marks.forEach((mark, k) => rows[k] >= 0 && this.#hold({ ...mark, key: this.data.key(rows[k]), row: this.data.id(rows[k]) }));
    for (const change of this.#unsent.values()) this.#hold({ ...this.of(this.data.row(change.row)), ...said(change) });
    this.#version = marks.reduce((newest, { version }) => Math.max(newest, version), this.#version);
    this.#now();
  }

  /** Where the marked rows stand here: by their keys, or by their numbers if they have none; -1 if they do not. */
  #rowsOf(marks: Mark[]): number[] {
    const { data } = this;
    const wanted = new Map(marks.filter(({ key }) => key).map(({ key }) => [key, -1]));
    if (wanted.size) for (let row = 0; row < data.n; row++) if (wanted.has(data.key(row))) wanted.set(data.key(row), row);
    return marks.map(({ key, row }) => (key ? wanted.get(key)! : data.row(row)));
  }

  /** Send what is not kept, many changes at a time. */
  async #send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    clearTimeout(this.#again);
    let others = false; // somebody else has changed something, too
    try {
      await this.#keys();
      while (this.#unsent.size) others = (await this.#sendSome([...this.#unsent.values()].slice(0, AT_ONCE))) || others;
      this.trouble = "";
      this.#now();
    } catch (error) {
      this.#fail(error as Error);
    } finally {
      this.#sending = false;
    }
    if (others) await this.refresh();
  }

  async #sendSome(said: Change[]): Promise<boolean> {
    const changes = said.map((change) => ({ ...change, key: change.key || this.data.key(this.data.row(change.row)) })); // some were said before keys came
    for (const { row } of changes) this.#unsent.delete(row); // so that what is said meanwhile is seen
    try {
      const kept = (await this.host.marks.save(changes, this.data.print)) ?? [];
      const newest = kept.reduce((most, { version }) => Math.max(most, version), 0);
      const alone = newest <= this.#version + changes.length;
      this.#version = Math.max(this.#version, newest);
      for (const mark of kept) if (!this.#unsent.has(mark.row)) this.#hold(mark);
      return !alone;
    } catch (error) {
      for (const change of changes) this.#unsent.set(change.row, { ...change, ...this.#unsent.get(change.row) });
      throw error;
    } finally {
      this.#stash();
    }
  }

  #fail(error: Error): void {
    this.trouble = error.message;
    clearTimeout(this.#again);
    this.#again = setTimeout(() => void this.refresh(), AGAIN);
    this.#now();
  }

  /** What is not kept yet outlives the page, where the browser lets it. */
  #stash(): void {
    if (this.host.linked) keep(this.#place, this.#unsent.size ? JSON.stringify([...this.#unsent.values()]) : undefined);
  }

  #stashed(): Change[] {
    return this.host.linked ? keptJson<Change[]>(this.#place, []) : [];
  }

  get #place(): string {
    return `centrality unsent ${this.data.print}`;
  }

  all(): Mark[] {
    return [...this.#marks.values(), ...this.#elsewhere].sort((a, b) => a.row - b.row);
  }

  csv(): string {
    return csv([["key", "row", "mark", "tags", "note", "by", "at", "version"],
      ...this.all().map(({ key, row, mark, tags, note, by, at, version }) =>
        [harmless(key), row, mark, harmless(tags), harmless(note), harmless(by), at, version])]);
  }
}

export const split = (tags: string) => tags.split(";").map((name) => name.trim()).filter(Boolean);

/** What a change says, without what it was. */
export const said = ({ mark, note, tags, by }: Change): Saying & { by?: string } => ({
  ...(mark !== undefined && { mark }), ...(note !== undefined && { note }), ...(tags !== undefined && { tags }), ...(by !== undefined && { by }),
});
