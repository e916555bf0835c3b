// The ranking: how many rows have which score, which of them are called outliers, and the rows at both ends.

import type { App, Changed, Part } from "../app";
import type { Cards } from "./cards";
import { h } from "./dom";
import type { Histogram } from "./histogram";
import { Outliers } from "./outliers";

export class Ranking implements Part {
  readonly element: HTMLElement;
  readonly #outliers: Outliers;

  constructor(app: App, private readonly histogram: Histogram, private readonly cards: Cards) {
    this.#outliers = new Outliers(app);
    this.element = h("section.ranking-panel", { label: "Ranking" }, histogram.element, this.#outliers.element, cards.element);
  }

  update(changed: Changed): void {
    for (const part of [this.histogram, this.#outliers, this.cards]) part.update(changed);
  }
}
