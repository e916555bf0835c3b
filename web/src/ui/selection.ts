// The selected rows: how many, how central, in what they differ from the others; and their way out.

import { any, type App, type Changed, type Part } from "../app";
import { differences } from "../core/differences";
import { h, icon } from "./dom";
import { heads } from "./faces";
import { save } from "./save";
import { certify } from "./why";
import { csv, percent, plain, plural, score, short } from "../core/words";

export class Selection implements Part {
  readonly element = h("section.selection", { label: "Selection", hidden: true });

  readonly #wrong = h("p.wrong", { role: "alert" });

  constructor(private readonly app: App) {}

  update(changed: Changed): void {
    const { app } = this;
    const { selection } = app.state;
    this.element.hidden = !selection.length;
    if (!selection.length || !any(changed, "selection", "t")) return;
    this.#wrong.textContent = "";
    const sorted = Float64Array.from(selection, (row) => app.scores.f[row]).sort();
    const middle = sorted[sorted.length >> 1];
    const fact = (name: string, value: string) => [h("dt", name), h("dd", value)];
    const count = selection.length;
    this.element.replaceChildren(
      h("h2", "Selected", h("span.said", `${plural(count, "row")}, ${percent(count / app.data.n)}`)),
      h("dl", ...fact("median score", score(middle)),
        ...fact("from, to", `${score(sorted[0])}, ${score(sorted[count - 1])}`),
        ...differences(app.data, selection).slice(0, 4).flatMap(({ column, text }) => fact(column.name, text))),
      certify(app, selection),
      h("div.row", {},
        h("button", { onclick: () => this.#save() }, icon("save"), " CSV"),
        h("button", { onclick: () => app.set({ panel: "compare", a: "selected", b: "" }) }, "Compare"),
        app.host.python && h("span.said", "in Python: widget.selection"),
        h("button.plain", { onclick: () => app.set({ selection: new Uint32Array() }) }, "clear")),
      this.#wrong);
  }

  /** Cells leave as they came: the host has them, or the page itself if it was exported. */
  #save(): void {
    const { app } = this;
    const rows = Array.from(app.state.selection);
    const text = app.host.ask?.<string>("selection", 0, { rows, t: app.state.t }) ?? Promise.resolve(this.#written(rows));
    text.then((lines) => save("selection.csv", new Blob([lines], { type: "text/csv" })),
      (error: Error) => (this.#wrong.textContent = `Not saved: ${error.message}`));
  }

  #written(rows: number[]): string {
    const { app } = this;
    const { data, state } = app;
    const name = state.t === data.t ? "centrality" : `centrality_t${short(100 * state.t).replace(".", "_")}`;
    const names = new Set(data.columns.map((c) => c.name));
    const head = ["row", "global", "local", name].map((own) => (names.has(own) ? `centrality ${own}` : own));
    return csv([[...head, ...names], ...rows.map((row) => [
      data.id(row), ...[...heads(app, row), app.scores.f[row]].map((f) => plain(f, false)), ...data.columns.map((c) => c.cell(row)),
    ])]);
  }
}
