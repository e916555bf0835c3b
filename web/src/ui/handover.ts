// Who marks, and where marks go: a file of them, a page with them inside, and back again from either.

import type { App } from "../app";
import { plural } from "../core/words";
import { h, icon, on } from "./dom";
import { save } from "./save";

export class Handover {
  readonly element: HTMLElement;
  readonly #kept = h("span.said");

  constructor(private readonly app: App) {
    const { marks, host } = app;
    const name = h("input", { type: "text", placeholder: "Your name, for the file", label: "Your name, for the file of marks", value: marks.by, maxlength: 80 });
    on(name, { change: () => (marks.by = name.value.trim()) });
    const file = h("input", { type: "file", accept: ".csv,.html", label: "A file of marks, or a page with marks in it", hidden: true });
    on(file, { change: () => void this.#take(file) });
    this.element = h("div.handover", name, h("div.row",
      h("button", { onclick: () => save("marks.csv", new Blob([marks.csv()], { type: "text/csv" })) }, icon("save"), " Marks as CSV"),
      host.page && h("button", { onclick: () => save("page.html", new Blob([host.page!(marks.all())], { type: "text/html" })) }, icon("save"), " Page with marks"),
      host.marks.take && h("button", { onclick: () => file.click() }, "Take marks from a file"), file), this.#kept);
  }

  show(): void {
    const { marks, host } = this.app;
    const elsewhere = marks.missing ? `; ${plural(marks.missing, "mark")} of rows that are not here, kept as well` : "";
    this.#kept.textContent = marks.trouble ? "not kept, see above" : `${host.marks.where}${elsewhere}`;
  }

  async #take(input: HTMLInputElement): Promise<void> {
    const { app } = this;
    try {
      await app.host.marks.take!(input.files![0]);
      await app.marks.refresh();
      app.flash("The marks of this file are here now");
    } catch (error) {
      app.flash(`Nothing was taken over: ${(error as Error).message}`);
    }
    input.value = "";
  }
}
