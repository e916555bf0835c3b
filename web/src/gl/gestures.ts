// What fingers, mouse and keys do to the map, told to it in its own terms.

import { distance, type Pair } from "../core/camera";
import { on } from "../ui/dom";

export type Tool = "pan" | "box" | "lasso";

/** What can be done to a map; places are pixels of its canvas. */
export interface Gestured {
  readonly canvas: HTMLCanvasElement;
  zoomBy(factor: number, at?: Pair): void;
  moveBy(by: Pair): void;
  pinch(before: Pair, now: Pair, other: Pair): void;
  fit(): void;
  hover(at?: Pair): void; // nowhere: the pointer has left
  pick(at: Pair): void;
  outlined(): void; // the outline in progress has changed
  select(corners: Pair[], more: boolean): void;
  step(by: 1 | -1): boolean; // to the next row of the ranking, without a mouse; false: somebody else does it
  toggle(): void; // take the row of the card into the selection, or out of it
  near(): void; // zoom to what is selected or left by the filter
  hold(held: boolean): void; // something is dragged, or let go
  keys(): boolean; // single letters are commands
}

const STILL = 5; // pixels that a click may travel
const APART = 3; // pixels between corners of a lasso
const MOVES: Record<string, Pair> = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
const ZOOMS: Record<string, number> = { "+": 1.4, "=": 1.4, "-": 1 / 1.4 };

export class Gestures {
  tool: Tool = "pan";
  readonly #pointers = new Map<number, Pair>();
  #outline: Pair[] = []; // of a lasso or a box in progress
  #dragging: Tool | "" = "";
  #travelled = 0;

  /** `awake` tells whether the wheel is the map's or still the page's. */
  constructor(
    private readonly map: Gestured,
    private readonly awake: () => boolean,
  ) {
    on(map.canvas, {
      wheel: (event) => this.#turn(event),
      pointerdown: (event) => this.#press(event),
      pointermove: (event) => this.#move(event),
      pointerup: (event) => this.#release(event),
      pointercancel: () => this.#forget(),
      lostpointercapture: (event) => this.#pointers.has(event.pointerId) && this.#forget(),
      contextmenu: () => this.#forget(),
      pointerleave: () => this.#dragging || map.hover(),
      dblclick: (event) => map.zoomBy(2, this.#at(event)),
      keydown: (event) => this.#key(event),
    });
  }

  /** The corners of the lasso or box in progress; none if there is neither. */
  corners(): Pair[] {
    const outline = this.#outline;
    if (outline.length < 2) return [];
    if (this.#dragging !== "box") return outline;
    const [[a, b], [x, y]] = [outline[0], outline[outline.length - 1]];
    return [[a, b], [x, b], [x, y], [a, y]];
  }

  #at(event: MouseEvent): Pair {
    const box = this.map.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  #turn(event: WheelEvent): void {
    if (!event.ctrlKey && !this.awake()) return;
    event.preventDefault();
    this.map.zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)), this.#at(event));
  }

  #press(event: PointerEvent): void {
    if (event.button) return; // another button's menu may swallow its release
    this.map.canvas.setPointerCapture(event.pointerId);
    const at = this.#at(event);
    this.#pointers.set(event.pointerId, at);
    this.#travelled = 0;
    const single = this.#pointers.size < 2;
    this.#dragging = !single ? "pan" : event.shiftKey ? "box" : event.altKey ? "lasso" : this.tool;
    this.#outline = this.#dragging === "pan" ? [] : [at];
    this.map.hold(true);
  }

  /** Nothing is being dragged any more, and nothing comes of it. */
  #forget(): void {
    this.#pointers.clear();
    [this.#dragging, this.#outline] = ["", []];
    this.map.hold(false);
    this.map.outlined();
  }

  #move(event: PointerEvent): void {
    const now = this.#at(event);
    const before = this.#pointers.get(event.pointerId);
    if (!before || !this.#dragging) {
      if (event.pointerType !== "touch") this.map.hover(now);
      return;
    }
    const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.#pointers.set(event.pointerId, now);
    this.#travelled += distance(now, before);
    if (other) this.map.pinch(before, now, other);
    else if (this.#dragging === "pan") this.map.moveBy([now[0] - before[0], now[1] - before[1]]);
    else {
      if (distance(now, this.#outline[this.#outline.length - 1]) > APART) this.#outline.push(now);
      this.map.outlined();
    }
  }

  #release(event: PointerEvent): void {
    if (!this.#pointers.delete(event.pointerId) || this.#pointers.size) return;
    const corners = this.corners();
    if (this.#travelled < STILL) this.map.pick(this.#at(event));
    else if (corners.length) this.map.select(corners, event.ctrlKey || event.metaKey);
    this.#forget();
  }

  #key(event: KeyboardEvent): void {
    const { map } = this;
    const { key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (key in MOVES) map.moveBy(MOVES[key]);
    else if (key in ZOOMS) map.zoomBy(ZOOMS[key]);
    else if (key === "0") map.fit();
    else if (key === "Escape" && this.#outline.length) this.#forget();
    else if (key === " " || key === "Enter") map.toggle();
    else if (!map.keys()) return;
    else if (key === "n" || key === "p") {
      if (!map.step(key === "n" ? 1 : -1)) return;
    } else if (key === "x") map.toggle();
    else if (key === "z") map.near();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
