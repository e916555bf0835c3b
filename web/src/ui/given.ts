// Which columns are given, so that each row is compared with its kind; the host fits the model anew for others.

import type { App } from "../app";
import { h } from "./dom";

export class Given {
  readonly element = h("details.given");
  readonly #said = h("p.said", { role: "status" });
  readonly #fit = h("button.small", { onclick: () => void this.#again() });
  readonly #boxes: HTMLInputElement[];

  constructor(private readonly app: App) {
    const { given, mayBeGiven } = app.data;
    const able = mayBeGiven.length > 1 && app.host.again ? mayBeGiven : [];
    this.#boxes = able.map((value) => h("input", { type: "checkbox", value, checked: given.includes(value), onchange: () => this.#show() }));
    this.element.hidden = !given.length && !able.length;
    this.element.append(h("summary", "Given ", h("b", given.join(", ") || "nothing")),
      h("p.said", given.length ? "Each row is compared with its kind: rows that are alike in these columns." :
        "Each row is compared with all others. Given a column, it is compared with rows that are alike in it: odd for its kind."),
      h("div.choices", ...this.#boxes.map((box) => h("label", box, box.value))),
      able.length ? this.#fit : "", this.#said);
    this.#show();
  }

  get #chosen(): string[] {
    return this.#boxes.filter((box) => box.checked).map((box) => box.value);
  }

  #show(): void {
    const { given } = this.app.data;
    const chosen = this.#chosen;
    this.#fit.textContent = chosen.length ? `Fit again, given ${chosen.join(", ")}` : "Fit again, given nothing";
    this.#fit.disabled = chosen.length === this.#boxes.length || (chosen.length === given.length && chosen.every((name) => given.includes(name)));
  }

  async #again(): Promise<void> {
    this.#fit.disabled = true;
    this.#said.textContent = "Fitting a model to these rows … (the file of the model stays as it is)";
    try {
      await this.app.host.again!(this.#chosen);
    } catch (error) {
      this.#said.textContent = (error as Error).message;
      this.#show();
    }
  }
}
