// A field along which the reader drags a range, or moves its two ends by keys; places run from 0 to 1.

import type { App } from "../app";
import { h, on } from "./dom";

const SNAP = 0.03; // of the width, from either end: there the range takes in all that is left
const NEAR = 0.02; // of the width: an end is taken up again
const KEYS: Record<string, number> = { ArrowLeft: -0.01, ArrowDown: -0.01, ArrowRight: 0.01, ArrowUp: 0.01, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 };

export type Span = [number, number];

export class Brush {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  readonly #band = h("div.band", { hidden: true });
  readonly #handles: HTMLElement[];
  #span?: Span;
  #from = -1;

  /** `set` is told the range, or nothing if it is the whole; `names` are those of its ends. */
  constructor(app: App, kind: string, names: [string, string], private readonly set: (span?: Span) => void) {
    this.canvas = h("canvas", { class: kind, "aria-hidden": "true" });
    this.#handles = [0, 1].map((side) => this.#handle(side, names[side]));
    this.element = h("div.field", this.canvas, this.#band, ...this.#handles);
    const release = () => {
      this.#from = -1;
      app.hold(false);
    };
    on(this.element, {
      pointerdown: (event) => {
        if (event.button) return;
        app.hold(true);
        this.#press(event);
      },
      pointermove: (event) => this.#drag(event),
      pointerup: release,
      pointercancel: release,
    });
  }

  /** Show a range; `say` puts a place into words. */
  show(span: Span | undefined, say: (place: number) => string): void {
    this.#span = span;
    const [low, high] = span ?? [0, 1];
    this.#band.hidden = !span;
    this.#band.style.left = `${100 * low}%`;
    this.#band.style.width = `${100 * (high - low)}%`;
    this.#handles.forEach((handle, side) => {
      const place = side ? high : low;
      handle.style.left = `${100 * place}%`;
      handle.setAttribute("aria-valuenow", place.toFixed(2));
      handle.ariaValueText = say(place);
    });
  }

  #handle(side: number, name: string): HTMLElement {
    const element = h("div.handle", { tabindex: 0, role: "slider", label: name, "aria-valuemin": 0, "aria-valuemax": 1 });
    const key = (event: KeyboardEvent) => {
      const by = KEYS[event.key];
      if (!by) return;
      event.preventDefault();
      const now: Span = [...(this.#span ?? [0, 1])];
      now[side] = Math.min(1, Math.max(0, now[side] + by));
      this.#tell(...now);
    };
    on(element, { keydown: key });
    return element;
  }

  #tell(low: number, high: number): void {
    if (low >= high) return;
    this.#span = low <= 0 && high >= 1 ? undefined : [low, high]; // known before it is shown: keys may come faster
    this.set(this.#span);
  }

  #place(event: PointerEvent): number {
    const box = this.canvas.getBoundingClientRect();
    const at = (event.clientX - box.left) / box.width;
    return at < SNAP ? 0 : at > 1 - SNAP ? 1 : at;
  }

  #press(event: PointerEvent): void {
    this.element.setPointerCapture(event.pointerId);
    const at = this.#place(event);
    const near = this.#span?.findIndex((edge) => Math.abs(edge - at) < NEAR) ?? -1;
    this.#from = near >= 0 ? this.#span![1 - near] : at; // an end is taken up again, or a new range begins
    if (near < 0 && this.#span) this.set();
  }

  #drag(event: PointerEvent): void {
    if (this.#from < 0) return;
    const at = this.#place(event);
    if (Math.abs(at - this.#from) > 0.005) this.#tell(Math.min(at, this.#from), Math.max(at, this.#from));
  }
}

/** A canvas as sharp as the screen, to draw on in its own pixels. */
export function sharp(canvas: HTMLCanvasElement, height: number): [CanvasRenderingContext2D, number] {
  const width = canvas.clientWidth || 300;
  const ratio = Math.min(2, devicePixelRatio || 1);
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const c = canvas.getContext("2d")!;
  c.scale(ratio, ratio);
  return [c, width];
}
