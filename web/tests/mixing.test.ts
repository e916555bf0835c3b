import { expect, test } from "vitest";

import { mixer } from "../src/mixing";
import { scoreOf, stepOf, TOP } from "../src/scores";

const SOFT = { local_weight: 3, veto: true };
const at = (g: number, l: number, t: number, mixing: { local_weight: number | null; veto: boolean } = SOFT) =>
  scoreOf(mixer(mixing, t)(stepOf(g), stepOf(l)));

test("soft heads are mixed in units, where the local one counts three times", () => {
  // Units -1 and -3 are 1/4 and 1/8; at t = 1/2 their mixture is (-1 - 3 · 3) / 4 = -2.5, which is 1/7.
  expect(at(1 / 4, 1 / 8, 0.5)).toBeCloseTo(1 / 7, 4);
  // And above the median row: units 0.5 and 0.5 stay what they are.
  expect(at(0.74, 0.74, 0.3)).toBeCloseTo(0.74, 4);
});

test("at its ends the dial gives the heads, step by step", () => {
  for (const [g, l] of [[0, TOP], [TOP, 0], [77, 60000]]) {
    expect([mixer(SOFT, 0)(g, l), mixer(SOFT, 1)(g, l)]).toEqual([g, l]);
  }
});

test("the global head vetoes a far group, however dense, unless the local one is asked alone", () => {
  expect(at(0.05, 0.9, 0.5)).toBeCloseTo(0.5 / 9.25, 4); // at most one unit above -9: (-9 - 3 · 8) / 4
  expect(at(0.05, 0.9, 0.5, { local_weight: 3, veto: false })).toBeGreaterThan(0.1);
  expect(at(0.05, 0.9, 1)).toBeCloseTo(0.9, 4);
});

test("the ends of the scale stay finite", () => {
  for (const g of [0, 1, TOP]) for (const l of [0, 1, TOP]) expect(mixer(SOFT, 0.4)(g, l)).toBeLessThanOrEqual(TOP);
});
