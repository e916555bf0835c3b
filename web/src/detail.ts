// The card of one row: what it is, its scores and rank, how they go with t, and why.

import { type App, type Changed, type Part, percent, score, short } from "./app";
import type { Reason } from "./data";
import { h, icon } from "./dom";
import { face, heads, inWords, profile } from "./faces";

const COLUMNS = 8;

export class Detail implements Part {
  readonly element = h("div.detail", { hidden: true });
  private row = -1;
  private hovered = -1;
  private asked = 0;

  constructor(
    private readonly app: App,
    private readonly place: (row: number) => [number, number],
  ) {}

  update(changed: Changed): void {
    if (changed.has("pinned") && this.app.state.pinned >= 0) this.app.announce(inWords(this.app, this.app.state.pinned));
    this.show();
  }

  hover(row: number): void {
    this.hovered = row;
    this.show();
  }

  private show(): void {
    const { pinned } = this.app.state;
    const row = this.hovered >= 0 ? this.hovered : pinned;
    this.element.hidden = row < 0;
    if (row < 0) return;
    const fixed = row === pinned;
    this.element.classList.toggle("fixed", fixed);
    this.fill(row, fixed);
    this.stand(row);
    if (row !== this.row || this.hovered < 0) this.ask(row);
    this.row = row;
  }

  private fill(row: number, fixed: boolean): void {
    const { app } = this;
    const { scores, data } = app;
    const [g, l] = heads(app, row);
    const rank = scores.rank(row);
    const p = scores.pValue(row);
    const reasons = this.row === row ? this.element.querySelector(".reasons") : null;
    const columns = data.columns.filter((c) => c.name !== data.itemColumn).slice(0, COLUMNS);
    this.element.replaceChildren(
      h("header", {}, h("b", {}, `Row ${data.id(row).toLocaleString("en")}`), app.flagged(row) && h("span.flag", {}, "outlier"),
        fixed && h("button.plain", { type: "button", "aria-label": "Close", onclick: () => this.close() }, icon("close"))),
      h("div.what", {}, face(app, row, true),
        h("div.numbers", {},
          h("div.big", {}, score(scores.value(row))),
          h("div", {}, `rank ${rank.toLocaleString("en")} of ${data.n.toLocaleString("en")}`),
          h("div.soft", {}, `more central than ${percent(1 - rank / data.n)}`),
          p !== undefined && h("div.soft", {}, `p-value ${short(p)}`))),
      h("div.along", {}, h("span", {}, "global ", h("b", {}, score(g))), profile(app, row, 120, 36), h("span", {}, h("b", {}, score(l)), " local")),
      reasons ?? h("div.reasons"),
      h("dl", {}, ...columns.flatMap((c) => [h("dt", {}, c.name), h("dd", {}, c.text(row) || "—")])));
  }

  private close(): void {
    this.hovered = -1;
    this.app.set({ pinned: -1 });
  }

  /** Beside the point, inside the map; where the map is narrow, the style sheet puts it at its bottom. */
  private stand(row: number): void {
    const stage = this.element.parentElement!;
    const [px, py] = this.place(row);
    const { offsetWidth: wide, offsetHeight: tall } = this.element;
    const left = px + 18 + wide < stage.clientWidth ? px + 18 : px - 18 - wide;
    this.element.style.left = `${Math.max(8, Math.min(left, stage.clientWidth - wide - 8))}px`;
    this.element.style.top = `${Math.max(8, Math.min(py - 40, stage.clientHeight - tall - 8))}px`;
  }

  private ask(row: number): void {
    const { app } = this;
    const { t } = app.state;
    const question = ++this.asked;
    if (app.data.reasons) {
      const known = app.data.reasons(row, t);
      if (known) this.explain(known.reasons, known.t);
    } else if (app.data.asks && app.host.reasons) {
      const later = () => question === this.asked && app.host.reasons!(row, t).then(
        (reasons) => question === this.asked && this.explain(reasons, t), () => undefined);
      window.setTimeout(later, 120); // not for every point that the pointer crosses
    }
  }

  private explain(reasons: Reason[], t: number): void {
    const most = Math.max(...reasons.map((r) => Math.abs(r.value)), 1e-9);
    const lines = reasons.filter((r) => Math.abs(r.value) > 0.01 * most).slice(0, 5).map(({ name, value }) => {
      const bar = h(value < 0 ? "span.bar.down" : "span.bar.up");
      bar.style.width = `${(46 * Math.abs(value)) / most}%`;
      return h("li", {}, h("span.name", {}, name), h("span.track", {}, bar),
        h("span.amount", {}, `${value < 0 ? "−" : "+"}${short(Math.abs(value))}`));
    });
    const why = this.element.querySelector(".reasons")!;
    why.replaceChildren(h("h3", {}, `Why, against the centre, at t = ${short(t)}`), h("ul", {}, ...lines));
    this.stand(this.row);
  }
}
