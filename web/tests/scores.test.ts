import { expect, test } from "vitest";

import { moves, scoreOf, Scores, stepOf, TOP } from "../src/scores";
import { data } from "./sample";

const steps = (scores: number[]) => Uint16Array.from(scores, stepOf);
const scored = (g: number[], l: number[], parts = {}) => {
  const scores = new Scores(data(g.length, { g: steps(g), l: steps(l), ...parts }));
  scores.at(0);
  return scores;
};

test("steps and scores are each other's way back, and small scores stay apart", () => {
  for (const step of [0, 1, 2, 777, TOP]) expect(stepOf(scoreOf(step))).toBe(step);
  expect([scoreOf(0), scoreOf(TOP)]).toEqual([0, 1]);
  expect(scoreOf(1)).toBeLessThan(1e-9);
});

test.each([0, 0.25, 0.5, 1])("a clipped score at t = %s is (1 - t) global + t local", (t) => {
  const [g, l] = [[0.9, 0.04, 0.5], [0.1, 0.36, 0.5]];
  const scores = scored(g, l);
  scores.at(t);
  // Half a step of the root, on either side: 2 · √f · 1/65535 and a bit.
  g.forEach((_, row) => expect(Math.abs(scores.value(row) - ((1 - t) * g[row] + t * l[row]))).toBeLessThan(5e-5));
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

test("a share flags so many rows, from the periphery on", () => {
  const scores = scored([0.1, 0.2, 0.3, 0.4], [0, 0, 0, 0]);
  for (const [share, flagged] of [[0, 0], [0.25, 1], [0.5, 2], [1, 4]]) {
    expect(scores.count(scores.limitByShare(share))).toBe(flagged);
  }
});

test("p-values count the calibration rows that are no more central, the row itself among them", () => {
  const inliers = [steps([0.2, 0.4, 0.6, 0.8]), steps([0, 0, 0, 0])];
  const scores = scored([0.1, 0.4, 0.9], [0, 0, 0], { inliers });
  expect([0, 1, 2].map((row) => scores.pValue(row))).toEqual([1 / 5, 3 / 5, 5 / 5]);
  expect(scored([0.1], [0]).pValue(0)).toBeUndefined();
});

test("Benjamini and Hochberg's limit is that of their step-up rule", () => {
  const known = Array.from({ length: 99 }, (_, k) => 0.5 + k / 200);
  const rows = [0.01, 0.02, 0.03, 0.505, 0.6, 0.7, 0.8, 0.9];
  const scores = scored(rows, rows, { inliers: [steps(known), steps(known)] });
  const p = rows.map((_, row) => scores.pValue(row)!).sort((a, b) => a - b);
  for (const fdr of [0.01, 0.03, 0.05, 0.2, 0.5, 0.99]) {
    const flagged = p.reduce((most, value, k) => (value <= (fdr * (k + 1)) / p.length ? k + 1 : most), 0);
    expect(scores.count(scores.limitByFdr(fdr))).toBe(flagged);
  }
  expect(scores.count(scores.limitByFdr(0.03))).toBe(3); // p = 1/100 of three, and .03 · 3 / 8 > .01
  expect(scored(rows, rows).limitByFdr(0.5)).toBe(0); // nobody to compare with
});

test("a move is the change of place among all rows, and ties share theirs", () => {
  const change = moves(data(4, { g: steps([0.1, 0.2, 0.3, 0.4]), l: steps([0.9, 0.2, 0.3, 0.4]) }));
  expect([...change]).toEqual([0.75, -0.25, -0.25, -0.25]);
  expect([...moves(data(2, { g: steps([0.5, 0.5]), l: steps([0.1, 0.2]) }))]).toEqual([-0.25, 0.25]);
});
