// Two groups of rows to be compared: how each is spelt in a link, what it is called, and which rows it is.

import type { Checked } from "./findings";
import type { Data } from "./data";

export interface Side {
  id: string; // "selected", "others", "all", "finding 3", "mark outlier", or "=" and a column and its level
  name: string;
}

interface Known {
  data: Data;
  checked?: Checked;
  selection: Uint32Array;
  marked: (mark: string) => number[];
}

const MOST_LEVELS = 60; // of a column that are offered
const MARKS = ["outlier", "fine", "later"];

/** The groups that there are now. */
export function sidesOf({ data, checked, selection, marked }: Known): Side[] {
  const findings = (checked?.found ?? []).flatMap(({ rows, sentence }, k) => (rows.length ? [{ id: `finding ${k}`, name: sentence }] : []));
  const levels = data.columns.flatMap(({ name, levels }) => (levels ?? []).slice(0, MOST_LEVELS).map((level) => ({ id: `=${JSON.stringify([name, level])}`, name: `${name}: ${level}` })));
  return [...(selection.length ? [{ id: "selected", name: "the selected rows" }] : []), ...findings,
    ...MARKS.filter((mark) => marked(mark).length).map((mark) => ({ id: `mark ${mark}`, name: `marked ${mark}` })), ...levels];
}

/** The rows of a group; nothing if there is none of this name. */
export function rowsOf(id: string, { data, checked, selection, marked }: Known): Uint32Array | undefined {
  if (id === "selected") return selection.length ? selection : undefined;
  if (id.startsWith("finding ")) return checked?.found[Number(id.slice(8))]?.rows;
  if (id.startsWith("mark ")) return Uint32Array.from(marked(id.slice(5)).filter((row) => row >= 0));
  if (!id.startsWith("=")) return undefined;
  try {
    const [name, level] = JSON.parse(id.slice(1)) as [string, string];
    const column = data.columns.find((one) => one.name === name);
    const code = (column?.levels?.indexOf(level) ?? -1) + 1;
    return code ? where(data.n, (row) => column!.values![row] === code) : undefined;
  } catch {
    return undefined; // no link of ours
  }
}

/** All rows but these. */
export function without(rows: Uint32Array, n: number): Uint32Array {
  const inside = new Uint8Array(n);
  for (const row of rows) inside[row] = 1;
  return where(n, (row) => !inside[row]);
}

function where(n: number, test: (row: number) => boolean): Uint32Array {
  const rows = new Uint32Array(n);
  let count = 0;
  for (let row = 0; row < n; row++) if (test(row)) rows[count++] = row;
  return rows.slice(0, count);
}
