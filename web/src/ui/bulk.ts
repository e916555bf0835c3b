// One verdict for many rows: those that are selected, or those that the filter leaves.

import { any, type App, type Changed, type Part } from "../app";
import { plural } from "../core/words";
import { MARKS, type Said } from "../host/marks";
import { h, icon } from "./dom";
import { Pick } from "./pick";
import { Tags } from "./tags";

export class Bulk implements Part {
  readonly element = h("section.bulk", { label: "Mark many rows", hidden: true });
  readonly #said = h("span.said", { role: "status" });
  readonly #tags: Tags;
  readonly #undo = h("button.plain", { onclick: () => this.#takeBack() }, icon("back"), "undo");

  constructor(private readonly app: App) {
    this.#tags = new Tags(app, () => this.#rows());
    const verdict = (mark: Said, text: string) =>
      h(`button.small.${mark || "none"}`, { title: mark ? `Shift and ${mark[0].toUpperCase()}` : "", onclick: () => this.#say(mark) }, text);
    this.element.append(h("h2", "Mark all of them", this.#said),
      h("div.row", ...MARKS.map((mark) => verdict(mark, mark)), verdict("", "no mark"), this.#undo), this.#tags.element, new Pick(app, () => this.#rows()).element);
    app.onLetter((event) => this.#key(event));
  }

  update(changed: Changed): void {
    const { state, count, marks, visible } = this.app;
    const chosen = state.selection.length;
    this.element.hidden = chosen < 2 && (Boolean(chosen) || !visible || !count);
    if (this.element.hidden || !any(changed, "selection", "query", "ranges", "brush", "marks", "t")) return;
    this.#said.textContent = chosen ? `${plural(chosen, "selected row")}` : `${plural(count, "row")} left by the filter`;
    this.#undo.disabled = !marks.canUndo;
    this.#tags.show();
  }

  #rows(): ArrayLike<number> {
    const { state, count, visible, data: { n } } = this.app;
    if (state.selection.length) return state.selection;
    const rows = new Uint32Array(count);
    for (let row = 0, k = 0; row < n; row++) if (visible?.[row]) rows[k++] = row;
    return rows;
  }

  #say(mark: Said): void {
    const rows = this.#rows();
    this.app.marks.set(rows, { mark });
    this.app.announce(`${plural(rows.length, "row")}: ${mark || "no mark"}`);
  }

  #takeBack(): void {
    this.app.announce(`${plural(this.app.marks.undo().length, "mark")} taken back`);
  }

  /** Shift and the letter of a verdict: for all of them. */
  #key({ key, shiftKey }: KeyboardEvent): boolean {
    const mark = MARKS.find((one) => one[0].toUpperCase() === key);
    if (this.element.hidden || !shiftKey || !mark) return false;
    this.#say(mark);
    return true;
  }
}
