import { expect, test } from "vitest";

import { QueryError, search, turnsWithMarks, turnsWithT } from "../src/core/query";
import { Scores } from "../src/core/scores";
import { categories, data, dates, numbers, texts } from "./sample";

const people = data(4, {
  columns: [
    texts("name", ["Ann Smith", "Bob", "smithy", "Cleo \"the cat\""]),
    numbers("age", [30, 0.1, 41, NaN]),
    categories("home town", ["Bern", "", "Basel", "Bern"]),
    dates("born", ["1990-01-01", "2020-05-05", "1980-01-01", "2000-06-01"]),
  ],
});
const found = (query: string) => [...search(query, people)!.entries()].filter(([, yes]) => yes).map(([row]) => row);

test("a query that asks for nothing filters nothing", () => {
  expect(search("", people)).toBeUndefined();
  expect(search("   ", people)).toBeUndefined();
});

test("a word is looked for in every column, whatever its case", () => {
  expect(found("SMITH")).toEqual([0, 2]);
  expect(found("basel")).toEqual([2]);
  expect(found("41")).toEqual([2]);
});

test("all conditions must hold, and a minus turns one round", () => {
  expect(found("smith bern")).toEqual([0]);
  expect(found("smith -bern")).toEqual([2]);
  expect(found("-smith -bob")).toEqual([3]);
});

test("quotes hold words together, in values and in names of columns", () => {
  expect(found('"ann smith"')).toEqual([0]);
  expect(found('"home town":bas')).toEqual([2]);
  expect(found('"HOME TOWN"=bern')).toEqual([0, 3]);
});

test.each([
  ["age>30", [2]],
  ["age>=30", [0, 2]],
  ["age<30", [1]],
  ["age<=30", [0, 1]],
  ["age=30", [0]],
  ["age!=30", [1, 2, 3]], // a gap is not 30 either
])("numbers are compared: %s", (query, rows) => expect(found(query)).toEqual(rows));

test("a number is found as it was typed, though it is kept with fewer digits", () => {
  const single = { ...numbers("age", [30, 0.1, 41, NaN]), values: Float32Array.of(30, 0.1, 41, NaN) };
  const sample = data(4, { columns: [single] });
  expect(single.values[1]).not.toBe(0.1);
  for (const query of ["age=0.1", "age<=0.1", "age:0.1", "0.1"]) expect([...search(query, sample)!]).toEqual([0, 1, 0, 0]);
});

test("dates are compared as dates", () => {
  expect(found("born>=2000-06-01")).toEqual([1, 3]);
  expect(found("born<1985-01-01")).toEqual([2]);
});

test("# asks for a row by where it stands in the user's data", () => {
  expect(found("#102")).toEqual([2]);
  expect(found("#2")).toEqual([]);
});

test("gaps of a category hold nothing", () => {
  expect(found('-"home town":b')).toEqual([1]);
});

test("a query that cannot be meant says what is there or what was wanted", () => {
  expect(() => search("weight>3", people)).toThrow(QueryError);
  expect(() => search("weight>3", people)).toThrow("There is no column “weight”. There are: name, age, home town, born.");
  expect(() => search("weight>3", data(1))).toThrow("There are: none.");
  expect(() => search("age>old", people)).toThrow("A number was wanted after age>, not “old”.");
  expect(() => search("born<soon", people)).toThrow("A date was wanted after born<, not “soon”.");
});

test("an or takes either side, and what stands together binds closer", () => {
  expect(found("bob or basel")).toEqual([1, 2]);
  expect(found("smith bern OR bob")).toEqual([0, 1]);
  expect(found("age>40 or -smith")).toEqual([1, 2, 3]);
});

test("scores can be asked for like columns", () => {
  const units = (values: number[]) => Float64Array.from(values);
  const sample = { ...people, g: units([0.1, 0.2, 0.9, 0.5]), l: units([0.9, 0.2, 0.1, 0.5]) };
  const scores = new Scores(sample);
  scores.at(0.25); // 0.3, 0.2, 0.7, 0.5
  const those = (query: string) => [...search(query, sample, scores)!.entries()].filter(([, yes]) => yes).map(([row]) => row);
  expect(those("centrality<.4")).toEqual([0, 1]);
  expect(those("global>=0.5 local<.3")).toEqual([2]);
  expect(["centrality<.4", "a or centrality>1", "-centrality<1", "global<1", "centralityx<1"].map(turnsWithT)).toEqual([true, true, true, false, false]);
});

test.each([
  ['"open', "not closed"], ["age>", "A value was wanted after age>"], ["or bob", "both sides"], ["bob or", "both sides"],
  ["global:high", "A number was wanted"], ["global<x", "A number was wanted"],
])("a term that cannot be is an error: %s", (query, problem) => {
  expect(() => search(query, people)).toThrow(problem);
});

test("a number is found by all its digits, however many it has", () => {
  const near = data(3, { columns: [numbers("id", [4000004, 4000005, 4000006])] });
  expect([...search("4000005", near)!]).toEqual([0, 1, 0]);
  const ids = ["9007199254740992", "9007199254740993", "9007199254740994"]; // the first two are one double
  const long = data(3, { columns: [{ ...numbers("id", ids.map(Number)), text: (row) => ids[row], cell: (row) => ids[row] }] });
  expect([...search("9007199254740993", long)!]).toEqual([0, 1, 0]);
  expect([...search("id=9007199254740993", long)!]).toEqual([0, 1, 0]);
  expect([...search("id>9007199254740992", long)!]).toEqual([0, 1, 1]);
});

test("missing values can be asked for, of every kind of column", () => {
  expect(found("missing:age")).toEqual([3]);
  expect(found('missing:"home town"')).toEqual([1]);
  expect(found("-missing:age -missing:\"home town\"")).toEqual([0, 2]);
  expect(() => search("missing:weight", people)).toThrow("There is no column “weight”.");
});

test("times are in UTC, as they are shown", () => {
  const sample = data(2, { columns: [dates("at", ["2020-01-01T12:30:44Z", "2020-01-01T12:30:45Z"])] });
  expect([...search('at>="2020-01-01 12:30:45"', sample)!]).toEqual([0, 1]);
});

test("what was said of rows is asked for like columns, unless a column has the name", () => {
  const said = [categories("mark", ["outlier", "", "fine", ""]), texts("note", ["ask Ann", "", "", "typo"])];
  const those = (query: string) => [...search(query, people, undefined, said)!];
  expect(those("mark:outlier")).toEqual([1, 0, 0, 0]);
  expect(those("missing:mark")).toEqual([0, 1, 0, 1]);
  expect(those("note:ann or note:typo")).toEqual([1, 0, 0, 1]);
  expect(["mark:fine", "-tags:x", "missing:note", "by=ann"].map(turnsWithMarks)).toEqual([true, true, true, true]);
  expect(["remark:fine", "price>3"].map(turnsWithMarks)).toEqual([false, false]);
});
