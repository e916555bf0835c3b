// The card of one row: what it is, its scores and rank, how they go with t, and why.

import { type App, type Changed, type Part, percent, score, short } from "./app";
import { many } from "./data";
import { h, icon } from "./dom";
import { face, heads, inWords, profile } from "./faces";
import type { Reason } from "./header";

const COLUMNS = 8;

export class Detail implements Part {
  readonly element = h("div.detail", { hidden: true });
  #row = -1;
  #hovered = -1;
  #asked = 0;
  #reasons?: Reason[]; // of the row

  constructor(
    private readonly app: App,
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
    const row = this.#hovered >= 0 ? this.#hovered : pinned;
    this.element.hidden = row < 0;
    if (row < 0) return;
    const fixed = row === pinned;
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
      h("header", h("b", `Row ${many(data.id(row))}`), app.flagged(row) && h("span.flag", "outlier"),
        fixed && h("button.plain", { "aria-label": "Close", onclick: () => this.#close() }, icon("close"))),
      h("div.what", face(app, row, true),
        h("div.numbers", {},
          h("div.big", score(scores.value(row))),
          h("div", `rank ${many(rank)} of ${many(data.n)}`),
          h("div.soft", `more central than ${percent(1 - rank / data.n)}`),
          p !== undefined && h("div.soft", `p-value ${short(p)}`))),
      h("div.along", h("span", "global ", h("b", score(g))), profile(app, row, 120, 36), h("span", h("b", score(l)), " local")),
      h("div.reasons"),
      h("dl", ...columns.flatMap((c) => [h("dt", c.name), h("dd", c.text(row) || "—")])));
  }

  #close(): void {
    this.#hovered = -1;
    this.app.set({ pinned: -1 });
  }

  /** Beside the point, inside the map; where the map is narrow, the style sheet puts it at its bottom. */
  #stand(row: number): void {
    const stage = this.element.parentElement!;
    const [px, py] = this.place(row);
    const { offsetWidth: wide, offsetHeight: tall } = this.element;
    const left = px + 18 + wide < stage.clientWidth ? px + 18 : px - 18 - wide;
    this.element.style.left = `${Math.max(8, Math.min(left, stage.clientWidth - wide - 8))}px`;
    this.element.style.top = `${Math.max(8, Math.min(py - 40, stage.clientHeight - tall - 8))}px`;
  }

  #ask(row: number): void {
    const { data, host } = this.app;
    this.#reasons = data.reasons?.(row);
    const question = ++this.#asked;
    if (!data.asks || !host.reasons) return;
    const answer = (reasons: Reason[]) => {
      if (question !== this.#asked) return; // the pointer has gone on
      this.#reasons = reasons;
      this.#explain();
      this.#stand(row);
    };
    window.setTimeout(() => question === this.#asked && host.reasons!(row).then(answer, () => undefined), 120);
  }

  /** The features that weigh most at this t, with what each adds to the score or takes from it. */
  #explain(): void {
    if (!this.#reasons) return;
    const { t } = this.app.state;
    const values = this.#reasons.map(({ name, global, local }) => ({ name, value: (1 - t) * global + t * local }));
    values.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const most = Math.max(Math.abs(values[0]?.value ?? 0), 1e-9);
    const lines = values.slice(0, 5).filter((r) => Math.abs(r.value) > 0.02 * most).map(({ name, value }) => {
      const bar = h(value < 0 ? "span.bar.down" : "span.bar.up");
      bar.style.width = `${(46 * Math.abs(value)) / most}%`;
      const held = this.app.data.columns.find((c) => c.name === name)?.text(this.#row);
      return h("li", h("span.name", { title: name }, name, h("i", held ?? "")), h("span.track", bar),
        h("span.amount", `${value < 0 ? "−" : "+"}${Number(Math.abs(value).toPrecision(2))}`));
    });
    const why = this.element.querySelector(".reasons")!;
    why.replaceChildren(h("h3", "Why, against the centre"), h("ul", ...lines));
  }
}
