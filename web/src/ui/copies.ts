// Copies of a row: asked of the host, which compares all rows once; told with what differs, to be selected and marked.

import type { App } from "../app";
import type { CopiesOfRow } from "../core/header";
import { plural } from "../core/words";
import { h } from "./dom";

const SHOWN = 6; // numbers of rows that are told
type Known = CopiesOfRow[] | string; // or why there is no answer yet

export class Copies {
  readonly #known = new Map<number, Known>();

  constructor(private readonly app: App) {}

  /** A button that asks, or what was answered; `again` shows it anew. */
  of(row: number, again: () => void): HTMLElement | "" {
    const { app } = this;
    if (!app.data.jobs || !app.host.ask) return "";
    const known = this.#known.get(row);
    if (known === undefined) return h("p.copies", h("button.plain", { onclick: () => void this.#ask(row, again) }, "Find copies of this row"));
    if (typeof known === "string") return h("p.copies.said", { role: "status" }, known);
    if (!known.length) return h("p.copies.said", "No other row is a copy of it.");
    return h("ul.copies", ...known.map((group) => this.#told(group, row)));
  }

  #told({ kind, rows, differs }: CopiesOfRow, row: number): HTMLElement {
    const { app } = this;
    const others = rows.filter((other) => other !== row);
    const named = others.slice(0, SHOWN).flatMap((other, k) => [k ? ", " : "", h("button.plain", { onclick: () => app.set({ pinned: other }) }, String(app.data.id(other)))]);
    return h("li", h("b", kind), ` row${others.length > 1 ? "s" : ""} `, ...named, others.length > SHOWN ? ` and ${others.length - SHOWN} more` : "",
      differs && h("span.said", ` ${differs} `),
      h("button.small", { onclick: () => app.set({ selection: Uint32Array.from(rows).sort() }) }, `Select ${plural(rows.length, "row")}`));
  }

  async #ask(row: number, again: () => void): Promise<void> {
    this.#known.set(row, "Comparing all rows …");
    again();
    try {
      this.#known.set(row, await this.app.host.ask!<CopiesOfRow[]>("copies", row));
    } catch (error) {
      this.#known.set(row, (error as Error).message);
    }
    again();
  }
}
