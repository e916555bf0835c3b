// The rows as they look, in a drawer below the map; only those in sight are made.

import type { App } from "../app";
import { h } from "./dom";
import { face } from "./faces";
import type { Rows } from "./rows";
import { Scroller } from "./scroller";
import { score } from "../core/words";

const SIZES = { picture: [92, 118], series: [150, 76], text: [240, 104], "": [240, 104] }; // pixels, wide and high
const THING = [300, 150]; // of a row of several parts

export class Gallery {
  readonly element: HTMLElement;
  readonly scroller: Scroller;
  readonly #list = h("ol.gallery", { label: "Rows" });
  readonly #made = new Map<number, HTMLElement>(); // those in sight

  constructor(
    private readonly app: App,
    private readonly rows: Rows,
    private readonly pick: (row: number, event: MouseEvent | KeyboardEvent) => void,
  ) {
    this.scroller = new Scroller(this.#list, (first, count) => this.#draw(first, count));
    this.element = this.scroller.element;
  }

  get #size(): number[] {
    const { data } = this.app;
    return data.parts.length ? THING : SIZES[data.kind];
  }

  get across(): number {
    const [wide] = this.#size;
    return Math.max(1, Math.floor(this.element.clientWidth / wide));
  }

  refresh(): void {
    this.#made.clear();
    const [, high] = this.#size;
    this.#list.style.gridTemplateColumns = `repeat(${this.across}, minmax(0, 1fr))`;
    this.#list.style.gridAutoRows = `${high}px`;
    this.scroller.size(Math.ceil(this.rows.list.length / this.across), high, 0);
  }

  #draw(first: number, count: number): void {
    const rows = this.rows.list.subarray(first * this.across, (first + count) * this.across);
    const here = new Set(rows);
    for (const row of this.#made.keys()) if (!here.has(row)) this.#made.delete(row);
    this.#list.replaceChildren(...Array.from(rows, (row) => this.#item(row)));
  }

  #item(row: number): HTMLElement {
    const { app } = this;
    let item = this.#made.get(row);
    if (!item) {
      const spot = h("span.spot");
      spot.style.background = app.colourOf(row);
      const button = h("button.card", h("span.hidden", `row ${app.data.id(row)} `), face(app, row), h("span.foot", spot, h("b", score(app.scores.f[row]))));
      button.addEventListener("click", (event) => this.pick(row, event));
      item = h("li", button);
      this.#made.set(row, item);
    }
    const card = item.firstElementChild!;
    card.classList.toggle("pinned", row === app.state.pinned);
    card.classList.toggle("flagged", app.flagged(row));
    return item;
  }
}
