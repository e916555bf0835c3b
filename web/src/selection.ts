// The selected rows: how many, how central, in what they differ from the others; and their way out.

import { any, type App, type Changed, type Part } from "./app";
import { differences } from "./differences";
import { h, icon } from "./dom";
import { heads } from "./faces";
import { save } from "./save";
import { Sets } from "./sets";
import { csv, percent, plain, plural, score, short } from "./words";

export class Selection implements Part {
  readonly element = h("section.selection", { label: "Selection", hidden: true });

  readonly #sets: Sets;

  constructor(private readonly app: App) {
    this.#sets = new Sets(app);
  }

  update(changed: Changed): void {
    const { app } = this;
    const { selection } = app.state;
    this.element.hidden = !selection.length && !this.#sets.any;
    if (!any(changed, "selection", "t")) return;
    this.#sets.show();
    if (!selection.length) return this.element.replaceChildren(h("h2", "Selections"), this.#sets.element);
    const sorted = Float64Array.from(selection, (row) => app.scores.value(row)).sort();
    const middle = sorted[sorted.length >> 1];
    const fact = (name: string, value: string) => [h("dt", name), h("dd", value)];
    const count = selection.length;
    this.element.replaceChildren(
      h("h2", "Selected", h("span.said", `${plural(count, "row")}, ${percent(count / app.data.n)}`)),
      h("dl", ...fact("median centrality", score(middle)),
        ...fact("from, to", `${score(sorted[0])}, ${score(sorted[count - 1])}`),
        ...differences(app.data, selection).slice(0, 4).flatMap(({ column, text }) => fact(column.name, text))),
      h("div.row", {},
        h("button", { onclick: () => this.#save() }, icon("save"), " CSV"),
        app.host.python && h("span.said", "in Python: widget.selection"),
        h("button.plain", { onclick: () => app.set({ selection: new Uint32Array() }) }, "clear")),
      this.#sets.element);
  }

  #save(): void {
    const { app } = this;
    const { data, state } = app;
    const head = ["row", "global", "local", `centrality_${short(state.t)}`, ...data.columns.map((c) => c.name)];
    const lines = Array.from(state.selection, (row) => [
      data.id(row), ...heads(app, row).map(plain), plain(app.scores.value(row)),
      ...data.columns.map((c) => (c.kind === "number" ? plain(c.values![row]) : c.text(row))),
    ]);
    save("selection.csv", new Blob([csv([head, ...lines])], { type: "text/csv" }));
  }
}
