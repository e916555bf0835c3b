// What the reader has chosen: all of it, so that a link can bring it back.

export interface State {
  t: number;
  x: number; // the middle of what is seen, in map units
  y: number;
  zoom: number;
  colour: string; // "f", "move", or "=" and a column's name
  query: string;
  brush: [number, number] | null;
  rule: "" | "share" | "fdr";
  level: number; // of the rule
  list: "ends" | "moves";
  theme: "" | "light" | "dark";
  pinned: number; // a row, or -1
  selection: Uint32Array;
}

const MOST = 1000; // selected rows that still fit into a link

export const beginning = (t: number): State => ({
  t,
  x: 0,
  y: 0,
  zoom: 1,
  colour: "f",
  query: "",
  brush: null,
  rule: "",
  level: 0.05,
  list: "ends",
  theme: "",
  pinned: -1,
  selection: new Uint32Array(),
});

/** The part of a link after #: only what differs from the beginning. */
export function written(state: State, first: State): string {
  const out = new URLSearchParams();
  const round = (v: number) => String(Number(v.toPrecision(6)));
  if (state.t !== first.t) out.set("t", round(state.t));
  if (state.zoom !== 1 || state.x || state.y) out.set("at", [state.x, state.y, state.zoom].map(round).join("_"));
  if (state.brush) out.set("brush", state.brush.map(round).join("_"));
  if (state.rule) out.set("rule", `${state.rule}_${round(state.level)}`);
  if (state.pinned >= 0) out.set("row", String(state.pinned));
  for (const key of ["colour", "query", "list", "theme"] as const) {
    if (state[key] !== first[key]) out.set(key, state[key]);
  }
  const rows = state.selection;
  if (rows.length && rows.length <= MOST) {
    out.set("rows", Array.from(rows, (row, i) => (i ? row - rows[i - 1] : row).toString(36)).join("."));
  }
  return out.toString();
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
  if (within(x, -2, 2) && within(y, -2, 2) && within(zoom, 0.2, 1e4)) Object.assign(state, { x, y, zoom });
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
  if (given.get("list") === "moves") state.list = "moves";
  const theme = given.get("theme");
  if (theme === "light" || theme === "dark") state.theme = theme;
  let last = 0;
  const rows = (given.get("rows") ?? "").split(".").filter(Boolean).map((part) => (last += parseInt(part, 36)));
  state.selection = Uint32Array.from(rows.filter((r) => r >= 0 && r < n));
  return state;
}
