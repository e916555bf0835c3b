// f(x, t), the mixture of both heads (mixing.ts), for every row, in 65536 steps: sorting, counting and thresholds follow from one
// count of how many rows stand on each step. Steps are even in the root of f: odd rows have small scores, and are told
// apart down to a ten-billionth.

import type { Data } from "./data";
import { mixer } from "./mixing";

export const STEPS = 65536;
export const TOP = STEPS - 1;

/** The score that a step stands for, and the nearest step of a score. */
export const scoreOf = (step: number) => (step / TOP) ** 2;
export const stepOf = (score: number) => Math.round(Math.sqrt(score) * TOP);

export class Scores {
  t = -1;
  readonly f: Uint16Array; // of each row
  readonly #order: Uint32Array;
  readonly #below = new Uint32Array(STEPS + 1); // how many rows stand below each step
  #sorted = -1; // the t that the order is of

  constructor(private readonly data: Data) {
    this.f = new Uint16Array(data.n);
    this.#order = new Uint32Array(data.n);
  }

  at(t: number): void {
    if (t === this.t) return;
    this.t = t;
    this.#mix(this.data.g, this.data.l, this.f);
    count(this.f, this.#below);
  }

  /** Rows from the most peripheral to the most central; put in order when somebody asks. */
  get order(): Uint32Array {
    if (this.#sorted !== this.t) {
      this.#sorted = this.t;
      const next = this.#below.slice();
      for (let i = 0; i < this.f.length; i++) this.#order[next[this.f[i]]++] = i;
    }
    return this.#order;
  }

  /** The most peripheral rows that are visible, or the most central: the first few, without putting all in order. */
  ends(most: number, central: boolean, visible?: Uint8Array): number[] {
    const { f } = this;
    const below = visible ? count(f, new Uint32Array(STEPS + 1), visible) : this.#below;
    const all = below[STEPS];
    // The step within which there are enough of them, seen from either end.
    const step = central ? place(below, Math.max(0, all - most)) : place(below, Math.min(most, all) - 1);
    const rows: number[] = [];
    let ties = 0; // on that step: no more of them than could be shown
    for (let i = 0; i < f.length; i++) {
      if ((central ? f[i] < step : f[i] > step) || (visible && !visible[i])) continue;
      if (f[i] !== step || ties++ < most) rows.push(i);
    }
    rows.sort((a, b) => (central ? f[b] - f[a] : f[a] - f[b]) || a - b);
    return rows.slice(0, most);
  }

  value(row: number): number {
    return scoreOf(this.f[row]);
  }

  /** 1 for the most central row; rows of equal score share a rank. */
  rank(row: number): number {
    return this.f.length - this.#below[this.f[row] + 1] + 1;
  }

  /** How many rows stand in each of `bins` equal parts of the steps: of the root of f, so that odd rows have room. */
  histogram(bins: number, visible?: Uint8Array): Float64Array {
    const out = new Float64Array(bins);
    if (visible) {
      const part = STEPS / bins;
      for (let i = 0; i < this.f.length; i++) out[Math.floor(this.f[i] / part)] += visible[i];
      return out;
    }
    const start = (b: number) => Math.ceil((b * STEPS) / bins);
    for (let b = 0; b < bins; b++) out[b] = this.#below[start(b + 1)] - this.#below[start(b)];
    return out;
  }

  quantile(share: number): number {
    return scoreOf(place(this.#below, Math.round(share * (this.f.length - 1))));
  }

  /** The step below which this share of the rows stands. */
  limitByShare(share: number): number {
    const wanted = Math.round(share * this.f.length);
    return wanted < this.f.length ? place(this.#below, wanted) : STEPS;
  }

  /** The step below which Benjamini and Hochberg call rows outliers: p-values rise with the step. */
  limitByFdr(fdr: number): number {
    const known = this.data.inliers;
    if (!known) return 0;
    const inliers = new Uint16Array(known[0].length);
    this.#mix(known[0], known[1], inliers);
    const inliersBelow = count(inliers, new Uint32Array(STEPS + 1));
    for (let step = TOP; step >= 0; step--) {
      const p = (1 + inliersBelow[step + 1]) / (inliers.length + 1);
      const rows = this.#below[step + 1];
      if (rows > this.#below[step] && p <= ((fdr * rows) / this.f.length) * (1 + 1e-12)) return step + 1;
    }
    return 0;
  }

  /** The share of calibration rows that are no more central: a conformal p-value. */
  pValue(row: number): number | undefined {
    const known = this.data.inliers;
    if (!known) return undefined;
    const step = mixer(this.data.mixing, this.t);
    let no_more = 0;
    for (let i = 0; i < known[0].length; i++) {
      if (step(known[0][i], known[1][i]) <= this.f[row]) no_more++;
    }
    return (1 + no_more) / (known[0].length + 1);
  }

  count(limit: number): number {
    return this.#below[Math.min(STEPS, Math.max(0, limit))];
  }

  #mix(g: Uint16Array, l: Uint16Array, out: Uint16Array): void {
    const step = mixer(this.data.mixing, this.t);
    for (let i = 0; i < g.length; i++) out[i] = step(g[i], l[i]);
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

/** By how much each row's place changes from global to local, from -1 (to the back) to 1 (to the front). */
export function moves(data: Data): Float32Array {
  const places = [data.g, data.l].map((values) => {
    const below = count(values, new Uint32Array(STEPS + 1));
    return Float32Array.from(values, (v) => (below[v] + below[v + 1]) / 2);
  });
  return Float32Array.from(places[0], (place, i) => (places[1][i] - place) / data.n);
}
