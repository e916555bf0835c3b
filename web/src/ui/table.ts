// The rows as a table, in a drawer below the map: all columns, sorted by any, with only the lines in sight made.

import type { App } from "../app";
import type { Column } from "../core/data";
import { h, on } from "./dom";
import type { Rows } from "./rows";
import { Scroller } from "./scroller";
import { score } from "../core/words";

const LINE = 26; // pixels
const HEAD = 30;
const [LETTER, EDGES] = [7.2, 26]; // pixels of a letter, and of a cell's edges and its sign of order
const [NARROWEST, WIDEST] = [64, 340]; // pixels of a column
const LOOKED_AT = 200; // rows whose cells say how wide a column is

export class Table {
  readonly element: HTMLElement;
  readonly scroller: Scroller;
  readonly #head = h("thead");
  readonly #body = h("tbody");
  readonly #table = h("table.rows", { role: "grid", label: "Rows", tabindex: 0 });
  #columns: Column[] = [];
  #own: ("mark" | "tags")[] = []; // those of our columns that hold anything
  #chosen?: Uint8Array; // the selection, row by row
  #names = "";

  constructor(
    private readonly app: App,
    private readonly rows: Rows,
    private readonly pick: (row: number, event: MouseEvent | KeyboardEvent) => void,
    private readonly sorted: () => void,
  ) {
    this.#table.append(this.#head, this.#body);
    this.scroller = new Scroller(this.#table, (first, count) => this.#draw(first, count));
    this.element = this.scroller.element;
    on(this.#table, { keydown: (event) => this.#key(event) });
    on(this.#body, {
      click: (event) => {
        const line = (event.target as Element).closest("tr");
        if (line) this.pick(Number(line.dataset.row), event);
      },
      // A cell that is cut is told in full to who points at it.
      pointerover: ({ target }) => target instanceof HTMLTableCellElement && target.scrollWidth > target.clientWidth && (target.title = target.textContent),
      pointerout: ({ target }) => (target as Element).removeAttribute("title"),
    });
  }

  /** Other rows, columns or scores. */
  refresh(): void {
    const { data, state } = this.app;
    this.#columns = this.rows.columns();
    const said = this.app.marks.all();
    this.#own = (["mark", "tags"] as const).filter((name) => said.some((one) => one[name]));
    this.#chosen = undefined;
    if (state.selection.length) {
      this.#chosen = new Uint8Array(data.n);
      for (const row of state.selection) this.#chosen[row] = 1;
    }
    this.#drawHead();
    this.#table.ariaRowCount = String(this.rows.list.length + 1);
    this.scroller.size(this.rows.list.length, LINE, HEAD);
  }

  #drawHead(): void {
    const { order } = this.rows;
    const names = JSON.stringify([order, this.#own, this.#columns.map((c) => c.name)]);
    if (names === this.#names) return;
    this.#names = names;
    let whole = 0;
    const cell = (by: string, text: string, letters: number) => {
      const width = Math.max(NARROWEST, Math.min(WIDEST, EDGES + LETTER * Math.max(text.length, letters)));
      whole += width;
      const now = order.by === by ? (order.down ? "descending" : "ascending") : "none";
      const head = h("th", { scope: "col", "aria-sort": now, title: text }, h("button.plain", { onclick: () => this.#sort(by) }, text, h("span", { "aria-hidden": "true" }, now === "none" ? "" : order.down ? " ▼" : " ▲")));
      head.style.width = `${width}px`;
      return head;
    };
    this.#head.replaceChildren(h("tr", cell("row", "row", 7), cell("f", "centrality", 0), ...this.#own.map((name) => cell(name, name, 12)),
      ...this.#columns.map((c) => cell(`=${c.name}`, c.name, this.#letters(c)))));
    this.#body.replaceChildren();
    this.#table.style.width = `${whole}px`; // widths known beforehand: no cell is measured
  }

  /** How many letters most cells of a column have room for: those of nine in ten of some rows. */
  #letters(column: Column): number {
    const { n } = this.app.data;
    const lengths = Array.from({ length: Math.min(LOOKED_AT, n) }, (_, k) => column.text(Math.floor((k * n) / Math.min(LOOKED_AT, n))).length);
    return lengths.sort((a, b) => a - b)[Math.floor(0.9 * lengths.length)] ?? 0;
  }

  #sort(by: string): void {
    const { order } = this.rows;
    this.rows.order = { by, down: order.by === by ? !order.down : false };
    this.sorted();
    this.app.announce(`sorted by ${by.replace(/^=/, "")}, ${this.rows.order.down ? "largest" : "smallest"} first`);
  }

  #draw(first: number, count: number): void {
    const lines = this.#body.children as HTMLCollectionOf<HTMLTableRowElement>;
    const cells = 2 + this.#own.length + this.#columns.length;
    while (lines.length < count) this.#body.append(h("tr", ...Array.from({ length: cells }, (_, k) => h(k ? "td" : "th", k ? {} : { scope: "row" }, " "))));
    while (lines.length > Math.max(0, count)) this.#body.lastChild!.remove();
    let line = this.#body.firstElementChild as HTMLElement | null;
    for (let k = 0; k < count; k++, line = line!.nextElementSibling as HTMLElement | null) this.#line(line!, this.rows.list[first + k], first + k);
  }

  /** Nothing is made or measured here, and only what differs is changed: it is done for each line of each frame. */
  #line(line: HTMLElement, row: number, place: number): void {
    const { app } = this;
    if (line.dataset.row !== String(row)) line.dataset.row = String(row);
    line.ariaRowIndex = String(place + 2);
    const look = `${row === app.state.pinned ? "pinned" : ""}${app.flagged(row) ? " flagged" : ""}`;
    if (line.className !== look) line.className = look;
    const chosen = String(Boolean(this.#chosen?.[row]));
    if (line.ariaSelected !== chosen) line.ariaSelected = chosen;
    let cell = line.firstElementChild;
    const put = (text: string) => {
      const held = cell!.firstChild as Text;
      if (held.data !== text) held.data = text;
      cell = cell!.nextElementSibling;
    };
    put(String(app.data.id(row)));
    put(score(app.scores.f[row]));
    if (this.#own.length) {
      const said = app.marks.of(row);
      for (const name of this.#own) put(said[name]);
    }
    for (const column of this.#columns) put(column.text(row));
  }

  /** Arrow keys go from row to row. */
  #key(event: KeyboardEvent): void {
    const { list } = this.rows;
    const page = Math.max(1, this.scroller.room - 2);
    const by = ({ ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity } as Record<string, number>)[event.key];
    if ((event.target as Element) !== this.#table || !list.length) return;
    if (event.key === " " || event.key === "x") {
      event.preventDefault();
      if (this.app.state.pinned >= 0) this.pick(this.app.state.pinned, new MouseEvent("click", { ctrlKey: true }));
    } else if (by) {
      event.preventDefault();
      event.stopPropagation();
      const at = list.indexOf(this.app.state.pinned);
      const next = at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.max(0, Math.min(list.length - 1, at + by));
      this.scroller.to(next);
      this.pick(list[next], event);
    }
  }
}
