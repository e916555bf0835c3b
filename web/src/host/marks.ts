// What the reader has said of rows: outlier, fine or later, and notes. Each change is sent to the host by itself, again
// and again until it is kept; what others have said of other rows stays. Undone step by step.

import type { Data } from "../core/data";
import type { Change, Mark } from "../core/header";
import type { Host } from "./hosts";
import { csv, harmless } from "../core/words";

export type Said = Mark["mark"];
type Saying = Partial<Pick<Mark, "mark" | "note">>;
const MOST_STEPS = 500; // that can be undone
const AGAIN = 3000; // milliseconds after which what was not kept is sent again

export class Marks {
  readonly #marks = new Map<number, Mark>(); // by the row's number in the data
  readonly #undo: [number, Saying][] = [];
  readonly #unsent = new Map<number, Change>(); // what is not kept yet
  #elsewhere: Mark[] = []; // of rows that are not here
  #version = 0; // the newest that is known
  #sending = false;
  #again = 0;
  trouble = ""; // why marks are not kept

  constructor(
    private readonly data: Data,
    private readonly host: Host,
    private readonly changed: () => void,
  ) {}

  /** Take over what was said before, and what others say while the page is open. */
  async begin(gone: AbortSignal): Promise<void> {
    for (const change of this.#stashed()) this.#unsent.set(change.row, change);
    this.host.marks.follow?.((marks) => this.#take(marks));
    addEventListener("focus", () => void this.refresh(), { signal: gone });
    addEventListener("beforeunload", (event) => this.#unsent.size && event.preventDefault(), { signal: gone });
    gone.addEventListener("abort", () => clearTimeout(this.#again));
    await this.refresh();
  }

  /** Ask the host what is kept now, and send what is not. */
  async refresh(): Promise<void> {
    try {
      const { marks, trouble } = await this.host.marks.load(this.data.print);
      this.trouble = trouble;
      this.#take(marks);
      if (this.#unsent.size) await this.#send();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  of(row: number): Mark {
    const id = this.data.id(row);
    return this.#marks.get(id) ?? { key: this.data.key(row), row: id, mark: "", note: "", version: 0 };
  }

  /** How many rows have been called this. */
  count(said: Said): number {
    let count = 0;
    for (const { mark } of this.#marks.values()) if (mark === said) count++;
    return count;
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

  set(row: number, said: Saying): void {
    const before = this.of(row);
    if ((said.mark ?? before.mark) === before.mark && (said.note ?? before.note) === before.note) return;
    this.#undo.push([before.row, { ...("mark" in said && { mark: before.mark }), ...("note" in said && { note: before.note }) }]);
    if (this.#undo.length > MOST_STEPS) this.#undo.shift();
    this.#put(before, said);
  }

  /** Take back the last thing said; the number of its row in the data, or -1. */
  undo(): number {
    const last = this.#undo.pop();
    if (!last) return -1;
    this.#put(this.of(this.data.row(last[0])), last[1]);
    return last[0];
  }

  get canUndo(): boolean {
    return this.#undo.length > 0;
  }

  #put(before: Mark, said: Saying): void {
    const { key, row } = before;
    const waiting = this.#unsent.get(row);
    this.#hold({ ...before, ...said });
    this.#unsent.set(row, { key, row, ...waiting, ...said, ...("note" in said && { was: waiting?.was ?? before.note }) });
    this.#stash();
    void this.#send();
    this.changed();
  }

  #hold(mark: Mark): void {
    if (mark.mark || mark.note) this.#marks.set(mark.row, mark);
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
    this.changed();
  }

  /** Where the marked rows stand here: by their keys, or by their numbers if they have none; -1 if they do not. */
  #rowsOf(marks: Mark[]): number[] {
    const { data } = this;
    const wanted = new Map(marks.filter(({ key }) => key).map(({ key }) => [key, -1]));
    if (wanted.size) for (let row = 0; row < data.n; row++) if (wanted.has(data.key(row))) wanted.set(data.key(row), row);
    return marks.map(({ key, row }) => (key ? wanted.get(key)! : data.row(row)));
  }

  /** Send what is not kept, one after the other. */
  async #send(): Promise<void> {
    if (this.#sending) return;
    this.#sending = true;
    clearTimeout(this.#again);
    let others = false; // somebody else has changed something, too
    try {
      for (let next = this.#unsent.values().next().value; next; next = this.#unsent.values().next().value) {
        others = (await this.#sendOne(next)) || others;
      }
      this.trouble = "";
      this.changed();
    } catch (error) {
      this.#fail(error as Error);
    } finally {
      this.#sending = false;
    }
    if (others) await this.refresh();
  }

  async #sendOne(change: Change): Promise<boolean> {
    this.#unsent.delete(change.row); // so that what is said meanwhile is seen
    try {
      const kept = await this.host.marks.save(change, this.data.print);
      const alone = !kept || kept.version <= this.#version + 1;
      this.#version = Math.max(this.#version, kept?.version ?? 0);
      if (kept && !this.#unsent.has(change.row)) this.#hold(kept);
      return !alone;
    } catch (error) {
      this.#unsent.set(change.row, { ...change, ...this.#unsent.get(change.row) });
      throw error;
    } finally {
      this.#stash();
    }
  }

  #fail(error: Error): void {
    this.trouble = error.message;
    clearTimeout(this.#again);
    this.#again = setTimeout(() => void this.refresh(), AGAIN);
    this.changed();
  }

  /** What is not kept yet outlives the page, where the browser lets it. */
  #stash(): void {
    if (!this.host.linked) return;
    try {
      if (this.#unsent.size) localStorage.setItem(this.#place, JSON.stringify([...this.#unsent.values()]));
      else localStorage.removeItem(this.#place);
    } catch {
      return; // the banner says that marks are not kept, as long as they are not
    }
  }

  #stashed(): Change[] {
    try {
      return this.host.linked ? (JSON.parse(localStorage.getItem(this.#place) ?? "[]") as Change[]) : [];
    } catch {
      return [];
    }
  }

  get #place(): string {
    return `centrality unsent ${this.data.print}`;
  }

  all(): Mark[] {
    return [...this.#marks.values(), ...this.#elsewhere].sort((a, b) => a.row - b.row);
  }

  csv(): string {
    return csv([["key", "row", "mark", "note", "version"],
      ...this.all().map(({ key, row, mark, note, version }) => [harmless(key), row, mark, harmless(note), version])]);
  }
}

/** What a change says, without what it was. */
export const said = ({ mark, note }: Change): Saying => ({ ...(mark !== undefined && { mark }), ...(note !== undefined && { note }) });
