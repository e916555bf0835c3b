// The card of one row: what it is, its scores and rank, how they go with t, and why. The row that is pointed at has its
// card beside the point; the one that was chosen has it beside the map, where it covers nothing.

import type { App, Changed, Part } from "../app";
import { exact, many, plural, rounded, score, signed } from "../core/words";
import { guiltyFirst } from "./typical";
import type { Alike } from "./alike";
import { h, icon } from "./dom";
import { face, heads, inWords, profile } from "./faces";
import { moreButton } from "./full";
import { partsOf } from "./things";
import { type Answers, guiltyFeatures, rarity, typicalLine, unitsAt, weighed } from "./why";
import type { Column } from "../core/data";

const [COLUMNS, POINTED] = [8, 4]; // columns of a card, and of one that floats over the map
const DIGITS = 4; // of a number on a card
const PAUSE = 120; // milliseconds that the pointer rests before the host is asked

/** One card; `fixed` is the one that was chosen. */
class Card {
  readonly element: HTMLElement;
  row = -1;
  #asked = 0;

  constructor(
    private readonly app: App,
    private readonly answers: Answers,
    private readonly others: Alike,
    private readonly fixed: boolean,
    private readonly home: HTMLElement,
    private readonly filled: () => void,
    private readonly covered?: (row: number) => number,
  ) {
    this.element = h(fixed ? "section.detail.fixed" : "div.detail", { role: fixed ? "region" : "tooltip" });
  }

  show(row: number): void {
    const before = this.row;
    this.row = row;
    if (row < 0) return this.element.remove();
    if (!this.element.isConnected) this.home.append(this.element);
    this.element.ariaLabel = `Row ${this.app.data.id(row)}`;
    this.#fill(row);
    if (row !== before) this.#ask(row);
    this.#explain();
    this.filled();
  }

  #fill(row: number): void {
    const { app, fixed } = this;
    const { scores, data } = app;
    const [g, l] = heads(app, row);
    const { mark, tags, note, by, at } = app.marks.of(row);
    const said = [mark, tags, note, by && `by ${by}`, at].filter(Boolean).join(" · ");
    const named = guiltyFeatures(app, row, this.answers.now(row));
    const columns = guiltyFirst(data.columns.filter((c) => c.name !== data.itemColumn), named).slice(0, fixed ? COLUMNS : POINTED);
    this.element.replaceChildren(
      h("div.head", h("h2", `Row ${data.id(row)}`), app.flagged(row) && h("span.flag", "outlier"),
        fixed && h("button.plain", { label: "Close", onclick: () => app.set({ pinned: -1 }) }, icon("close"))),
      said ? h("p.said", said) : "",
      h("div.what", face(app, row, true),
        h("div.numbers", {},
          h("div.big", exact(scores.f[row]), score(scores.f[row])),
          h("div.place", { title: `rank ${many(scores.rank(row))} of ${many(data.n)}, from the most typical on` }, scores.standing(row)),
          h("div.soft", scores.beyond(row)),
          h("div.soft", rarity(app, row)))),
      partsOf(app, row, fixed),
      this.#crowd(row),
      fixed ? moreButton(app, row) : "",
      fixed ? h("div.along", h("span", data.given.length ? "its kind " : "all rows ", h("b", exact(g), score(g))), profile(app, row, 120, 36), h("span", h("b", exact(l), score(l)), " nearby")) : "",
      h("div.reasons"),
      fixed ? typicalLine(app, row, this.answers) : "",
      h("dl", ...columns.flatMap((c) => [h("dt", { title: c.name }, c.name), h("dd", fixed ? {} : { title: c.text(row) }, (fixed ? c.text(row) : inDigits(c, row)) || "—")])),
      fixed ? this.others.of(row, () => row === this.row && this.show(row)) : "");
  }

  /** Points may lie on each other: only the nearest of them is told of. */
  #crowd(row: number): HTMLElement | "" {
    const more = this.covered?.(row) ?? 0;
    return more ? h("p.said.crowd", `${plural(more, "more row")} at this place: zoom in, or select them with a box`) : "";
  }

  #ask(row: number): void {
    const question = ++this.#asked;
    if (!this.app.data.asks) return;
    setTimeout(() => {
      if (question !== this.#asked) return; // the pointer has gone on
      void this.answers.ask(row).then(() => question === this.#asked && this.show(row));
      if (this.fixed) void this.answers.typicalWith(row).then((line) => line && question === this.#asked && this.show(row));
    }, PAUSE);
  }

  /** The features that weigh most at this t, with what each adds to the score or takes from it. */
  #explain(): void {
    const why = this.answers.now(this.row);
    const place = this.element.querySelector(".reasons");
    if (!why?.reasons.length || !place) return;
    const reasons = weighed(this.app, why.reasons, unitsAt(this.app, this.row), why.typical);
    place.replaceChildren(h("h3", WHY), reasonsList(this.app, this.row, reasons.slice(0, this.fixed ? 5 : 3)));
  }
}

/** A cell with few digits: all of them are on the card beside the map. */
function inDigits({ kind, values, text }: Column, row: number): string {
  const value = kind === "number" ? values![row] : NaN;
  return isNaN(value) || Number.isInteger(value) ? text(row) : rounded(value, DIGITS);
}

/** What stands above reasons. */
const WHY = "Why: what makes it odd, or typical";

export class Detail implements Part {
  readonly dock = h("div.dock"); // beside the map
  readonly #pointed: Card;
  readonly #chosen: Card;
  #hovered = -1;

  constructor(
    private readonly app: App,
    answers: Answers,
    others: Alike,
    private readonly stage: HTMLElement,
    private readonly place: (row: number) => [number, number],
    covered: (row: number) => number,
  ) {
    this.#pointed = new Card(app, answers, others, false, stage, () => this.#stand(), covered);
    this.#chosen = new Card(app, answers, others, true, this.dock, () => undefined);
  }

  update(changed: Changed): void {
    const { pinned } = this.app.state;
    if (changed.has("pinned") && pinned >= 0) this.app.announce(inWords(this.app, pinned));
    this.#show();
  }

  hover(row: number): void {
    if (row === this.#hovered) return;
    this.#hovered = row;
    this.#show(true);
  }

  #show(hovering = false): void {
    const { pinned, panel } = this.app.state;
    const docked = panel === "review" ? -1 : pinned; // there the chosen row stands in the panel
    if (!hovering || docked !== this.#chosen.row) this.#chosen.show(docked);
    this.#pointed.show(this.#hovered === docked ? -1 : this.#hovered);
  }

  /** Beside the point, inside the map; where the map is narrow, at its top or bottom, wherever the point is not. */
  #stand(): void {
    const { element } = this.#pointed;
    const [px, py] = this.place(this.#pointed.row);
    const { clientWidth: width, clientHeight: height } = this.stage;
    const narrow = width < 520;
    element.classList.toggle("sheet", narrow);
    const { offsetWidth: wide, offsetHeight: tall } = element;
    const left = px + 18 + wide < width ? px + 18 : px - 18 - wide;
    const top = narrow ? (py > height / 2 ? 8 : height - tall - 8) : Math.min(py - 40, height - tall - 8);
    element.style.left = `${narrow ? 8 : Math.max(8, Math.min(left, width - wide - 8))}px`;
    element.style.top = `${Math.max(8, top)}px`;
  }
}

/** Features and what they add or take, as bars. */
export function reasonsList(app: App, row: number, reasons: { name: string; value: number }[]): HTMLElement {
  const most = Math.abs(reasons[0]?.value ?? 0) || 1;
  return h("ul", ...reasons.map(({ name, value }) => {
    const bar = h(value < 0 ? "span.bar.down" : "span.bar.up");
    bar.style.width = `${(46 * Math.abs(value)) / most}%`;
    const held = row < 0 ? "" : app.data.columns.find((c) => c.name === name)?.brief(row);
    return h("li", h("span.name", { title: name }, name, h("i", held === "" && row >= 0 ? "missing" : held ?? "")), h("span.track", bar), h("span.amount", exact(value), signed(value)));
  }));
}
