// The rows of one kind: equal categories, near numbers.

import { expect, test } from "vitest";
import { kindOf } from "../src/core/kinds";
import type { Column } from "../src/core/data";
import { data as sample, numbers as number } from "./sample";

const category = (name: string, levels: string[], codes: number[]): Column => {
  const text = (row: number) => levels[codes[row] - 1] ?? "";
  return { name, kind: "category", levels, values: Uint8Array.from(codes), text, cell: text, brief: text };
};
const hundred = Array.from({ length: 100 }, (_, k) => k);
const of = (given: string[], ...columns: Column[]) => sample(100, { columns, given });

test("no given column is no kind, nor is no row", () => {
  expect(kindOf(of([], number("x", hundred)), 3)).toBeUndefined();
  expect(kindOf(of(["x"], number("x", hundred)), -1)).toBeUndefined();
  expect(kindOf(of(["elsewhere"], number("x", hundred)), 3)).toBeUndefined();
});

test("rows of the same category are of one kind, and so are those without one", () => {
  const codes = hundred.map((k) => k % 3);
  const data = of(["c"], category("c", ["flat", "house"], codes));
  const flats = kindOf(data, 1)!;
  expect(flats.words).toBe("c: flat");
  expect([...flats.rows]).toEqual(hundred.filter((k) => k % 3 === 1));
  expect(kindOf(data, 0)!.words).toBe("c: missing");
  expect(kindOf(data, 0)!.rows.length).toBe(34);
});

test("a twentieth of the rows on either side is near, fewer at an end, and more where values are equal", () => {
  const data = of(["x"], number("x", hundred));
  expect([...kindOf(data, 50)!.rows]).toEqual([45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55]);
  expect(kindOf(data, 50)!.words).toBe("x: 45 to 55");
  expect([...kindOf(data, 0)!.rows]).toEqual([0, 1, 2, 3, 4, 5]);
  const equal = kindOf(of(["x"], number("x", hundred.map((k) => (k < 60 ? 7 : k)))), 3)!;
  expect(equal.rows.length).toBe(60);
  expect(equal.words).toBe("x: 7");
});

test("gaps are of one kind and in no other", () => {
  const values = hundred.map((k) => (k < 10 ? NaN : k));
  const data = of(["x"], number("x", values));
  expect([...kindOf(data, 4)!.rows]).toEqual(hundred.slice(0, 10));
  expect(kindOf(data, 12)!.rows[0]).toBe(10);
});

test("several columns must all be alike", () => {
  const data = of(["x", "c"], number("x", hundred), category("c", ["a", "b"], hundred.map((k) => 1 + (k % 2))));
  expect([...kindOf(data, 50)!.rows]).toEqual([46, 48, 50, 52, 54]);
  expect(kindOf(data, 50)!.words).toBe("x: 45 to 55, c: a");
});
