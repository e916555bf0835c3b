// Tags of the reader's own: typed once, then given and taken by a click.

import type { App } from "../app";
import { split } from "../host/marks";
import { h, on } from "./dom";

const MOST = 12; // tags that have a button

export class Tags {
  readonly element = h("div.tags");
  readonly #name = h("input", { type: "text", placeholder: "A tag of your own", label: "A tag of your own", maxlength: 60 });

  /** `rows` are those that get the tag. */
  constructor(
    private readonly app: App,
    private readonly rows: () => ArrayLike<number>,
  ) {
    on(app.untilEnter(this.#name), { change: () => this.#give(this.#name.value.replaceAll(";", ",").trim()) });
  }

  show(): void {
    const rows = this.rows();
    const first = rows.length ? split(this.app.marks.of(rows[0]).tags) : [];
    const known = [...new Set([...first, ...this.app.marks.tags])].slice(0, MOST);
    this.#name.disabled = !rows.length;
    this.element.replaceChildren(...known.map((name) => h("button.small", {
      "aria-pressed": String(rows.length === 1 && first.includes(name)), disabled: !rows.length, onclick: () => this.#give(name) }, name)), this.#name);
  }

  #give(name: string): void {
    if (!name) return;
    this.app.marks.tag(this.rows(), name);
    this.#name.value = "";
  }
}
