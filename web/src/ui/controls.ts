// The bar at the top: search, colour, table, theme, link, help; and the keys that work everywhere.

import { type App, type Changed, type Part } from "../app";
import { h, icon, on } from "./dom";
import { enlarge } from "./full";
import { fillHelp } from "./help";
import { type Layers, savePng, saveSvg } from "./snapshot";
import { readBack, tooMany, written } from "../core/state";
import { Named } from "./named";
import { many, plural } from "../core/words";

let pages = 0; // in this window: names in it must differ

export class Controls implements Part {
  readonly element: HTMLElement;
  readonly #search: HTMLInputElement;
  readonly #complaint = h("span.complaint", { role: "alert" });
  readonly #colour: HTMLSelectElement;
  readonly #help = h("dialog.help", { label: "Help" });
  readonly #table: HTMLButtonElement;
  #waiting = 0;

  constructor(private readonly app: App, layers: Layers, step: (by: 1 | -1) => void) {
    const { data } = app;
    const list = `centrality-columns-${++pages}`;
    this.#search = h("input", { type: "search", placeholder: "Search: a word, price>3, missing:price, mark:outlier", label: "Search and filter by any column", list, spellcheck: "false" });
    this.#colour = h("select", { label: "Colour by" }, ...app.colours().map(([value, name]) => h("option", { value }, name)));
    const searched = () => {
      clearTimeout(this.#waiting);
      this.#waiting = setTimeout(() => app.set({ query: this.#search.value }), 160);
    };
    on(app.untilEnter(this.#search), { input: searched });
    on(this.#colour, { change: () => app.set({ colour: this.#colour.value }) });
    const names = h("datalist", { id: list }, ...data.columns.slice(0, 50).map((c) =>
      h("option", { value: `${/\s/.test(c.name) ? `"${c.name}"` : c.name}${c.kind === "number" || c.kind === "date" ? ">" : ":"}` })));
    const button = (name: string, label: string, act: (event?: MouseEvent) => void) =>
      h("button.round", { title: label, label, onclick: act }, icon(name));
    this.#table = button("table", "Table of the rows", () => app.set({ table: app.state.table ? "" : "table" }));
    fillHelp(this.#help, app);
    this.element = h("header.bar", {},
      h("h1", data.title), h("span.said.rows", plural(data.n, "row")),
      h("div.search", this.#search, names, this.#complaint),
      h("label", h("span", "Colour"), this.#colour),
      this.#views(),
      h("div.buttons", {},
        this.#table,
        button("save", "Save a picture of the map; with Shift, as SVG", (event) => (event?.shiftKey ? saveSvg : savePng)(app, layers)),
        app.host.linked && button("link", "Copy a link to this view", () => void this.#copy()),
        button("theme", "Light or dark", () => app.set({ theme: app.dark ? "light" : "dark" })),
        button("help", "Help", () => this.#help.showModal())),
      this.#help);
    app.onKey((event) => event.key === "Escape" && this.#leave());
    app.onLetter(({ key }) => this.#act(key, step));
  }

  update(changed: Changed): void {
    const { state, complaint, data, count } = this.app;
    // What is being typed is never overwritten; it becomes the query in a moment.
    if (changed.has("query") && document.activeElement !== this.#search) this.#search.value = state.query;
    this.#complaint.textContent = complaint;
    this.#search.ariaInvalid = String(Boolean(complaint));
    this.#colour.value = state.colour;
    this.#table.ariaPressed = String(Boolean(state.table));
    if (changed.has("query") && state.query && !complaint) this.app.announce(`${many(count)} of ${plural(data.n, "row")} found`);
  }

  /** Views with a name: everything that a link holds. */
  #views(): HTMLElement {
    const { app } = this;
    const views = new Named<string>(app, `centrality views ${app.data.title}`, "view", () => written(app.state, app.first), (view) => {
      app.set(readBack(view, app.first, app.data.n));
      element.open = false;
    });
    const element = h("details.views", h("summary", "Views"), h("div.sheet-of-views", views.list, views.name));
    return element;
  }

  async #copy(): Promise<void> {
    const link = this.app.link();
    const { selection } = this.app.state;
    history.replaceState(null, "", link);
    const but = tooMany(selection) ? `, but the ${plural(selection.length, "selected row")} do not fit into it: save them as CSV` : "";
    try {
      await navigator.clipboard.writeText(link);
      this.app.flash(`Link copied${but}`);
    } catch {
      this.app.flash(`The link is in the address bar${but}`);
    }
  }

  /** Close or clear one thing after another. */
  #leave(): void {
    const { state, root } = this.app;
    if (root.querySelector("dialog[open]")) return; // its keys are the dialog's
    if (state.pinned >= 0) this.app.set({ pinned: -1 });
    else if (state.selection.length) this.app.set({ selection: new Uint32Array() });
    else if (state.brush) this.app.set({ brush: null });
    else if (Object.keys(state.ranges).length) this.app.set({ ranges: {} });
  }

  #act(key: string, step: (by: 1 | -1) => void): boolean {
    const { app } = this;
    const acts: Record<string, () => void> = {
      "/": () => this.#search.focus(),
      "?": () => this.#help.showModal(),
      t: () => app.root.querySelector<HTMLElement>("input.turn")!.focus(),
      m: () => app.set({ panel: "ranking", list: "moves", colour: "move" }),
      r: () => app.set({ panel: "review" }),
      c: () => app.set({ panel: "columns" }),
      w: () => app.set(app.data.whatIf.length ? { panel: "whatif" } : {}),
      v: () => enlarge(app, app.state.pinned),
      b: () => app.set({ table: app.state.table ? "" : "table" }),
      n: () => step(1),
      p: () => step(-1),
    };
    if (!Object.hasOwn(acts, key)) return false;
    acts[key]();
    return true;
  }
}
