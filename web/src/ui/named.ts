// Things with a name that the browser keeps, to come back to by a click: views, and selections.

import type { App } from "../app";
import { keep, keptJson } from "../host/kept";
import { h, on } from "./dom";

export class Named<T> {
  readonly name: HTMLInputElement;
  readonly list = h("div.set-list");
  #kept: Record<string, T>;

  /** `now` is what gets the name, `open` brings back what has it, `told` says more of it. */
  constructor(
    private readonly app: App,
    private readonly key: string,
    what: string,
    private readonly now: () => T,
    private readonly open: (kept: T) => void,
    private readonly told: (kept: T) => string = () => "",
  ) {
    this.#kept = keptJson<Record<string, T>>(key, {});
    this.name = h("input", { type: "text", placeholder: `Name this ${what} to keep it`, label: `Name of this ${what}`, maxlength: 60 });
    on(this.name, { change: () => this.#keep() });
    this.#show();
  }

  get any(): boolean {
    return Object.keys(this.#kept).length > 0;
  }

  #show(): void {
    this.list.replaceChildren(...Object.entries(this.#kept).map(([name, kept]) => h("span.set",
      h("button.small", { title: this.told(kept), onclick: () => this.open(kept) }, name),
      h("button.plain", { label: `Forget ${name}`, onclick: () => this.#change(name) }, "×"))));
  }

  #keep(): void {
    const name = this.name.value.trim();
    if (name) this.#change(name, this.now());
    this.name.value = "";
  }

  #change(name: string, thing?: T): void {
    const others = Object.entries(this.#kept).filter(([other]) => other !== name);
    this.#kept = Object.fromEntries(thing === undefined ? others : [...others, [name, thing]]);
    if (!keep(this.key, JSON.stringify(this.#kept))) this.app.announce("This browser keeps it only until the page is closed.");
    this.#show();
  }
}
