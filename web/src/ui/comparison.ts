// Two groups of rows side by side, A and B: how many, how central, and in which columns they differ, in words with counts.

import { any, type App, type Changed, type Part } from "../app";
import { differences } from "../core/differences";
import { rowsOf, type Side, sidesOf, without } from "../core/sides";
import { many, percent, plural, score } from "../core/words";
import type { Said } from "../host/marks";
import { h, on } from "./dom";

const MOST = 12; // differences that are told

export class Comparison implements Part {
  readonly element = h("section.comparison", { label: "Compare two groups" });
  readonly #a = h("select", { label: "Group A" });
  readonly #b = h("select", { label: "Group B" });
  readonly #told = h("div.told", { role: "status" });

  constructor(private readonly app: App) {
    on(this.#a, { change: () => app.set({ a: this.#a.value }) });
    on(this.#b, { change: () => app.set({ b: this.#b.value }) });
    this.element.append(h("h2", "Compare"), h("label.side", h("b.of-a", "A"), this.#a), h("label.side", h("b.of-b", "B"), this.#b), this.#told);
  }

  update(changed: Changed): void {
    if (!any(changed, "panel", "a", "b", "selection", "findings", "marks", "t")) return;
    const { app } = this;
    const known = { data: app.data, checked: app.checked, selection: app.state.selection, marked: (mark: string) => app.marks.rows(mark as Said) };
    const sides = sidesOf(known);
    const a = sides.find(({ id }) => id === app.state.a) ?? sides[0];
    const b = sides.find(({ id }) => id === app.state.b && id !== a?.id);
    this.#fill(this.#a, sides, a?.id ?? "", "choose some rows first");
    this.#fill(this.#b, sides, b?.id ?? "", "all other rows");
    const rows = a && rowsOf(a.id, known);
    if (!rows) return this.#told.replaceChildren(h("p.none", "Select rows on the map, mark some, or open a finding: then they can be compared here."));
    this.#tell(rows, b ? rowsOf(b.id, known)! : without(rows, app.data.n));
  }

  #fill(select: HTMLSelectElement, sides: Side[], chosen: string, none: string): void {
    const first = select === this.#b || !sides.length ? [h("option", { value: "" }, none)] : [];
    select.replaceChildren(...first, ...sides.map(({ id, name }) => h("option", { value: id }, name)));
    select.value = chosen;
  }

  #tell(a: Uint32Array, b: Uint32Array): void {
    const { app } = this;
    const found = differences(app.data, a, b).slice(0, MOST);
    const lit = { rows: a, name: `A: ${plural(a.length, "row")}` };
    app.light(lit);
    const line = (name: string, rows: Uint32Array, kind: string) =>
      h("button.group", { onclick: () => app.set({ selection: rows }), onpointerenter: () => app.light({ rows, name }), onpointerleave: () => app.light(lit) },
        h(`b.${kind}`, kind === "of-a" ? "A" : "B"), ` ${plural(rows.length, "row")}, ${percent(rows.length / app.data.n)}; median score ${this.#middle(rows)}`);
    const inB = new Uint8Array(app.data.n);
    for (const row of b) inB[row] = 1;
    const both = a.reduce((count, row) => count + inB[row], 0);
    this.#told.replaceChildren(
      line(`A: ${plural(a.length, "row")}`, a, "of-a"), line(`B: ${plural(b.length, "row")}`, b, "of-b"),
      both ? h("p.said", `${plural(both, "row")} in both.`) : "",
      h("h3", found.length ? "Where A differs from B" : "No column tells them apart."),
      h("dl", ...found.flatMap(({ column, text }) => [h("dt", { title: column.name }, column.name), h("dd", text)])),
      found.length ? h("p.said", `${many(found.length)} of ${plural(app.data.columns.filter(({ values }) => values).length, "column")}; the largest differences first.`) : "");
  }

  #middle(rows: Uint32Array): string {
    const sorted = Float64Array.from(rows, (row) => this.app.scores.f[row]).sort();
    return sorted.length ? score(sorted[sorted.length >> 1]) : "–";
  }
}
