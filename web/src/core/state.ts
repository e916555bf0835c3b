// What the reader has chosen: all of it, so that a link can bring it back.

import type { Ranges } from "./ranges";

export const PANELS = ["findings", "review", "ranking", "columns", "compare"] as const;
export type Panel = (typeof PANELS)[number];
export const [NONE, EVERY] = [-1, -2]; // no finding, and all of them

export interface State {
  t: number;
  x: number; // the middle of what is seen, in map units
  y: number;
  zoom: number;
  colour: string; // "f", "move", "mark", "tags", or "=" and a column's name
  query: string;
  brush: [number, number] | null; // of scores
  ranges: Ranges; // of columns
  rule: "" | "share" | "fdr";
  level: number; // of the rule
  panel: Panel;
  cause: number; // the finding that is open, and whose rows are reviewed; EVERY for all findings, or NONE
  a: string; // the two groups that are compared, as `core/sides.ts` spells them
  b: string;
  list: "ends" | "moves" | "differ"; // the last: where two models disagree
  by: string; // a column by which the ends of the ranking are told group by group, or ""
  table: "" | "table" | "gallery";
  theme: "" | "light" | "dark";
  groups: "names" | "lines" | "off"; // what is drawn of dense places: their names, lines around them as well
  pinned: number; // a row, or -1
  selection: Uint32Array;
}

export type Key = keyof State | "marks" | "map" | "findings" | "lit"; // what is said of rows, where they lie, what is wrong and what is lit up change as well
export type Changed = Set<Key>;
export const any = (changed: Changed, ...keys: Key[]) => keys.some((key) => changed.has(key));

const LONGEST = 8000; // characters of selected rows in a link: what mail programs and chats let through

export const beginning = (t: number): State => ({
  t,
  x: 0,
  y: 0,
  zoom: 1,
  colour: "f",
  query: "",
  brush: null,
  ranges: {},
  rule: "",
  level: 0.05,
  panel: "findings",
  cause: NONE,
  a: "",
  b: "",
  list: "ends",
  by: "",
  table: "",
  theme: "",
  groups: "names",
  pinned: -1,
  selection: new Uint32Array(),
});

/** The part of a link after #: only what differs from the beginning, and the selection if it is not too long for it. */
export function written(state: State, first: State, longest = LONGEST): string {
  const out = new URLSearchParams();
  const round = (v: number) => String(Number(v.toPrecision(6)));
  if (state.t !== first.t) out.set("t", round(state.t));
  if (state.zoom !== 1 || state.x || state.y) out.set("at", [state.x, state.y, state.zoom].map(round).join("_"));
  if (state.brush) out.set("brush", state.brush.map(round).join("_"));
  if (Object.keys(state.ranges).length) out.set("ranges", JSON.stringify(state.ranges));
  if (state.rule) out.set("rule", `${state.rule}_${round(state.level)}`);
  if (state.pinned >= 0) out.set("row", String(state.pinned));
  if (state.cause !== NONE) out.set("cause", String(state.cause));
  for (const key of ["colour", "query", "panel", "a", "b", "list", "by", "table", "theme", "groups"] as const) {
    if (state[key] !== first[key]) out.set(key, state[key]);
  }
  const rows = runs(state.selection, longest);
  if (rows && rows.length <= longest) out.set("rows", rows);
  return out.toString();
}

/** Are there too many selected rows, too far apart, for a link to hold them? */
export const tooMany = (selection: Uint32Array) => runs(selection, LONGEST).length > LONGEST;

/** Rising numbers as text: the step to each from the one before, and after a minus how many follow it one by one. */
function runs(rows: Uint32Array, longest: number): string {
  const parts: string[] = [];
  let end = 0; // of the run before
  for (let i = 0; i < rows.length; ) {
    let j = i;
    while (j + 1 < rows.length && rows[j + 1] === rows[j] + 1) j++;
    parts.push((rows[i] - end).toString(36) + (j > i ? `-${(j - i).toString(36)}` : ""));
    end = rows[j];
    i = j + 1;
    if (parts.length > longest) break; // too many already
  }
  return parts.join(".");
}

function rowsOf(text: string, n: number): Uint32Array {
  const rows: number[] = [];
  let last = 0;
  for (const part of text.split(".").filter(Boolean)) {
    const [step, more] = part.split("-").map((digits) => parseInt(digits, 36));
    last += step;
    const end = last + (more || 0);
    if (!(step >= 0 && end < n)) break; // made for other data
    for (let row = last; row <= end; row++) rows.push(row);
    last = end;
  }
  return Uint32Array.from(rows);
}

/** The state that a link describes; what makes no sense in it is left at its beginning. */
export function readBack(text: string, first: State, n: number): State {
  const given = new URLSearchParams(text);
  const numbers = (key: string) => (given.get(key) ?? "").split("_").map(Number);
  const state = { ...first };
  const within = (v: number, low: number, high: number) => v >= low && v <= high;
  const t = Number(given.get("t") ?? NaN);
  if (within(t, 0, 1)) state.t = t;
  const [x, y, zoom] = numbers("at");
  if (within(x, -50, 50) && within(y, -50, 50) && within(zoom, 0.01, 1e4)) Object.assign(state, { x, y, zoom });
  const [low, high] = numbers("brush");
  if (given.has("brush") && low < high) state.brush = [low, high];
  const [rule, level] = (given.get("rule") ?? "").split("_");
  if ((rule === "share" || rule === "fdr") && within(Number(level), 0, 1)) {
    Object.assign(state, { rule, level: Number(level) });
  }
  const row = Number(given.get("row") ?? -1);
  if (Number.isInteger(row) && within(row, 0, n - 1)) state.pinned = row;
  state.colour = given.get("colour") ?? first.colour;
  state.query = given.get("query") ?? "";
  state.panel = oneOf(given.get("panel"), [first.panel, ...PANELS]);
  const cause = Number(given.get("cause") ?? NONE);
  if (Number.isInteger(cause) && cause >= EVERY) state.cause = cause;
  [state.a, state.b] = [given.get("a") ?? first.a, given.get("b") ?? first.b];
  state.groups = oneOf(given.get("groups"), ["names", "lines", "off"]);
  state.list = oneOf(given.get("list"), ["ends", "moves", "differ"]);
  state.by = given.get("by") ?? "";
  state.table = oneOf(given.get("table"), [first.table, "", "table", "gallery"]);
  state.theme = oneOf(given.get("theme"), ["", "light", "dark"]);
  state.ranges = rangesOf(given.get("ranges"));
  state.selection = rowsOf(given.get("rows") ?? "", n);
  return state;
}

/** The value if it is one of these, else the first of them. */
const oneOf = <T extends string>(value: string | null, known: T[]): T => known.find((one) => one === value) ?? known[0];

function rangesOf(text: string | null): Ranges {
  try {
    const given = Object.entries(JSON.parse(text ?? "{}") as object) as [string, unknown][];
    const numbers = (value: unknown): value is number[] => Array.isArray(value) && value.every((v) => typeof v === "number");
    return Object.fromEntries(given.filter((pair): pair is [string, number[]] => numbers(pair[1])));
  } catch {
    return {};
  }
}
