// The card of one row: what it is, its scores and rank, how they go with t, and why.

import type { App, Changed, Part } from "../app";
import { h, icon } from "./dom";
import { face, heads, inWords, profile } from "./faces";
import { moreButton } from "./full";
import { type Answers, unitsAt, weighed } from "./why";
import { exact, many, percent, score, short, signed } from "../core/words";

const COLUMNS = 8;

export class Detail implements Part {
  readonly element = h("div.detail", { hidden: true });
  #row = -1;
  #hovered = -1;
  #asked = 0;

  constructor(
    private readonly app: App,
    private readonly answers: Answers,
    private readonly place: (row: number) => [number, number],
  ) {}

  update(changed: Changed): void {
    if (changed.has("pinned") && this.app.state.pinned >= 0) this.app.announce(inWords(this.app, this.app.state.pinned));
    this.#show();
  }

  hover(row: number): void {
    this.#hovered = row;
    this.#show();
  }

  #show(): void {
    const { pinned } = this.app.state;
    const reviewing = ["review", "whatif"].includes(this.app.state.panel); // there the row of the card stands in the panel
    const row = this.#hovered >= 0 ? this.#hovered : reviewing ? -1 : pinned;
    this.element.hidden = row < 0;
    if (row < 0) return;
    const fixed = row === pinned;
    this.element.setAttribute("role", fixed ? "region" : "tooltip");
    this.element.ariaLabel = `Row ${this.app.data.id(row)}`;
    this.element.classList.toggle("fixed", fixed);
    this.#fill(row, fixed);
    if (row !== this.#row) this.#ask(row);
    this.#row = row;
    this.#explain();
    this.#stand(row);
  }

  #fill(row: number, fixed: boolean): void {
    const { app } = this;
    const { scores, data } = app;
    const [g, l] = heads(app, row);
    const rank = scores.rank(row);
    const p = scores.pValue(row);
    const columns = data.columns.filter((c) => c.name !== data.itemColumn).slice(0, COLUMNS);
    this.element.replaceChildren(
      h("div.head", h("h2", `Row ${many(data.id(row))}`), app.flagged(row) && h("span.flag", "outlier"),
        fixed && h("button.plain", { label: "Close", onclick: () => this.#close() }, icon("close"))),
      h("div.what", face(app, row, true),
        h("div.numbers", {},
          h("div.big", exact(scores.f[row]), score(scores.f[row])),
          h("div", `rank ${many(rank)} of ${many(data.n)}`),
          h("div.soft", `more central than ${percent(1 - rank / data.n)}`),
          p !== undefined && h("div.soft", exact(p), `p-value ${short(p)}`))),
      fixed ? moreButton(app, row) : "",
      h("div.along", h("span", "global ", h("b", exact(g), score(g))), profile(app, row, 120, 36), h("span", h("b", exact(l), score(l)), " local")),
      h("div.reasons"),
      h("dl", ...columns.flatMap((c) => [h("dt", c.name), h("dd", c.text(row) || "—")])));
  }

  #close(): void {
    this.#hovered = -1;
    this.app.set({ pinned: -1 });
  }

  /** Beside the point, inside the map; where the map is narrow, at its top or bottom, wherever the point is not. */
  #stand(row: number): void {
    const stage = this.element.parentElement!;
    const [px, py] = this.place(row);
    const { clientWidth: width, clientHeight: height } = stage;
    const narrow = width < 520;
    this.element.classList.toggle("sheet", narrow);
    const { offsetWidth: wide, offsetHeight: tall } = this.element;
    const left = px + 18 + wide < width ? px + 18 : px - 18 - wide;
    const top = narrow ? (py > height / 2 ? 8 : height - tall - 8) : Math.min(py - 40, height - tall - 8);
    this.element.style.left = `${narrow ? 8 : Math.max(8, Math.min(left, width - wide - 8))}px`;
    this.element.style.top = `${Math.max(8, top)}px`;
  }

  #ask(row: number): void {
    const question = ++this.#asked;
    if (!this.app.data.asks) return;
    setTimeout(() => {
      if (question !== this.#asked) return; // the pointer has gone on
      void this.answers.ask(row).then(() => {
        if (question !== this.#asked) return;
        this.#explain();
        this.#stand(row);
      });
    }, 120);
  }

  /** The features that weigh most at this t, with what each adds to the score or takes from it. */
  #explain(): void {
    const why = this.answers.now(this.#row);
    const place = this.element.querySelector(".reasons");
    if (!why?.reasons.length || !place) return;
    place.replaceChildren(h("h3", "Why, against the centre"), reasonsList(this.app, this.#row, weighed(this.app, why.reasons, unitsAt(this.app, this.#row), why.typical).slice(0, 5)));
  }
}

/** Features and what they add or take, as bars. */
export function reasonsList(app: App, row: number, reasons: { name: string; value: number }[]): HTMLElement {
  const most = Math.abs(reasons[0]?.value ?? 0) || 1;
  return h("ul", ...reasons.map(({ name, value }) => {
    const bar = h(value < 0 ? "span.bar.down" : "span.bar.up");
    bar.style.width = `${(46 * Math.abs(value)) / most}%`;
    const held = row < 0 ? "" : app.data.columns.find((c) => c.name === name)?.text(row);
    return h("li", h("span.name", { title: name }, name, h("i", held ?? "")), h("span.track", bar), h("span.amount", exact(value), signed(value)));
  }));
}
