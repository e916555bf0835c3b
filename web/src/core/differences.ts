// In which columns some rows differ most from all: numbers in deviations, categories in shares.

import type { Column, Data } from "./data";
import { day, percent, rounded } from "./words";

export interface Difference {
  column: Column;
  by: number; // deviations; a share of levels counts four times
  text: string;
  label: string; // in few words, for a group
}

type Found = [by: number, text: string, label: string];

/** The columns that set these rows apart, the one that does most first. */
export function differences(data: Data, rows: Uint32Array): Difference[] {
  const found: Difference[] = [];
  for (const column of data.columns) {
    const difference = column.levels ? byLevel(column, data.n, rows) : column.values ? byMean(column, rows) : undefined;
    if (difference) found.push({ column, by: difference[0], text: difference[1], label: difference[2] });
  }
  return found.sort((a, b) => b.by - a.by);
}

function byMean(column: Column, rows: Uint32Array): Found | undefined {
  const values = column.values!;
  const all = momentsOf(column);
  const here = moments(values, rows.length, (i) => rows[i]);
  if (!all.deviation || !here.count) return undefined;
  const by = Math.abs(here.mean - all.mean) / all.deviation;
  const text = (v: number) => (column.kind === "date" ? day(v, 10) : rounded(v, 6));
  return by > 0.2 ? [by, `${text(here.mean)} on average, ${text(all.mean)} overall`, `${column.name}: about ${text(here.mean)}`] : undefined;
}

function byLevel(column: Column, n: number, rows: Uint32Array): Found | undefined {
  const shares = (count: number, row: (i: number) => number) => {
    const out = new Float64Array(column.levels!.length + 1);
    for (let i = 0; i < count; i++) out[column.values![row(i)]] += 1 / count;
    return out;
  };
  const all = remembered(column, () => shares(n, (i) => i));
  const here = shares(rows.length, (i) => rows[i]);
  let best = 1;
  for (let k = 1; k < all.length; k++) if (here[k] - all[k] > here[best] - all[best]) best = k;
  const by = here[best] - all[best];
  return by > 0.1 ? [4 * by, `${column.levels![best - 1]} ${percent(here[best])}, ${percent(all[best])} overall`, `${column.name}: ${column.levels![best - 1]}`] : undefined;
}

interface Moments {
  count: number;
  mean: number;
  deviation: number;
}

const known = new WeakMap<Column, unknown>(); // of all rows, which do not change

function remembered<T>(column: Column, make: () => T): T {
  if (!known.has(column)) known.set(column, make());
  return known.get(column) as T;
}

const momentsOf = (column: Column): Moments => remembered(column, () => moments(column.values!, column.values!.length, (i) => i));

function moments(values: ArrayLike<number>, count: number, row: (i: number) => number): Moments {
  let [there, sum, squares] = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    const v = values[row(i)];
    if (isNaN(v)) continue;
    there++;
    sum += v;
    squares += v * v;
  }
  const mean = sum / there;
  return { count: there, mean, deviation: Math.sqrt(Math.max(0, squares / there - mean * mean)) };
}
