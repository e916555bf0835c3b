// A second map beside the first: the same rows at another t, or as another model scores them. Both share the camera, the
// selection and what is pointed at.

import { type App, type Changed, type Part } from "../app";
import { h, on } from "./dom";
import { MapPart } from "../gl/map";
import type { Scene } from "../gl/scene";
import type { Data } from "../core/data";
import { Scores } from "../core/scores";
import { many, score } from "../core/words";

export class Beside implements Part {
  readonly element: HTMLElement;
  readonly #slider = h("input", { type: "range", min: 0, max: 1, step: 0.01, label: "t of the second map" });
  readonly #said = h("span.said");
  readonly #scores: () => Scores;
  readonly #data: Data; // with the units of the other model
  #map?: MapPart;
  #hovered = -1;

  constructor(
    private readonly app: App,
    private readonly onHover: (row: number) => void,
  ) {
    const { data } = app;
    let scores: Scores | undefined;
    const { against } = data;
    this.#data = against ? { ...data, ...against } : data;
    this.#scores = () => (scores ??= new Scores(against ? { ...data, ...against, inliers: undefined } : data));
    on(this.#slider, { input: () => app.set({ beside: Number(this.#slider.value) }) });
    this.element = h("div.beside", { hidden: true }, h("div.row", h("b", against?.name ?? "t"), this.#slider, this.#said));
  }

  update(changed: Changed): void {
    const { beside, brush } = this.app.state;
    this.element.hidden = beside < 0;
    if (beside < 0) return; // the map stays, hidden: a graphics card is not asked for each time
    const all = changed.has("beside");
    if (!this.#map) this.#open();
    const { axes, x, y } = this.app.data;
    if (changed.has("map")) Object.assign(this.#data, { axes, x, y });
    const now: Changed = new Set(changed);
    if (!all) now.delete("t");
    else for (const key of ["t", "colour", "ranges", "theme"] as const) now.add(key);
    if (brush && (changed.has("brush") || changed.has("t"))) now.add("ranges"); // rows brushed away are brushed away here
    this.#map!.set(this.#scene(), now);
    this.#slider.value = String(beside);
    this.#say();
  }

  /** A ring around the row that is pointed at on the other map, in a list or in Python. */
  show(row: number): void {
    this.#hovered = row;
    this.#map?.show(row);
    this.#say();
  }

  #say(): void {
    const { pinned, beside } = this.app.state;
    if (beside < 0) return;
    const row = this.#hovered >= 0 ? this.#hovered : pinned;
    const scores = this.#scores();
    this.#said.textContent = `${beside.toFixed(2)}${row < 0 ? "" : `: row ${this.app.data.id(row)} ${score(scores.f[row])}, rank ${many(scores.rank(row))}`}`;
  }

  #open(): void {
    const { app } = this;
    const { against } = app.data;
    this.#map = new MapPart(this.#data, app.acts((row) => {
      this.onHover(row);
      this.show(row);
    }));
    this.#map.canvas.ariaLabel = `The second map: ${against?.name ?? "another t"}`;
    this.element.append(this.#map.element);
  }

  /** What this map shows: everything is the page's but t and what follows from it. */
  #scene(): Scene {
    const { app } = this;
    const { state, values, paint, dark, marks, shown, visible } = app;
    const scores = this.#scores();
    scores.at(state.beside);
    return {
      data: this.#data, scores, values, paint, dark, marks, shown, // one scale of colours for both maps
      state: { ...state, t: state.beside, brush: null },
      filter: visible, // the brush is one of the first map's scores
      limit: app.judged(scores),
    };
  }

  rest(): void {
    this.#map?.rest();
  }
}
