// More like this: the rows most like one, by all of it or by one part, as they look.

import type { App } from "../app";
import { blocksOf } from "../core/parts";
import { score } from "../core/words";
import type { Copies } from "./copies";
import { h } from "./dom";
import { face } from "./faces";
import type { Answers } from "./why";

interface Asked {
  part: string;
  rows: number[];
  said: string; // while there is no answer, and if there is none
}

/** What stands below a row about others: those that are like it, and its copies. */
export class Alike {
  readonly #asked = new Map<number, Asked>(); // by row

  constructor(
    private readonly app: App,
    private readonly answers: Answers,
    private readonly copies: Copies,
  ) {}

  /** Buttons that ask, with what was answered, and copies; `again` shows it anew. */
  of(row: number, again: () => void): HTMLElement {
    const { app } = this;
    const near = this.answers.now(row)?.near.slice(1) ?? [];
    const choices = app.data.alike ? ["", ...blocksOf(app.data).map(({ name }) => name)] : near.length ? [""] : [];
    const asked = this.#asked.get(row);
    const button = (part: string) => h("button.small", { "aria-pressed": String(asked?.part === part), onclick: () => void this.#ask(row, part, near, again) }, part || "as a whole");
    return h("div.others", choices.length > 0 && h("div.row", h("span.said", "More like this:"), ...choices.map(button)),
      asked?.said && h("p.said", { role: "status" }, asked.said), asked && this.#list(asked.rows), this.copies.of(row, again));
  }

  #list(rows: number[]): HTMLElement | "" {
    const { app } = this;
    if (!rows.length) return "";
    return h("div", h("ol.cards.alike", { label: "Rows like this one" }, ...rows.map((row) =>
      h("li", h("button.card", { onclick: () => app.set({ pinned: row }) }, face(app, row), h("span.foot", `row ${app.data.id(row)} `, h("b", score(app.scores.f[row]))))))),
      h("button.small", { onclick: () => app.set({ selection: Uint32Array.from(rows).sort(), table: "gallery" }) }, "Select them"));
  }

  async #ask(row: number, part: string, near: number[], again: () => void): Promise<void> {
    const { data, host } = this.app;
    const put = (rows: number[], said = "") => {
      this.#asked.set(row, { part, rows, said });
      again();
    };
    if (!data.alike) return put(near);
    put([], "Comparing all rows …");
    await host.ask!<number[]>("alike", row, part).then(put, (error: Error) => put([], error.message));
  }
}
