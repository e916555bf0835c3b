// What is typed into the search box: words to find anywhere, and conditions on columns. All must hold, or all of those
// on one side of an "or".
//   red car    name:smith    age>30    price<=9.5    "two words"    "column name":value    -word    a or b    centrality<.1
//   missing:price    mark:outlier    tags:typo    note:"ask Ann"    by:ann

import type { Column, Data } from "./data";
import { mixer } from "./mixing";
import type { Scores } from "./scores";

type Test = (row: number) => boolean;
const TERM = /(-?)(?:("[^"]*"|[^\s:<>=!"]+)(!=|>=|<=|:|=|>|<))?("[^"]*"|[^\s"]+)/g;

export class QueryError extends Error {}

/** 1 for each row that the query finds, or undefined if it asks for nothing. */
export function search(query: string, data: Data, scores?: Scores, said: Column[] = []): Uint8Array | undefined {
  const sides: Test[][] = [[]];
  if ((query.match(/"/g)?.length ?? 0) % 2) throw new QueryError('A quotation mark " is not closed.');
  for (const [whole, no, name, sign, value] of query.matchAll(TERM)) {
    if (/^or$/i.test(whole)) {
      sides.push([]);
      continue;
    }
    if (!sign && /[^\s:<>=!"](!=|>=|<=|=|>|<)$/.test(value)) throw new QueryError(`A value was wanted after ${value}`);
    const test = name && sign ? condition(bare(name), sign, bare(value), data, scores, said) : anywhere(bare(value), data);
    sides[sides.length - 1].push(no ? (row) => !test(row) : test);
  }
  if (sides.length === 1 && !sides[0].length) return undefined;
  if (sides.some((tests) => !tests.length)) throw new QueryError("There must be something on both sides of “or”.");
  const found = new Uint8Array(data.n);
  for (let row = 0; row < data.n; row++) found[row] = sides.some((tests) => tests.every((test) => test(row))) ? 1 : 0;
  return found;
}

/** Does what the query finds depend on what is said of rows? */
export const turnsWithMarks = (query: string) => /(^|[\s-])(missing:)?(mark|tags|note|by)\b/i.test(query);

/** Does what the query finds depend on t? */
export const turnsWithT = (query: string) => /(^|[\s-])centrality(!=|[<>=])/i.test(query);

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
    const { values } = column;
    const wanted = word.trim() ? alike(values, Number(word)) : NaN;
    return (row) => values[row] === wanted && (Number.isSafeInteger(wanted) || !/^[+-]?\d+$/.test(word) || column.cell(row) === word);
  }
  return (row) => column.cell(row).toLowerCase().includes(small);
}

/** A number as the column would hold it: in float32, one that was typed has its nearest. */
const alike = (values: Column["values"], wanted: number) => (values instanceof Float32Array ? Math.fround(wanted) : wanted);

/** A moment as it is typed, in UTC like all that the page shows. */
const moment = (text: string) => Date.parse(/\d[ T]\d+:\d+(:[\d.]+)?$/.test(text) ? `${text.replace(" ", "T")}Z` : text);

/** Scores can be asked for like columns, unless a column has their name. */
function scored(name: string, data: Data, scores?: Scores): ((row: number) => number) | undefined {
  const t = ["global", "local"].indexOf(name);
  if (t >= 0) {
    const f = mixer(data.mixing, t);
    return (row) => f(data.g[row], data.l[row]);
  }
  return name === "centrality" && scores ? (row) => scores.f[row] : undefined;
}

function condition(name: string, sign: string, value: string, data: Data, scores: Scores | undefined, said: Column[]): Test {
  const named = (wanted: string) => [...data.columns, ...said].find((c) => c.name.toLowerCase() === wanted.toLowerCase());
  const column = named(name);
  const empty = column || name.toLowerCase() !== "missing" || sign !== ":" ? undefined : named(value);
  if (empty) return (row) => !empty.cell(row);
  const score = column ? undefined : scored(name.toLowerCase(), data, scores);
  if (score) {
    const wanted = Number(value);
    if (isNaN(wanted) || sign === ":") throw new QueryError(`A number was wanted, as in ${name}<0.1, not “${name}${sign}${value}”.`);
    return (row) => compare(score(row), sign, wanted);
  }
  if (!column) {
    const there = data.columns.slice(0, 6).map((c) => c.name);
    throw new QueryError(`There is no column “${/^missing$/i.test(name) ? value : name}”. There are: ${there.join(", ") || "none"}.`);
  }
  if (sign === ":") return holds(column, value);
  if (column.kind === "number" || column.kind === "date") {
    const values = column.values!;
    const wanted = column.kind === "date" ? moment(value) : alike(values, Number(value));
    if (isNaN(wanted)) throw new QueryError(`A ${column.kind} was wanted after ${name}${sign}, not “${value}”.`);
    if (column.kind === "number" && /^[+-]?\d+$/.test(value) && !Number.isSafeInteger(wanted)) return byDigits(column, sign, BigInt(value));
    return (row) => compare(values[row], sign, wanted);
  }
  const small = value.toLowerCase();
  return (row) => compare(column.text(row).toLowerCase(), sign, small);
}

/** Whole numbers that are too long for floating point, by their digits. */
const byDigits = (column: Column, sign: string, wanted: bigint): Test => (row) => {
  const text = column.cell(row);
  return /^[+-]?\d+$/.test(text) && compare(BigInt(text), sign, wanted);
};

function compare<T extends number | string | bigint>(a: T, sign: string, b: T): boolean {
  if (sign === "=") return a === b;
  if (sign === "!=") return a !== b;
  if (sign === ">") return a > b;
  if (sign === "<") return a < b;
  return sign === ">=" ? a >= b : a <= b;
}
