// What the reader has said of rows: outlier, fine or later, and notes. Kept by the host, undone step by step.

import type { Data } from "./data";
import type { Mark } from "./header";
import type { Host } from "./hosts";
import { csv } from "./words";

export type Said = Mark["mark"];
const MOST_STEPS = 500; // that can be undone

export class Marks {
  readonly #marks = new Map<number, Mark>(); // by the row's number in the data
  readonly #undo: [number, Mark | undefined][] = [];

  constructor(
    private readonly data: Data,
    private readonly host: Host,
    private readonly changed: () => void,
  ) {}

  /** Take over what was said before: by the host, or by another view of the same rows. */
  async load(): Promise<void> {
    const keep = (marks: Mark[]) => {
      this.#marks.clear();
      for (const mark of marks) if (mark.mark || mark.note) this.#marks.set(mark.row, mark);
      this.changed();
    };
    this.host.marks.follow?.(keep);
    keep(await this.host.marks.load(this.data.print).catch(() => []));
  }

  of(row: number): Mark {
    return this.#marks.get(this.data.id(row)) ?? { row: this.data.id(row), mark: "", note: "" };
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

  set(row: number, change: Partial<Pick<Mark, "mark" | "note">>): void {
    const id = this.data.id(row);
    const before = this.#marks.get(id);
    const now = { ...this.of(row), ...change };
    if (now.mark === (before?.mark ?? "") && now.note === (before?.note ?? "")) return;
    this.#undo.push([id, before]);
    if (this.#undo.length > MOST_STEPS) this.#undo.shift();
    this.#put(id, now);
  }

  /** Take back the last thing said; the number of its row in the data, or -1. */
  undo(): number {
    const last = this.#undo.pop();
    if (!last) return -1;
    this.#put(...last);
    return last[0];
  }

  get canUndo(): boolean {
    return this.#undo.length > 0;
  }

  #put(id: number, mark?: Mark): void {
    if (mark && (mark.mark || mark.note)) this.#marks.set(id, mark);
    else this.#marks.delete(id);
    this.host.marks.save(this.all(), this.data.print);
    this.changed();
  }

  all(): Mark[] {
    return [...this.#marks.values()].sort((a, b) => a.row - b.row);
  }

  csv(): string {
    return csv([["row", "mark", "note"], ...this.all().map(({ row, mark, note }) => [row, mark, note])]);
  }
}
