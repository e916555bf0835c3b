// A small table of rows as the page holds it, with everything about it known.

import type { Column, Data } from "../src/core/data";
import { summaryOf } from "../src/core/summary";

/** Rows with these parts; where nothing is said, all lie at the middle of the map and have no columns. */
export function data(n: number, parts: Partial<Data> = {}): Data {
  return {
    title: "Sample",
    n,
    t: 0.5,
    mixing: { local_weight: null, room: null },
    axes: { names: ["PCA 1", "PCA 2"], center: [0, 0], half: [1, 1], reach: [1, 1] },
    x: new Float32Array(n),
    y: new Float32Array(n),
    g: new Float64Array(n),
    l: new Float64Array(n),
    id: (row) => 100 + row, // not the row itself: they must not be mixed up
    key: () => "",
    keysLater: false,
    about: false,
    columns: [],
    kind: "",
    row: (id) => id - 100,
    itemColumn: "",
    asks: false,
    colour: "f",
    guilty: [],
    parts: [],
    alike: false,
    given: [],
    mayBeGiven: [],
    typicalWith: false,
    words: [],
    whole: false,
    later: false,
    jobs: false,
    print: "sample",
    end: () => undefined,
    ...parts,
  };
}

/** A column whose cells are these texts. */
const written = (text: (row: number) => string) => ({ text, cell: text, brief: text });

export const numbers = (name: string, values: number[]): Column =>
  ({ name, kind: "number", values: Float64Array.from(values), summary: () => summaryOf(values), ...written((row) => (isNaN(values[row]) ? "" : String(values[row]))) });

export const dates = (name: string, days: string[]): Column =>
  ({ name, kind: "date", values: Float64Array.from(days, (day) => Date.parse(day)), ...written((row) => days[row]) });

export const texts = (name: string, values: string[]): Column => ({ name, kind: "text", ...written((row) => values[row]) });

/** Codes count from 1; "" is a gap. */
export function categories(name: string, values: string[]): Column {
  const levels = [...new Set(values)].filter(Boolean);
  const codes = Uint8Array.from(values, (value) => levels.indexOf(value) + 1);
  return { name, kind: "category", values: codes, levels, ...written((row) => values[row]) };
}
