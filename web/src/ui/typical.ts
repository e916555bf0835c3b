// A row beside the nearest typical one: what they look like, and their cells, the guilty ones painted and first.

import type { App } from "../app";
import type { Column } from "../core/data";
import { h } from "./dom";
import { face, guiltyWords } from "./faces";
import { moreButton } from "./full";
import type { Why, Words } from "../core/header";
import { NO_WORDS, type Weighed } from "./why";

const MOST_CELLS = 12;

export function comparison(app: App, row: number, why: Why | undefined, reasons: Weighed[], open: (row: number) => void, words: Map<string, Words>): HTMLElement {
  const own = words.get(app.data.itemColumn) ?? NO_WORDS;
  const typical = why?.near[0] ?? -1;
  const pair = [row, typical].filter((one) => one >= 0);
  const looks = app.data.kind ? h("div.pair", ...pair.map((one) =>
    h("figure", one === row ? face(app, one, true, why, own) : face(app, one, true),
      h("figcaption", one === row ? `this row${own.words.length ? ", in red what makes it odd" : ""} ` : nearest(app, one, open), moreButton(app, one))))) : "";
  return h("div.compare", looks, cells(app, row, typical, reasons, words, open));
}

const nearest = (app: App, row: number, open: (row: number) => void) =>
  h("button.plain", { onclick: () => open(row) }, `nearest typical: row ${app.data.id(row)}`);

function cells(app: App, row: number, typical: number, reasons: Weighed[], words: Map<string, Words>, open: (row: number) => void): HTMLElement | string {
  const columns = guiltyFirst(app.data.columns.filter((c) => c.name !== app.data.itemColumn), reasons.map(({ name }) => name)).slice(0, MOST_CELLS);
  if (!columns.length) return "";
  const weights = new Map(reasons.map(({ name, value }) => [name, value]));
  const most = Math.max(...reasons.map(({ value }) => Math.abs(value))) || 1;
  const line = (column: Column) => {
    const told = words.get(column.name);
    const cell = h("td", ...(told ? guiltyWords(app, row, told) : [column.text(row) || "—"]));
    const weight = (weights.get(column.name) ?? 0) / most;
    const alike = typical >= 0 && column.cell(row) === column.cell(typical); // what the typical row holds as well is not to blame
    if (weight < -0.05 && !alike && !told) {
      cell.className = "guilty";
      cell.style.setProperty("--weight", `${Math.round(12 + 48 * -weight)}%`);
    }
    return h("tr", h("th", { scope: "row" }, column.name), cell, typical >= 0 && h("td", column.text(typical) || "—"));
  };
  return h("table.cells-beside", h("thead", h("tr", h("th", { scope: "col" }, "column"), h("th", { scope: "col" }, "this row"),
    typical >= 0 && h("th", { scope: "col" }, nearest(app, typical, open)))), h("tbody", ...columns.map(line)));
}

/** The columns with these names first, in this order. */
export function guiltyFirst(columns: Column[], names: string[]): Column[] {
  const place = new Map(names.map((name, k) => [name, k]));
  const rank = (column: Column) => place.get(column.name) ?? names.length;
  return columns.map((column, k) => [column, k] as const).sort(([a, i], [b, j]) => rank(a) - rank(b) || i - j).map(([column]) => column);
}
