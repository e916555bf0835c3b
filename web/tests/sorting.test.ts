import { expect, test } from "vitest";

import { differences } from "../src/core/differences";
import { narrow, withRange } from "../src/core/ranges";
import { argsort, argsortTexts } from "../src/core/sorting";
import { summaryOf } from "../src/core/summary";
import { csv, number, percent, plural, score } from "../src/core/words";
import { categories, data, numbers, texts } from "./sample";

test.each([
  [Float32Array.of(3, -1, 0, -2.5, NaN, 7, 0)],
  [Float64Array.of(1.6e12 + 1, 1.6e12, -5, NaN, 1.6e12 + 2, -5.5)],
  [Uint8Array.of(3, 0, 200, 3)],
])("rows are sorted as numbers are, equal ones as they stand, gaps last", (values: ArrayLike<number>) => {
  const rows = Array.from(values, (_, row) => row);
  const key = (row: number) => (Number.isNaN(values[row]) ? Infinity : values[row]);
  expect([...argsort(values)]).toEqual(rows.sort((a, b) => key(a) - key(b) || a - b));
});

test("texts are sorted by their characters, gaps last", () => {
  const words = ["pear", "", "apple", "fig", "apple"];
  expect([...argsortTexts(5, (row) => words[row])]).toEqual([2, 4, 3, 0, 1]);
});

test("ranges leave what lies in all of them", () => {
  const sample = [numbers("size", [1, 2, 3, NaN]), categories("kind", ["a", "b", "", "a"])];
  const left = (ranges: Record<string, number[]>) => {
    const found = new Uint8Array(4).fill(1);
    narrow(found, ranges, sample);
    return [...found];
  };
  expect(left({})).toEqual([1, 1, 1, 1]);
  expect(left({ size: [2, 3] })).toEqual([0, 1, 1, 0]);
  expect(left({ kind: [1] })).toEqual([1, 0, 0, 1]);
  expect(left({ kind: [0, 2], size: [1, 2] })).toEqual([0, 1, 0, 0]);
  expect(left({ nothing: [1, 2] })).toEqual([1, 1, 1, 1]);
  expect(withRange(withRange({ a: [1] }, "b", [2]), "a")).toEqual({ b: [2] });
});

test("a summary leaves gaps out and tells the usual from the extreme", () => {
  const values = Float32Array.from({ length: 101 }, (_, k) => (k === 50 ? NaN : k));
  const { count, least, most, low, high, middle } = summaryOf(values);
  expect([count, least, most, low, high]).toEqual([100, 0, 100, 0, 100]);
  expect(Math.abs(middle - 50)).toBeLessThanOrEqual(1);
  expect(summaryOf([NaN, NaN]).count).toBe(0);
});

test("columns that set rows apart come in order, by deviations or by four times a share", () => {
  const sample = data(8, {
    columns: [
      texts("name", Array<string>(8).fill("x")), numbers("same", [1, 2, 1, 2, 1, 2, 1, 2]),
      categories("kind", ["a", "a", "b", "b", "b", "b", "b", "b"]), numbers("size", [9, 9, 0, 1, 0, 1, 0, 1]),
    ],
  });
  const found = differences(sample, Uint32Array.of(0, 1));
  // kind: all of them a, a quarter overall, which counts 3; size: 9 against 2.625, a deviation of 3.72.
  expect(found.map(({ column }) => column.name)).toEqual(["kind", "size"]);
  expect(found[0].text).toBe("a 100%, 25% overall");
  expect(found[1].by).toBeCloseTo((9 - 2.625) / Math.sqrt((2 * 81 + 3) / 8 - 2.625 ** 2), 5);
});

test("numbers and counts in few characters", () => {
  expect([plural(1, "row"), plural(2, "row"), plural(0, "row"), plural(1234, "row")]).toEqual(["1 row", "2 rows", "0 rows", "1,234 rows"]);
  expect([score(0.5), score(0.01), score(1e-5), score(0)]).toEqual(["0.500", "0.0100", "1.0e-5", "0.000"]);
  expect([percent(0.5), percent(0.0123)]).toEqual(["50%", "1.2%"]);
  expect([number(1234567), number(0.123456), number(1e-7)]).toEqual(["1,234,567", "0.1235", "1.00e-7"]);
  expect(csv([["a", 'b "c"'], [1, "x,y"]])).toBe('a,"b ""c"""\n1,"x,y"\n');
});
