// The panels that share a place, one at a time: findings, review, ranking, columns, comparison.

import type { App, Changed, Part } from "../app";
import { h, on } from "./dom";
import type { State } from "../core/state";

export type Panel = Part & { element: HTMLElement };
type Name = State["panel"];
const NAMES: Record<Name, string> = { findings: "Findings", review: "Review", ranking: "Ranking", columns: "Columns", compare: "Compare" };

export class Panels implements Part {
  readonly element: HTMLElement;
  readonly #tabs: [Name, HTMLButtonElement][];
  readonly #late = new Set<Name>(); // panels that have missed a change while they were not seen

  constructor(
    private readonly app: App,
    private readonly panels: Record<Name, Panel>,
  ) {
    const names = Object.keys(NAMES) as Name[];
    this.#tabs = names.map((name) => [name, h("button.tab", { role: "tab", onclick: () => app.set({ panel: name }) }, NAMES[name])]);
    const tabs = h("div.tabs", { role: "tablist", label: "Panels" }, ...this.#tabs.map(([, tab]) => tab));
    on(tabs, { keydown: (event) => this.#key(event) });
    for (const name of names) panels[name].element.setAttribute("role", "tabpanel");
    this.element = h("div.panels", tabs, ...names.map((name) => panels[name].element));
  }

  update(changed: Changed): void {
    const { panel } = this.app.state;
    const everything: Changed = new Set([...(Object.keys(this.app.state) as (keyof State)[]), "marks", "findings"]);
    for (const [name, tab] of this.#tabs) {
      const chosen = name === panel;
      const part = this.panels[name];
      tab.ariaSelected = String(chosen);
      tab.tabIndex = chosen ? 0 : -1;
      part.element.hidden = !chosen;
      if (chosen) part.update(this.#late.has(name) || changed.has("panel") ? everything : changed);
      if (chosen) this.#late.delete(name);
      else this.#late.add(name);
    }
    if (changed.has("panel")) for (const scroller of ["aside", "main"]) this.element.closest(scroller)!.scrollTop = 0; // a panel begins at its top
    if (changed.has("panel") && panel !== "findings" && this.app.lit) this.app.light();
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
