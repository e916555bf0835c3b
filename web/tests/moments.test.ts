import { expect, test } from "vitest";

import { extremes, inOrder, typicalStart } from "../src/core/moments";

const all = () => true;
const HOUR = 3_600_000;

test("rows stand in the order of time; those without a time, or of another series, are left out", () => {
  expect([...inOrder([3, 1, NaN, 2, 0], (row) => row !== 4)]).toEqual([1, 3, 0]);
});

test("of each part of the time the lowest and the highest value are drawn, so that no spike is lost", () => {
  const time = Float64Array.from({ length: 100 }, (_, k) => k);
  const values = Float64Array.from(time, (k) => (k === 57 ? 1000 : k % 10));
  const [low, high] = extremes(values, time, inOrder(time, all), [0, 100], 10);
  expect([...low]).toEqual(Array(10).fill(0));
  expect([...high]).toEqual([9, 9, 9, 9, 9, 1000, 9, 9, 9, 9]);
  expect(extremes(values, time, inOrder(time, all), [200, 300], 2)[0]).toEqual(Float64Array.of(NaN, NaN));
});

test("the typical window is where scores are highest, and holds no odd row", () => {
  const rows = Uint32Array.from({ length: 20 }, (_, k) => k);
  const scores = Float32Array.from(rows, (k) => (k === 12 || k === 13 ? 1 : 0.1));
  const odd = new Uint8Array(20);
  expect(typicalStart(rows, scores, odd, 3, 2, 0)).toBe(12);
  odd[13] = 1;
  expect(typicalStart(rows, scores, odd, 3, 2, 0)).toBe(11);
  expect(typicalStart(rows, scores, new Uint8Array(20).fill(1), 3, 2, 0)).toBe(-1);
});

test("where there are seven days, it begins at the same hour of another day", () => {
  const rows = Uint32Array.from({ length: 24 * 8 }, (_, k) => k);
  const scores = Float32Array.from(rows, (k) => (k === 50 ? 1 : k >= 24 * 3 && k < 24 * 4 ? 0.5 : 0.1));
  expect(typicalStart(rows, scores, new Uint8Array(rows.length), 5, 4, HOUR)).toBe(24 * 3 + 5);
});
