// The rows that the table and the gallery show, in the order that the reader wants.

import type { App } from "../app";
import { guiltyFirst } from "./typical";
import type { Column } from "../core/data";
import { differences } from "../core/differences";
import { argsort, argsortTexts } from "../core/sorting";

export interface Order {
  by: string; // "row", "f", "mark", "tags", "+" and a part's name, or "=" and a column's name
  down: boolean; // from the largest on
}

export class Rows {
  list = new Uint32Array();
  order: Order = { by: "f", down: false };
  readonly #sorted = new Map<string, Uint32Array>(); // by columns, which do not change

  constructor(private readonly app: App) {}

  /** The selected rows if there are any, else those that are visible. */
  refresh(): void {
    const { app } = this;
    const { selection } = app.state;
    const all = this.#all();
    let wanted = app.visible;
    if (selection.length) {
      wanted = new Uint8Array(app.data.n);
      for (const row of selection) wanted[row] = 1;
    }
    const count = selection.length || app.count;
    const out = new Uint32Array(count);
    const { down } = this.order;
    for (let i = 0, k = 0; i < all.length; i++) {
      const row = all[down ? all.length - 1 - i : i];
      if (!wanted || wanted[row]) out[k++] = row;
    }
    this.list = out;
  }

  #all(): Uint32Array {
    const { by } = this.order;
    const { app } = this;
    if (by === "f") return app.scores.order;
    const part = app.data.parts.find(({ name }) => by === `+${name}`);
    if (part) return argsort(part.odd.map((odd) => -odd));
    if (by === "mark" || by === "tags") return byColumn(app, app.marks.columns().find(({ name }) => name === by)!); // which change
    if (!this.#sorted.has(by)) this.#sorted.set(by, by === "row" ? identity(app.data.n) : byColumn(app, app.data.columns.find((c) => `=${c.name}` === by)!));
    return this.#sorted.get(by)!;
  }

  /** The columns, those that make these rows odd or set them apart first. */
  columns(): Column[] {
    const { data, state } = this.app;
    const names = state.selection.length ? differences(data, state.selection).map(({ column }) => column.name) : data.guilty;
    return guiltyFirst(data.columns, names);
  }
}

const identity = (n: number) => Uint32Array.from({ length: n }, (_, row) => row);

function byColumn(app: App, column: Column): Uint32Array {
  if (!column.values) return argsortTexts(app.data.n, column.text);
  if (!column.levels) return argsort(column.values);
  const names = column.levels.map((level, k) => [level, k] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  const place = new Uint8Array(column.levels.length + 1).fill(255); // gaps come last
  names.forEach(([, code], k) => (place[code + 1] = k));
  return argsort(Uint8Array.from(column.values, (code) => place[code]));
}
