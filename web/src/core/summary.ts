// What is known of a column of numbers as a whole, so that one value of it can be called usual or not.

export interface Summary {
  count: number; // of values, gaps left out
  least: number;
  most: number;
  low: number; // the 1st percentile
  high: number; // the 99th
  quarter: number;
  middle: number; // the median
  threeQuarters: number;
}

const ENOUGH = 200_000; // values that quantiles are taken of; of more, evenly spaced ones

export function summaryOf(values: ArrayLike<number>): Summary {
  const step = Math.max(1, Math.ceil(values.length / ENOUGH));
  const some: number[] = [];
  let [count, least, most] = [0, Infinity, -Infinity];
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (isNaN(v)) continue;
    count++;
    if (v < least) least = v;
    if (v > most) most = v;
    if (i % step === 0) some.push(v);
  }
  if (!count) return { count, least: 0, most: 1, low: 0, high: 1, quarter: 0, middle: 0, threeQuarters: 1 };
  const sorted = Float64Array.from(some.length ? some : [least]).sort();
  const last = sorted.length - 1;
  const at = (share: number) => sorted[Math.round(share * last)];
  return {
    count, least, most, low: sorted[Math.floor(0.01 * last)], high: sorted[Math.ceil(0.99 * last)],
    quarter: at(0.25), middle: at(0.5), threeQuarters: at(0.75),
  };
}
