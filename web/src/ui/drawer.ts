// The drawer below the map: the selected rows, or those that the filter leaves, as a table or as they look.

import { any, type App, type Changed, type Part } from "../app";
import { h, icon, on } from "./dom";
import { Gallery } from "./gallery";
import { Rows } from "./rows";
import type { State } from "../core/state";
import { Table } from "./table";
import { plural } from "../core/words";

const MODES: [Exclude<State["table"], "">, string][] = [["table", "Table"], ["gallery", "Gallery"]];

export class Drawer implements Part {
  readonly element: HTMLElement;
  readonly #rows: Rows;
  readonly #views: Record<"table" | "gallery", Table | Gallery>;
  readonly #said = h("span.said", { role: "status" });
  readonly #by = h("select.small", { label: "In which order" });
  readonly #modes: HTMLButtonElement[];
  #last = -1; // the row that was last picked here, from which a range begins
  #own = false; // the last pick was made here: nothing need be scrolled

  constructor(private readonly app: App) {
    this.#rows = new Rows(app);
    const pick = (row: number, event: MouseEvent | KeyboardEvent) => this.#pick(row, event);
    this.#views = { table: new Table(app, this.#rows, pick, () => this.#refresh()), gallery: new Gallery(app, this.#rows, pick) };
    this.#modes = MODES.map(([mode, name]) => h("button.small", { onclick: () => app.set({ table: mode }) }, name));
    this.#by.append(h("option", { value: "f" }, "oddest first"), ...app.data.parts.map(({ name }) => h("option", { value: `+${name}` }, `oddest by ${name}`)));
    on(this.#by, { change: () => {
      this.#rows.order = { by: this.#by.value, down: false };
      this.#refresh();
    } });
    this.element = h("section.drawer", { label: "Rows", hidden: true },
      h("div.row", h("h2", "Rows"), this.#said, this.#by, h("span.modes", ...this.#modes),
        h("button.plain", { label: "Close the table", onclick: () => app.set({ table: "" }) }, icon("close"))),
      this.#views.table.element, this.#views.gallery.element);
    const watch = new ResizeObserver(() => app.state.table && this.#view.refresh());
    watch.observe(this.element);
    app.gone.addEventListener("abort", () => watch.disconnect());
    // A million rows are sorted anew once the dial has come to rest, not while it turns.
    app.resting.push(() => this.#stale && app.state.table && this.#refresh());
  }

  #stale = false;

  get #view(): Table | Gallery {
    return this.#views[this.app.state.table || "table"];
  }

  update(changed: Changed): void {
    const { table, pinned } = this.app.state;
    this.element.hidden = !table;
    if (!table) return;
    this.#by.hidden = table === "table" || this.#by.options.length < 2;
    this.#by.value = this.#rows.order.by;
    MODES.forEach(([mode], k) => {
      this.#modes[k].ariaPressed = String(mode === table);
      this.#views[mode].element.hidden = mode !== table;
    });
    if (any(changed, "table", "query", "ranges", "brush", "selection")) this.#refresh();
    else if (changed.has("marks") && ["mark", "tags"].includes(this.#rows.order.by)) this.#refresh();
    else if (changed.has("t")) this.#stale = true;
    else if (any(changed, "rule", "level", "theme", "colour", "marks")) this.#view.refresh();
    if (changed.has("pinned")) {
      this.#view.scroller.show();
      if (pinned >= 0 && !this.#own) this.#to(pinned);
      this.#own = false;
    }
  }

  #refresh(): void {
    this.#stale = false;
    this.#rows.refresh();
    this.#view.refresh();
    const { selection } = this.app.state;
    this.#said.textContent = `${plural(this.#rows.list.length, "row")}${selection.length ? ", selected" : this.app.visible ? ", as filtered" : ""}`;
  }

  #to(row: number): void {
    const place = this.#rows.list.indexOf(row);
    const view = this.#view;
    if (place >= 0) view.scroller.to(view instanceof Gallery ? Math.floor(place / view.across) : place);
  }

  /** A click shows the row; with Ctrl it goes into the selection or out of it, with Shift all up to it go in. */
  #pick(row: number, event: MouseEvent | KeyboardEvent): void {
    const { selection } = this.app.state;
    const { list } = this.#rows;
    this.#own = true;
    if (event instanceof MouseEvent && (event.ctrlKey || event.metaKey)) {
      const out = selection.includes(row);
      this.app.set({ pinned: row, selection: out ? selection.filter((one) => one !== row) : Uint32Array.from([...selection, row]).sort() });
    } else if (event instanceof MouseEvent && event.shiftKey && this.#last >= 0) {
      const [from, to] = [list.indexOf(this.#last), list.indexOf(row)].sort((a, b) => a - b);
      const rows = new Set([...selection, ...list.subarray(Math.max(0, from), to + 1)]);
      this.app.set({ pinned: row, selection: Uint32Array.from(rows).sort() });
    } else this.app.set({ pinned: row });
    this.#last = row;
  }
}
