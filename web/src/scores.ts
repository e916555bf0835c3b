// f(x, t) = (1 - t) global + t local for every row, in 65536 steps: sorting, counting and thresholds follow from one
// count of how many rows stand on each step. Steps are even in the root of f: odd rows have small scores, and are told
// apart down to a ten-billionth.

import type { Data } from "./data";

export const STEPS = 65536;
export const TOP = STEPS - 1;

/** The score that a step stands for, and the nearest step of a score. */
export const scoreOf = (step: number) => (step / TOP) ** 2;
export const stepOf = (score: number) => Math.round(Math.sqrt(score) * TOP);

export class Scores {
  t = -1;
  readonly f: Uint16Array; // of each row
  readonly order: Uint32Array; // rows from the most peripheral to the most central
  readonly #below = new Uint32Array(STEPS + 1); // how many rows stand below each step

  constructor(private readonly data: Data) {
    this.f = new Uint16Array(data.n);
    this.order = new Uint32Array(data.n);
  }

  at(t: number): void {
    if (t === this.t) return;
    this.t = t;
    mix(this.data.g, this.data.l, t, this.f);
    count(this.f, this.#below);
    const next = this.#below.slice();
    for (let i = 0; i < this.f.length; i++) this.order[next[this.f[i]]++] = i;
  }

  value(row: number): number {
    return scoreOf(this.f[row]);
  }

  /** 1 for the most central row; rows of equal score share a rank. */
  rank(row: number): number {
    return this.f.length - this.#below[this.f[row] + 1] + 1;
  }

  /** How many rows stand in each of `bins` equal parts of [0, 1]. */
  histogram(bins: number): Float64Array {
    const out = new Float64Array(bins);
    for (let b = 0; b < bins; b++) {
      out[b] = this.#below[b + 1 < bins ? stepOf((b + 1) / bins) : STEPS] - this.#below[stepOf(b / bins)];
    }
    return out;
  }

  quantile(share: number): number {
    return this.value(this.order[Math.round(share * (this.f.length - 1))]);
  }

  /** The step below which this share of the rows stands. */
  limitByShare(share: number): number {
    const wanted = Math.round(share * this.f.length);
    return wanted < this.f.length ? this.f[this.order[wanted]] : STEPS;
  }

  /** The step below which Benjamini and Hochberg call rows outliers: p-values rise with the step. */
  limitByFdr(fdr: number): number {
    const known = this.data.inliers;
    if (!known) return 0;
    const inliers = new Uint16Array(known[0].length);
    mix(known[0], known[1], this.t, inliers);
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
    let no_more = 0;
    for (let i = 0; i < known[0].length; i++) {
      if (mixed(known[0][i], known[1][i], this.t) <= this.f[row]) no_more++;
    }
    return (1 + no_more) / (known[0].length + 1);
  }

  count(limit: number): number {
    return this.#below[Math.min(STEPS, Math.max(0, limit))];
  }
}

function mix(g: Uint16Array, l: Uint16Array, t: number, out: Uint16Array): void {
  for (let i = 0; i < g.length; i++) out[i] = mixed(g[i], l[i], t);
}

/** Steps of both heads to the step of their mixture. */
const mixed = (g: number, l: number, t: number) => Math.round(Math.sqrt((1 - t) * g * g + t * l * l));

/** How many values lie below each step. */
function count(values: Uint16Array, below: Uint32Array): Uint32Array {
  below.fill(0);
  for (let i = 0; i < values.length; i++) below[values[i] + 1]++;
  for (let s = 0; s < STEPS; s++) below[s + 1] += below[s];
  return below;
}

/** By how much each row's place changes from global to local, from -1 (to the back) to 1 (to the front). */
export function moves(data: Data): Float32Array {
  const places = [data.g, data.l].map((values) => {
    const below = count(values, new Uint32Array(STEPS + 1));
    return Float32Array.from(values, (v) => (below[v] + below[v + 1]) / 2);
  });
  return Float32Array.from(places[0], (place, i) => (places[1][i] - place) / data.n);
}
