// How many rows have which score at the present t, with a brush that filters the map. The axis is of the root of the
// score, as the steps are: the odd rows, whose scores are near zero, have room.

import { any, type App, type Changed, type Part } from "./app";
import { css, ODD, shade } from "./colours";
import { h, on } from "./dom";
import { scoreOf, TOP } from "./scores";
import { many, percent, plural } from "./words";

const BINS = 64;
const HEIGHT = 72;
const SNAP = 0.03; // of the width, from either end: there the brush takes in all that is left
const TICKS = [0, 0.04, 0.25, 0.5, 1];

export class Histogram implements Part {
  readonly element: HTMLElement;
  readonly #canvas = h("canvas.bars", { "aria-hidden": "true" });
  readonly #band = h("div.band");
  readonly #handles: HTMLElement[];
  readonly #said = h("span.said", { role: "status" });
  readonly #clear = h("button.plain", { hidden: true, onclick: () => this.app.set({ brush: null, ranges: {}, query: "" }) }, "show all");
  readonly #select = h("button.plain", { hidden: true, onclick: () => this.#selectShown() }, "select these");
  #from = -1;

  constructor(private readonly app: App) {
    this.#handles = [0, 1].map((side) => this.#handle(side));
    const field = h("div.field", this.#canvas, this.#band, ...this.#handles);
    const ticks = TICKS.map((f) => {
      const tick = h("span", String(f));
      tick.style.left = `${100 * Math.sqrt(f)}%`;
      return tick;
    });
    this.element = h("section.histogram", { "aria-label": "Distribution of centrality" },
      h("h2", "Distribution", this.#said, this.#select, this.#clear), field,
      h("div.scale", { "aria-hidden": "true" }, ...ticks));
    const release = () => {
      this.#from = -1;
      app.hold(false);
    };
    on(field, {
      pointerdown: (event) => this.#press(event),
      pointermove: (event) => this.#drag(event),
      pointerup: release,
      pointercancel: release,
    });
    const watch = new ResizeObserver(() => this.app.paint && this.#draw());
    watch.observe(field);
    app.gone.addEventListener("abort", () => watch.disconnect());
  }

  update(changed: Changed): void {
    const { brush, ranges, query } = this.app.state;
    if (any(changed, "t", "query", "ranges", "rule", "level", "theme")) this.#draw();
    const [low, high] = (brush ?? [0, 1]).map(Math.sqrt);
    this.#band.hidden = !brush;
    this.#clear.hidden = this.#select.hidden = !brush && !query && !Object.keys(ranges).length;
    this.#band.style.left = `${100 * low}%`;
    this.#band.style.width = `${100 * (high - low)}%`;
    this.#handles.forEach((handle, side) => {
      const root = side ? high : low;
      handle.style.left = `${100 * root}%`;
      handle.setAttribute("aria-valuenow", (root * root).toFixed(3));
    });
    if (any(changed, "t", "brush", "query", "ranges")) this.#tell();
  }

  #tell(): void {
    const { data: { n }, count } = this.app;
    this.#said.textContent = count === n ? plural(n, "row") : `${many(count)} of ${plural(n, "row")}, ${percent(count / n)}`;
  }

  #selectShown(): void {
    const { visible, data: { n }, count } = this.app;
    const rows = new Uint32Array(count);
    for (let row = 0, k = 0; row < n; row++) if (!visible || visible[row]) rows[k++] = row;
    this.app.set({ selection: rows });
    this.app.announce(`${plural(count, "row")} selected`);
  }

  #handle(side: number): HTMLElement {
    const element = h("div.handle", { tabindex: 0, role: "slider", "aria-label": side ? "Highest score shown" : "Lowest score shown",
      "aria-valuemin": 0, "aria-valuemax": 1 });
    const key = (event: KeyboardEvent) => {
      const by = ({ ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 } as Record<string, number>)[event.key];
      if (!by) return;
      event.preventDefault();
      const now = (this.app.state.brush ?? [0, 1]).map(Math.sqrt) as [number, number];
      now[side] = Math.min(1, Math.max(0, now[side] + by));
      this.#set(...now);
    };
    on(element, { keydown: key });
    return element;
  }

  /** Show the scores whose roots lie between these. */
  #set(low: number, high: number): void {
    if (low >= high) return;
    const whole = low <= 0 && high >= 1;
    this.app.set({ brush: whole ? null : [low * low, high * high] });
  }

  #place(event: PointerEvent): number {
    const box = this.#canvas.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width;
    return at < SNAP ? 0 : at > 1 - SNAP ? 1 : at;
  }

  #press(event: PointerEvent): void {
    if (event.button) return;
    (event.currentTarget as Element).setPointerCapture(event.pointerId);
    this.app.hold(true);
    const at = this.#place(event);
    const brush = this.app.state.brush?.map(Math.sqrt);
    const near = brush?.findIndex((edge) => Math.abs(edge - at) < 0.02) ?? -1;
    this.#from = near >= 0 ? brush![1 - near] : at; // an edge is taken up again, or a new brush begins
    if (near < 0 && brush) this.app.set({ brush: null });
  }

  #drag(event: PointerEvent): void {
    if (this.#from < 0) return;
    const at = this.#place(event);
    if (Math.abs(at - this.#from) > 0.005) this.#set(Math.min(at, this.#from), Math.max(at, this.#from));
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
    const some = app.filter ? app.scores.histogram(BINS, app.filter) : all;
    const most = Math.max(...all, 1);
    const [low, high] = [app.scores.quantile(0.01), app.scores.quantile(0.99) + 1e-3];
    const bar = width / BINS;
    // Square roots: a handful of odd rows must be seen beside thousands of usual ones.
    const tall = (count: number) => (count ? Math.max(1.5, Math.sqrt(count / most) * (HEIGHT - 4)) : 0);
    for (let b = 0; b < BINS; b++) {
      const middle = ((b + 0.5) / BINS) ** 2;
      const at = Math.max(0, Math.min(1, (middle - low) / (high - low)));
      c.fillStyle = app.dark ? "rgb(255 255 255 / .12)" : "rgb(0 0 0 / .1)";
      if (app.filter) c.fillRect(b * bar + 0.5, HEIGHT - tall(all[b]), bar - 1, tall(all[b]));
      c.fillStyle = css(shade("even", at, app.dark));
      c.fillRect(b * bar + 0.5, HEIGHT - tall(some[b]), bar - 1, tall(some[b]));
    }
    if (app.limit) {
      const x = Math.sqrt(scoreOf(Math.min(app.limit, TOP))) * width;
      c.fillStyle = css(app.dark ? ODD.dark : ODD.light);
      c.fillRect(x - 1, 0, 2, HEIGHT);
    }
  }
}
