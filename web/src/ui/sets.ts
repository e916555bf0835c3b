// Selections with a name, kept in the browser, to come back to.

import type { App } from "../app";
import { h } from "./dom";
import { plural } from "../core/words";

type Kept = Record<string, number[]>;
const MOST = 50_000; // rows that a browser is asked to keep

export class Sets {
  readonly element = h("div.sets");
  readonly #name = h("input", { type: "text", placeholder: "Name it to keep it", label: "Name of the selection", maxlength: 60 });
  readonly #key: string;
  #kept: Kept = {};

  constructor(private readonly app: App) {
    this.#key = `centrality sets ${app.data.print}`;
    try {
      this.#kept = JSON.parse(localStorage.getItem(this.#key) ?? "{}") as Kept;
    } catch {
      // this browser keeps nothing for pages like this one
    }
    this.#name.addEventListener("change", () => this.#keep());
    this.show();
  }

  get any(): boolean {
    return Object.keys(this.#kept).length > 0;
  }

  show(): void {
    const { selection } = this.app.state;
    this.#name.hidden = !selection.length || selection.length > MOST;
    this.element.replaceChildren(this.#name, ...Object.entries(this.#kept).map(([name, rows]) => h("span.set",
      h("button.small", { title: plural(rows.length, "row"), onclick: () => this.app.set({ selection: Uint32Array.from(rows) }) }, name),
      h("button.plain", { label: `Forget ${name}`, onclick: () => this.#change(name) }, "×"))));
  }

  #keep(): void {
    const name = this.#name.value.trim();
    if (name) this.#change(name, [...this.app.state.selection]);
    this.#name.value = "";
  }

  #change(name: string, rows?: number[]): void {
    const others = Object.entries(this.#kept).filter(([other]) => other !== name);
    this.#kept = Object.fromEntries(rows ? [...others, [name, rows]] : others);
    try {
      localStorage.setItem(this.#key, JSON.stringify(this.#kept));
    } catch {
      this.app.announce("This browser keeps it only until the page is closed.");
    }
    this.show();
  }
}
