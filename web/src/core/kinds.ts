// The rows of one kind with a row: those that a model, given some columns, compares it with.

import type { Column, Data } from "./data";

const NEAR = 0.05; // of the rows on either side count as near in a number

export interface Kind {
  rows: Uint32Array;
  words: string; // "kind: flat, year: 1950 to 1971"
}

/** Rows that hold the same categories and texts in the given columns, and numbers near to those of this one. */
export function kindOf(data: Data, row: number): Kind | undefined {
  const given = data.given.map((name) => data.columns.find((column) => column.name === name));
  if (row < 0 || !given.length || given.includes(undefined)) return undefined;
  const parts = given.map((column) => likeIt(column!, row, data.n));
  const rows = new Uint32Array(data.n);
  let count = 0;
  for (let other = 0; other < data.n; other++) if (parts.every(([alike]) => alike(other))) rows[count++] = other;
  return { rows: rows.slice(0, count), words: parts.map(([, words]) => words).join(", ") };
}

type Alike = [alike: (row: number) => boolean, words: string];

function likeIt(column: Column, row: number, n: number): Alike {
  const { name, values, levels } = column;
  const missing = !column.cell(row);
  if (!values || levels || missing) {
    const cell = column.cell(row);
    const code = values?.[row];
    return [levels ? (other) => values![other] === code : (other) => column.cell(other) === cell, `${name}: ${missing ? "missing" : column.text(row)}`];
  }
  const [low, high] = around(values, row, Math.max(1, Math.round(NEAR * n)));
  const ends = [low, high].map((at) => column.brief(at));
  return [(other) => values[other] >= values[low] && values[other] <= values[high], `${name}: ${ends[0] === ends[1] ? ends[0] : `${ends[0]} to ${ends[1]}`}`];
}

/** The rows that hold the least and the greatest of the values near to that of this row: so many on either side. */
function around(values: ArrayLike<number>, row: number, reach: number): [number, number] {
  const known = Array.from({ length: values.length }, (_, k) => k).filter((k) => !isNaN(values[k]));
  known.sort((a, b) => values[a] - values[b]);
  const first = lowest(known, values, values[row], false);
  const last = lowest(known, values, values[row], true) - 1;
  const middle = (first + last) >> 1; // of those that hold the same
  return [known[Math.max(0, Math.min(first, middle - reach))], known[Math.min(known.length - 1, Math.max(last, middle + reach))]];
}

/** How many of the rows, in rising order, hold less than this value, or no more. */
function lowest(rows: number[], values: ArrayLike<number>, value: number, orEqual: boolean): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const before = orEqual ? values[rows[middle]] <= value : values[rows[middle]] < value;
    if (before) low = middle + 1;
    else high = middle;
  }
  return low;
}
