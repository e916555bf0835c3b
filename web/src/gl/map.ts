// The map: when to draw how many points, and what is drawn over them. What is seen of it is the camera's, what is done
// to it comes from gestures.

import { around, type Frame, moved, type Pair, pinched, scale, toMap, toPixels, WHOLE, zoomed } from "../core/camera";
import { h, icon } from "../ui/dom";
import { Far } from "./far";
import { type Gestured, Gestures, type Tool } from "./gestures";
import { Groups } from "./groups";
import { Labels } from "./labels";
import { drawOutline, drawRing, drawSign, isNamed, nameAxes } from "./overlay";
import { Places } from "../core/places";
import { any, type Changed } from "../core/state";
import type { Acts, Scene } from "./scene";
import { Things } from "./things";
import type { Data } from "../core/data";
import { FILTERED, type Look, Points, SELECTED } from "./points";
import { plural } from "../core/words";

const REACH = 14; // pixels from the pointer to a point
const COVERED = 2; // pixels from a point within which others lie on it
const MARGIN = 20; // pixels from the edge within which a row is not well in view
const CORNERS = 300; // of an outline, at most
const FEW = 20_000; // points that are drawn at least while things move
const MOST_SIGNS = 2000; // marked rows whose mark is drawn
const WIDE = 0.6; // of the map: rows whose middle half is wider lie all over it

export class MapPart implements Gestured {
  readonly element: HTMLElement;
  readonly tools: HTMLElement;
  readonly canvas = h("canvas.points", { tabindex: 0, role: "application" });
  readonly #over = h("canvas.over", { "aria-hidden": "true" });
  readonly #lost = h("div.lost", { role: "alert", hidden: true });
  #far!: Far;
  readonly #things?: Things;
  #labels!: Labels;
  #groups!: Groups;
  #points: Points;
  readonly #lasso: HTMLButtonElement;
  readonly #fit: HTMLButtonElement;
  readonly #near: HTMLButtonElement;
  readonly #island = h("div.island", { hidden: true }); // what the rows are that are lit up
  readonly #gestures: Gestures;
  readonly #frame: Frame = { width: 1, height: 1, square: true, reach: 1 };
  #places?: Places;
  #hovered = -1;
  #budget: number; // points drawn while things move
  #lastDraw = 0;
  #partly = false; // not every point has been drawn
  #arranged = -1; // the t whose order the points are in
  #ratio = 1;
  #walk = -1; // where the keyboard stands in the ranking
  #overlaid = "?"; // what is drawn over the points, as far as that is told by few words
  #named = false; // the axes are columns of the data
  #scene!: Scene; // what is shown, from the first `set` on

  constructor(
    data: Data,
    private readonly acts: Acts,
  ) {
    this.#points = new Points(this.canvas, data);
    if (acts.picture) this.#things = new Things((row) => acts.picture!(row), () => this.outlined());
    this.#budget = Math.min(data.n, 5 * FEW);
    const button = (name: string, label: string, act: () => void) =>
      h("button", { title: label, label, onclick: act }, icon(name));
    this.#lasso = button("lasso", "Select with a lasso (or Alt and drag; with Shift, a box)", () => this.#use(this.#gestures.tool === "pan" ? "lasso" : "pan"));
    this.#fit = button("fit", "Fit to view: show the whole map", () => this.fit());
    this.#near = button("near", "Zoom to what is selected or found", () => this.near());
    this.element = h("div.stage", this.canvas, this.#over, this.#island, this.#lost);
    this.tools = h("div.tools", { role: "toolbar", label: "Map" }, this.#lasso, button("in", "Zoom in", () => this.zoomBy(1.5)),
      button("out", "Zoom out", () => this.zoomBy(1 / 1.5)), this.#fit, this.#near);
    // In a notebook the page must still scroll: there the map zooms once it has been clicked.
    this.#gestures = new Gestures(this, () => acts.linked || document.activeElement === this.canvas);
    this.#use("pan");
    const watch = new ResizeObserver(() => {
      if (!this.#resize() || !this.#scene) return;
      this.#draw();
      this.outlined();
    });
    watch.observe(this.element);
    acts.gone.addEventListener("abort", () => {
      watch.disconnect();
      this.#points.end();
    });
    this.#mendIfLost();
  }

  /** What follows from where rows lie. */
  #survey(): void {
    const { data } = this.#scene;
    const { half, reach } = data.axes;
    Object.assign(this.#frame, { square: half[0] === half[1], reach: Math.max(...reach) });
    this.#far = new Far(data);
    this.#labels = new Labels();
    this.#groups = new Groups();
    this.#named = isNamed(data);
    this.#places = undefined;
    this.#overlaid = "?";
  }

  /** The graphics card may be taken away (it slept, another page wanted it); when it comes back, all is drawn anew. */
  #mendIfLost(): void {
    const { acts, canvas } = this;
    const options = { signal: acts.gone };
    canvas.addEventListener("webglcontextlost", (event) => {
      event.preventDefault(); // or it never comes back
      this.#lost.hidden = false;
      this.#lost.replaceChildren(h("p", "The browser has taken the graphics card away from this map. It comes back by itself; if not, "
        + (acts.linked ? "load the page again: the address holds the view." : "run the cell again.")));
    }, options);
    canvas.addEventListener("webglcontextrestored", () => {
      const { data, values } = this.#scene;
      this.#points = new Points(canvas, data);
      this.#arranged = -1;
      if (values) this.#points.paint(values);
      this.#mark();
      this.#drawAll();
      this.#lost.hidden = true;
    }, options);
  }

  /** Show this; `changed` tells what of it is new. */
  set(scene: Scene, changed: Changed): void {
    const first = !this.#scene;
    this.#scene = scene;
    if (first) this.#resize();
    if (first || changed.has("map")) this.#survey();
    if (!first && changed.has("map")) this.#points.move();
    const { x, y, zoom, selection } = scene.state;
    this.#fit.hidden = !x && !y && zoom === 1;
    this.#near.hidden = !selection.length && !scene.filter;
    if (any(changed, "colour", "theme") && this.#scene.values) this.#points.paint(this.#scene.values);
    if (any(changed, "query", "ranges", "selection", "lit")) this.#mark();
    if (changed.has("pinned") && !any(changed, "x", "y", "zoom")) this.#bring(this.#scene.state.pinned);
    if (any(changed, "map", "t", "x", "y", "zoom", "colour", "query", "ranges", "brush", "rule", "level", "theme", "selection", "lit")) this.#draw();
    this.outlined();
    this.#nameLit();
  }

  /** Draw all points, now that things have come to rest. */
  rest(): void {
    if (this.#partly) this.#drawAll();
  }

  /** What is lit up, written above where most of it lies; in the middle of the top if it lies all over the map. */
  #nameLit(): void {
    const { lit, data } = this.#scene;
    this.#island.hidden = !lit?.rows.length;
    if (this.#island.hidden) return;
    this.#island.textContent = lit!.name;
    const { width } = this.#frame;
    const sides = [data.x, data.y].map((line) => spreadOf(line, lit!.rows));
    const highest = lit!.rows.reduce((most, row) => Math.max(most, data.y[row]), -Infinity);
    const [px, py] = toPixels(this.#scene.state, this.#frame, [sides[0].middle, highest]);
    const apart = Math.max(sides[0].spread, sides[1].spread) > WIDE;
    const half = this.#island.offsetWidth / 2;
    this.#island.style.left = `${Math.max(half + 4, Math.min(width - half - 4, apart ? width / 2 : px))}px`;
    this.#island.style.top = `${apart ? 8 : Math.max(8, Math.min(this.#frame.height - 40, py - this.#island.offsetHeight - 12))}px`;
  }

  /** A ring around the row that is pointed at elsewhere, brought into view if it is not. */
  show(row: number, bring = false): void {
    this.#hovered = row;
    if (bring) this.#bring(row);
    this.outlined();
  }

  #bring(row: number): void {
    if (row < 0) return;
    const [px, py] = this.toPixels(row);
    const { width, height } = this.#frame;
    if (px >= MARGIN && py >= MARGIN && px <= width - MARGIN && py <= height - MARGIN) return;
    this.acts.set({ x: this.#scene.data.x[row], y: this.#scene.data.y[row] });
  }

  /** The map as it is now, in its layers, for a picture of it. */
  readonly layers = (): HTMLCanvasElement[] => {
    this.#drawAll(); // the browser keeps the drawing only until it has shown it
    return [this.canvas, this.#over];
  };

  toPixels(row: number): Pair {
    const { x, y } = this.#scene.data;
    return toPixels(this.#scene.state, this.#frame, [x[row], y[row]]);
  }

  // What gestures ask for

  zoomBy(factor: number, at: Pair = [this.#frame.width / 2, this.#frame.height / 2]): void {
    this.acts.set(zoomed(this.#scene.state, this.#frame, factor, at));
  }

  moveBy(by: Pair): void {
    this.acts.set(moved(this.#scene.state, this.#frame, by));
  }

  pinch(before: Pair, now: Pair, other: Pair): void {
    this.acts.set(pinched(this.#scene.state, this.#frame, before, now, other));
  }

  fit(): void {
    this.acts.set(WHOLE);
  }

  near(): void {
    const { selection } = this.#scene.state;
    const { x, y, n } = this.#scene.data;
    const { shown } = this.#scene;
    const places = function* (): Iterable<Pair> {
      if (selection.length) for (const row of selection) yield [x[row], y[row]];
      else for (let row = 0; row < n; row++) if (shown(row)) yield [x[row], y[row]];
    };
    this.acts.set(around(this.#frame, places()));
  }

  hold(held: boolean): void {
    this.acts.hold(held);
  }

  keys(): boolean {
    return this.acts.keys();
  }

  toggle(): void {
    const { pinned, selection } = this.#scene.state;
    if (pinned < 0) return;
    const out = selection.includes(pinned);
    const rows = out ? selection.filter((row) => row !== pinned) : Uint32Array.from([...selection, pinned]).sort();
    this.acts.set({ selection: rows });
    this.acts.announce(`row ${this.#scene.data.id(pinned)} ${out ? "taken out, " : "selected, "}${plural(rows.length, "row")} in all`);
  }

  hover(at?: Pair): void {
    const row = at ? this.#under(at) : -1;
    if (row === this.#hovered) return;
    this.#hovered = row;
    this.acts.hover(row);
    this.outlined();
  }

  pick(at: Pair): void {
    this.acts.set({ pinned: this.#under(at) });
  }

  select(corners: Pair[], more: boolean): void {
    const thin = Math.ceil(corners.length / CORNERS);
    const outline = corners.filter((_, i) => i % thin === 0).map((corner) => this.#toMap(corner));
    this.#places ??= new Places(this.#scene.data);
    let rows = this.#places.inside(outline, this.#scene.shown);
    if (more) rows = Uint32Array.from(new Set([...this.#scene.state.selection, ...rows])).sort();
    this.acts.set({ selection: rows });
    this.acts.announce(`${plural(rows.length, "row")} selected`);
  }

  /** To the next row from the most peripheral one on, without a mouse. */
  step(by: 1 | -1): boolean {
    if (this.#scene.state.panel === "review") return false; // there they are the queue's
    const { order } = this.#scene.scores;
    const { pinned } = this.#scene.state;
    let k = pinned >= 0 && order[this.#walk] === pinned ? this.#walk : pinned >= 0 ? order.indexOf(pinned) : -1;
    do k += by;
    while (k >= 0 && k < order.length && !this.#scene.shown(order[k]));
    if (k < 0 || k >= order.length) return true;
    this.#walk = k;
    this.acts.set({ pinned: order[k] });
    return true;
  }

  #toMap(at: Pair): Pair {
    return toMap(this.#scene.state, this.#frame, at);
  }

  #under(at: Pair): number {
    const outside = this.#far.under(at, REACH);
    if (outside >= 0) return outside;
    this.#places ??= new Places(this.#scene.data);
    const { state, shown } = this.#scene;
    const [sx, sy] = scale(state, this.#frame);
    return this.#places.nearest(...this.#toMap(at), [REACH / sx, REACH / sy], shown);
  }

  /** How many other rows lie on this one, as far as the eye can tell. */
  covered(row: number): number {
    this.#places ??= new Places(this.#scene.data);
    const { state, shown, data } = this.#scene;
    const [sx, sy] = scale(state, this.#frame);
    return Math.max(0, this.#places.count(data.x[row], data.y[row], [COVERED / sx, COVERED / sy], shown) - 1);
  }

  #use(tool: Tool): void {
    this.#gestures.tool = tool;
    this.#lasso.ariaPressed = String(tool === "lasso");
    this.canvas.style.cursor = tool === "pan" ? "grab" : "crosshair";
  }

  // How it is drawn

  /** Take the size of the element; false if nothing has changed. */
  #resize(): boolean {
    const { width, height } = this.element.getBoundingClientRect();
    const frame = this.#frame;
    if (width === frame.width && height === frame.height) return false;
    Object.assign(frame, { width: Math.max(1, width), height: Math.max(1, height) });
    this.#ratio = Math.min(2, devicePixelRatio || 1);
    for (const canvas of [this.canvas, this.#over]) {
      canvas.width = Math.round(frame.width * this.#ratio);
      canvas.height = Math.round(frame.height * this.#ratio);
    }
    this.#overlaid = "?";
    return true;
  }

  #mark(): void {
    const { filter, data, state, lit } = this.#scene;
    const states = new Uint8Array(data.n);
    if (filter) for (let row = 0; row < data.n; row++) states[row] = filter[row] ? 0 : FILTERED;
    for (const row of lit?.rows ?? state.selection) states[row] |= SELECTED;
    this.#points.mark(states);
  }

  /** As many points as can be drawn in time now, and all of them when things have come to rest. */
  #draw(): void {
    const { n } = this.#scene.data;
    const now = performance.now();
    const gap = now - this.#lastDraw;
    if (gap < 1000 && gap > 60) this.#budget = Math.min(n, Math.max(FEW, Math.floor(this.#budget / 2)));
    else if (gap < 24 && this.#budget < n) this.#budget = Math.min(n, Math.ceil(this.#budget * 1.4));
    this.#lastDraw = now;
    if (this.#budget >= n) return this.#drawAll();
    this.#points.draw(this.#look(), this.#budget);
    this.#partly = true;
    this.canvas.dataset.drawn = String(this.#budget);
  }

  #drawAll(): void {
    const { state, scores, data } = this.#scene;
    this.#partly = false;
    if (this.#arranged !== state.t) this.#points.arrange(scores.order);
    this.#arranged = state.t;
    this.#points.draw(this.#look());
    this.canvas.dataset.drawn = String(data.n);
    this.canvas.dataset.t = String(state.t);
  }

  #look(): Look {
    const { state, data, paint, limit, dark, lit } = this.#scene;
    const { width, height } = this.#frame;
    const [sx, sy] = scale(state, this.#frame);
    const spread = Math.sqrt((width * height) / data.n);
    const size = Math.min(14, Math.max(1.6, Math.min(8, 0.58 * spread)) * state.zoom ** 0.3) * this.#ratio;
    return {
      ...paint,
      t: state.t,
      center: [state.x, state.y],
      scale: [(2 * sx) / width, (2 * sy) / height],
      size,
      brush: state.brush ?? [-1, 2],
      limit,
      chosen: lit ? lit.rows.length > 0 : state.selection.length > 0,
      lit: Boolean(lit),
      dark,
    };
  }

  /** Draw what lies over the points: rings, the outline in progress, the names of axes. */
  outlined(): void {
    if (!this.#scene) return;
    const rows = [...new Set([this.#scene.state.pinned, this.#hovered])].filter((row) => row >= 0);
    const corners = this.#gestures.corners();
    const signs = this.#signs();
    const { dark, state, paint } = this.#scene;
    const resting = !corners.length && !signs.length && !this.#far.any && !this.#things;
    const empty = resting && !rows.length && !this.#named && !this.#groups.any(this.#scene) && paint.map !== "kinds";
    const { x, y, zoom } = state;
    const overlaid = empty ? "" : resting ? [rows, x, y, zoom, dark, paint.label, state.groups, this.#groups.any(this.#scene)].join() : "?";
    if (overlaid !== "?" && overlaid === this.#overlaid) return; // the browser would put together the whole page again
    this.#overlaid = overlaid;
    this.#over.hidden = empty; // a browser that is busy may go on showing a canvas that was only cleared
    const c = this.#over.getContext("2d")!;
    c.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    c.clearRect(0, 0, this.#frame.width, this.#frame.height);
    this.#far.draw(c, this.#frame, this.#scene);
    this.#things?.draw(c, this.#frame, this.#scene);
    this.#groups.draw(c, this.#frame, this.#scene);
    this.#labels.draw(c, this.#frame, this.#scene);
    for (const row of signs) drawSign(c, this.toPixels(row), this.#scene.marks.of(row).mark, dark);
    for (const row of rows) drawRing(c, this.toPixels(row), dark);
    drawOutline(c, corners, dark);
    if (this.#named) nameAxes(c, this.#scene, this.#frame);
  }

  /** Rows that the reader has marked, while there are few enough of them to be seen. */
  #signs(): number[] {
    const marks = this.#scene.marks.size && this.#scene.marks.size <= MOST_SIGNS ? this.#scene.marks.all() : [];
    return marks.filter(({ mark }) => mark).map(({ row }) => this.#scene.data.row(row)).filter((row) => row >= 0);
  }
}

/** Where rows lie along an axis: their median, and how wide their middle half is. */
function spreadOf(line: Float32Array, rows: Uint32Array): { middle: number; spread: number } {
  const sorted = Float32Array.from(rows, (row) => line[row]).sort();
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))];
  return { middle: at(0.5), spread: at(0.75) - at(0.25) };
}
