// The panel of columns: what each holds, with what is visible and what is selected laid over, and a brush that filters
// everything. Columns that set the selection apart, or make rows odd, come first.

import { any, type App, type Changed, type Part } from "../app";
import { ColumnChart } from "./chart";
import type { Column } from "../core/data";
import { differences } from "../core/differences";
import { guiltyFirst } from "./typical";
import { h } from "./dom";
import { Given } from "./given";
import { kindOf } from "../core/kinds";
import { plural } from "../core/words";

const AT_ONCE = 6; // columns that are drawn before the browser may do something else

export class ColumnsPanel implements Part {
  readonly element: HTMLElement;
  readonly #list = h("ol.columns");
  readonly #said = h("span.said");
  readonly #roots = h("p.said", "Heights are square roots of counts, so that a few rows are seen beside many.");
  readonly #among = h("p.said.among");
  readonly #charts = new Map<Column, ColumnChart>();
  #some: Uint32Array = new Uint32Array(); // rows that are laid over all
  #turn = 0;

  constructor(private readonly app: App) {
    this.element = h("section.columns-panel", { label: "Columns" }, h("h2", "Columns", this.#said), new Given(app).element, this.#roots, this.#among, this.#list);
    for (const column of app.data.columns) if (column.values) this.#charts.set(column, new ColumnChart(app, column));
    this.#roots.hidden = !this.#charts.size;
    if (!this.#charts.size) this.#said.textContent = "none of numbers, dates or categories";
  }

  update(changed: Changed): void {
    const { app } = this;
    if (any(changed, "selection", "panel")) this.#order();
    if (any(changed, "selection", "pinned", "panel")) this.#compare();
    if (!any(changed, "selection", "pinned", "query", "ranges", "brush", "theme", "panel") && !(changed.has("t") && app.state.brush)) return;
    this.#draw([...this.#list.children].map((item) => (item as HTMLElement & { chart: ColumnChart }).chart), ++this.#turn);
  }

  /** The columns in order, each with what it says of the selection. */
  #order(): void {
    const { data, state } = this.app;
    if (!this.#charts.size) return;
    const apart = state.selection.length ? differences(data, state.selection) : [];
    const texts = new Map(apart.map(({ column, text }) => [column, text]));
    const names = state.selection.length ? apart.map(({ column }) => column.name) : data.guilty;
    const order = guiltyFirst([...this.#charts.keys()], names);
    this.#said.textContent = state.selection.length ? "those that set the selection apart first" : data.guilty.length ? "those that make rows odd first" : "";
    this.#roots.hidden = order.every(({ levels }) => levels);
    this.#list.replaceChildren(...order.map((column) => {
      const chart = this.#charts.get(column)!;
      chart.say(texts.get(column) ?? "");
      return chart.element;
    }));
  }

  /** What is laid over all rows: those selected, or else the kind of the row of the card. */
  #compare(): void {
    const { data, state } = this.app;
    const kind = state.selection.length ? undefined : kindOf(data, state.pinned);
    this.#some = kind?.rows ?? state.selection;
    const own = state.pinned >= 0 ? `Red: row ${data.id(state.pinned)}. ` : "";
    this.#among.textContent = own + (kind ? `Narrow bars: ${plural(kind.rows.length, "row")} of its kind (${kind.words}), to a scale of their own.` : "");
  }

  /** A few at a time, so that the map is not kept waiting; a newer change ends it. */
  #draw(charts: ColumnChart[], turn: number): void {
    if (turn !== this.#turn || this.app.gone.aborted) return;
    for (const chart of charts.slice(0, AT_ONCE)) chart.draw(this.#some);
    if (charts.length > AT_ONCE) setTimeout(() => this.#draw(charts.slice(AT_ONCE), turn));
    else this.element.dataset.drawn = String(turn);
  }
}
