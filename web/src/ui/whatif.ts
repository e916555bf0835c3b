// What if: the values of a row, to be typed, slid, or moved along the way to a typical place; the host scores what comes
// of it. There is no such panel on an exported page: nobody there could score anything.

import { any, type App, type Changed, type Part } from "../app";
import { guiltyFirst } from "./compare";
import type { Column } from "../core/data";
import { reasonsList, WHY } from "./detail";
import { h, on } from "./dom";
import type { WhatIf as Answer } from "../core/header";
import { mixer } from "../core/mixing";
import { weighed } from "./why";
import { day, exact, plain, score } from "../core/words";

type Value = number | string | null; // null for a gap
type Values = Record<string, Value>;
const STEPS = 20; // from the row to a typical place
const PAUSE = 120; // milliseconds without a change before the host is asked

export class WhatIf implements Part {
  readonly element = h("section.what-if", { label: "What if" });
  readonly #outcome = h("p.outcome", { role: "status" });
  readonly #reasons = h("div.reasons");
  readonly #slider = h("input", { type: "range", min: 0, max: STEPS });
  readonly #fields = new Map<string, (value: Value) => void>(); // put a value into the field of a column
  #row = -1;
  #own: Values = {}; // what the row holds
  #values: Values = {}; // what it is to hold, where that differs
  #way?: [number, Promise<Values[]>]; // at which t, and what it is
  #answer?: Answer;
  #asked = 0;

  constructor(private readonly app: App) {
    on(this.#slider, { input: () => void this.#walk(Number(this.#slider.value)) });
  }

  update(changed: Changed): void {
    const { pinned } = this.app.state;
    if (any(changed, "pinned", "panel") && (pinned !== this.#row || !this.element.firstChild)) this.#open(pinned);
    if (changed.has("t")) this.#tell();
  }

  #open(row: number): void {
    const { app } = this;
    const { data } = app;
    this.#row = row;
    this.#asked++; // no answer to an older question is wanted
    this.#way = this.#answer = undefined;
    [this.#own, this.#values] = [{}, {}];
    this.#fields.clear();
    const head = h("h2", "What if", h("span.said", row < 0 ? "" : `row ${data.id(row)} held something else`));
    if (row < 0) return this.element.replaceChildren(head, h("p.none", "Choose a row on the map, in the table, or with n and p."));
    const columns = guiltyFirst(data.columns.filter(({ name }) => data.whatIf.includes(name)), data.guilty);
    const fields = columns.map((column) => this.#field(column, row));
    this.element.replaceChildren(head, this.#outcome,
      data.way && h("label.way", "Towards a typical place", this.#slider) || "",
      ...fields, h("div.row", h("button", { onclick: () => this.#reset() }, "As it is")), this.#reasons);
    this.#reset();
    if (data.whole && columns.some(({ kind }) => kind === "text")) void this.#complete(row);
  }

  /** Texts that the page had cut, as long as they are. */
  async #complete(row: number): Promise<void> {
    const texts = await this.app.host.ask!<Values>("texts", row);
    if (row === this.#row) this.#hold(this.#values, Object.assign(this.#own, texts));
  }

  #field(column: Column, row: number): HTMLElement {
    const { name, kind, values, levels } = column;
    const own = !values ? column.text(row) : levels ? (levels[values[row] - 1] ?? null) : isNaN(values[row]) ? null : values[row];
    this.#own[name] = own;
    const input = levels ? h("select", ...["", ...levels].map((level) => h("option", { value: level }, level || "missing")))
      : values ? h("input", { type: kind === "date" ? "date" : "number", step: "any" }) : h("textarea", { rows: 4 });
    const line = h("div.value", h("label", h("span", name), input));
    const slide = kind === "number" && h("input", { type: "range", step: "any", label: `${name}, to slide` });
    if (slide) {
      const { low, high } = column.summary!();
      [slide.min, slide.max] = [Math.min(low, own as number), Math.max(high, own as number)].map(String);
      line.append(slide);
      on(slide, { input: () => this.#change(name, Number(Number(slide.value).toPrecision(4))) });
    }
    const read = (): Value => {
      const { value } = input;
      if (!values) return value;
      return value === "" ? null : levels ? value : kind === "date" ? Date.parse(value) : Number(value);
    };
    on(input, { input: () => this.#change(name, read()) });
    this.#fields.set(name, (value) => {
      const text = value === null ? "" : kind === "date" ? day(Number(value), 10) : typeof value === "number" ? plain(value) : value;
      if (read() !== value) input.value = text;
      if (slide && value !== null) slide.value = text;
      line.classList.toggle("changed", name in this.#values);
    });
    return line;
  }

  #change(name: string, value: Value): void {
    const values = { ...this.#values, [name]: value };
    if (value === this.#own[name]) delete values[name];
    this.#hold(values);
  }

  #reset(): void {
    this.#slider.value = "0";
    this.#hold({});
  }

  /** Along the way that the field of the model shows from this row. */
  async #walk(step: number): Promise<void> {
    const { t } = this.app.state;
    const row = this.#row;
    if (this.#way?.[0] !== t) this.#way = [t, this.app.host.ask!<Values[]>("way", row, t)];
    const values = (await this.#way[1])[step];
    if (row === this.#row && step === Number(this.#slider.value)) this.#hold(values);
  }

  #hold(values: Values, own = this.#own): void {
    this.#values = values;
    for (const [name, put] of this.#fields) put(name in values ? values[name] : own[name]);
    const question = ++this.#asked;
    setTimeout(() => {
      if (question !== this.#asked || this.app.gone.aborted) return; // it was changed again
      this.app.host.ask!<Answer>("what-if", this.#row, values).then((answer) => {
        if (question !== this.#asked) return;
        this.#answer = answer;
        this.#tell();
      }, (error: Error) => question === this.#asked && (this.#outcome.textContent = error.message));
    }, PAUSE);
  }

  #tell(): void {
    if (!this.#answer || this.#row < 0) return;
    const { app } = this;
    const { t } = app.state;
    const { units, reasons, typical } = this.#answer;
    const now = mixer(app.data.mixing, t)(...units);
    const was = app.scores.f[this.#row];
    this.#outcome.replaceChildren(h("b", exact(now), score(now)), ` ${app.scores.beyondScore(now)} of the rows`,
      h("span.said", Object.keys(this.#values).length ? `as it is: ${score(was)}, ${app.scores.beyond(this.#row)}` : "as it is"));
    this.#reasons.replaceChildren(...(reasons.length ? [h("h3", WHY), reasonsList(app, -1, weighed(app, reasons, units, typical).slice(0, 6))] : []));
  }
}
