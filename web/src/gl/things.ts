// Pictures on the map where they lie: of each part of what is seen the fullest places have one, framed in the colour of
// their row. Nearer, there is room for more of them.

import { type Frame, type Pair, toPixels } from "../core/camera";
import { colourOf } from "../core/colours";
import type { Scene } from "./scene";

const PART = 76; // pixels of a part of the map, each way
const SIDE = 46; // pixels of a picture
const MOST = 60; // pictures at a time
const REMEMBERED = 600;

export class Things {
  readonly #known = new Map<number, HTMLImageElement>();
  #chosen: number[] = [];
  #from = ""; // what was seen when they were chosen

  /** `again` is called when a picture has come. */
  constructor(private readonly picture: (row: number) => Promise<string | undefined>, private readonly again: () => void) {}

  draw(c: CanvasRenderingContext2D, frame: Frame, scene: Scene): void {
    const { x, y, zoom } = scene.state;
    const from = [x, y, zoom, frame.width, frame.height, scene.state.query, JSON.stringify(scene.state.ranges), scene.state.brush, scene.data.axes.names].join();
    if (from !== this.#from) this.#chosen = places(frame, scene);
    this.#from = from;
    for (const row of this.#chosen) {
      const image = this.#image(row);
      if (!image.complete || !image.naturalWidth) continue;
      const [px, py] = toPixels(scene.state, frame, [scene.data.x[row], scene.data.y[row]]);
      const scale = SIDE / Math.max(image.naturalWidth, image.naturalHeight);
      const [width, height] = [image.naturalWidth * scale, image.naturalHeight * scale];
      c.fillStyle = colourOf(scene, row);
      c.fillRect(px - width / 2 - 2, py - height / 2 - 2, width + 4, height + 4);
      c.drawImage(image, px - width / 2, py - height / 2, width, height);
    }
  }

  #image(row: number): HTMLImageElement {
    let image = this.#known.get(row);
    if (!image) {
      const made = (image = new Image());
      this.#known.set(row, made);
      if (this.#known.size > REMEMBERED) this.#known.delete(this.#known.keys().next().value!);
      made.addEventListener("load", this.again);
      void this.picture(row).then((address) => address && (made.src = address), () => undefined);
    }
    return image;
  }
}

/** The rows to show: of each part of the map the one nearest to its middle, the fullest parts first, none over another. */
function places(frame: Frame, { data, state, shown }: Scene): number[] {
  const across = Math.ceil(frame.width / PART);
  const parts = new Map<number, { count: number; row: number; away: number; at: Pair }>();
  for (let row = 0; row < data.n; row++) {
    const at = toPixels(state, frame, [data.x[row], data.y[row]]);
    const [px, py] = at;
    if (px < SIDE / 2 || py < SIDE / 2 || px > frame.width - SIDE / 2 || py > frame.height - SIDE / 2 || !shown(row)) continue;
    const [i, j] = [Math.floor(px / PART), Math.floor(py / PART)];
    const away = Math.hypot(px - (i + 0.5) * PART, py - (j + 0.5) * PART);
    const part = parts.get(j * across + i);
    if (!part) parts.set(j * across + i, { count: 1, row, away, at });
    else {
      part.count++;
      if (away < part.away) Object.assign(part, { row, away, at });
    }
  }
  const taken: Pair[] = [];
  return [...parts.values()].sort((a, b) => b.count - a.count).filter(({ at: [px, py] }) => {
    const free = taken.length < MOST && taken.every(([a, b]) => Math.abs(a - px) > SIDE || Math.abs(b - py) > SIDE);
    if (free) taken.push([px, py]);
    return free;
  }).map(({ row }) => row);
}
