// The selected rows: how many, how central, in what they differ from the others; and their way out.

import { any, type App, type Changed, type Part, percent, score, short } from "./app";
import { type Column, many } from "./data";
import { h, icon } from "./dom";
import { heads } from "./faces";

export class Selection implements Part {
  readonly element = h("section.selection", { "aria-label": "Selection", hidden: true });

  constructor(private readonly app: App) {}

  update(changed: Changed): void {
    const { selection } = this.app.state;
    this.element.hidden = !selection.length;
    if (!selection.length || !any(changed, "selection", "t")) return;
    const { app } = this;
    const sorted = Float64Array.from(selection, (row) => app.scores.value(row)).sort();
    const middle = sorted[sorted.length >> 1];
    const fact = (name: string, value: string) => [h("dt", name), h("dd", value)];
    const count = selection.length;
    this.element.replaceChildren(
      h("h2", "Selected", h("span.said", `${many(count)} rows, ${percent(count / app.data.n)}`)),
      h("dl", ...fact("median centrality", score(middle)),
        ...fact("from, to", `${score(sorted[0])}, ${score(sorted[count - 1])}`),
        ...this.#differences().flatMap(([name, text]) => fact(name, text))),
      h("div.row", {},
        h("button", { onclick: () => this.#save() }, icon("save"), " CSV"),
        app.host.select && h("span.said", "in Python: widget.selection"),
        h("button.plain", { onclick: () => app.set({ selection: new Uint32Array() }) }, "clear")));
  }

  /** The columns in which the selection differs most from all rows, in deviations or in shares. */
  #differences(): [string, string][] {
    const found: [number, string, string][] = [];
    for (const column of this.app.data.columns) {
      const difference = column.levels ? this.#byLevel(column) : column.values ? this.#byMean(column) : undefined;
      if (difference) found.push([difference[0], column.name, difference[1]]);
    }
    return found.sort((a, b) => b[0] - a[0]).slice(0, 4).map(([, name, text]) => [name, text]);
  }

  #byMean(column: Column): [number, string] | undefined {
    const values = column.values!;
    const all = moments(values, values.length, (i) => i);
    const { selection } = this.app.state;
    const here = moments(values, selection.length, (i) => selection[i]);
    if (!all.deviation || !here.count) return undefined;
    const by = Math.abs(here.mean - all.mean) / all.deviation;
    const text = (v: number) => (column.kind === "date" ? new Date(v).toISOString().slice(0, 10) : short(v));
    return by > 0.2 ? [by, `${text(here.mean)} on average, ${text(all.mean)} overall`] : undefined;
  }

  #byLevel(column: Column): [number, string] | undefined {
    const shares = (count: number, row: (i: number) => number) => {
      const out = new Float64Array(column.levels!.length + 1);
      for (let i = 0; i < count; i++) out[column.values![row(i)]] += 1 / count;
      return out;
    };
    const all = shares(this.app.data.n, (i) => i);
    const { selection } = this.app.state;
    const here = shares(selection.length, (i) => selection[i]);
    let best = 1;
    for (let k = 1; k < all.length; k++) if (here[k] - all[k] > here[best] - all[best]) best = k;
    const by = here[best] - all[best];
    return by > 0.1 ? [4 * by, `${column.levels![best - 1]} ${percent(here[best])}, ${percent(all[best])} overall`] : undefined;
  }

  #save(): void {
    const { app } = this;
    const { data, state } = app;
    const cell = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const head = ["row", "global", "local", `centrality_${short(state.t)}`, ...data.columns.map((c) => c.name)];
    const lines = Array.from(state.selection, (row) => [
      data.id(row), ...heads(app, row).map(plain), plain(app.scores.value(row)),
      ...data.columns.map((c) => (c.kind === "number" ? plain(c.values![row]) : c.text(row))),
    ].map((value) => cell(String(value))).join(","));
    const file = new Blob([[head.map(cell).join(","), ...lines, ""].join("\n")], { type: "text/csv" });
    const link = h("a", { href: URL.createObjectURL(file), download: "selection.csv" });
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }
}

const plain = (value: number) => (Number.isNaN(value) ? "" : String(Number(value.toPrecision(7))));

function moments(values: ArrayLike<number>, count: number, row: (i: number) => number) {
  let [there, sum, squares] = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    const v = values[row(i)];
    if (Number.isNaN(v)) continue;
    there++;
    sum += v;
    squares += v * v;
  }
  const mean = sum / there;
  return { count: there, mean, deviation: Math.sqrt(Math.max(0, squares / there - mean * mean)) };
}
