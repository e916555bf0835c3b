// The map: zoom, pan and pinch, the point under the pointer, lasso and box, and when to draw how much.

import { any, type App, type Changed, type Part } from "./app";
import { day, many, number } from "./data";
import { h, icon, on } from "./dom";
import { Places, type Outline } from "./places";
import { FILTERED, Points, SELECTED } from "./points";

type Tool = "pan" | "box" | "lasso";
const REACH = 14; // pixels from the pointer to a point
const SETTLED = 140; // milliseconds without movement after which every point is drawn
const MOST_ZOOM = 5000;
const FEW = 100_000; // points that are drawn at least while things move

export class MapPart implements Part {
  readonly element: HTMLElement;
  readonly canvas = h("canvas", { id: "map", tabindex: 0, role: "application" });
  readonly #over = h("canvas", { class: "over", "aria-hidden": "true" });
  readonly #points: Points;
  readonly #tools: Record<Tool, HTMLButtonElement>;
  #places?: Places;
  #tool: Tool = "pan";
  readonly #pointers = new Map<number, [number, number]>();
  #outline: [number, number][] = []; // of a lasso or a box in progress, in pixels
  #dragging: Tool | "" = "";
  #travelled = 0;
  #hovered = -1;
  #budget: number; // points drawn while things move
  #lastDraw = 0;
  #settling = 0;
  #arranged = -1; // the t whose order the points are in
  #w = 1;
  #height = 1;
  #ratio = 1;
  #walk = -1; // where the keyboard stands in the ranking
  #blank = false; // nothing is drawn over the points
  readonly #named: boolean; // the axes are columns of the data

  constructor(
    private readonly app: App,
    private readonly onHover: (row: number, at: [number, number]) => void,
  ) {
    this.#points = new Points(this.canvas, app.data);
    this.#named = !/^(UMAP|PCA|\d)/.test(app.data.axes.names[0]);
    this.#budget = Math.min(app.data.n, 2 * FEW);
    const button = (name: string, label: string, act: () => void) =>
      h("button", { title: label, "aria-label": label, onclick: act }, icon(name)) as HTMLButtonElement;
    this.#tools = {
      pan: button("pan", "Move the map", () => this.#use("pan")),
      box: button("box", "Select a box (or Shift and drag)", () => this.#use("box")),
      lasso: button("lasso", "Select with a lasso (or Alt and drag)", () => this.#use("lasso")),
    };
    const zooms = [
      button("in", "Zoom in", () => this.#zoomBy(1.5)),
      button("out", "Zoom out", () => this.#zoomBy(1 / 1.5)),
      button("fit", "Show the whole map", () => app.set({ x: 0, y: 0, zoom: 1 })),
    ];
    this.element = h("div.stage", this.canvas, this.#over,
      h("div.tools", { role: "toolbar", "aria-label": "Map" }, ...Object.values(this.#tools), ...zooms));
    this.#use("pan");
    this.#listen();
    new ResizeObserver(() => this.#resize() && app.paint && this.#drawAgain()).observe(this.element);
  }

  update(changed: Changed): void {
    if (this.#w === 1) this.#resize(); // the first time
    if (any(changed, "colour", "theme") && this.app.values) this.#points.paint(this.app.values);
    if (any(changed, "query", "selection")) this.#mark();
    if (any(changed, "t", "x", "y", "zoom", "colour", "query", "brush", "rule", "level", "theme", "selection")) this.#draw();
    this.#drawOver();
  }

  /** A ring around the row, brought into view if it is not. */
  show(row: number, bring = false): void {
    this.#hovered = row;
    if (bring && row >= 0) {
      const [px, py] = this.toPixels(row);
      if (px < 20 || py < 20 || px > this.#w - 20 || py > this.#height - 20) {
        this.app.set({ x: this.app.data.x[row], y: this.app.data.y[row] });
      }
    }
    this.#drawOver();
  }

  toPixels(row: number): [number, number] {
    const [sx, sy] = this.#scale();
    const { x, y } = this.app.data;
    return [this.#w / 2 + (x[row] - this.app.state.x) * sx, this.#height / 2 - (y[row] - this.app.state.y) * sy];
  }

  #use(tool: Tool): void {
    this.#tool = tool;
    for (const [name, button] of Object.entries(this.#tools)) button.setAttribute("aria-pressed", String(name === tool));
    this.canvas.style.cursor = tool === "pan" ? "grab" : "crosshair";
  }

  /** Pixels for one unit of the map, along each axis. */
  #scale(): [number, number] {
    const { zoom } = this.app.state;
    const { half } = this.app.data.axes;
    const [a, b] = [0.46 * this.#w, 0.46 * this.#height];
    const one = Math.min(a, b);
    return half[0] === half[1] ? [one * zoom, one * zoom] : [a * zoom, b * zoom];
  }

  #toMap(px: number, py: number): [number, number] {
    const [sx, sy] = this.#scale();
    const { x, y } = this.app.state;
    return [x + (px - this.#w / 2) / sx, y - (py - this.#height / 2) / sy];
  }

  /** Take the size of the element; false if nothing has changed. */
  #resize(): boolean {
    const box = this.element.getBoundingClientRect();
    if (box.width === this.#w && box.height === this.#height) return false;
    this.#w = Math.max(1, box.width);
    this.#height = Math.max(1, box.height);
    this.#ratio = Math.min(2, devicePixelRatio || 1);
    for (const canvas of [this.canvas, this.#over]) {
      canvas.width = Math.round(this.#w * this.#ratio);
      canvas.height = Math.round(this.#height * this.#ratio);
    }
    this.#blank = false;
    return true;
  }

  #drawAgain(): void {
    this.#draw();
    this.#drawOver();
  }

  #mark(): void {
    const { filter, data, state } = this.app;
    const states = new Uint8Array(data.n);
    if (filter) for (let row = 0; row < data.n; row++) states[row] = filter[row] ? 0 : FILTERED;
    for (const row of state.selection) states[row] |= SELECTED;
    this.#points.mark(states);
  }

  /** As many points as can be drawn in time now, and all of them when things have come to rest. */
  #draw(): void {
    const { n } = this.app.data;
    const now = performance.now();
    const gap = now - this.#lastDraw;
    if (gap < 1000 && gap > 60) this.#budget = Math.min(n, Math.max(FEW, Math.floor(this.#budget / 2)));
    else if (gap < 24 && this.#budget < n) this.#budget = Math.min(n, Math.ceil(this.#budget * 1.4));
    this.#lastDraw = now;
    clearTimeout(this.#settling);
    if (this.#budget >= n) this.#drawAll();
    else {
      this.#points.draw(this.#look(), this.#budget);
      this.canvas.dataset.drawn = String(this.#budget);
      this.#settling = window.setTimeout(() => this.#drawAll(), SETTLED);
    }
  }

  #drawAll(): void {
    const { app } = this;
    if (this.#arranged !== app.state.t) this.#points.arrange(app.scores.order);
    this.#arranged = app.state.t;
    this.#points.draw(this.#look());
    this.canvas.dataset.drawn = String(app.data.n);
    this.canvas.dataset.t = String(app.state.t);
  }

  #look() {
    const { state, data, paint, limit, dark } = this.app;
    const [sx, sy] = this.#scale();
    const spread = Math.sqrt((this.#w * this.#height) / data.n);
    const size = Math.min(14, Math.max(1.6, Math.min(8, 0.58 * spread)) * state.zoom ** 0.3) * this.#ratio;
    return {
      t: state.t,
      center: [state.x, state.y] as [number, number],
      scale: [(2 * sx) / this.#w, (2 * sy) / this.#height] as [number, number],
      size,
      map: paint.map,
      byScore: paint.byScore,
      range: paint.range,
      brush: state.brush ?? ([-1, 2] as [number, number]),
      limit,
      chosen: state.selection.length > 0,
      dark,
    };
  }

  #drawOver(): void {
    const empty = this.app.state.pinned < 0 && this.#hovered < 0 && !this.#outline.length && !this.#named;
    if (empty && this.#blank) return; // the browser would put together the whole page again
    this.#blank = empty;
    const c = this.#over.getContext("2d")!;
    c.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    c.clearRect(0, 0, this.#w, this.#height);
    const ink = this.app.dark ? "#fff" : "#111";
    c.lineWidth = 2;
    for (const row of new Set([this.app.state.pinned, this.#hovered])) {
      if (row < 0) continue;
      const [px, py] = this.toPixels(row);
      c.beginPath();
      c.arc(px, py, 8, 0, 7);
      c.strokeStyle = this.app.dark ? "#000" : "#fff";
      c.lineWidth = 5;
      c.stroke();
      c.strokeStyle = ink;
      c.lineWidth = 2;
      c.stroke();
    }
    if (this.#outline.length > 1) {
      c.beginPath();
      for (const [px, py] of this.#corners()) c.lineTo(px, py);
      c.closePath();
      c.fillStyle = this.app.dark ? "rgb(255 255 255 / 0.1)" : "rgb(0 0 0 / 0.07)";
      c.fill();
      c.strokeStyle = ink;
      c.setLineDash([5, 4]);
      c.lineWidth = 1.5;
      c.stroke();
      c.setLineDash([]);
    }
    this.#nameAxes(c, ink);
  }

  /** Two columns of the data have names and numbers; directions of UMAP mean nothing. */
  #nameAxes(c: CanvasRenderingContext2D, ink: string): void {
    if (!this.#named) return;
    const { names, center, half } = this.app.data.axes;
    const kinds = names.map((name) => this.app.data.columns.find((column) => column.name === name)?.kind);
    const text = (k: 0 | 1, u: number) => {
      const value = center[k] + u * half[k];
      return kinds[k] === "date" ? day(value) : number(Number(value.toPrecision(3)));
    };
    const [left, low] = this.#toMap(0, this.#height);
    const [right, high] = this.#toMap(this.#w, 0);
    c.fillStyle = ink;
    c.globalAlpha = 0.7;
    c.font = "11px system-ui, sans-serif";
    c.textAlign = "right";
    c.fillText(`${names[0]}: ${text(0, left)} to ${text(0, right)} →`, this.#w - 12, this.#height - 10);
    c.save();
    c.translate(this.#w - 10, 12);
    c.rotate(-Math.PI / 2);
    c.fillText(`${names[1]}: ${text(1, low)} to ${text(1, high)} →`, 0, 0);
    c.restore();
    c.globalAlpha = 1;
  }

  #corners(): [number, number][] {
    if (this.#dragging !== "box") return this.#outline;
    const [[a, b], [x, y]] = [this.#outline[0], this.#outline[this.#outline.length - 1]];
    return [[a, b], [x, b], [x, y], [a, y]];
  }

  #zoomBy(factor: number, px = this.#w / 2, py = this.#height / 2): void {
    const { state } = this.app;
    const zoom = Math.min(MOST_ZOOM, Math.max(0.5, state.zoom * factor));
    const [mx, my] = this.#toMap(px, py);
    const keep = state.zoom / zoom; // what lies under the pointer stays there
    this.app.set({ zoom, x: mx + (state.x - mx) * keep, y: my + (state.y - my) * keep });
  }

  #moveBy(dx: number, dy: number): void {
    const [sx, sy] = this.#scale();
    const clamp = (v: number) => Math.max(-1.5, Math.min(1.5, v));
    this.app.set({ x: clamp(this.app.state.x - dx / sx), y: clamp(this.app.state.y + dy / sy) });
  }

  #at(event: PointerEvent | WheelEvent | MouseEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #listen(): void {
    const { canvas } = this;
    const wheel = (event: WheelEvent) => {
      // In a notebook the page must still scroll: there the map zooms once it has been clicked.
      if (!this.app.host.linked && document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.#zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)), ...this.#at(event));
    };
    on(canvas, {
      wheel,
      pointerdown: (event) => this.#press(event),
      pointermove: (event) => this.#move(event),
      pointerup: (event) => this.#release(event),
      pointercancel: (event) => this.#release(event),
      pointerleave: () => !this.#dragging && this.#hover(-1),
      dblclick: (event) => this.#zoomBy(2, ...this.#at(event)),
      keydown: (event) => this.#key(event),
    });
  }

  #press(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.#pointers.set(event.pointerId, this.#at(event));
    this.#travelled = 0;
    if (this.#pointers.size > 1) {
      [this.#dragging, this.#outline] = ["pan", []];
      return;
    }
    this.#dragging = event.shiftKey ? "box" : event.altKey ? "lasso" : this.#tool;
    this.#outline = this.#dragging === "pan" ? [] : [this.#at(event)];
  }

  #move(event: PointerEvent): void {
    const now = this.#at(event);
    const before = this.#pointers.get(event.pointerId);
    if (!before || !this.#dragging) {
      if (event.pointerType !== "touch") this.#hover(this.#under(now));
      return;
    }
    const others = [...this.#pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    this.#pointers.set(event.pointerId, now);
    this.#travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    if (others.length) this.#pinch(before, now, others[0]);
    else if (this.#dragging === "pan") this.#moveBy(now[0] - before[0], now[1] - before[1]);
    else {
      const last = this.#outline[this.#outline.length - 1];
      if (Math.hypot(now[0] - last[0], now[1] - last[1]) > 3) this.#outline.push(now);
      this.#drawOver();
    }
  }

  /** Two fingers: what lies under them stays under them. */
  #pinch(before: [number, number], now: [number, number], other: [number, number]): void {
    const apart = (a: [number, number]) => Math.hypot(a[0] - other[0], a[1] - other[1]);
    this.#moveBy((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    if (apart(before) > 10) this.#zoomBy(apart(now) / apart(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
  }

  #release(event: PointerEvent): void {
    const at = this.#at(event);
    this.#pointers.delete(event.pointerId);
    if (this.#pointers.size) return;
    const dragging = this.#dragging;
    const outline = this.#outline;
    if (this.#travelled < 5) this.app.set({ pinned: this.#under(at) });
    else if ((dragging === "box" || dragging === "lasso") && outline.length > 1) {
      const corners: Outline = this.#corners().map(([px, py]) => this.#toMap(px, py));
      const thin = Math.ceil(corners.length / 300);
      this.#select(corners.filter((_, i) => i % thin === 0), event.ctrlKey || event.metaKey);
    }
    [this.#dragging, this.#outline] = ["", []];
    this.#drawOver();
  }

  #select(outline: Outline, more: boolean): void {
    this.#places ??= new Places(this.app.data);
    let rows = this.#places.inside(outline, this.app.shown);
    if (more) rows = Uint32Array.from(new Set([...this.app.state.selection, ...rows])).sort();
    this.app.set({ selection: rows });
    this.app.announce(`${many(rows.length)} rows selected`);
  }

  #under([px, py]: [number, number]): number {
    this.#places ??= new Places(this.app.data);
    const [sx, sy] = this.#scale();
    return this.#places.nearest(...this.#toMap(px, py), [REACH / sx, REACH / sy], this.app.shown);
  }

  #hover(row: number): void {
    if (row === this.#hovered) return;
    this.#hovered = row;
    this.onHover(row, row < 0 ? [0, 0] : this.toPixels(row));
    this.#drawOver();
  }

  #key(event: KeyboardEvent): void {
    const far = 60;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => this.#moveBy(far, 0),
      ArrowRight: () => this.#moveBy(-far, 0),
      ArrowUp: () => this.#moveBy(0, far),
      ArrowDown: () => this.#moveBy(0, -far),
      "+": () => this.#zoomBy(1.4),
      "=": () => this.#zoomBy(1.4),
      "-": () => this.#zoomBy(1 / 1.4),
      "0": () => this.app.set({ x: 0, y: 0, zoom: 1 }),
      n: () => this.#step(1),
      p: () => this.#step(-1),
    };
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  /** To the next row from the most peripheral one on, without a mouse. */
  #step(by: number): void {
    const { order } = this.app.scores;
    const { pinned } = this.app.state;
    let k = pinned >= 0 && order[this.#walk] === pinned ? this.#walk : pinned >= 0 ? order.indexOf(pinned) : -1;
    do k += by;
    while (k >= 0 && k < order.length && !this.app.shown(order[k]));
    if (k < 0 || k >= order.length) return;
    this.#walk = k;
    this.app.set({ pinned: order[k] });
    this.show(order[k], true);
  }
}
