import { expect, test } from "vitest";

import { mixer, type Pair, scoreAll, weigher } from "../src/core/mixing";

const SOFT = { local_weight: 3, room: 0.5 };
const CLEAN = { local_weight: 9, room: null };
const LINEAR = { local_weight: null, room: null };

test("units are mixed linearly, the local ones count three times, and the mixture is squeezed once", () => {
  // At t = 1/2 the mixture of -1 and -3 is (-1 - 3 · 3) / 4 = -2.5, which is 1/7.
  expect(mixer(SOFT, 0.5)(-1, -3)).toBeCloseTo(1 / 7, 12);
  expect(mixer(SOFT, 0.3)(0, 0)).toBe(0.5);
  expect(mixer(SOFT, 0)(-1, 99)).toBe(0.25);
  expect(mixer(SOFT, 1)(99, -3)).toBe(0.125);
  expect(mixer(LINEAR, 0.25)(0.2, 0.6)).toBeCloseTo(0.3, 12);
});

test.each([SOFT, CLEAN, LINEAR])("all rows at once get the very scores that one by one would have: %o", (mixing) => {
  const units = [-1e38, -40, -3, -1, -1e-9, 0, 1e-9, 0.3, 0.5, 1, 3, 1e3, 1e38];
  const pairs = units.flatMap((g) => units.map((l): Pair => [g, l]));
  const [g, l] = [0, 1].map((k) => Float64Array.from(pairs, (pair) => pair[k]));
  for (const t of [0, 0.25, 0.5, 0.99, 1]) {
    const out = new Float64Array(pairs.length);
    scoreAll(mixing, t, g, l, out);
    expect([...out]).toEqual(pairs.map((pair) => mixer(mixing, t)(...pair)));
  }
});

test("scores rise with units all the way, and stay within 0 and 1", () => {
  const f = mixer(SOFT, 0);
  const all = [-1e38, -1e6, -3, -1e-9, 0, 1e-9, 0.5, 3, 1e3].map((u) => f(u, 0));
  for (let k = 1; k < all.length; k++) expect(all[k]).toBeGreaterThan(all[k - 1]);
  expect(f(1e38, 0)).toBe(1);
});

test.each([0, 0.25, 0.5, 0.75, 1])("at t = %s contributions add up to the score less the typical one", (t) => {
  const [global, local] = [[-3, 0.5, -1], [0.2, -6, -0.7]]; // of three features
  const typical: Pair = [0.9, 1.4];
  const row: Pair = [0.9 - 3.5, 1.4 - 6.5];
  for (const mixing of [SOFT, CLEAN, LINEAR]) {
    const at = weigher(mixing, t, row, typical);
    const sum = global.reduce((total, _, k) => total + at(global[k], local[k]), 0);
    expect(sum).toBeCloseTo(mixer(mixing, t)(...row) - mixer(mixing, t)(...typical), 12);
  }
});

test("where a row scores like its typical point, the slope says what a unit is worth", () => {
  const f = mixer(SOFT, 0);
  for (const u of [-2, -0.1, 0.4, 3]) {
    const slope = (f(u + 1e-5, 0) - f(u - 1e-5, 0)) / 2e-5;
    expect(weigher(SOFT, 0, [u, 0], [u + 1e-12, 0])(1, 0)).toBeCloseTo(slope, 6);
    expect(weigher(SOFT, 0, [u, 0], [u + 1e-5, 0])(1, 0)).toBeCloseTo(slope, 4); // and it goes over into the chord
  }
});

test("between the ends contributions are no mixture of those at the ends", () => {
  // At t = 0 the row is far off by its first feature, at t = 1 by its second: in between, the far one decides.
  const [row, typical]: Pair[] = [[-1, -9], [1, 1]];
  const at = (t: number, k: number) => weigher(SOFT, t, row, typical)([-2, 0][k], [0, -10][k]);
  const naive = (at(0, 0) + at(1, 0)) / 2;
  expect(at(0.5, 1)).toBeLessThan(10 * at(0.5, 0)); // (-10 · 3/4) against (-2 · 1/4)
  expect(Math.abs(at(0.5, 0) - naive)).toBeGreaterThan(0.1);
});

test("the global score has a veto: at t the local one counts for no more than room / (1 - t) above it", () => {
  // At t = 1/2 a local score of 7 counts as -3 + .5 / .5 = -2: the mixture is (-3 - 3 · 2) / 4 = -2.25, which is 2/13.
  expect(mixer(SOFT, 0.5)(-3, 7)).toBeCloseTo(2 / 13, 12);
  expect(mixer(SOFT, 0.5)(-3, 700)).toBe(mixer(SOFT, 0.5)(-3, 7));
  expect(mixer(SOFT, 0.5)(-3, -2.5)).toBeCloseTo(0.5 / (1 + 2.625), 12); // it is within its room
  expect(mixer(SOFT, 1)(-3, -7)).toBe(1 / 16); // and has all room at t = 1
  expect(mixer({ ...SOFT, room: null }, 0.5)(-3, 7)).toBeGreaterThan(0.9);
});

test.each([0.25, 0.5, 0.75])("at t = %s the global score of a vetoed row answers for all of it, and the sum is right", (t) => {
  const [row, typical]: Pair[] = [[-4, 6], [1, 1.2]];
  const at = weigher(SOFT, t, row, typical);
  expect(at(0, 99)).toBe(0);
  const sum = at(-5, 4.8); // one feature that makes all the difference
  expect(sum).toBeCloseTo(mixer(SOFT, t)(...row) - mixer(SOFT, t)(...typical), 12);
});

test("a vetoed row that scores as its typical point does has the slope at their mixture for its global part", () => {
  const at = weigher(SOFT, 0.5, [-1, 9], [-1, 9]);
  expect(at(1, 5)).toBeCloseTo(0.5 / 1.25 ** 2, 6); // the mixture is -1 + 3/4 · 1, the slope there .5 / (1 + .25)²
});
