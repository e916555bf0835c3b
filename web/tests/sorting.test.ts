import { expect, test } from "vitest";

import { differences } from "../src/core/differences";
import { narrow, withRange } from "../src/core/ranges";
import { argsort, argsortTexts } from "../src/core/sorting";
import { summaryOf } from "../src/core/summary";
import { brief, csv, moments, percent, plain, plural, rounded, score } from "../src/core/words";
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
  // kind: all of them a, a quarter overall, which counts 3; size: both 9, as a quarter are, which counts as much.
  expect(found.map(({ column }) => column.name)).toEqual(["kind", "size"]);
  expect(found[0].text).toBe("a 100%, 25% overall");
  expect(found[1].by).toBeCloseTo(4 * (1 - 2 / 8), 5);
  expect(found[1].text).toBe("= 9 100%, 25% overall");
  const [apart] = differences(sample, Uint32Array.of(0, 3, 5)).filter(({ column }) => column.name === "size");
  expect(apart.by).toBeCloseTo((11 / 3 - 2.625) / Math.sqrt((2 * 81 + 3) / 8 - 2.625 ** 2), 5); // means, in deviations
});

test("numbers and counts in few characters", () => {
  expect([plural(1, "row"), plural(2, "row"), plural(0, "row"), plural(1234, "row")]).toEqual(["1 row", "2 rows", "0 rows", "1,234 rows"]);
  expect([score(0.5), score(0.01), score(1e-5), score(0)]).toEqual(["0.500", "0.0100", "1.0e-5", "0.000"]);
  expect([percent(0.5), percent(0.0123)]).toEqual(["50%", "1.2%"]);
  expect([rounded(1913), rounded(1234561.88, 6), rounded(0.123456)]).toEqual(["1913", "1234560", "0.1235"]);
  expect(csv([["a", 'b "c"'], [1, "x,y"]])).toBe('a,"b ""c"""\n1,"x,y"\n');
});

test("cells are what the file holds: every digit, no grouping, and times to what the column has", () => {
  expect([1234561.88, 1913, 1e15 + 1, 0.1].map((v) => plain(v, false))).toEqual(["1234561.88", "1913", "1000000000000001", "0.1"]);
  expect([plain(Math.fround(0.1)), plain(4000005)]).toEqual(["0.1", "4000005"]);
  const at = (text: string) => Date.parse(text);
  const write = (...texts: string[]) => texts.map((text) => moments(texts.map(at))(at(text)));
  expect(write("2020-01-01Z", "2020-01-02Z")).toEqual(["2020-01-01", "2020-01-02"]);
  expect(write("2020-01-01Z", "2020-01-02T12:30:45Z")).toEqual(["2020-01-01 00:00:00", "2020-01-02 12:30:45"]);
  expect(write("2020-01-02T12:30:45.120Z")).toEqual(["2020-01-02 12:30:45.120"]);
});

test("on cards long fractions lose digits, which three dots tell; whole numbers never do", () => {
  expect(brief("0.30000000000000004", 0.30000000000000004)).toBe("0.3…");
  expect(brief("1234561.88", 1234561.88)).toBe("1234561.88");
  expect(brief("1000000000000001", 1e15 + 1)).toBe("1000000000000001");
});
