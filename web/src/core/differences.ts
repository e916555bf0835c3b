// In which columns some rows differ most from all, or from some others: a value that they share, numbers in deviations,
// categories and gaps in shares.

import type { Column, Data } from "./data";
import { day, many, percent, rounded } from "./words";

export interface Difference {
  column: Column;
  by: number; // deviations; a share of levels counts four times
  text: string;
  label: string; // in few words, for a group; "" where a name would say nothing
}

type Found = [by: number, text: string, label: string];
const [LEAST_MEAN, LEAST_SHARE] = [0.2, 0.1]; // deviations between two means, and shares: less is not worth a line
const OF_SHARE = 4; // what a whole share counts, in deviations
const [HELD, OFTENER] = [0.5, 2]; // the share of rows that hold one number, and how much oftener than others: then it is told
const EXACT = 0.95; // a number that nearly all rows of a group hold is its name
const SERIES = 5; // columns such as x1, x2, ...: so many of one stem have numbers for names, which say nothing

/** The columns that set these rows apart from the others, or from all rows, the one that does most first. */
export function differences(data: Data, rows: Uint32Array, others?: Uint32Array): Difference[] {
  const found: Difference[] = [];
  const stems = stemsOf(data);
  for (const column of data.columns) {
    if (!column.values || !rows.length) continue;
    const [by, text, label] = (column.levels ? byLevel(column, rows, others) : byNumber(column, rows, others)) ?? byGaps(column, rows, others) ?? [0, "", ""];
    if (by) found.push({ column, by, text, label: (stems.get(stemOf(column)) ?? 0) < SERIES ? label : "" });
  }
  return found.sort((a, b) => b.by - a.by);
}

const stemOf = ({ name, levels }: Column) => (levels ? name : name.replace(/[\d_]+$/, "") || "number");

function stemsOf({ columns }: Data): Map<string, number> {
  const count = new Map<string, number>();
  for (const column of columns) if (/\d$/.test(column.name)) count.set(stemOf(column), (count.get(stemOf(column)) ?? 0) + 1);
  return count;
}

/** "24%, 3% overall", or with counts where two groups stand side by side. */
const shares = (here: number, n: number, there: number, all: number, others?: Uint32Array) =>
  (others ? `in ${many(here)} of ${many(n)} (${percent(here / n)}), in B ${many(there)} of ${many(all)} (${percent(there / (all || 1))})` : `${percent(here / n)}, ${percent(there / all)} overall`);

function byNumber(column: Column, rows: Uint32Array, others?: Uint32Array): Found | undefined {
  const values = column.values!;
  const all = others ? moments(values, others.length, (i) => others[i]) : momentsOf(column);
  const here = moments(values, rows.length, (i) => rows[i]);
  const deviation = all.deviation || here.deviation || (momentsOf(column).deviation);
  if (!deviation || !here.count || !all.count) return undefined;
  const by = Math.abs(here.mean - all.mean) / deviation;
  const text = (v: number, digits: number) => (column.kind === "date" ? day(v, 10) : rounded(v, digits));
  const [common, count] = commonest(values, rows);
  const elsewhere = counted(values, common, others);
  const total = others?.length ?? values.length;
  const share = count / rows.length - elsewhere / total;
  if (count >= HELD * rows.length && count * total >= OFTENER * elsewhere * rows.length && share > LEAST_SHARE) {
    const held = column.kind === "date" ? day(common) : String(common);
    const label = count >= EXACT * rows.length ? `${column.name} = ${held}` : `${column.name}: mostly ${held}`;
    return [Math.max(by, OF_SHARE * share), `= ${held} ${shares(count, rows.length, elsewhere, total, others)}`, label];
  }
  if (by <= LEAST_MEAN) return undefined;
  return [by, `${text(here.mean, 4)} on average, ${text(all.mean, 4)} ${others ? "in B" : "overall"}`, `${column.name}: about ${text(here.mean, 3)}`];
}

/** The number that most of these rows hold, and how many do. */
function commonest(values: ArrayLike<number>, rows: Uint32Array): [number, number] {
  const count = new Map<number, number>();
  let best: [number, number] = [NaN, 0];
  for (const row of rows) {
    const v = values[row];
    if (isNaN(v)) continue;
    const now = (count.get(v) ?? 0) + 1;
    count.set(v, now);
    if (now > best[1]) best = [v, now];
  }
  return best;
}

function counted(values: ArrayLike<number>, wanted: number, rows?: Uint32Array): number {
  let count = 0;
  if (rows) for (const row of rows) count += values[row] === wanted ? 1 : 0;
  else for (let row = 0; row < values.length; row++) count += values[row] === wanted ? 1 : 0;
  return count;
}

function byLevel(column: Column, rows: Uint32Array, others?: Uint32Array): Found | undefined {
  const values = column.values!;
  const levels = column.levels!;
  const counts = (n: number, row: (i: number) => number) => {
    const out = new Float64Array(levels.length + 1);
    for (let i = 0; i < n; i++) out[values[row(i)]]++;
    return out;
  };
  const total = others?.length ?? values.length;
  const all = others ? counts(total, (i) => others[i]) : remembered(column, () => counts(total, (i) => i));
  const here = counts(rows.length, (i) => rows[i]);
  const apart = (k: number) => here[k] / rows.length - all[k] / (total || 1);
  let best = 1;
  for (let k = 2; k < all.length; k++) if (apart(k) > apart(best)) best = k;
  const by = apart(best);
  return by > LEAST_SHARE ? [OF_SHARE * by, `${levels[best - 1]} ${shares(here[best], rows.length, all[best], total, others)}`, `${column.name}: ${levels[best - 1]}`] : undefined;
}

function byGaps(column: Column, rows: Uint32Array, others?: Uint32Array): Found | undefined {
  const empty = (v: number) => (column.levels ? v === 0 : isNaN(v));
  const values = column.values!;
  let [here, there] = [0, 0];
  for (const row of rows) here += empty(values[row]) ? 1 : 0;
  if (here <= LEAST_SHARE * rows.length) return undefined;
  if (others) for (const row of others) there += empty(values[row]) ? 1 : 0;
  else for (let row = 0; row < values.length; row++) there += empty(values[row]) ? 1 : 0;
  const total = others?.length ?? values.length;
  const by = here / rows.length - there / (total || 1);
  return by > LEAST_SHARE ? [OF_SHARE * by, `missing ${shares(here, rows.length, there, total, others)}`, `${column.name}: missing`] : undefined;
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
