// A list of which only the lines in sight exist, so that a million of them scroll as well as ten.

import { h, on } from "./dom";

const TALLEST = 5_000_000; // pixels: browsers cut what is taller; beyond, a pixel stands for more than a pixel

export class Scroller {
  readonly element: HTMLElement;
  readonly #sizer = h("div.sizer");
  #lines = 0;
  #line = 24; // pixels
  #head = 0; // pixels above the first line, always in sight
  #frame = 0;

  /** `content` shows what `draw` is asked for: so many lines from the first one on. */
  constructor(
    content: HTMLElement,
    private readonly draw: (first: number, count: number) => void,
  ) {
    content.classList.add("in-sight");
    this.#sizer.append(content);
    this.element = h("div.scroller", this.#sizer);
    on(this.element, { scroll: () => (this.#frame ||= requestAnimationFrame(() => this.show())) });
  }

  /** So many lines, each so many pixels high, below a head. */
  size(lines: number, line: number, head: number): void {
    [this.#lines, this.#line, this.#head] = [lines, line, head];
    this.#sizer.style.height = `${Math.min(TALLEST, lines * line) + head}px`;
    this.show();
  }

  /** How many lines there is room for; the last of them may be cut. */
  get room(): number {
    return Math.max(1, Math.ceil((this.element.clientHeight - this.#head) / this.#line));
  }

  get first(): number {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    const way = scrollHeight - clientHeight;
    const whole = Math.max(1, Math.floor((clientHeight - this.#head) / this.#line)); // lines that are not cut
    const last = Math.max(0, this.#lines - whole);
    return way > 0 ? Math.round((scrollTop / way) * last) : 0;
  }

  show(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    const { first } = this;
    this.draw(first, Math.min(this.room, this.#lines - first));
  }

  /** Bring a line into sight, if it is not there. */
  to(line: number): void {
    const { first, room } = this;
    if (line >= first && line < first + room - 1) return;
    const whole = Math.max(1, room - 1);
    const last = Math.max(1, this.#lines - whole);
    const { scrollHeight, clientHeight } = this.element;
    const wanted = Math.max(0, Math.min(last, line - Math.floor(whole / 2)));
    this.element.scrollTop = (wanted / last) * (scrollHeight - clientHeight);
    this.show();
  }
}
