import { expect, test } from "vitest";

import { type Camera, type Frame, moved, type Pair, pinched, scale, toMap, toPixels, WHOLE, zoomed } from "../src/core/camera";

const frame: Frame = { width: 800, height: 400, square: true, reach: 1 };
const there: Camera = { x: 0.2, y: -0.3, zoom: 4 };
const near = (found: Pair, wanted: Pair) => found.forEach((value, k) => expect(value).toBeCloseTo(wanted[k], 9));

test("the whole map fills the shorter side of the window, less a margin", () => {
  near(scale(WHOLE, frame), [0.46 * 400, 0.46 * 400]);
  near(toPixels(WHOLE, frame, [0, 0]), [400, 200]);
  near(toPixels(WHOLE, frame, [0, 1]), [400, 200 - 0.46 * 400]); // up is up
});

test("axes with units of their own fill a side each", () => {
  near(scale(WHOLE, { ...frame, square: false }), [0.46 * 800, 0.46 * 400]);
});

test.each([true, false])("pixels and places are each other's way back (square: %s)", (square) => {
  const own = { ...frame, square };
  for (const pixel of [[0, 0], [800, 400], [123, 45]] as Pair[]) near(toPixels(there, own, toMap(there, own, pixel)), pixel);
});

test("zooming leaves what lies under the pointer where it is", () => {
  const pointer: Pair = [600, 100];
  const after = zoomed(there, frame, 2.5, pointer);
  expect(after.zoom).toBeCloseTo(10);
  near(toMap(after, frame, pointer), toMap(there, frame, pointer));
});

test("zooming ends somewhere, and at its end moves nothing", () => {
  const far = zoomed(there, frame, 1e-9, [0, 0]);
  expect(far.zoom).toBe(0.5);
  expect(zoomed(there, frame, 1e9, [0, 0]).zoom).toBe(5000);
  const again = zoomed(far, frame, 0.5, [700, 20]);
  near([again.x, again.y], [far.x, far.y]);
});

test("the map follows the pointer that moves it", () => {
  const after = moved(there, frame, [30, -20]);
  near(toPixels(after, frame, toMap(there, frame, [100, 100])), [130, 80]);
  expect(after.zoom).toBe(there.zoom);
});

test("it cannot be pushed out of reach", () => {
  const after = moved(there, frame, [1e6, 1e6]);
  near([after.x, after.y], [-1.5, 1.5]);
});

test("two fingers that part by a factor zoom by it, and keep what lies between them", () => {
  const [before, now, other]: Pair[] = [[500, 200], [600, 200], [300, 200]];
  const after = pinched(there, frame, before, now, other);
  expect(after.zoom).toBeCloseTo(there.zoom * (300 / 200));
  near(toPixels(after, frame, toMap(there, frame, [400, 200])), [450, 200]);
});

test("fingers that touch each other do not zoom", () => {
  expect(pinched(there, frame, [305, 200], [400, 200], [300, 200]).zoom).toBe(there.zoom);
});
