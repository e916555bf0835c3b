// Names of groups on the map, where rows are coloured by a category and the reader sees the whole of it.

import { type Camera, type Frame, type Pair, toPixels } from "../core/camera";
import { OTHER } from "../core/colours";
import type { Column, Data } from "../core/data";
import type { Scene } from "./scene";

export const FAR = 2; // zoom beyond which the reader looks at single rows
const ENOUGH = 20_000; // rows whose middle is taken
const [HIGH, GAP] = [16, 4]; // pixels of a line, and between two names
const SIDES: Pair[] = [[0, 0], [0, -HIGH], [0, HIGH]]; // where a name is tried: at its place, above, below

export type Named = [string, Pair]; // a name, and where on the map it belongs

/** Write names on the map, the first ones first, each whole and where it does not lie on another, or not at all. */
export function writeNames(c: CanvasRenderingContext2D, frame: Frame, camera: Camera, names: Named[], dark: boolean): void {
  c.font = "600 12px system-ui, sans-serif";
  c.textAlign = "center";
  c.lineJoin = "round";
  const taken: [Pair, number][] = []; // middles, and halves of their widths
  for (const [text, place] of names) {
    const half = c.measureText(text).width / 2 + GAP;
    const [left, top] = toPixels(camera, frame, place);
    const inside = ([x, y]: Pair) => x > half && x < frame.width - half && y > HIGH && y < frame.height - HIGH;
    const free = ([x, y]: Pair) => !taken.some(([[a, b], other]) => Math.abs(a - x) < half + other && Math.abs(b - y) < HIGH);
    const found = SIDES.map(([dx, dy]): Pair => [left + dx, top + dy]).find((at) => inside(at) && free(at));
    if (!found) continue;
    const [x, y] = found;
    taken.push([found, half]);
    c.lineWidth = 4;
    c.strokeStyle = dark ? "rgb(14 17 22 / .85)" : "rgb(255 255 255 / .9)";
    c.strokeText(text, x, y);
    c.fillStyle = dark ? "#fff" : "#111";
    c.fillText(text, x, y);
  }
}

export class Labels {
  readonly #known = new Map<Column, Named[]>();

  draw(c: CanvasRenderingContext2D, frame: Frame, { data, paint, dark, state: camera }: Scene): void {
    if (paint.map !== "kinds" || camera.zoom > FAR) return;
    if (!this.#known.has(paint.column!)) this.#known.set(paint.column!, middles(data, paint.column!));
    writeNames(c, frame, camera, this.#known.get(paint.column!)!, dark);
  }
}

export const middle = (line: Float32Array, of: number[]) => Float32Array.from(of, (row) => line[row]).sort()[of.length >> 1];

/** The median place of each of the levels that have a colour, if its rows lie together: else a name would mislead. */
function middles({ x, y, n }: Data, { levels, values }: Column): Named[] {
  const step = Math.max(1, Math.floor(n / ENOUGH));
  const rows: number[][] = levels!.map(() => []);
  for (let row = 0; row < n; row += step) if (values![row]) rows[values![row] - 1].push(row);
  const spread = (line: Float32Array, of: number[]) => {
    const sorted = Float32Array.from(of, (row) => line[row]).sort();
    return sorted[Math.floor(0.75 * (of.length - 1))] - sorted[Math.floor(0.25 * (of.length - 1))];
  };
  return levels!.slice(0, OTHER).flatMap((text, k): Named[] => {
    const of = rows[k];
    if (of.length < 3 || Math.max(spread(x, of), spread(y, of)) > 0.7) return [];
    return [[text.length > 24 ? `${text.slice(0, 23)}…` : text, [middle(x, of), middle(y, of)]]];
  });
}
