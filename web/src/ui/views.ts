// Views with a name, kept in the browser, to come back to: everything that a link holds.

import type { App } from "../app";
import { readBack, written } from "../core/state";
import { h, on } from "./dom";

type Kept = Record<string, string>;

export class Views {
  readonly element: HTMLDetailsElement;
  readonly #list = h("div.set-list");
  readonly #name = h("input", { type: "text", placeholder: "Name this view to keep it", label: "Name of this view", maxlength: 60 });
  readonly #key: string;
  #kept: Kept = {};

  constructor(private readonly app: App) {
    this.#key = `centrality views ${app.data.title}`;
    try {
      this.#kept = JSON.parse(localStorage.getItem(this.#key) ?? "{}") as Kept;
    } catch {
      // this browser keeps nothing for pages like this one
    }
    on(this.#name, { change: () => this.#keep() });
    this.element = h("details.views", h("summary", "Views"), h("div.sheet-of-views", this.#list, this.#name));
    this.#show();
  }

  #show(): void {
    const names = Object.keys(this.#kept);
    this.#list.replaceChildren(...(names.length ? names.map((name) => h("span.set",
      h("button.small", { onclick: () => this.#open(name) }, name),
      h("button.plain", { label: `Forget ${name}`, onclick: () => this.#change(name) }, "×"))) : [h("p.none", "No view is kept yet.")]));
  }

  #open(name: string): void {
    this.app.set(readBack(this.#kept[name], this.app.first, this.app.data.n));
    this.element.open = false;
  }

  #keep(): void {
    const name = this.#name.value.trim();
    if (name) this.#change(name, written(this.app.state, this.app.first));
    this.#name.value = "";
  }

  #change(name: string, view?: string): void {
    const others = Object.entries(this.#kept).filter(([other]) => other !== name);
    this.#kept = Object.fromEntries(view === undefined ? others : [...others, [name, view]]);
    try {
      localStorage.setItem(this.#key, JSON.stringify(this.#kept));
    } catch {
      this.app.announce("This browser keeps it only until the page is closed.");
    }
    this.#show();
  }
}
