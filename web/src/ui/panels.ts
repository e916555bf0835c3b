// The panels that share a place, one at a time: the review, the ranking, the columns.

import type { App, Changed, Part } from "../app";
import { h, on } from "./dom";
import type { State } from "../core/state";

export type Panel = Part & { element: HTMLElement };
type Name = State["panel"];
const NAMES: Record<Name, string> = { review: "Review", ranking: "Ranking", columns: "Columns", whatif: "What if" };

export class Panels implements Part {
  readonly element: HTMLElement;
  readonly #tabs: [Name, HTMLButtonElement][];
  readonly #late = new Set<Name>(); // panels that have missed a change while they were not seen

  constructor(
    private readonly app: App,
    private readonly panels: Partial<Record<Name, Panel>>,
  ) {
    const names = (Object.keys(NAMES) as Name[]).filter((name) => panels[name]);
    this.#tabs = names.map((name) => [name, h("button.tab", { role: "tab", onclick: () => app.set({ panel: name }) }, NAMES[name])]);
    const tabs = h("div.tabs", { role: "tablist", label: "Panels" }, ...this.#tabs.map(([, tab]) => tab));
    on(tabs, { keydown: (event) => this.#key(event) });
    for (const name of names) panels[name]!.element.setAttribute("role", "tabpanel");
    this.element = h("div.panels", tabs, ...names.map((name) => panels[name]!.element));
  }

  update(changed: Changed): void {
    const wanted = this.app.state.panel;
    const panel = this.panels[wanted] ? wanted : "review"; // a link may name one that is not here
    const everything: Changed = new Set([...(Object.keys(this.app.state) as (keyof State)[]), "marks"]);
    for (const [name, tab] of this.#tabs) {
      const chosen = name === panel;
      const part = this.panels[name]!;
      tab.ariaSelected = String(chosen);
      tab.tabIndex = chosen ? 0 : -1;
      part.element.hidden = !chosen;
      if (chosen) part.update(this.#late.has(name) || changed.has("panel") ? everything : changed);
      if (chosen) this.#late.delete(name);
      else this.#late.add(name);
    }
  }

  /** Arrow keys go from tab to tab. */
  #key(event: KeyboardEvent): void {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    const at = this.#tabs.findIndex(([name]) => name === this.app.state.panel);
    const [name, tab] = this.#tabs[(at + by + this.#tabs.length) % this.#tabs.length];
    this.app.set({ panel: name });
    tab.focus();
  }
}
