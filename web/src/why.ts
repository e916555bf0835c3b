// Why a row scores as it does, and what lies near it: from the page's own bytes, or asked of the host and remembered.

import type { App } from "./app";
import type { Heat, Reason, Why, Word } from "./header";
import { day, number, percent, signed } from "./words";

const REMEMBERED = 500; // answers

export class Answers {
  readonly #known = new Map<number, Why>();
  readonly #words = new Map<number, Promise<Word[]>>();
  readonly #asked = new Map<number, Promise<Why | undefined>>();

  constructor(private readonly app: App) {}

  /** What is known now, without asking. */
  now(row: number): Why | undefined {
    const { data } = this.app;
    const known = this.#known.get(row);
    if (known || data.asks) return known;
    const [reasons, near, heat] = [data.reasons?.(row), data.near?.(row), data.heat?.(row)];
    return reasons || near || heat ? { reasons: reasons ?? [], near: near ?? [], ...(heat && { heat }) } : undefined;
  }

  async ask(row: number): Promise<Why | undefined> {
    const known = this.now(row);
    const { host, data } = this.app;
    if (known || !data.asks || !host.why) return known;
    if (!this.#asked.has(row)) {
      const answer = host.why(row).then((why) => this.#keep(row, why), () => undefined);
      this.#asked.set(row, answer.finally(() => this.#asked.delete(row)));
    }
    return this.#asked.get(row);
  }

  /** What each word of a row's text adds; nothing where nobody can tell. */
  async words(row: number): Promise<Word[]> {
    const { host, data } = this.app;
    if (!data.words || !host.ask) return [];
    if (!this.#words.has(row)) {
      this.#words.set(row, host.ask<Word[]>("words", row).catch(() => []));
      if (this.#words.size > REMEMBERED) this.#words.delete(this.#words.keys().next().value!);
    }
    return this.#words.get(row)!;
  }

  #keep(row: number, why: Why): Why {
    this.#known.set(row, why);
    if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.keys().next().value!);
    return why;
  }
}

export interface Weighed {
  name: string;
  value: number; // what the feature adds to the score at this t, or takes from it
}

/** Reasons at this t, the strongest first; those that hardly count are left out. */
export function weighed(reasons: Reason[], t: number): Weighed[] {
  const values = reasons.map(({ name, global, local }) => ({ name, value: (1 - t) * global + t * local }));
  values.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const most = Math.max(Math.abs(values[0]?.value ?? 0), 1e-9);
  return values.filter(({ value }) => Math.abs(value) > 0.02 * most);
}

/** What each pixel or moment adds at this t, from -1 to 1. */
export function warmth({ width, height, values }: Heat, t: number): Float32Array {
  const size = width * height;
  const at = Float32Array.from({ length: size }, (_, k) => ((1 - t) * (values[k] - 128) + t * (values[size + k] - 128)) / 127);
  const most = at.reduce((a, v) => Math.max(a, Math.abs(v)), 1e-6);
  return at.map((v) => v / most);
}

/** A value of a column and what is usual there, in the data's own terms; "" where that cannot be said. */
export function inItsTerms(app: App, name: string, row: number): string {
  const column = app.data.columns.find((c) => c.name === name);
  if (!column?.values) return "";
  if (column.levels) {
    const code = column.values[row];
    let count = 0;
    for (let i = 0; i < column.values.length; i++) if (column.values[i] === code) count++;
    return `${column.text(row) || "missing"}, as are ${percent(count / app.data.n)} of the rows`;
  }
  const value = column.values[row];
  if (isNaN(value)) return "missing";
  const { quarter, threeQuarters, low, high } = column.summary!();
  const text = column.kind === "date" ? day : (v: number) => number(Number(v.toPrecision(4)));
  const half = `half of the rows lie from ${text(quarter)} to ${text(threeQuarters)}`;
  if (value > high || value < low) return `${column.text(row)}, ${value > high ? "above" : "below"} 99% of the rows; ${half}`;
  return `${column.text(row)}; ${half}`;
}

/** The strongest reasons as sentences. */
export function sentences(app: App, row: number, reasons: Weighed[], most: number): [string, string, string][] {
  return reasons.slice(0, most).map(({ name, value }) => [name, inItsTerms(app, name, row), signed(value)]);
}
