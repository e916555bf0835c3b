// f(x, t), by the formula of mixing.ts, for every row, and what follows: ranks, thresholds, p-values. Scores are exact; each
// also stands on one of 65536 steps, and how many rows stand on each finds places without sorting all of them.

import type { Data } from "./data";
import { mixer, mixture, scoreAll, squeeze } from "./mixing";
import { many, nth } from "./words";

export const STEPS = 65536;
const TOP = STEPS - 1;
const FEW = 64; // rows that are put in order one by one
const ROUNDING = 1 + 1e-12; // what is equal in exact arithmetic must not miss a bound by a bit

/** The step of a score. They are even in its root: odd rows have small scores. */
export const stepOf = (score: number) => (Math.sqrt(Math.min(1, Math.max(0, score))) * TOP + 0.5) | 0;

/** The lowest score of a step. */
const lowest = (step: number) => Math.max(0, (step - 0.5) / TOP) ** 2;

export class Scores {
  t = -1;
  readonly #f: Float64Array;
  readonly #steps: Uint16Array;
  readonly #order: Uint32Array;
  readonly #below = new Uint32Array(STEPS + 1); // how many rows stand below each step
  #made = -1; // the t that all of these are of
  #sorted = -1; // the t that the order is of
  #inliers?: Float64Array; // at this t, from the least central on

  constructor(private readonly data: Data) {
    this.#f = new Float64Array(data.n);
    this.#steps = new Uint16Array(data.n);
    this.#order = new Uint32Array(data.n);
  }

  /** Turn to this t; rows are scored when somebody asks, which while the dial is dragged nobody may. */
  at(t: number): void {
    if (t !== this.t) this.#inliers = undefined;
    this.t = t;
  }

  /** The score of each row. */
  get f(): Float64Array {
    if (this.#made !== this.t) {
      this.#made = this.t;
      const { g, l, mixing } = this.data;
      scoreAll(mixing, this.t, g, l, this.#f);
      for (let i = 0; i < g.length; i++) this.#steps[i] = stepOf(this.#f[i]);
      count(this.#steps, this.#below);
    }
    return this.#f;
  }

  /** Rows from the most peripheral to the most central; put in order when somebody asks. */
  get order(): Uint32Array {
    if (this.#sorted !== this.t) {
      this.#sorted = this.t;
      const [order, f] = [this.#order, this.f];
      const next = this.#below.slice();
      for (let i = 0; i < f.length; i++) order[next[this.#steps[i]]++] = i;
      for (let s = 0; s < STEPS; s++) arrange(order, this.#below[s], this.#below[s + 1], f);
    }
    return this.#order;
  }

  /** The rows on a step, from the least central on. */
  #on(step: number): number[] {
    const { f } = this;
    const rows: number[] = [];
    for (let i = 0; i < f.length; i++) if (this.#steps[i] === step) rows.push(i);
    return rows.sort((a, b) => f[a] - f[b]);
  }

  /** The most peripheral rows that are visible, or the most central: the first few, without putting all in order. */
  ends(most: number, central: boolean, visible?: Uint8Array): number[] {
    const { f } = this;
    const below = visible ? count(this.#steps, new Uint32Array(STEPS + 1), visible) : this.#below;
    const all = below[STEPS];
    // The step within which there are enough of them, seen from either end.
    const step = central ? place(below, Math.max(0, all - most)) : place(below, Math.min(most, all) - 1);
    const rows: number[] = [];
    for (let i = 0; i < f.length; i++) {
      if ((central ? this.#steps[i] >= step : this.#steps[i] <= step) && (!visible || visible[i])) rows.push(i);
    }
    rows.sort((a, b) => (central ? f[b] - f[a] : f[a] - f[b]) || a - b);
    return rows.slice(0, most);
  }

  /** 1 for the most central row; rows of equal score share a rank. */
  rank(row: number): number {
    return this.f.length - this.count(this.f[row], true) + 1;
  }

  /** A row's place in words, counted from the nearer end: "oddest of 9", "2nd most typical of 9". Rows of equal score share it. */
  standing(row: number): string {
    const [rank, odder] = [this.rank(row), this.count(this.f[row]) + 1];
    const place = odder < rank ? `${nth(odder)}oddest` : `${nth(rank)}most typical`;
    return `${this.data.about ? "about the " : ""}${place} of ${many(this.f.length)}`;
  }

  /** The share of rows that are on the other side of a row than its nearer end, in words. */
  beyond(row: number): string {
    return this.#beyond(this.rank(row), this.count(this.f[row]) + 1);
  }

  /** The same of a score that no row need have. */
  beyondScore(score: number): string {
    const n = this.f.length;
    return this.#beyond(n - this.count(score), this.count(score, true));
  }

  #beyond(rank: number, odder: number): string {
    const share = Math.floor(1000 * (1 - Math.min(rank, odder) / this.f.length)) / 10;
    return `${odder < rank ? "odder" : "more typical"} than ${this.data.about ? "about " : ""}${share}%`;
  }

  /** How many rows score less; or no more. */
  count(score: number, orEqual = false): number {
    const { f } = this;
    const step = stepOf(score);
    let below = this.#below[step];
    for (let i = 0; i < f.length; i++) if (this.#steps[i] === step && (f[i] < score || (orEqual && f[i] === score))) below++;
    return below;
  }

  /** How many rows stand in each of `bins` equal parts of the steps: of the root of f, so that odd rows have room. */
  histogram(bins: number, visible?: Uint8Array): Float64Array {
    const { f } = this;
    const out = new Float64Array(bins);
    if (visible) {
      const part = STEPS / bins;
      for (let i = 0; i < f.length; i++) out[Math.floor(this.#steps[i] / part)] += visible[i];
      return out;
    }
    const start = (b: number) => Math.ceil((b * STEPS) / bins);
    for (let b = 0; b < bins; b++) out[b] = this.#below[start(b + 1)] - this.#below[start(b)];
    return out;
  }

  /** A score that this share of the rows does not reach, to a step: for colours. */
  quantile(share: number): number {
    const last = this.f.length - 1; // which scores the rows, if they are not
    return lowest(place(this.#below, Math.round(share * last)) + 0.5);
  }

  /** The score below which this share of the rows lies: where it falls between two rows, between their mixtures. */
  limitByShare(share: number): number {
    const { g, l, mixing } = this.data;
    const mixed = mixture(mixing, this.t);
    const at = share * (this.f.length - 1);
    const [low, high] = [Math.floor(at), Math.ceil(at)].map((k) => {
      const step = place(this.#below, k);
      const row = this.#on(step)[k - this.#below[step]];
      return mixed(g[row], l[row]);
    });
    return squeeze(mixing, low + (high - low) * (at - Math.floor(at)));
  }

  /** The score below which Benjamini and Hochberg call rows outliers: the least calibration row's that is not among them. */
  limitByFdr(fdr: number): number {
    const { f } = this;
    if (!this.data.inliers) return 0;
    const inliers = this.#calibrated();
    const passes = (score: number, rows: number) => this.#pValue(score) <= ((fdr * rows) / f.length) * ROUNDING;
    for (let step = TOP; step >= 0; step--) {
      const [first, end] = [this.#below[step], this.#below[step + 1]];
      if (first === end || !passes(lowest(step), end)) continue; // no row here can pass
      const rows = this.#on(step);
      for (let k = rows.length - 1; k >= 0; k--) if (passes(f[rows[k]], first + k + 1)) return inliers[this.#noMore(f[rows[k]])];
    }
    return 0;
  }

  /** The share of calibration rows that are no more central, the row itself among them: a conformal p-value. */
  pValue(row: number): number | undefined {
    return this.data.inliers && this.#pValue(this.f[row]);
  }

  /** How many calibration rows count. */
  get known(): number {
    return this.#calibrated().length;
  }

  #pValue(score: number): number {
    return (1 + this.#noMore(score)) / (this.known + 1);
  }

  /** How many calibration rows are no more central. */
  #noMore(score: number): number {
    const inliers = this.#calibrated();
    let [low, high] = [0, inliers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (inliers[middle] <= score) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #calibrated(): Float64Array {
    if (!this.#inliers) {
      const { g, l, contamination } = this.data.inliers!;
      const f = mixer(this.data.mixing, this.t);
      const all = Float64Array.from(g, (global, k) => f(global, l[k])).sort();
      this.#inliers = all.subarray(Math.floor(contamination * all.length));
    }
    return this.#inliers;
  }
}

/** Put a part of the rows in the order of their scores; equal ones stay as they stand. */
function arrange(rows: Uint32Array, start: number, end: number, f: Float64Array): void {
  if (end - start > FEW) return void rows.subarray(start, end).sort((a, b) => f[a] - f[b] || a - b);
  for (let i = start + 1; i < end; i++) {
    const row = rows[i];
    let j = i;
    for (; j > start && f[rows[j - 1]] > f[row]; j--) rows[j] = rows[j - 1];
    rows[j] = row;
  }
}

/** How many values lie below each step; of some rows only, if these are given. */
function count(values: Uint16Array, below: Uint32Array, of?: Uint8Array): Uint32Array {
  below.fill(0);
  if (of) for (let i = 0; i < values.length; i++) below[values[i] + 1] += of[i];
  else for (let i = 0; i < values.length; i++) below[values[i] + 1]++;
  for (let s = 0; s < STEPS; s++) below[s + 1] += below[s];
  return below;
}

/** The step on which the k-th row stands, from 0 on, by how many stand below each. */
function place(below: Uint32Array, k: number): number {
  let low = 0;
  let high = TOP;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (below[middle + 1] > k) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** By how much the share of rows that score less than a row is larger by the second scores than by the first: -1 to 1. */
export function differences(first: Scores, second: Scores): Float32Array {
  const out = new Float32Array(first.f.length);
  for (const [scores, sign] of [[first, -1], [second, 1]] as const) {
    const { order, f } = scores;
    for (let start = 0, end = 0; start < order.length; start = end) {
      while (end < order.length && f[order[end]] === f[order[start]]) end++;
      for (let k = start; k < end; k++) out[order[k]] += (sign * start) / order.length;
    }
  }
  return out;
}

/** By how much each row's place changes from global to local, from -1 (to the back) to 1 (to the front). */
export function moves(data: Data): Float32Array {
  const places = [0, 1].map((t) => {
    const f = mixer(data.mixing, t);
    const steps = Uint16Array.from(data.g, (global, row) => stepOf(f(global, data.l[row])));
    const below = count(steps, new Uint32Array(STEPS + 1));
    return Float32Array.from(steps, (step) => (below[step] + below[step + 1]) / 2);
  });
  return Float32Array.from(places[0], (place, i) => (places[1][i] - place) / data.n);
}

/** Scores of rows spread evenly over all: enough for colours and bars while something is dragged. */
export class RoughScores extends Scores {
  readonly #rows: Uint32Array;

  constructor(data: Data, most: number) {
    const step = data.n / most;
    const rows = Uint32Array.from({ length: most }, (_, k) => Math.floor(k * step));
    super({ ...data, n: most, g: Float64Array.from(rows, (row) => data.g[row]), l: Float64Array.from(rows, (row) => data.l[row]) });
    this.#rows = rows;
  }

  override histogram(bins: number, visible?: Uint8Array): Float64Array {
    return super.histogram(bins, visible && Uint8Array.from(this.#rows, (row) => visible[row]));
  }
}
