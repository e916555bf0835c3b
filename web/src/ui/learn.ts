// What marks teach: the host orders the rows that are left by them, and says how many outliers are likely among the next.

import type { App } from "../app";
import type { Learned } from "../core/header";
import { plural } from "../core/words";
import { h } from "./dom";

const FILE = "Learning from marks needs centrality explore or a notebook; of the saved marks, centrality refine learns.";

export class Learn {
  readonly element = h("div.learn", { hidden: true });
  order?: number[]; // of rows that were not marked, the likeliest outlier first
  readonly #said = h("p.said", { role: "status" });
  readonly #ask = h("button.small", { onclick: () => void this.#learn() });
  readonly #back = h("button.plain", { onclick: () => this.#forget() }, "order by score");
  #from = ""; // the marks that the order comes from

  /** `changed` is called when there is another order. */
  constructor(
    private readonly app: App,
    private readonly changed: () => void,
  ) {
    this.element.append(h("div.row", this.#ask, this.#back), this.#said);
  }

  show(): void {
    const { app } = this;
    const count = app.marks.count("outlier") + app.marks.count("fine");
    const able = app.data.jobs && !!app.host.ask;
    this.element.hidden = !count && !this.order;
    this.#ask.hidden = !able;
    if (!able) this.#said.textContent = FILE;
    const learned = this.order && this.#from === this.#marks();
    this.#ask.textContent = learned ? `Learned from ${plural(count, "mark")}` : `Learn from ${plural(count, "mark")}`;
    this.#ask.disabled = Boolean(learned) || !count;
    this.#back.hidden = !this.order;
  }

  #marks(): string {
    const { marks, state } = this.app;
    return JSON.stringify({ outlier: marks.rows("outlier"), fine: marks.rows("fine"), t: state.t });
  }

  async #learn(): Promise<void> {
    const from = this.#marks();
    this.#ask.disabled = true;
    this.#said.textContent = "Learning …";
    try {
      const { order, said } = await this.app.host.ask!<Learned>("review", 0, JSON.parse(from));
      [this.order, this.#from] = [order, from];
      this.#said.textContent = said;
      this.changed();
    } catch (error) {
      this.#said.textContent = (error as Error).message;
    }
    this.show();
  }

  #forget(): void {
    this.order = undefined;
    this.#said.textContent = "";
    this.changed();
    this.show();
  }
}
