// How the places of a few rows in the ranking go with t: a line for each, and a dot that glides as the dial turns.

import type { Data } from "../core/data";
import type { App } from "../app";
import { h, s } from "./dom";
import { mixer } from "../core/mixing";
import { stepOf, STEPS } from "../core/scores";
import { percent } from "../core/words";

const AT = 21; // values of t at which places are counted
const [WIDE, HIGH, LEFT, RIGHT] = [338, 150, 4, 72]; // pixels, with room for names
const GAP = 11; // pixels between names

export class RankChart {
  readonly element = h("figure.ranks", h("figcaption.said"));
  #below?: Uint32Array[]; // how many rows stand below each step, at each t

  constructor(private readonly app: App) {}

  /** Draw the lines of these rows; `about` says which they are. */
  draw(rows: number[], about: string): void {
    const lines = rows.map((row) => Array.from({ length: AT }, (_, k) => this.#place(row, k)));
    const x = (t: number) => LEFT + t * (WIDE - LEFT - RIGHT);
    const y = (share: number) => 6 + (1 - share) * (HIGH - 12);
    const { t } = this.app.state;
    const names = apart(lines.map((line) => y(line[AT - 1])));
    const drawn = lines.flatMap((line, i) => {
      const here = between(line, t * (AT - 1));
      const [row, name] = [rows[i], String(this.app.data.id(rows[i]))];
      return [
        s("polyline", { points: line.map((share, k) => `${x(k / (AT - 1)).toFixed(1)},${y(share).toFixed(1)}`).join(" "), class: row === this.app.state.pinned ? "pinned" : "" }),
        s("circle", { cx: x(t), cy: y(here), r: 4 }),
        s("text", { x: x(1) + 8, y: names[i] + 4 }, `row ${name}`),
      ];
    });
    const said = rows.map((row, i) => `row ${this.app.data.id(row)} from ${percent(lines[i][0])} to ${percent(lines[i][AT - 1])}`).join(", ");
    this.element.replaceChildren(
      s("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", label: `Places in the ranking from t = 0 to t = 1: ${said}` },
        s("line.now", { x1: x(t), x2: x(t), y1: 0, y2: HIGH }), ...drawn),
      h("figcaption.said", about));
  }

  /** The share of rows that are less central than a row, at one of the values of t. */
  #place(row: number, k: number): number {
    const { data } = this.app;
    this.#below ??= Array.from({ length: AT }, (_, j) => counted(data, j / (AT - 1)));
    const step = stepOf(mixer(data.mixing, k / (AT - 1))(data.g[row], data.l[row]));
    const below = this.#below[k];
    return (below[step] + below[step + 1]) / 2 / data.n;
  }
}

function counted({ g, l, mixing }: Data, t: number): Uint32Array {
  const below = new Uint32Array(STEPS + 1);
  const f = mixer(mixing, t);
  for (let i = 0; i < g.length; i++) below[stepOf(f(g[i], l[i])) + 1]++;
  for (let k = 0; k < STEPS; k++) below[k + 1] += below[k];
  return below;
}

function between(line: number[], at: number): number {
  const k = Math.min(line.length - 2, Math.floor(at));
  return line[k] + (line[k + 1] - line[k]) * (at - k);
}

/** Heights moved no more than needed so that names do not lie on each other. */
function apart(heights: number[]): number[] {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const out = [...heights];
  order.forEach((i, k) => (out[i] = k ? Math.max(out[i], out[order[k - 1]] + GAP) : out[i]));
  const over = Math.max(0, (out[order[order.length - 1]] ?? 0) - (HIGH - 6));
  return out.map((v) => v - over);
}
