import { expect, test } from "vitest";

import { differences, moves, Scores, stepOf, STEPS } from "../src/core/scores";
import { data } from "./sample";

const units = (scores: number[]) => Float64Array.from(scores); // of a linear mixture: nothing is squeezed
const scored = (g: number[], l: number[], parts = {}) => {
  const scores = new Scores(data(g.length, { g: units(g), l: units(l), ...parts }));
  scores.at(0);
  return scores;
};

test("steps rise with scores from the first to the last, and small scores stay apart", () => {
  expect([0, 1, -3, 7].map(stepOf)).toEqual([0, STEPS - 1, 0, STEPS - 1]);
  expect(stepOf(1e-9)).toBeGreaterThan(stepOf(1e-10));
});

test.each([0, 0.25, 0.5, 1])("a clipped score at t = %s is (1 - t) global + t local", (t) => {
  const [g, l] = [[0.9, 0.04, 0.5], [0.1, 0.36, 0.5]];
  const scores = scored(g, l);
  scores.at(t);
  g.forEach((_, row) => expect(scores.f[row]).toBeCloseTo((1 - t) * g[row] + t * l[row], 7)); // as exact as float32
});

test("order goes from the most peripheral to the most central row and turns with t", () => {
  const scores = scored([0.3, 0.1, 0.2], [0.1, 0.2, 0.3]);
  expect([...scores.order]).toEqual([1, 2, 0]);
  scores.at(1);
  expect([...scores.order]).toEqual([0, 1, 2]);
});

test("the most central row has rank 1, and equal rows share a rank", () => {
  const scores = scored([0.5, 0.9, 0.5, 0.1], [0, 0, 0, 0]);
  expect([0, 1, 2, 3].map((row) => scores.rank(row))).toEqual([2, 1, 2, 4]);
});

test("a place is counted from the nearer end in words, and equal rows share it", () => {
  const scores = scored([0.5, 0.9, 0.5, 0.1, 0.1, 0.2], [0, 0, 0, 0, 0, 0]);
  expect([0, 1, 2, 3, 4, 5].map((row) => scores.standing(row))).toEqual(["2nd most typical of 6", "most typical of 6",
    "2nd most typical of 6", "oddest of 6", "oddest of 6", "3rd oddest of 6"]);
  expect([1, 3, 5].map((row) => scores.beyond(row))).toEqual(["more typical than 83.3%", "odder than 83.3%", "odder than 50%"]);
  expect(scored([0.1, 0.9], [0, 0], { about: true }).standing(0)).toBe("about the oddest of 2");
});

test("a histogram counts every row once, where the root of its score lies, or only those asked for", () => {
  const scores = scored([0, 0.06, 0.1, 0.3, 0.6, 1], [0, 0, 0, 0, 0, 0]); // roots 0, 0.24, 0.32, 0.55, 0.77, 1
  expect([...scores.histogram(4)]).toEqual([2, 1, 1, 2]);
  expect([...scores.histogram(4, Uint8Array.of(1, 0, 1, 0, 1, 1))]).toEqual([1, 1, 0, 2]);
});

test("the first and the last few are those of the whole order, of visible rows, and no more than there are", () => {
  const scores = scored([0.5, 0.1, 0.9, 0.3, 0.1], [0, 0, 0, 0, 0]);
  expect(scores.ends(3, false)).toEqual([1, 4, 3]); // equal ones as they stand in the data
  expect(scores.ends(2, true)).toEqual([2, 0]);
  expect(scores.ends(2, false, Uint8Array.of(1, 0, 1, 1, 0))).toEqual([3, 0]);
  expect(scores.ends(9, true)).toEqual([2, 0, 3, 1, 4]);
  expect(scores.ends(3, false, new Uint8Array(5))).toEqual([]);
  expect(scored([0.2, 0.2, 0.2], [0, 0, 0]).ends(2, false)).toEqual([0, 1]);
});

test("quantiles are scores of rows", () => {
  const scores = scored([0.4, 0.1, 0.9], [0, 0, 0]);
  expect([0, 0.5, 1].map((share) => Number(scores.quantile(share).toFixed(4)))).toEqual([0.1, 0.4, 0.9]);
});

test("rows that share a step keep their order, their ranks and their limits", () => {
  const close = [0.5, 0.5 + 3e-7, 0.5 + 6e-7, 0.5 - 3e-7].map(Math.fround);
  expect(new Set(close.map(stepOf)).size).toBe(1);
  const scores = scored(close, [0, 0, 0, 0]);
  expect([...scores.order]).toEqual([3, 0, 1, 2]);
  expect(close.map((_, row) => scores.rank(row))).toEqual([3, 2, 1, 4]);
  expect(close.map((f) => scores.count(f))).toEqual([1, 2, 3, 0]);
  expect(scores.ends(2, false)).toEqual([3, 0]);
  expect(scores.limitByShare(1 / 3)).toBe(close[0]); // place 1 of 0 to 3
});

test("many rows on one step are put in order, too", () => {
  const many = Array.from({ length: 300 }, (_, k) => Math.fround(0.5 + ((k * 7) % 300) * 6e-8));
  const { order } = scored(many, many);
  for (let k = 1; k < 300; k++) expect(many[order[k]]).toBeGreaterThanOrEqual(many[order[k - 1]]);
});

test("a share flags so many rows, from the periphery on", () => {
  const scores = scored([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0]);
  for (const [share, flagged] of [[0, 0], [0.25, 1], [0.5, 2], [0.9, 3]]) {
    expect(scores.count(scores.limitByShare(share))).toBe(flagged);
  }
  expect(scores.limitByShare(0.25)).toBeCloseTo(0.175, 7); // three quarters of the way from the first row to the second
});

test("between two rows the limit of a share lies between their mixtures, which are squeezed afterwards", () => {
  const scores = scored([-3, -1], [0, 0], { mixing: { local_weight: 3, room: 0.5 } });
  expect(scores.limitByShare(0.25)).toBeCloseTo(0.5 / 3.5, 12); // -2.5, a quarter of the way
});

test("p-values count the calibration rows that are no more central, the row itself among them", () => {
  const inliers = { g: units([0.2, 0.8, 0.6, 0.4]), l: units([0, 0, 0, 0]), contamination: 0 };
  const scores = scored([0.1, 0.4, 0.9], [0, 0, 0], { inliers });
  expect([0, 1, 2].map((row) => scores.pValue(row))).toEqual([1 / 5, 3 / 5, 5 / 5]);
  expect(scored([0.1], [0]).pValue(0)).toBeUndefined();
  const fewer = scored([0.1, 0.4, 0.9], [0, 0, 0], { inliers: { ...inliers, contamination: 0.3 } }); // the lowest does not count
  expect([0, 1, 2].map((row) => fewer.pValue(row))).toEqual([1 / 4, 2 / 4, 4 / 4]);
  expect(fewer.known).toBe(3);
});

test("Benjamini and Hochberg's limit is that of their step-up rule", () => {
  const known = Array.from({ length: 99 }, (_, k) => 0.5 + k / 200);
  const rows = [0.01, 0.02, 0.03, 0.505, 0.6, 0.7, 0.8, 0.9];
  const scores = scored(rows, rows, { inliers: { g: units(known), l: units(known), contamination: 0 } });
  const p = rows.map((_, row) => scores.pValue(row)!).sort((a, b) => a - b);
  for (const fdr of [0.01, 0.03, 0.05, 0.2, 0.5, 0.99]) {
    const flagged = p.reduce((most, value, k) => (value <= (fdr * (k + 1)) / p.length ? k + 1 : most), 0);
    expect(scores.count(scores.limitByFdr(fdr))).toBe(flagged);
  }
  expect(scores.count(scores.limitByFdr(0.03))).toBe(3); // p = 1/100 of three, and .03 · 3 / 8 > .01
  expect(scores.limitByFdr(0.03)).toBe(known[0]); // p is no more than 1/100 exactly below the first calibration row
  expect(scores.limitByFdr(0.99)).toBe(0.905); // and 82/100 below the first one above the last row
  expect(scored(rows, rows).limitByFdr(0.5)).toBe(0); // nobody to compare with
});

test("a move is the change of place among all rows, and ties share theirs", () => {
  const change = moves(data(4, { g: units([0.1, 0.2, 0.3, 0.4]), l: units([0.9, 0.2, 0.3, 0.4]) }));
  expect([...change]).toEqual([0.75, -0.25, -0.25, -0.25]);
  expect([...moves(data(2, { g: units([0.5, 0.5]), l: units([0.1, 0.2]) }))]).toEqual([-0.25, 0.25]);
});

test("two scorings differ by the share of rows that score less than a row, and equal rows have one place", () => {
  const first = scored([0.1, 0.2, 0.2, 0.4], [0, 0, 0, 0]); // places 0, 1, 1, 3 of 4
  const second = scored([0.9, 0.2, 0.3, 0.1], [0, 0, 0, 0]); // places 3, 1, 2, 0
  expect([...differences(first, second)]).toEqual([0.75, 0, 0.25, -0.75]);
});
