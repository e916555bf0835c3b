// Which point is under the pointer, and which are inside an outline: a grid of cells over the map, made once.

import type { Data } from "./data";

export type Outline = [number, number][];

export class Places {
  readonly #side: number;
  readonly #start: Uint32Array; // of each cell, in `rows`
  readonly #rows: Uint32Array;

  constructor(private readonly data: Data) {
    const { n } = data;
    this.#side = Math.max(1, Math.min(1024, Math.ceil(Math.sqrt(n / 2))));
    this.#start = new Uint32Array(this.#side * this.#side + 1);
    this.#rows = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.#start[this.#cell(data.x[i], data.y[i]) + 1]++;
    for (let c = 0; c < this.#side * this.#side; c++) this.#start[c + 1] += this.#start[c];
    const next = this.#start.slice();
    for (let i = 0; i < n; i++) this.#rows[next[this.#cell(data.x[i], data.y[i])]++] = i;
  }

  /** The nearest shown row within reach, measured in the same units along both axes; -1 if none is. */
  nearest(x: number, y: number, reach: [number, number], shown: (row: number) => boolean): number {
    const [rx, ry] = reach;
    let best = -1;
    let least = 1;
    for (let j = this.#line(y - ry); j <= this.#line(y + ry); j++) {
      const from = this.#start[j * this.#side + this.#line(x - rx)];
      const to = this.#start[j * this.#side + this.#line(x + rx) + 1];
      for (let k = from; k < to; k++) {
        const row = this.#rows[k];
        const away = ((this.data.x[row] - x) / rx) ** 2 + ((this.data.y[row] - y) / ry) ** 2;
        if (away < least && shown(row)) [best, least] = [row, away];
      }
    }
    return best;
  }

  /** How many shown rows lie within reach. */
  count(x: number, y: number, [rx, ry]: [number, number], shown: (row: number) => boolean): number {
    let count = 0;
    for (let j = this.#line(y - ry); j <= this.#line(y + ry); j++) {
      const to = this.#start[j * this.#side + this.#line(x + rx) + 1];
      for (let k = this.#start[j * this.#side + this.#line(x - rx)]; k < to; k++) {
        const row = this.#rows[k];
        if (((this.data.x[row] - x) / rx) ** 2 + ((this.data.y[row] - y) / ry) ** 2 <= 1 && shown(row)) count++;
      }
    }
    return count;
  }

  /** The shown rows inside the outline, in order. */
  inside(outline: Outline, shown: (row: number) => boolean): Uint32Array {
    const xs = outline.map(([x]) => x);
    const ys = outline.map(([, y]) => y);
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [low, high] = [Math.min(...ys), Math.max(...ys)];
    const { x, y, n } = this.data;
    const found: number[] = [];
    for (let i = 0; i < n; i++) {
      if (x[i] < left || x[i] > right || y[i] < low || y[i] > high) continue;
      if (shown(i) && within(x[i], y[i], outline)) found.push(i);
    }
    return Uint32Array.from(found);
  }

  #cell(x: number, y: number): number {
    return this.#line(y) * this.#side + this.#line(x);
  }

  #line(u: number): number {
    return Math.max(0, Math.min(this.#side - 1, Math.floor((u * 0.5 + 0.5) * this.#side)));
  }
}

/** Even-odd rule: does a ray from the point cross the outline an odd number of times? */
function within(x: number, y: number, outline: Outline): boolean {
  let odd = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [xi, yi] = outline[i];
    const [xj, yj] = outline[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}
