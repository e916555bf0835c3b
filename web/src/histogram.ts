// How many rows have which score at the present t, with a brush that filters the map.

import { any, type App, type Changed, type Part, percent } from "./app";
import { css, shade } from "./colours";
import { many } from "./data";
import { h, on } from "./dom";
import { scoreOf } from "./scores";

const BINS = 64;
const HEIGHT = 84;

export class Histogram implements Part {
  readonly element: HTMLElement;
  readonly #canvas = h("canvas", { id: "histogram", "aria-hidden": "true" });
  readonly #band = h("div.band");
  readonly #handles: HTMLElement[];
  readonly #said = h("span.said", { role: "status" });
  readonly #clear = h("button.plain", { hidden: true, onclick: () => this.app.set({ brush: null }) }, "show all");
  #from = -1;

  constructor(private readonly app: App) {
    this.#handles = [0, 1].map((side) => this.#handle(side));
    const field = h("div.field", this.#canvas, this.#band, ...this.#handles);
    this.element = h("section.histogram", { "aria-label": "Distribution of centrality" },
      h("h2", "Distribution", this.#said, this.#clear), field,
      h("div.scale", { "aria-hidden": "true" }, ...["0 peripheral", "0.5", "central 1"].map((text) => h("span", text))));
    on(field, {
      pointerdown: (event) => this.#press(event),
      pointermove: (event) => this.#drag(event),
      pointerup: () => (this.#from = -1),
    });
    new ResizeObserver(() => this.app.paint && this.#draw()).observe(field);
  }

  update(changed: Changed): void {
    const { brush } = this.app.state;
    if (any(changed, "t", "query", "rule", "level", "theme")) this.#draw();
    const [low, high] = brush ?? [0, 1];
    this.#band.hidden = this.#clear.hidden = !brush;
    this.#band.style.left = `${100 * low}%`;
    this.#band.style.width = `${100 * (high - low)}%`;
    this.#handles.forEach((handle, side) => {
      handle.style.left = `${100 * (side ? high : low)}%`;
      handle.setAttribute("aria-valuenow", (side ? high : low).toFixed(2));
    });
    if (any(changed, "t", "brush", "query")) this.#tell();
  }

  #tell(): void {
    const { n } = this.app.data;
    const count = this.app.countShown();
    this.#said.textContent = count === n ? `${many(n)} rows` : `${many(count)} of ${many(n)} rows, ${percent(count / n)}`;
  }

  #handle(side: number): HTMLElement {
    const element = h("div.handle", { tabindex: 0, role: "slider", "aria-label": side ? "Highest score shown" : "Lowest score shown",
      "aria-valuemin": 0, "aria-valuemax": 1 });
    const key = (event: KeyboardEvent) => {
      const by = ({ ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01, PageUp: 0.1, PageDown: -0.1 } as Record<string, number>)[event.key];
      if (!by) return;
      event.preventDefault();
      const now = [...(this.app.state.brush ?? [0, 1])] as [number, number];
      now[side] = Math.min(1, Math.max(0, now[side] + by));
      if (now[0] < now[1]) this.app.set({ brush: now[0] <= 0 && now[1] >= 1 ? null : now });
    };
    on(element, { keydown: key });
    return element;
  }

  #place(event: PointerEvent): number {
    const box = this.#canvas.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  }

  #press(event: PointerEvent): void {
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    const at = this.#place(event);
    const { brush } = this.app.state;
    const near = brush?.findIndex((edge) => Math.abs(edge - at) < 0.02) ?? -1;
    this.#from = near >= 0 ? brush![1 - near] : at; // an edge is taken up again, or a new brush begins
    if (near < 0 && brush) this.app.set({ brush: null });
  }

  #drag(event: PointerEvent): void {
    if (this.#from < 0) return;
    const at = this.#place(event);
    if (Math.abs(at - this.#from) > 0.005) this.app.set({ brush: [Math.min(at, this.#from), Math.max(at, this.#from)] });
  }

  #draw(): void {
    const { app } = this;
    const canvas = this.#canvas;
    const width = canvas.clientWidth || 300;
    const ratio = Math.min(2, devicePixelRatio || 1);
    canvas.width = width * ratio;
    canvas.height = HEIGHT * ratio;
    const c = canvas.getContext("2d")!;
    c.scale(ratio, ratio);
    const all = app.scores.histogram(BINS);
    const some = app.filter ? this.#filtered() : all;
    const most = Math.max(...all, 1);
    const [low, high] = [app.scores.quantile(0.01), app.scores.quantile(0.99) + 1e-3];
    const bar = width / BINS;
    // Square roots: a handful of odd rows must be seen beside thousands of usual ones.
    const tall = (count: number) => Math.sqrt(count / most) * (HEIGHT - 4);
    for (let b = 0; b < BINS; b++) {
      const middle = (b + 0.5) / BINS;
      const at = Math.max(0, Math.min(1, (middle - low) / (high - low)));
      c.fillStyle = app.dark ? "rgb(255 255 255 / .12)" : "rgb(0 0 0 / .1)";
      if (app.filter) c.fillRect(b * bar + 0.5, HEIGHT - tall(all[b]), bar - 1, tall(all[b]));
      c.fillStyle = css(shade("even", at, app.dark));
      c.fillRect(b * bar + 0.5, HEIGHT - tall(some[b]), bar - 1, tall(some[b]));
    }
    if (app.limit) {
      const x = scoreOf(app.limit) * width;
      c.fillStyle = app.dark ? "#ff6b6b" : "#cc1a40";
      c.fillRect(x - 1, 0, 2, HEIGHT);
    }
  }

  #filtered(): Float64Array {
    const out = new Float64Array(BINS);
    const { scores, data } = this.app;
    for (let row = 0; row < data.n; row++) {
      if (this.app.filter![row]) out[Math.min(BINS - 1, Math.floor(scores.value(row) * BINS))]++;
    }
    return out;
  }
}
