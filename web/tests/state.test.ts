import { expect, test } from "vitest";

import { beginning, readBack, type State, tooMany, written } from "../src/core/state";

const first = beginning(0.5);
const there = (change: Partial<State>, n = 1000): State => readBack(written({ ...first, ...change }, first), first, n);

test("a page as it begins needs no link", () => {
  expect(written(first, first)).toBe("");
  expect(readBack("", first, 10)).toEqual(first);
});

test("a link brings everything back", () => {
  const chosen: State = {
    t: 0.25, x: -0.125, y: 0.5, zoom: 3, colour: "=home & garden", query: '"two words" a>3', brush: [0.25, 0.75],
    ranges: { "a~b": [1, 2.5], "kind &": [0, 3] }, rule: "fdr", level: 0.1, panel: "review", list: "moves", by: "home & garden", table: "gallery", theme: "dark", groups: "off", cause: -2, a: "finding 3", b: "=[\"kind\",\"barn\"]", pinned: 7, selection: Uint32Array.of(0, 3, 4, 999),
  };
  expect(there(chosen)).toEqual(chosen);
});

test.each<Partial<State>>([
  { t: 0 }, { x: 0.5 }, { zoom: 2 }, { rule: "share", level: 0.01 }, { pinned: 0 }, { theme: "light" },
  { selection: Uint32Array.of(0) }, { groups: "lines" }, { cause: 0 }, { a: "selected" }, { panel: "compare" }, { by: "kind" }, { list: "differ" },
])("and only what differs stands in it: %o", (change) => {
  expect(there(change)).toEqual({ ...first, ...change });
  expect(written({ ...first, ...change }, first).split("&")).toHaveLength(1);
});

test("a selection fits into a link while its runs do, a larger one is left out and that can be told", () => {
  const every = (step: number, n: number) => Uint32Array.from({ length: n }, (_, k) => step * k);
  expect(there({ selection: every(3, 4000) }, 20_000).selection).toEqual(every(3, 4000));
  expect(tooMany(every(3, 4000))).toBe(false);
  expect(there({ selection: every(1, 1_000_000) }, 1_000_000).selection.length).toBe(1_000_000); // one run
  expect(there({ selection: every(3, 5000) }, 20_000).selection).toHaveLength(0);
  expect(tooMany(every(3, 5000))).toBe(true);
  const kept = written({ ...first, selection: every(3, 5000) }, first, 400_000); // a view with a name has room for it
  expect(readBack(kept, first, 20_000).selection).toEqual(every(3, 5000));
});

test.each([
  "t=2", "t=-1", "t=x", "at=99_0_1", "at=0_0_0", "at=1", "at=a_b_c", "brush=0.7_0.3", "brush=", "rule=mine_0.1", "rule=fdr_7",
  "cause=-3", "cause=x", "groups=x", "row=10", "row=-2", "row=1.5", "list=all", "theme=pink", "rows=", "strange=1", "panel=x", "table=x", "ranges=x", "ranges=[1]", "ranges={\"a\":3}",
])("what makes no sense is left at its beginning: %s", (link) => expect(readBack(link, first, 10)).toEqual(first));

test("rows that are not there are not selected", () => {
  expect([...readBack("rows=1.2.z", first, 10).selection]).toEqual([1, 3]); // 1, 1 + 2, and 3 + 35
});
