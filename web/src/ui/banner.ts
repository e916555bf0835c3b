// What must not be overlooked: marks that are not kept, why, and what to do about it.

import type { App, Changed, Part } from "../app";
import { h } from "./dom";
import { save } from "./save";
import { plural } from "../core/words";

export class Banner implements Part {
  readonly element: HTMLElement;
  readonly #said = h("p");

  constructor(private readonly app: App) {
    this.element = h("div.unkept", { role: "alert", hidden: true }, this.#said,
      h("button", { onclick: () => void app.marks.refresh() }, "Try again"),
      h("button", { onclick: () => save("marks.csv", new Blob([app.marks.csv()], { type: "text/csv" })) }, "Save marks as CSV"));
  }

  update(changed: Changed): void {
    if (!changed.has("marks")) return;
    const { trouble, unsent } = this.app.marks;
    this.element.hidden = !trouble;
    if (!trouble) return;
    const what = unsent ? `${plural(unsent, "mark")} ${unsent > 1 ? "are" : "is"} not kept` : "What you mark will not be kept";
    const text = `${what}. ${trouble} ${unsent ? "This page holds on to what you say and sends it again until it is kept." : ""}`;
    if (this.#said.textContent !== text) this.#said.textContent = text;
  }
}
