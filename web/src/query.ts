// What is typed into the search box: words to find anywhere, and conditions on columns, all of which must hold.
//   red car    name:smith    age>30    price<=9.5    "two words"    "column name":value    -word

import type { Column, Data } from "./data";

type Test = (row: number) => boolean;
const TERM = /(-?)(?:("[^"]*"|[^\s:<>=!"]+)(!=|>=|<=|:|=|>|<))?("[^"]*"|[^\s"]+)/g;

export class QueryError extends Error {}

/** 1 for each row that the query finds, or undefined if it asks for nothing. */
export function search(query: string, data: Data): Uint8Array | undefined {
  const tests = [...query.matchAll(TERM)].map(([, no, name, sign, value]) => {
    const test = name && sign ? condition(bare(name), sign, bare(value), data) : anywhere(bare(value), data);
    return no ? (row: number) => !test(row) : test;
  });
  if (!tests.length) return undefined;
  const found = new Uint8Array(data.n);
  for (let row = 0; row < data.n; row++) found[row] = tests.every((test) => test(row)) ? 1 : 0;
  return found;
}

const bare = (text: string) => text.replace(/^"|"$/g, "");

function anywhere(word: string, data: Data): Test {
  const each = data.columns.map((column) => holds(column, word));
  const id = Number(word.replace(/^#/, ""));
  if (/^#\d+$/.test(word)) return (row) => data.id(row) === id;
  return (row) => each.some((test) => test(row));
}

function holds(column: Column, word: string): Test {
  const small = word.toLowerCase();
  if (column.levels && column.values) {
    const codes = column.values;
    const fits = [false, ...column.levels.map((level) => level.toLowerCase().includes(small))];
    return (row) => fits[codes[row]];
  }
  if (column.kind === "number" && column.values) {
    const values = column.values;
    const wanted = Number(word);
    return (row) => Math.abs(values[row] - wanted) <= 1e-6 * Math.abs(wanted);
  }
  return (row) => column.text(row).toLowerCase().includes(small);
}

function condition(name: string, sign: string, value: string, data: Data): Test {
  const column = data.columns.find((c) => c.name.toLowerCase() === name.toLowerCase());
  if (!column) {
    const there = data.columns.slice(0, 6).map((c) => c.name);
    throw new QueryError(`There is no column “${name}”. There are: ${there.join(", ") || "none"}.`);
  }
  if (sign === ":") return holds(column, value);
  if (column.kind === "number" || column.kind === "date") {
    const values = column.values!;
    const wanted = column.kind === "date" ? Date.parse(value) : Number(value);
    if (Number.isNaN(wanted)) throw new QueryError(`A ${column.kind} was wanted after ${name}${sign}, not “${value}”.`);
    return (row) => compare(values[row], sign, Math.fround(wanted) === values[row] ? values[row] : wanted);
  }
  const small = value.toLowerCase();
  return (row) => compare(column.text(row).toLowerCase(), sign, small);
}

function compare<T extends number | string>(a: T, sign: string, b: T): boolean {
  if (sign === "=") return a === b;
  if (sign === "!=") return a !== b;
  if (sign === ">") return a > b;
  if (sign === "<") return a < b;
  return sign === ">=" ? a >= b : a <= b;
}
