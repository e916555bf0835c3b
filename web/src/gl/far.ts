// Rows that lie outside the map, because they are far from all others: marked at its edge, in their direction.

import { type Frame, type Pair, toPixels } from "../core/camera";
import { colourOf } from "../core/colours";
import type { Data } from "../core/data";
import type { Scene } from "./scene";

const MOST = 400; // marks at the edge
const INSET = 9; // pixels from the edge to a mark
const NEAR = 1.5; // zoom from which the reader looks at something else

export class Far {
  readonly #rows: number[] = [];
  #drawn: [number, Pair][] = [];

  constructor({ x, y, n, axes }: Data) {
    if (Math.max(...axes.reach) <= 1) return;
    const away = (row: number) => Math.max(Math.abs(x[row]), Math.abs(y[row]));
    for (let row = 0; row < n; row++) if (away(row) > 1) this.#rows.push(row);
    if (this.#rows.length > MOST) this.#rows.sort((a, b) => away(b) - away(a)).length = MOST;
  }

  get any(): boolean {
    return this.#rows.length > 0;
  }

  /** Draw a triangle for each that is out of sight. */
  draw(c: CanvasRenderingContext2D, frame: Frame, scene: Scene): void {
    this.#drawn = [];
    if (scene.state.zoom > NEAR) return;
    const { x, y } = scene.data;
    const { width, height } = frame;
    for (const row of this.#rows) {
      const [px, py] = toPixels(scene.state, frame, [x[row], y[row]]);
      if ((px >= 0 && px <= width && py >= 0 && py <= height) || !scene.shown(row)) continue;
      const at: Pair = [Math.max(INSET, Math.min(width - INSET, px)), Math.max(INSET, Math.min(height - INSET, py))];
      this.#drawn.push([row, at]);
      triangle(c, at, Math.atan2(py - at[1], px - at[0]), colourOf(scene, row), scene.dark ? "#fff" : "#111");
    }
  }

  /** The row whose mark lies within reach of a place, or -1. */
  under([px, py]: Pair, reach: number): number {
    let [best, least] = [-1, reach];
    for (const [row, [x, y]] of this.#drawn) {
      const away = Math.hypot(x - px, y - py);
      if (away < least) [best, least] = [row, away];
    }
    return best;
  }
}

function triangle(c: CanvasRenderingContext2D, [x, y]: Pair, angle: number, fill: string, edge: string): void {
  c.save();
  c.translate(x, y);
  c.rotate(angle);
  c.beginPath();
  c.moveTo(8, 0);
  c.lineTo(-4, -5.5);
  c.lineTo(-4, 5.5);
  c.closePath();
  c.fillStyle = fill;
  c.fill();
  c.strokeStyle = edge;
  c.lineWidth = 1.2;
  c.stroke();
  c.restore();
}
