// What is kept and taken along, in one menu: views with a name (what a link holds, and the selection however large), a
// link, this page as one file, and the marks: whose they are, where they are kept, and their way out and back.

import type { App, Part } from "../app";
import { readBack, tooMany, written } from "../core/state";
import { plural } from "../core/words";
import { keep, keptJson } from "../host/kept";
import { h, icon, on } from "./dom";
import { save } from "./save";

const MOST = 400_000; // characters of a view that a browser is asked to keep

export class Saved implements Part {
  readonly element = h("details.menu.saved", h("summary", "Saved"));
  readonly #name = h("input", { type: "text", placeholder: "Name this view to keep it", label: "Name of this view", maxlength: 60 });
  readonly #views = h("div.set-list");
  readonly #kept = h("p.said");
  readonly #key: string;
  #known: Record<string, string>;

  constructor(private readonly app: App) {
    const { marks, host, data } = app;
    this.#key = `centrality views ${data.print}`;
    this.#known = keptJson<Record<string, string>>(this.#key, {});
    on(this.#name, { change: () => this.#keep() });
    const by = h("input", { type: "text", placeholder: "Your name, for the file", label: "Your name, for the file of marks", value: marks.by, maxlength: 80 });
    on(by, { change: () => (marks.by = by.value.trim()) });
    const file = h("input", { type: "file", accept: ".csv,.html", label: "A file of marks, or a page with marks in it", hidden: true });
    on(file, { change: () => void this.#take(file) });
    const act = (text: string, does: () => void) => h("button", { onclick: does }, text);
    this.element.append(h("div.sheet", this.#views, this.#name,
      host.linked && act("Copy a link to this view", () => void this.#copy()),
      host.page && act("Save as one file", () => void this.#page()),
      h("b", "Marks"), this.#kept,
      act("Marks as CSV", () => save("marks.csv", new Blob([marks.csv()], { type: "text/csv" }))),
      host.marks.take && act("Take marks from a file", () => file.click()), file, by));
    this.#show();
  }

  update(): void {
    const { marks, host } = this.app;
    const elsewhere = marks.missing ? `; ${plural(marks.missing, "mark")} of rows that are not here, kept as well` : "";
    this.#kept.textContent = marks.trouble ? "not kept, see above" : `${plural(marks.size, "row")} marked, ${host.marks.where}${elsewhere}`;
  }

  #show(): void {
    this.#views.replaceChildren(...Object.entries(this.#known).map(([name, view]) => h("span.set",
      h("button.small", { onclick: () => this.#open(view) }, name),
      h("button.plain", { label: `Forget ${name}`, onclick: () => this.#change(name) }, icon("close")))));
  }

  #open(view: string): void {
    this.app.set(readBack(view, this.app.first, this.app.data.n));
    this.element.open = false;
  }

  #keep(): void {
    const name = this.#name.value.trim();
    if (name) this.#change(name, written(this.app.state, this.app.first, MOST));
    this.#name.value = "";
  }

  #change(name: string, view?: string): void {
    const others = Object.entries(this.#known).filter(([other]) => other !== name);
    this.#known = Object.fromEntries(view === undefined ? others : [...others, [name, view]]);
    if (!keep(this.#key, JSON.stringify(this.#known))) this.app.announce("This browser keeps it only until the page is closed.");
    this.#show();
  }

  async #copy(): Promise<void> {
    const { app } = this;
    const { selection } = app.state;
    const link = app.link();
    history.replaceState(null, "", link);
    const but = tooMany(selection) ? `, but the ${plural(selection.length, "selected row")} do not fit into it: give the view a name` : "";
    try {
      await navigator.clipboard.writeText(link);
      app.flash(`Link copied${but}`);
    } catch {
      app.flash(`The link is in the address bar${but}`);
    }
  }

  /** The page with its marks and findings as one file, which needs neither a server nor a network. */
  async #page(): Promise<void> {
    const { app } = this;
    app.announce("Writing the page …");
    try {
      const text = await app.host.page!(app.marks.all());
      save(`${app.data.title.replace(/[^\p{L}\p{N}_-]+/gu, "_")}.html`, new Blob([text], { type: "text/html" }));
    } catch (error) {
      app.flash(`Not saved: ${(error as Error).message}`);
    }
  }

  async #take(input: HTMLInputElement): Promise<void> {
    const { app } = this;
    try {
      await app.host.marks.take!(input.files![0]);
      await app.marks.refresh();
      app.flash("The marks of this file are here now");
    } catch (error) {
      app.flash(`Nothing was taken over: ${(error as Error).message}`);
    }
    input.value = "";
  }
}
