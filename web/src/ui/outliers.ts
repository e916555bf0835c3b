// Which rows are called outliers: the most peripheral share, or by a false discovery rate; and why none is, if none is.

import { any, type App, type Changed, type Part } from "../app";
import { h, on } from "./dom";
import { many, plural, rounded, short } from "../core/words";

const LEAST = 0.0001; // level that can be typed

export class Outliers implements Part {
  readonly element: HTMLElement;
  readonly #rule: HTMLSelectElement;
  readonly #level = h("input", { type: "number", min: LEAST, max: 0.9999, step: 0.01, label: "Level" });
  readonly #said = h("span.said", { role: "status" });
  #wrong = ""; // about the level

  constructor(private readonly app: App) {
    const known = app.data.inliers;
    this.#rule = h("select", { label: "Threshold" }, h("option", { value: "" }, "no threshold"),
      h("option", { value: "share" }, "the oddest share"),
      h("option", { value: "fdr", disabled: !known }, known ? "false discovery rate" : "false discovery rate (needs holdout)"));
    on(this.#rule, { change: () => app.set({ rule: this.#rule.value as "" | "share" | "fdr" }) });
    on(this.#level, { input: () => this.#judge() });
    this.element = h("section.outliers", { label: "Outliers" },
      h("div.row", h("h2", "Outliers"), this.#rule, this.#level), this.#said);
  }

  update(changed: Changed): void {
    if (!any(changed, "t", "rule", "level")) return;
    const { state } = this.app;
    this.#rule.value = state.rule;
    this.#level.hidden = !state.rule;
    if (document.activeElement !== this.#level) {
      this.#level.value = String(state.level);
      this.#wrong = "";
    }
    this.#tell();
  }

  #judge(): void {
    const level = Number(this.#level.value);
    const fits = level >= LEAST && level < 1;
    this.#wrong = fits ? "" : `A share between 0 and 1 is wanted${level >= 1 && level < 100 ? `: ${short(level)}% is ${short(level / 100)}` : ""}.`;
    if (fits) this.app.set({ level });
    this.#tell();
  }

  #tell(): void {
    const { state, scores, limit } = this.app;
    this.#level.ariaInvalid = String(Boolean(this.#wrong));
    const count = scores.count(limit);
    this.#said.title = state.rule && String(limit);
    this.#said.textContent = !state.rule ? "None is called an outlier until you choose how."
      : this.#wrong || (count ? `${plural(count, "outlier")}, below ${rounded(limit, 6)}` : `0 outliers: ${this.#why()}`);
  }

  /** Why a rule calls no row an outlier. */
  #why(): string {
    const { data, scores, state } = this.app;
    if (state.rule === "share") return "the oddest rows have equal scores.";
    const { known } = scores;
    const least = 1 / (known + 1);
    const needed = Math.ceil((data.n * least) / state.level);
    if (least > state.level || needed > data.n) return `${plural(known, "calibration row")} give no p-value below ${short(least)}.`;
    return `${plural(known, "calibration row")} give no p-value below ${short(least)}; for a rate of ${short(state.level)} at least `
      + `${many(needed)} of ${plural(data.n, "row")} would have to be so odd.`;
  }
}
