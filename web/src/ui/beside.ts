// A second map beside the first: the same rows at another t, or as another model scores them. Both share the camera, the
// selection and what is pointed at.

import { type App, type Changed, type Part } from "../app";
import { h, on } from "./dom";
import { MapPart } from "../gl/map";
import { Scores } from "../core/scores";
import { many, score } from "../core/words";

export class Beside implements Part {
  readonly element: HTMLElement;
  readonly #slider = h("input", { type: "range", min: 0, max: 1, step: 0.01, label: "t of the second map" });
  readonly #said = h("span.said");
  readonly #scores: () => Scores;
  readonly #own: Record<string | symbol, unknown> = {}; // what the second map has for itself
  readonly #resting: (() => void)[] = [];
  #map?: MapPart;
  #hovered = -1;

  constructor(
    private readonly app: App,
    private readonly onHover: (row: number) => void,
  ) {
    const { data } = app;
    let scores: Scores | undefined;
    const { against } = data;
    this.#scores = () => (scores ??= new Scores(against ? { ...data, ...against, inliers: undefined } : data));
    on(this.#slider, { input: () => app.set({ beside: Number(this.#slider.value) }) });
    this.element = h("div.beside", { hidden: true }, h("div.row", h("b", against?.name ?? "t"), this.#slider, this.#said));
  }

  update(changed: Changed): void {
    const { beside, brush } = this.app.state;
    this.element.hidden = beside < 0;
    if (beside < 0) return; // the map stays, hidden: a graphics card is not asked for each time
    const all = changed.has("beside");
    this.#follow();
    if (!this.#map) this.#open();
    const { axes, x, y } = this.app.data;
    if (changed.has("map")) Object.assign(this.#own.data as object, { axes, x, y });
    const now: Changed = new Set(changed);
    if (!all) now.delete("t");
    else for (const key of ["t", "colour", "ranges", "theme"] as const) now.add(key);
    if (brush && (changed.has("brush") || changed.has("t"))) now.add("ranges"); // rows brushed away are brushed away here
    this.#map!.update(now);
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

  /** What this map sees as its page: everything is the page's but t and what follows from it. */
  #open(): void {
    const { app } = this;
    const { against } = app.data;
    const own = Object.assign(this.#own, {
      data: against ? { ...app.data, ...against } : app.data,
      scores: this.#scores(),
      resting: this.#resting,
      set: app.set.bind(app),
      hold: app.hold.bind(app),
      announce: app.announce.bind(app),
    });
    const other = new Proxy(app, { get: (_, key) => Reflect.get(key in own ? own : app, key) as unknown });
    this.#map = new MapPart(other, (row) => {
      this.onHover(row);
      this.show(row);
    });
    this.#map.canvas.ariaLabel = `The second map: ${against?.name ?? "another t"}`;
    this.element.append(this.#map.element);
  }

  #follow(): void {
    const { app } = this;
    const scores = this.#scores();
    scores.at(app.state.beside);
    Object.assign(this.#own, {
      state: { ...app.state, t: app.state.beside, brush: null },
      filter: app.visible, // the brush is one of the first map's scores
      limit: app.judged(scores),
      paint: app.paint, // one scale of colours for both maps
    });
  }

  rest(): void {
    for (const act of this.#resting) act();
  }
}
