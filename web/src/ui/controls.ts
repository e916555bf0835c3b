// The bar at the top: search, table, what is saved, and a menu of what is seldom wanted; and the keys that work everywhere.

import { type App, type Changed, type Part } from "../app";
import { h, on } from "./dom";
import { enlarge } from "./full";
import { fillHelp } from "./help";
import { Saved } from "./saved";
import { type Layers, savePng } from "./snapshot";
import { NONE } from "../core/state";
import { many, plural } from "../core/words";

let pages = 0; // in this window: names in it must differ

export class Controls implements Part {
  readonly element: HTMLElement;
  readonly #search: HTMLInputElement;
  readonly #complaint = h("span.complaint", { role: "alert" });
  readonly #rows = h("span.said.rows", { role: "status" });
  readonly #clear = h("button.plain", { hidden: true, onclick: () => this.app.set({ brush: null, ranges: {}, query: "" }) }, "show all");
  readonly #saved: Saved;
  readonly #menu = h("details.menu.more-acts", h("summary", { label: "More" }, "⋯"));
  readonly #names: HTMLButtonElement;
  readonly #lines: HTMLButtonElement;
  readonly #help = h("dialog.help", { label: "Help" });
  readonly #table: HTMLButtonElement;
  #waiting = 0;

  constructor(private readonly app: App, layers: Layers, step: (by: 1 | -1) => void) {
    const { data } = app;
    const list = `centrality-columns-${++pages}`;
    this.#search = h("input", { type: "search", placeholder: "Search: a word, price>3, mark:outlier", label: "Search and filter by any column", list, spellcheck: "false" });
    const searched = () => {
      clearTimeout(this.#waiting);
      this.#waiting = setTimeout(() => app.set({ query: this.#search.value }), 160);
    };
    on(app.untilEnter(this.#search), { input: searched });
    const names = h("datalist", { id: list }, ...data.columns.slice(0, 50).map((c) =>
      h("option", { value: `${/\s/.test(c.name) ? `"${c.name}"` : c.name}${c.kind === "number" || c.kind === "date" ? ">" : ":"}` })));
    const pictures = data.kind === "picture";
    this.#table = h("button", { onclick: () => app.set({ table: app.state.table ? "" : pictures ? "gallery" : "table" }) }, pictures ? "Pictures" : "Table");
    this.#saved = new Saved(app);
    const act = (text: string, does: () => void, close = true) => h("button", { onclick: () => {
      if (close) this.#menu.open = false;
      does();
    } }, text);
    this.#names = act("Names of groups", () => app.set({ groups: app.state.groups === "off" ? "names" : "off" }), false);
    this.#lines = act("Lines around groups", () => app.set({ groups: app.state.groups === "lines" ? "names" : "lines" }), false);
    this.#menu.append(h("div.sheet", act("Help and keys", () => this.#help.showModal()), act("Light or dark", () => app.set({ theme: app.dark ? "light" : "dark" })),
      act("Save a picture of the map", () => savePng(app, layers)), this.#names, this.#lines));
    const leave = ({ target }: Event) => {
      for (const menu of [this.#menu, this.#saved.element]) if (!menu.contains(target as Node)) menu.open = false;
    };
    on(app.root, { pointerdown: leave, focusin: leave });
    fillHelp(this.#help, app);
    this.element = h("header.bar", {},
      h("h1", data.title), this.#rows, this.#clear,
      h("div.search", this.#search, names, this.#complaint),
      h("div.buttons", {}, this.#table, this.#saved.element, this.#menu), this.#help);
    app.onKey((event) => event.key === "Escape" && this.#leave());
    app.onLetter(({ key }) => this.#act(key, step));
  }

  update(changed: Changed): void {
    const { state, complaint, data, count } = this.app;
    // What is being typed is never overwritten; it becomes the query in a moment.
    if (changed.has("query") && document.activeElement !== this.#search) this.#search.value = state.query;
    this.#complaint.textContent = complaint;
    this.#search.ariaInvalid = String(Boolean(complaint));
    this.#table.ariaPressed = String(Boolean(state.table));
    this.#names.ariaPressed = String(state.groups !== "off");
    this.#lines.ariaPressed = String(state.groups === "lines");
    this.#saved.update();
    const columns = data.columns.length ? `, ${plural(data.columns.length, "column")}` : "";
    this.#rows.textContent = count === data.n ? `${plural(data.n, "row")}${columns}` : `${many(count)} of ${plural(data.n, "row")}`;
    this.#clear.hidden = !state.brush && !Object.keys(state.ranges).length && !state.query;
    if (changed.has("query") && state.query && !complaint) this.app.announce(`${many(count)} of ${plural(data.n, "row")} found`);
  }

  /** Close or clear one thing after another. */
  #leave(): void {
    const { state, root } = this.app;
    if (root.querySelector("dialog[open]")) return; // its keys are the dialog's
    const menu = root.querySelector<HTMLDetailsElement>("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary")!.focus();
    } else if (state.pinned >= 0) this.app.set({ pinned: -1 });
    else if (state.selection.length) this.app.set({ selection: new Uint32Array() });
    else if (state.brush) this.app.set({ brush: null });
    else if (Object.keys(state.ranges).length) this.app.set({ ranges: {} });
    else if (state.cause >= 0 && state.panel === "findings") this.app.set({ cause: NONE });
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
      e: () => app.set({ panel: "findings" }),
      d: () => app.set({ panel: "compare" }),
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
