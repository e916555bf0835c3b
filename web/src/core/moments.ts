// Rows as moments of series: their order in time, the course of a channel in few points, a typical window beside an odd one.

const DAY = 86_400_000; // milliseconds
const DAYS = 7; // of which at least so many say what is usual at an hour

/** The rows of one series in the order of time; those without a time are left out. */
export function inOrder(time: ArrayLike<number>, inside: (row: number) => boolean): Uint32Array {
  const rows: number[] = [];
  for (let row = 0; row < time.length; row++) if (!isNaN(time[row]) && inside(row)) rows.push(row);
  return Uint32Array.from(rows).sort((a, b) => time[a] - time[b]);
}

/** The lowest and the highest value in each of `width` parts of the time from `from` to `to`: NaN where there is none. */
export function extremes(values: ArrayLike<number>, time: ArrayLike<number>, rows: Uint32Array, [from, to]: [number, number], width: number): [Float64Array, Float64Array] {
  const [low, high] = [new Float64Array(width).fill(NaN), new Float64Array(width).fill(NaN)];
  for (const row of rows) {
    const at = Math.floor(((time[row] - from) / (to - from)) * width);
    const value = values[row];
    if (at < 0 || at >= width || isNaN(value)) continue;
    if (!(low[at] <= value)) low[at] = value;
    if (!(high[at] >= value)) high[at] = value;
  }
  return [low, high];
}

/** Where, in rows in the order of time, the most typical window of this length begins: outside all odd rows, and of days at
 *  the same hour if there are enough of them. -1: nowhere. */
export function typicalStart(rows: Uint32Array, scores: ArrayLike<number>, odd: Uint8Array, first: number, length: number, step: number): number {
  const period = step > 0 && rows.length * step >= DAYS * DAY ? Math.round(DAY / step) : 1;
  let [best, most] = [-1, -Infinity];
  for (let start = first % period; start + length <= rows.length; start += period) {
    let sum = 0;
    for (let k = start; k < start + length; k++) sum += odd[rows[k]] ? -Infinity : scores[rows[k]];
    if (sum > most) [best, most] = [start, sum];
  }
  return best;
}
