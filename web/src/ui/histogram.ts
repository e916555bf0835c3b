// How many rows have which score at the present t, with a brush that filters the map. The axis is of the root of the
// score, as the steps are: the odd rows, whose scores are near zero, have room.

import { any, type App, type Changed, type Part } from "../app";
import { Brush, sharp } from "./brush";
import { css, ODD, shade } from "../core/colours";
import { h } from "./dom";
import { many, percent, plural } from "../core/words";

const BINS = 64;
const HEIGHT = 72;
const TICKS = [0, 0.04, 0.25, 0.5, 1];

export class Histogram implements Part {
  readonly element: HTMLElement;
  readonly #brush: Brush;
  readonly #said = h("span.said", { role: "status" });
  readonly #select = h("button.plain", { hidden: true, onclick: () => this.#selectShown() }, "select these");

  constructor(private readonly app: App) {
    this.#brush = new Brush(app, "bars", ["Lowest score shown", "Highest score shown"], (roots) =>
      app.set({ brush: roots ? [roots[0] ** 2, roots[1] ** 2] : null }));
    const ticks = TICKS.map((f) => {
      const tick = h("span", String(f));
      tick.style.left = `${100 * Math.sqrt(f)}%`;
      return tick;
    });
    this.element = h("section.histogram", { label: "Distribution of centrality" },
      h("h2", "Distribution", this.#said, this.#select), this.#brush.element,
      h("div.scale", { "aria-hidden": "true" }, ...ticks),
      h("div.ends-of-score", h("span", "← odd"), h("span.roots", { title: "Scores and counts are drawn as their square roots, so that the few odd rows have room" }, "square roots"), h("span", "typical →")));
    const watch = new ResizeObserver(() => this.app.paint && this.#draw());
    watch.observe(this.#brush.element);
    app.gone.addEventListener("abort", () => watch.disconnect());
  }

  update(changed: Changed): void {
    const { brush, ranges, query } = this.app.state;
    if (any(changed, "t", "query", "ranges", "rule", "level", "theme")) this.#draw();
    this.#select.hidden = !brush && !query && !Object.keys(ranges).length;
    this.#brush.show(brush ? [Math.sqrt(brush[0]), Math.sqrt(brush[1])] : undefined, (root) => (root * root).toFixed(3));
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

  #draw(): void {
    const { app } = this;
    const [c, width] = sharp(this.#brush.canvas, HEIGHT);
    const { swift } = app;
    const all = swift.histogram(BINS);
    const some = app.filter ? swift.histogram(BINS, app.filter) : all;
    const most = Math.max(...all, 1);
    const [low, high] = [swift.quantile(0.01), swift.quantile(0.99) + 1e-3];
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
      const x = Math.sqrt(app.limit) * width;
      c.fillStyle = css(app.dark ? ODD.dark : ODD.light);
      c.fillRect(x - 1, 0, 2, HEIGHT);
    }
  }
}
