import { expect, test } from "vitest";

import { Places } from "../src/core/places";
import { data } from "./sample";

const all = () => true;
const at = (points: [number, number][]) =>
  data(points.length, { x: Float32Array.from(points, ([x]) => x), y: Float32Array.from(points, ([, y]) => y) });

/** Points spread over the map, the same each time: fractions of two irrational steps. */
const spread = Array.from({ length: 500 }, (_, k): [number, number] =>
  [2 * ((k * Math.SQRT2) % 1) - 1, 2 * ((k * Math.sqrt(3)) % 1) - 1]);

test("the nearest row is the one that a look at all rows finds", () => {
  const places = new Places(at(spread));
  for (const [x, y] of [[0, 0], [0.3, -0.7], [-1, -1], [1, 1], [0.999, -0.2]]) {
    const away = spread.map(([a, b]) => Math.hypot(Math.fround(a) - x, Math.fround(b) - y));
    expect(places.nearest(x, y, [0.3, 0.3], all)).toBe(away.indexOf(Math.min(...away)));
  }
});

test("beyond reach there is none, and reach may differ along the axes", () => {
  const places = new Places(at([[0, 0], [0.5, 0.5]]));
  expect(places.nearest(0.2, 0, [0.1, 0.1], all)).toBe(-1);
  expect(places.nearest(0.2, 0, [0.3, 0.1], all)).toBe(0);
  expect(places.nearest(0, 0.2, [0.3, 0.1], all)).toBe(-1);
});

test("rows that are not shown are neither near nor inside", () => {
  const places = new Places(at([[0, 0], [0.1, 0]]));
  const notFirst = (row: number) => row !== 0;
  expect(places.nearest(0, 0, [0.5, 0.5], notFirst)).toBe(1);
  expect([...places.inside([[-1, -1], [1, -1], [1, 1], [-1, 1]], notFirst)]).toEqual([1]);
});

test("a box holds the rows between its sides", () => {
  const inside = new Places(at(spread)).inside([[-0.5, -0.25], [0.5, -0.25], [0.5, 0.75], [-0.5, 0.75]], all);
  const wanted = spread.flatMap(([x, y], row) => (Math.abs(x) < 0.5 && y > -0.25 && y < 0.75 ? [row] : []));
  expect(wanted.length).toBeGreaterThan(50);
  expect([...inside]).toEqual(wanted);
});

test("what a lasso leaves out is not inside, though it lies between its ends", () => {
  const horseshoe: [number, number][] = [[-1, -1], [1, -1], [1, 1], [0.5, 1], [0.5, -0.5], [-0.5, -0.5], [-0.5, 1], [-1, 1]];
  expect([...new Places(at([[0, 0.5], [0.75, 0.5], [0, -0.75], [-0.75, 0]])).inside(horseshoe, all)]).toEqual([1, 2, 3]);
});

test("rows at the very edge of the map and a map of one row are found", () => {
  expect(new Places(at([[1, 1]])).nearest(1, 1, [0.01, 0.01], all)).toBe(0);
  expect(new Places(at([[-1, -1], [1, -1], [1, 1], [-1, 1]])).nearest(1, -1, [0.1, 0.1], all)).toBe(1);
});

test("rows within reach are counted as a look at all rows counts them", () => {
  const places = new Places(at(spread));
  for (const [x, y] of [[0, 0], [0.3, -0.7], [-1, -1]]) {
    const near = spread.filter(([a, b]) => ((Math.fround(a) - x) / 0.2) ** 2 + ((Math.fround(b) - y) / 0.1) ** 2 <= 1);
    expect(places.count(x, y, [0.2, 0.1], all)).toBe(near.length);
  }
});
