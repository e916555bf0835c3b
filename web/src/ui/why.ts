// Why a row scores as it does, and what lies near it: from the page's own bytes, or asked of the host and remembered.

import type { App } from "../app";
import { h } from "./dom";
import type { Heat, Reason, TypicalWith, Why, Words } from "../core/header";
import { partInWords } from "../core/parts";
import { mixer, type Pair, weigher } from "../core/mixing";
import { day, many, percent, rounded, short } from "../core/words";

const REMEMBERED = 500; // answers
const MOST_P = 0.1; // p-values beyond it say nothing: the row is like many others
export const NO_WORDS: Words = { words: [], typical: [0, 0] };

/** How rare a row is among the calibration rows: its p-value, and one in how many it is; "" if it is like many others. */
export function rarity({ scores, data }: App, row: number): string {
  const p = scores.pValue(row);
  if (p === undefined || p > MOST_P) return "";
  const one = Math.round(1 / p);
  return `p-value ${data.about ? "about " : ""}${short(p)}: 1 in ${many(one)}${one > scores.known ? " or rarer" : ""}`;
}

/** Say of these rows how many are odd at least, if the host can tell; not while the dial is turned. */
export function certify(app: App, rows: Iterable<number>): HTMLElement {
  const said = h("span.said");
  setTimeout(() => said.isConnected && app.host.ask?.<string>("certificate", 0, { rows: [...rows], t: app.state.t })
    .then((text) => said.append(text), () => {}), 300);
  return said;
}

export class Answers {
  readonly #known = new Map<number, Why>();
  readonly #words = new Map<string, Promise<Words>>();
  readonly #asked = new Map<number, Promise<Why | undefined>>();
  readonly #typical = new Map<string, TypicalWith>(); // by row and t

  constructor(private readonly app: App) {}

  /** What is known now, without asking. */
  now(row: number): Why | undefined {
    const known = this.#known.get(row);
    const held = known ? undefined : this.app.data.why?.(row);
    return held ? this.#keep(row, held) : known;
  }

  async ask(row: number): Promise<Why | undefined> {
    const known = this.now(row);
    const { host, data } = this.app;
    if (known || !data.asks || !host.ask) return known;
    if (!this.#asked.has(row)) {
      const answer = host.ask<Why>("why", row).then((why) => this.#keep(row, why), () => undefined);
      this.#asked.set(row, answer.finally(() => this.#asked.delete(row)));
    }
    return this.#asked.get(row);
  }

  /** What each word of a text of a row adds; nothing where nobody can tell. */
  async words(row: number, column: string): Promise<Words> {
    const { host, data } = this.app;
    if (!data.words.includes(column) || !host.ask) return NO_WORDS;
    const text = `${row} ${column}`;
    if (!this.#words.has(text)) {
      this.#words.set(text, host.ask<Words>("words", row, column).catch(() => NO_WORDS));
      if (this.#words.size > REMEMBERED) this.#words.delete(this.#words.keys().next().value!);
    }
    return this.#words.get(text)!;
  }

  /** Which cells would make a row typical at this t, as far as that is known now. */
  typicalNow(row: number): TypicalWith | undefined {
    return this.#typical.get(`${row} ${this.app.state.t}`);
  }

  /** The same, asked of the host; nothing where nobody can tell, or it was known. */
  async typicalWith(row: number): Promise<TypicalWith | undefined> {
    const { host, data, state: { t } } = this.app;
    if (!data.typicalWith || !host.ask || this.typicalNow(row)) return undefined;
    const answer = await host.ask<TypicalWith>("typical", row, t).catch(() => undefined);
    if (answer) this.#typical.set(`${row} ${t}`, answer);
    return answer;
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
  usual?: string; // in the row's kind
}

/** What things that contribute to the units of a row add to its score at this t. */
export const adding = ({ data, state }: App, units: Pair, typical: Pair) => weigher(data.mixing, state.t, units, typical);

export const unitsAt = ({ data }: App, row: number): Pair => [data.g[row], data.l[row]];

/** Reasons at this t, the strongest first; those that hardly count are left out. */
export function weighed(app: App, reasons: Reason[], units: Pair, typical: Pair): Weighed[] {
  const at = adding(app, units, typical);
  const values = reasons.map(({ name, global, local, usual }) => ({ name, value: at(global, local), usual }));
  values.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const most = Math.abs(values[0]?.value ?? 0);
  return values.filter(({ value }) => Math.abs(value) > 0.02 * most);
}

/** The features of a row from the one that takes most from its score at this t; those of the odd rows while that is not known. */
export function guiltyFeatures(app: App, row: number, why: Why | undefined): string[] {
  if (!why?.reasons.length) return app.data.guilty;
  return weighed(app, why.reasons, unitsAt(app, row), why.typical).sort((a, b) => a.value - b.value).map(({ name }) => name);
}

/** What each pixel or moment adds at this t, as a share of the most that one of them does. */
export function warmth(app: App, { width, height, values }: Heat, units: Pair, typical: Pair): Float64Array {
  const size = width * height;
  const at = adding(app, units, typical);
  const added = Float64Array.from({ length: size }, (_, k) => at(values[k], values[size + k]));
  const most = added.reduce((a, v) => Math.max(a, Math.abs(v)), 0) || 1;
  return added.map((v) => v / most);
}

/** A value of a column and what is usual there, in the data's own terms; "" where that cannot be said. */
export function inItsTerms(app: App, name: string, row: number, usual?: string): string {
  const part = partInWords(app.data, name, row);
  if (part) return part;
  const column = app.data.columns.find((c) => c.name === name);
  if (usual && column) return `${column.text(row) || "missing"}, typically ${usual}`;
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
  const text = column.kind === "date" ? day : (v: number) => rounded(v, Math.max(6, Math.ceil(Math.log10(Math.abs(v) + 1)))); // an id keeps its digits
  const half = `half of the rows lie from ${text(quarter)} to ${text(threeQuarters)}`;
  if (value > high || value < low) return `${column.text(row)}, ${value > high ? "above" : "below"} 99% of the rows; ${half}`;
  return `${column.text(row)}; ${half}`;
}

/** The strongest reasons as sentences. */
export function sentences(app: App, row: number, reasons: Weighed[], most: number): [string, string, number][] {
  return reasons.slice(0, most).map(({ name, value, usual }) => [name, inItsTerms(app, name, row, usual), value]);
}

/** "Would be typical with width 3 (now 30)": the fewest cells that would do, if few do. */
export function typicalLine(app: App, row: number, answers: Answers): HTMLElement | "" {
  const answer = answers.typicalNow(row);
  if (!answer?.columns.length) return "";
  const cells = answer.columns.map((name) => {
    const column = app.data.columns.find((one) => one.name === name)!;
    return `${name} ${column.brief(answer.like) || "missing"} (now ${column.brief(row) || "missing"})`;
  });
  const then = mixer(app.data.mixing, app.state.t)(...answer.units);
  return h("p.would", h("b", "Would be typical"), ` with ${cells.join(", ")}, as in row ${app.data.id(answer.like)}`, h("span.said", `: ${app.scores.beyondScore(then)} of the rows`));
}
