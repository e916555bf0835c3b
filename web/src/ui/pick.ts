// A few of many rows: the host picks the most typical or the oddest, some that stand for all, or those to label first.

import type { App } from "../app";
import { plural } from "../core/words";
import { h } from "./dom";

const KINDS: [string, string][] = [["diverse", "that cover all"], ["representative", "that cover all but outliers"], ["typical", "most typical"],
  ["odd", "oddest"], ["to label", "to label first"]];

export class Pick {
  readonly element: HTMLElement;
  readonly #count = h("input", { type: "number", min: 1, value: 100, label: "How many rows to pick" });
  readonly #what = h("select.small", { label: "Which rows to pick" }, ...KINDS.map(([value, name]) => h("option", { value }, name)));
  readonly #by: HTMLSelectElement;
  readonly #said = h("span.said", { role: "status" });

  /** `rows` are those to pick from. */
  constructor(
    private readonly app: App,
    private readonly rows: () => ArrayLike<number>,
  ) {
    const groups = app.data.columns.filter(({ kind }) => kind === "category");
    this.#by = h("select.small", { label: "Share them by a column" }, h("option", { value: "" }, "of all together"),
      ...groups.map(({ name }) => h("option", { value: name }, `by ${name}`)));
    this.#by.hidden = !groups.length;
    this.element = app.data.jobs && app.host.ask
      ? h("div.row.pick", h("button.small", { onclick: () => void this.#pick() }, "Pick"), this.#count, this.#what, this.#by, this.#said)
      : h("p.said.pick", "Picking a few of them needs centrality explore or a notebook.");
  }

  async #pick(): Promise<void> {
    const { app } = this;
    const rows = Array.from(this.rows());
    this.#said.textContent = "Picking …";
    try {
      const given = { rows, k: Math.min(rows.length, Number(this.#count.value)), what: this.#what.value, by: this.#by.value, t: app.state.t };
      const picked = await app.host.ask!<number[]>("pick", 0, given);
      app.set({ selection: Uint32Array.from(picked).sort() });
      this.#said.textContent = "";
      app.flash(`${plural(picked.length, "row")} of ${rows.length} picked: they are selected now`);
    } catch (error) {
      this.#said.textContent = (error as Error).message;
    }
  }
}
