import { expect, test } from "vitest";

import { cellOf, contours, density, groups, placeOf, SIDE } from "../src/core/density";

/** Numbers spread as a bell around a place: quantiles of two independent bells, by Box and Muller from a lattice. */
function bell(n: number, [x, y]: [number, number], spread: number): [number[], number[]] {
  const xs: number[] = [];
  const ys: number[] = [];
  for (let k = 0; k < n; k++) {
    const far = spread * Math.sqrt(-2 * Math.log((k + 0.5) / n));
    const angle = k * 2.399963; // the golden angle: even around
    xs.push(x + far * Math.cos(angle));
    ys.push(y + far * Math.sin(angle));
  }
  return [xs, ys];
}

test("a cell's middle lies in the cell, and all rows are counted", () => {
  for (const cell of [0, 17, SIDE - 1]) expect(cellOf(placeOf(cell))).toBe(cell);
  const grid = density(...bell(5000, [0, 0], 0.2));
  expect(grid.reduce((a, v) => a + v, 0)).toBeCloseTo(5000, 0);
});

test("within the lines around a bell lie the shares of it that they are drawn for", () => {
  const spread = 0.3;
  const lines = contours(density(...bell(20_000, [0, 0], spread)));
  // Of a bell 1 - exp(-r² / 2s²) lies within r. Two means over five cells each way widen it: each adds a variance of 2 cells².
  const widened = Math.hypot(spread, Math.sqrt(4) * (placeOf(1) - placeOf(0)));
  [0.35, 0.65, 0.9].forEach((share, k) => {
    const radius = widened * Math.sqrt(-2 * Math.log(1 - share));
    const line = lines[k];
    expect(line.length % 4).toBe(0); // pieces from x, y to x, y
    let [sum, count] = [0, 0];
    for (let i = 0; i < line.length; i += 2, count++) sum += Math.hypot(line[i], line[i + 1]);
    expect(sum / count / radius).toBeGreaterThan(0.94);
    expect(sum / count / radius).toBeLessThan(1.06);
  });
});

test("rows at the edge of the map are blurred within the grid: no line around them is cut", () => {
  const grid = density([-1, 1, -1, 1], [-1, -1, 1, 1]);
  expect(grid.reduce((a, v) => a + v, 0)).toBeCloseTo(4, 5);
  for (let k = 0; k < SIDE; k++) expect([k, SIDE * k, SIDE * k + SIDE - 1, SIDE * (SIDE - 1) + k].map((cell) => grid[cell])).toEqual([0, 0, 0, 0]);
});

const groupOf = (of: Int32Array, x: number, y: number) => of[cellOf(y) * SIDE + cellOf(x)];

test("two bells far from each other are two groups, and one is one", () => {
  const [left, right] = [bell(3000, [-0.6, 0], 0.1), bell(3000, [0.6, 0.1], 0.1)];
  const two = groups(density([...left[0], ...right[0]], [...left[1], ...right[1]]));
  expect(groupOf(two, -0.6, 0)).not.toBe(groupOf(two, 0.6, 0.1));
  for (const [xs, ys] of [left, right]) {
    const own = xs.filter((x, i) => groupOf(two, x, ys[i]) === groupOf(two, xs[2999], ys[2999]));
    expect(own.length).toBeGreaterThan(0.99 * xs.length);
  }
  const [xs, ys] = bell(6000, [0, 0], 0.3);
  const one = groups(density(xs, ys));
  expect(xs.filter((x, i) => groupOf(one, x, ys[i]) === groupOf(one, 0, 0)).length).toBeGreaterThan(0.95 * 6000);
  expect(groupOf(one, -1.1, 1.1)).toBe(-1); // nothing is there
});
