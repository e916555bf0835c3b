// What is wrong with the rows: one sentence, then the findings, the worst first. Pointing at one lights its rows up on the
// map; a click opens it, with its examples beside a typical row, to be looked at or marked together.

import { any, type App, type Changed, type Part } from "../app";
import { barOf, examplesOf, type Found } from "../core/findings";
import { EVERY, NONE } from "../core/state";
import { many, percent, plural, rounded } from "../core/words";
import { MARKS, type Said } from "../host/marks";
import { h, on } from "./dom";
import { face } from "./faces";
import { guiltyFirst } from "./typical";
import { guiltyFeatures } from "./why";

const MOST_COLUMNS = 3; // of the table of examples
const AT_FIRST = 10; // findings: people read no more at once

export class FindingsPanel implements Part {
  readonly element = h("section.findings", { label: "Findings" });
  readonly #list = h("ol.found");
  #all = false; // also those after the first ones

  constructor(private readonly app: App) {
    on(this.#list, { pointerleave: () => this.#light(), focusout: () => this.#light() });
  }

  update(changed: Changed): void {
    if (any(changed, "panel", "findings")) this.#fill();
    if (any(changed, "panel", "findings", "cause", "marks", "theme")) this.#open();
  }

  #fill(): void {
    const { app } = this;
    const { checked } = app;
    if (!checked) {
      const text = app.data.findings ? "Looking for what is wrong …" : "Nobody has checked these rows.";
      return this.element.replaceChildren(h("p.verdict", { role: "status" }, text), h("p.said", "The map and the ranking are there already."));
    }
    const { verdict, found, touched } = checked;
    const shown = this.#all ? found : found.slice(0, AT_FIRST);
    const causes = found.filter(({ examples }) => examples.length);
    const looks = examplesOf(causes).length;
    this.#list.replaceChildren(...shown.map((one, k) => this.#item(one, k)));
    this.element.replaceChildren(h("p.verdict", { role: "status" }, verdict),
      touched ? h("p.said", `${plural(touched, "row")} (${percent(touched / app.data.n)}) in ${plural(found.length, "finding")}. Nothing left this machine.`) : "",
      this.#list,
      found.length > shown.length && h("button.plain.more", { onclick: () => this.#showAll() }, `${found.length - shown.length} more`) || "",
      h("button.start", { onclick: () => app.set({ panel: "review", cause: looks ? EVERY : NONE, pinned: -1 }) },
        looks ? `Review ${plural(causes.length, "cause")}, ${plural(looks, "row")} in all` : "Review the oddest rows"));
  }

  #showAll(): void {
    this.#all = true;
    this.#fill();
    this.#open();
  }

  #item(found: Found, k: number): HTMLElement {
    const { sentence, reason, severity, count } = found;
    const bar = h("span.filled");
    bar.style.width = `${100 * barOf(severity)}%`;
    const odd = severity >= 2 ? `at most one in ${many(Number(rounded(severity, 2)))} ordinary rows is as odd` : "";
    const button = h("button.finding", { "aria-expanded": "false", onclick: () => this.#toggle(k) },
      h("span.count", h("b", count ? many(count) : "–"), h("span", count === 1 ? "row" : count ? "rows" : "")),
      h("span.what", h("b", sentence), h("span", reason)),
      h("span.severity", { title: odd }, h("span.bar", bar), h("span.hidden", odd)));
    return on(h("li", { "data-cause": k }, button), { pointerenter: () => this.#light(found), focusin: () => this.#light(found) });
  }

  #toggle(k: number): void {
    this.app.set({ cause: this.app.state.cause === k ? NONE : k });
  }

  /** The finding that is pointed at, or else the one that is open. */
  #light(found = this.app.open): void {
    if (this.app.state.panel !== "findings") return; // it has just been left
    this.app.light(found?.rows.length ? { rows: found.rows, name: `${plural(found.rows.length, "row")}: ${found.sentence}` } : undefined);
  }

  /** What stands below the finding that is open. */
  #open(): void {
    const { app } = this;
    const { cause } = app.state;
    for (const item of this.#list.children as HTMLCollectionOf<HTMLElement>) {
      const open = Number(item.dataset.cause) === cause;
      item.classList.toggle("open", open);
      (item.firstChild as HTMLElement).ariaExpanded = String(open);
      item.querySelector(".inside")?.remove();
      if (open) item.append(this.#inside(app.open!));
    }
    if (!this.#list.matches(":hover")) this.#light();
  }

  #inside(found: Found): HTMLElement {
    const { app } = this;
    const { rows, examples, advice, certificate } = found;
    if (!rows.length) return h("div.inside", h("p", advice));
    const done = [...rows].filter((row) => app.marks.of(row).mark).length;
    const verdict = (mark: Exclude<Said, "">) =>
      h(`button.small.${mark}`, { title: `${mark} (${mark[0]}), all of them`, onclick: () => markAll(app, mark) }, mark, h("kbd", mark[0]));
    return h("div.inside", advice && h("p.advice", advice), certificate && h("p.said", certificate), this.#examples(found),
      h("div.row", h("button.small", { onclick: () => app.set({ panel: "review", pinned: -1 }) }, `Review ${examples.length}`),
        h("span.said", `all ${many(rows.length)}:`), ...MARKS.map(verdict)),
      h("div.row", h("button.plain", { onclick: () => app.set({ selection: rows }) }, "select them"),
        h("button.plain", { onclick: () => app.set({ panel: "compare", a: `finding ${app.state.cause}`, b: "" }) }, "compare with the others"),
        done ? h("span.said", `${many(done)} marked`) : ""));
  }

  /** The examples, and below them a typical row: as they look, or in the columns that the finding is about. */
  #examples({ examples, typical, columns }: Found): HTMLElement {
    const { app } = this;
    const { data } = app;
    const all = typical >= 0 ? [...examples, typical] : examples;
    const name = (row: number) => (row === typical ? "typical" : `row ${data.id(row)}`);
    const show = (row: number) => app.set({ pinned: row });
    if (data.kind) {
      return h("div.looks", ...all.map((row) => h(row === typical ? "button.card.typical" : "button.card", { onclick: () => show(row) }, face(app, row), h("span.foot", name(row)))));
    }
    const named = columns.length ? columns : guiltyFeatures(app, examples[0], undefined);
    const first = guiltyFirst(data.columns, named);
    const texts = first.filter(({ name, kind }) => kind === "text" && columns.includes(name)); // which need the room
    const shown = texts.length ? texts.slice(0, 2) : first.slice(0, MOST_COLUMNS);
    return h("table.cells-beside.examples", h("thead", h("tr", h("th", { scope: "col" }, "row"), ...shown.map((c) => h("th", { scope: "col", title: c.name }, c.name)))),
      h("tbody", ...all.map((row) => h(row === typical ? "tr.typical" : "tr", h("th", { scope: "row" }, h("button.plain", { onclick: () => show(row) }, name(row))),
        ...shown.map((c) => {
          const guilty = row !== typical && columns.includes(c.name);
          return h(guilty ? "td.guilty" : "td", c.kind === "text" ? h("span.text", c.text(row) || "—") : c.brief(row) || "—");
        })))));
  }
}

/** One verdict for all rows of the finding that is open. */
export function markAll(app: App, mark: Said): void {
  const rows = app.open?.rows ?? new Uint32Array();
  app.marks.set(rows, { mark });
  app.flash(`${plural(rows.length, "row")}: ${mark || "no mark"}. Press u to undo it.`);
}
