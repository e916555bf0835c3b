// Which part of the map is seen: from map units (-1 to 1 across all rows) to pixels of the window and back, and what
// zooming, moving and pinching make of it. Arithmetic only: it knows of no page.

export type Pair = [number, number];

export interface Camera {
  x: number; // the middle of what is seen, in map units
  y: number;
  zoom: number; // 1 shows the whole map
}

export interface Frame {
  width: number; // of the window, in pixels
  height: number;
  square: boolean; // both axes have the same unit, so that a circle must stay one
  reach: number; // map units from the middle to the farthest row: 1, or more where some lie outside the map
}

const FILLED = 0.46; // of the window, from its middle to the last row
const [LEAST_ZOOM, MOST_ZOOM] = [0.5, 5000];
const FARTHEST = 1.5; // times the reach, from the middle of the map to the middle of what is seen
const ROOM = 0.8; // of the window that places asked for may fill
const NEAR_ENOUGH = 30; // zoom to which a few places are brought
const CLOSE = 10; // pixels between two fingers that are too near for a ratio

export const WHOLE: Readonly<Camera> = { x: 0, y: 0, zoom: 1 };

const clamp = (value: number, low: number, high: number) => Math.max(low, Math.min(high, value));

/** Pixels for one unit of the map, along each axis. */
export function scale({ zoom }: Camera, { width, height, square }: Frame): Pair {
  const [a, b] = [FILLED * width * zoom, FILLED * height * zoom];
  const one = Math.min(a, b);
  return square ? [one, one] : [a, b];
}

export function toPixels(camera: Camera, frame: Frame, [x, y]: Pair): Pair {
  const [sx, sy] = scale(camera, frame);
  return [frame.width / 2 + (x - camera.x) * sx, frame.height / 2 - (y - camera.y) * sy];
}

export function toMap(camera: Camera, frame: Frame, [px, py]: Pair): Pair {
  const [sx, sy] = scale(camera, frame);
  return [camera.x + (px - frame.width / 2) / sx, camera.y - (py - frame.height / 2) / sy];
}

/** Nearer by a factor, within limits; what lies under the pixel `at` stays there. */
export function zoomed(camera: Camera, frame: Frame, factor: number, at: Pair): Camera {
  const zoom = clamp(camera.zoom * factor, LEAST_ZOOM / frame.reach, MOST_ZOOM);
  const [mx, my] = toMap(camera, frame, at);
  const left = camera.zoom / zoom; // of the way from the pointer to the middle
  return { zoom, x: mx + (camera.x - mx) * left, y: my + (camera.y - my) * left };
}

/** The map pushed by so many pixels, never so far that it is lost. */
export function moved(camera: Camera, frame: Frame, [dx, dy]: Pair): Camera {
  const [sx, sy] = scale(camera, frame);
  const near = (value: number) => clamp(value, -FARTHEST * frame.reach, FARTHEST * frame.reach);
  return { zoom: camera.zoom, x: near(camera.x - dx / sx), y: near(camera.y + dy / sy) };
}

/** One of two fingers goes from `before` to `now`: what lies between them stays between them. */
export function pinched(camera: Camera, frame: Frame, before: Pair, now: Pair, other: Pair): Camera {
  const apart = distance(before, other);
  const pushed = moved(camera, frame, [(now[0] - before[0]) / 2, (now[1] - before[1]) / 2]);
  if (apart <= CLOSE) return pushed;
  return zoomed(pushed, frame, distance(now, other) / apart, [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
}

/** The view of these places, with room around them, and never nearer than makes sense for a single one. */
export function around(frame: Frame, places: Iterable<Pair>): Camera {
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of places) {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [low, high] = [Math.min(low, y), Math.max(high, y)];
  }
  if (left > right) return WHOLE;
  const [sx, sy] = scale(WHOLE, frame);
  const fits = Math.min((frame.width / 2 / sx) / Math.max(right - left, 1e-9), (frame.height / 2 / sy) / Math.max(high - low, 1e-9));
  const zoom = clamp(2 * ROOM * fits, LEAST_ZOOM / frame.reach, NEAR_ENOUGH);
  return { x: (left + right) / 2, y: (low + high) / 2, zoom };
}

export const distance = (a: Pair, b: Pair) => Math.hypot(a[0] - b[0], a[1] - b[1]);
