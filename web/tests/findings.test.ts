import { expect, test } from "vitest";

import { differences } from "../src/core/differences";
import { barOf, examplesOf, placed } from "../src/core/findings";
import type { Finding } from "../src/core/header";
import { rowsOf, sidesOf, without } from "../src/core/sides";
import { categories, data, numbers } from "./sample";

const finding = (rows: number[], more: Partial<Finding> = {}): Finding => ({
  kind: "placeholder", sentence: "gain is exactly 99999", reason: "", columns: ["gain"], count: rows.length, rows, severity: 5e3, examples: rows.slice(0, 5), typical: null, advice: "", certificate: "", ...more });

// Rows are called 100 + their place: what Python says of rows that the page does not show is left out.
const rows = data(8, {
  columns: [numbers("gain", [99999, 99999, 99999, 0, 10, 20, NaN, 5]), categories("sex", ["f", "f", "m", "m", "m", "m", "m", ""])],
});
const checked = placed({ verdict: "One fault.", rows: 9, findings: [finding([102, 100, 101, 99], { typical: 104 }), finding([], { count: 0 }), finding([102, 107])] }, rows);

test("findings are about the rows of the page, whatever their numbers in the data", () => {
  expect([...checked.found[0].rows]).toEqual([0, 1, 2]);
  expect(checked.found[0].examples).toEqual([2, 0, 1]);
  expect(checked.found.map(({ typical }) => typical)).toEqual([4, -1, -1]);
  expect(checked.found[0].count).toBe(4); // as Python counts them
  expect(checked.touched).toBe(4);
});

test("a row that is an example twice is looked at once", () => expect(examplesOf(checked.found)).toEqual([2, 0, 1, 7]));

test("bars are even in the digits of the severity, from one in ten to one in a million", () => {
  expect(barOf(1e6)).toBe(1);
  expect(barOf(1e9)).toBe(1);
  expect(barOf(1000) - barOf(100)).toBeCloseTo(barOf(1e5) - barOf(1e4));
  expect(barOf(0)).toBeGreaterThan(0); // it is seen that there is one
});

test("a number that all of a group hold is told as such, not as a mean", () => {
  const [gain] = differences(rows, Uint32Array.of(0, 1, 2), Uint32Array.of(3, 4, 5, 6, 7));
  expect(gain.text).toBe("= 99999 in 3 of 3 (100%), in B 0 of 5 (0%)");
  expect(gain.label).toBe("gain = 99999");
});

test("groups are compared with each other, not with all rows", () => {
  const found = differences(rows, Uint32Array.of(0, 1), Uint32Array.of(2, 3)).find(({ column }) => column.name === "sex")!;
  expect(found.text).toBe("f in 2 of 2 (100%), in B 0 of 2 (0%)");
});

test("gaps set rows apart as well", () => {
  const some = data(6, { columns: [numbers("age", [NaN, NaN, 30, 30, 30, 30])] });
  expect(differences(some, Uint32Array.of(0, 1), Uint32Array.of(2, 3, 4, 5))[0].text).toBe("missing in 2 of 2 (100%), in B 0 of 4 (0%)");
});

test("numbers of anonymous vectors are no names", () => {
  const columns = Array.from({ length: 6 }, (_, k) => numbers(`x${k}`, [9, 9, 0, 1, 0, 1]));
  expect(differences(data(6, { columns }), Uint32Array.of(0, 1))[0].label).toBe("");
});

const known = { data: rows, checked, selection: Uint32Array.of(5), marked: (mark: string) => (mark === "fine" ? [1, 6] : []) };

test.each([
  ["selected", [5]], ["finding 2", [2, 7]], ["mark fine", [1, 6]], ['=["sex","f"]', [0, 1]],
])("a group is found by what a link calls it: %s", (id, wanted) => {
  expect([...rowsOf(id, known)!]).toEqual(wanted);
  expect(sidesOf(known).map((side) => side.id)).toContain(id);
});

test.each(["", "finding 9", '=["sex","x"]', '=["none","f"]', "=[", "others"])("what is no group has no rows: %s", (id) =>
  expect(rowsOf(id, known)?.length ?? 0).toBe(0));

test("findings about no rows cannot be compared", () => expect(sidesOf(known).map(({ id }) => id)).not.toContain("finding 1"));

test("the others are all but these", () => expect([...without(Uint32Array.of(0, 7), 8)]).toEqual([1, 2, 3, 4, 5, 6]));
