// The review: the odd rows one after another, or the examples of findings, each beside the nearest typical one, with one
// key for each verdict. What makes the row odd comes first; the bar of verdicts stays in sight.

import { any, type App, type Changed, type Part } from "../app";
import { examplesOf } from "../core/findings";
import { EVERY, NONE } from "../core/state";
import { comparison } from "./typical";
import type { Alike } from "./alike";
import { h, icon, on } from "./dom";
import type { Words } from "../core/header";
import type { Said } from "../host/marks";
import { moreButton } from "./full";
import { markAll } from "./findings";
import { Learn } from "./learn";
import { Tags } from "./tags";
import { partsOf } from "./things";
import { type Answers, certify, rarity, sentences, typicalLine, unitsAt, weighed } from "./why";
import { exact, many, plural, score, signed } from "../core/words";

const FIRST = 100; // rows to review while no threshold says how many
const MOST = 20_000; // rows of a queue
const MOST_TEXTS = 4; // texts of a row whose words are asked for
const VERDICTS: [Exclude<Said, "">, string, string][] = [["outlier", "o", "Outlier"], ["fine", "f", "Fine"], ["later", "l", "Later"]];

export class Queue implements Part {
  readonly element: HTMLElement;
  readonly #progress = h("span.said", { role: "status" });
  readonly #bar = h("progress", { max: 1, value: 0, label: "Reviewed" });
  readonly #row = h("div.reviewed");
  readonly #more = h("details.more-to-say");
  readonly #whole = h("button.plain", { onclick: () => this.app.set({ cause: NONE, pinned: -1 }) }, "the oddest instead");
  readonly #note = h("input", { type: "text", placeholder: "A note", label: "A note on this row" });
  readonly #verdicts: HTMLButtonElement[];
  readonly #undo = h("button.plain", { title: "Undo (u)", label: "Undo", onclick: () => this.#takeBack() }, icon("back"));
  readonly #sure = h("p");
  readonly #tags: Tags;
  readonly #learn: Learn;
  #rows: number[] = []; // to be reviewed, from the oddest on
  #places = new Map<number, number>();
  #shown = -1;
  readonly #words = new Map<string, Words>(); // of the texts of the row that is shown, once they are known

  constructor(
    private readonly app: App,
    private readonly answers: Answers,
    private readonly others: Alike,
  ) {
    this.#verdicts = VERDICTS.map(([said, key, name]) =>
      h(`button.verdict.${said}`, { title: `${name} (${key})`, "aria-pressed": "false", onclick: () => this.#say(said) }, name, h("kbd", key)));
    on(app.untilEnter(this.#note), { change: () => this.#shown >= 0 && app.marks.set([this.#shown], { note: this.#note.value.trim() }) });
    this.#tags = new Tags(app, () => (this.#shown < 0 ? [] : [this.#shown]));
    this.#learn = new Learn(app, () => this.#anew());
    const step = (by: 1 | -1, label: string, key: string) => h("button.plain", { title: `${label} (${key})`, label, onclick: () => this.#step(by) }, by < 0 ? "‹" : "›");
    this.element = h("section.review", { label: "Review" },
      h("h2", "Review", this.#progress, this.#whole), this.#bar, this.#sure,
      h("div.verdicts", ...this.#verdicts, step(-1, "Previous", "p"), step(1, "Next", "n"), this.#undo),
      this.#row, this.#more, this.#learn.element);
    this.#more.append(h("summary", "Tag, note"), this.#tags.element, this.#note);
    app.onLetter(({ key }) => this.#key(key));
  }

  update(changed: Changed): void {
    const { app } = this;
    if (any(changed, "t", "query", "ranges", "brush", "rule", "level", "panel", "cause", "findings")) this.#line();
    if (any(changed, "panel", "cause") && app.state.pinned < 0 && app.begun) this.#go(this.#open(-1));
    if (any(changed, "pinned", "t", "marks", "panel", "theme", "cause", "findings")) this.#show(app.state.pinned);
    this.#count();
  }

  /** The rows of the findings that are open, or that marks point at, or that are called outliers, or else the oddest. */
  #line(): void {
    const { app } = this;
    const examples = app.state.cause === EVERY ? examplesOf(app.checked?.found ?? []) : app.open?.examples;
    const pointed = examples?.length ? examples : this.#learn.order?.slice(0, MOST);
    const wanted = app.limit ? Math.min(MOST, app.scores.count(app.limit)) : Math.min(FIRST, app.data.n);
    this.#rows = pointed ? pointed.filter(app.shown).slice(0, FIRST)
      : app.scores.ends(wanted, false, app.visible).filter((row) => !app.limit || app.flagged(row));
    this.#places = new Map(this.#rows.map((row, k) => [row, k]));
    this.#whole.hidden = !examples?.length;
    if (this.#reviewing) this.#sure.replaceChildren(certify(app, this.#rows));
  }

  /** What a row is an example of. */
  #cause(row: number): string {
    const { open, checked } = this.app;
    return (open ?? checked?.found.find(({ examples }) => examples.includes(row)))?.sentence ?? "";
  }

  #count(): void {
    const { marks } = this.app;
    let done = 0;
    for (const row of this.#rows) if (["outlier", "fine"].includes(marks.of(row).mark)) done++;
    const place = this.#places.get(this.app.state.pinned);
    const said = VERDICTS.map(([verdict, , name]) => `${many(marks.count(verdict))} ${name.toLowerCase()}`).join(", ");
    const all = this.#rows.length;
    this.#progress.textContent = all ? `${place === undefined ? "" : `row ${many(place + 1)}, `}${many(done)} of ${many(all)} done: ${said}` : "no row to review";
    this.#bar.value = all ? done / all : 0;
    this.#undo.disabled = !marks.canUndo;
    this.#learn.show();
  }

  /** Begin with the first row of another order. */
  #anew(): void {
    this.#line();
    this.#go(this.#open(-1));
    this.#count();
  }

  #show(row: number): void {
    const { app } = this;
    const { mark, note } = row < 0 ? { mark: "", note: "" } : app.marks.of(row);
    this.#verdicts.forEach((button, k) => {
      button.ariaPressed = String(VERDICTS[k][0] === mark);
      button.disabled = row < 0;
    });
    this.#note.disabled = row < 0;
    if (document.activeElement !== this.#note || row !== this.#shown) this.#note.value = note;
    if (row !== this.#shown) this.#words.clear();
    this.#shown = row;
    this.#tags.show();
    this.element.classList.toggle("reading", row >= 0);
    if (row < 0) {
      const which = this.#whole.hidden === false ? plural(this.#rows.length, "example") : app.limit ? plural(this.#rows.length, "outlier") : `the ${plural(this.#rows.length, "oddest row", "oddest rows")}`;
      this.#row.replaceChildren(this.#rows.length ? h("button.start", { onclick: () => this.#go(this.#open(-1)) }, `Review ${which}`) : h("p.none", "No rows left by the filter."));
      return;
    }
    this.#fill(row);
    const again = () => row === this.#shown && this.#fill(row);
    void this.answers.ask(row).then((why) => {
      if (why) again();
      void this.answers.typicalWith(row).then((line) => line && again());
    });
    for (const column of app.data.words.slice(0, MOST_TEXTS)) {
      void this.answers.words(row, column).then((words) => {
        if (row !== this.#shown || !words.words.length) return;
        this.#words.set(column, words);
        again();
      });
    }
  }

  #fill(row: number): void {
    const { app } = this;
    const { scores, data } = app;
    const why = this.answers.now(row);
    const reasons = why ? weighed(app, why.reasons, unitsAt(app, row), why.typical) : [];
    const facts = [`Row ${data.id(row)}`, `score ${score(scores.f[row])}`, scores.standing(row), rarity(app, row)].filter(Boolean);
    const cause = this.#cause(row);
    // Of pixels and moments nothing is told: they are painted on the row itself.
    const told = why?.heat ? [] : sentences(app, row, reasons.filter(({ value }) => value < 0), 4);
    this.#row.replaceChildren(
      h("p.facts", facts.join(" · "), data.kind ? "" : moreButton(app, row)),
      cause ? h("p.cause", cause) : "",
      partsOf(app, row, true),
      told.length > 0 && h("h3", "Why it is odd") || "",
      h("ul.sentences", ...told.map(([name, text, amount]) => h("li", h("b", name), ` ${text}`, h("span.amount", exact(amount), signed(amount))))),
      typicalLine(app, row, this.answers),
      comparison(app, row, why, reasons, (near) => app.set({ pinned: near }), this.#words),
      this.others.of(row, () => row === this.#shown && this.#fill(row)));
  }

  /** The next row after a place that has no verdict yet; then those for later; -1 when all are done. */
  #open(after: number): number {
    const { marks } = this.app;
    const turned = [...this.#rows.slice(after + 1), ...this.#rows.slice(0, after + 1)];
    for (const said of ["", "later"]) {
      const row = turned.find((one) => marks.of(one).mark === said && (after < 0 || one !== this.#shown));
      if (row !== undefined) return row;
    }
    return -1;
  }

  #go(row: number): void {
    if (row >= 0) this.app.set({ pinned: row });
  }

  #step(by: 1 | -1): void {
    const place = this.#places.get(this.app.state.pinned) ?? (by > 0 ? -1 : 0);
    this.#go(this.#rows[(place + by + this.#rows.length) % this.#rows.length] ?? -1);
  }

  /** Say it of the chosen row, wherever it was chosen; a review goes on with the next one. */
  #say(said: Said): void {
    const { app } = this;
    const row = app.state.pinned;
    if (row < 0 && app.state.panel === "findings" && app.open?.rows.length) return markAll(app, said);
    if (row < 0) return this.#begin();
    if (document.activeElement === this.#note) this.#note.blur(); // what is being typed belongs to this row
    const mark = app.marks.of(row).mark === said ? "" : said;
    app.marks.set([row], { mark });
    if (!this.#reviewing) return app.flash(`Row ${app.data.id(row)}: ${mark || "no mark"}. Press u to undo it.`);
    const next = mark ? this.#open(this.#places.get(row) ?? -1) : -1;
    app.announce(`row ${app.data.id(row)}: ${said}${next < 0 ? ", all rows are reviewed" : ""}`);
    this.#go(next);
  }

  /** A verdict on no row: choose the first one, or say how one is chosen. */
  #begin(): void {
    const { app } = this;
    const first = this.#reviewing ? this.#open(-1) : -1;
    this.#go(first);
    app.flash(first >= 0 ? `No row was chosen: now it is row ${app.data.id(first)}. Look at it, then mark it.`
      : this.#reviewing ? "All rows here are reviewed: choose one to mark it anew." : "No row is chosen: click on one, or press r to review the oddest.");
  }

  get #reviewing(): boolean {
    return this.app.state.panel === "review";
  }

  #takeBack(): void {
    const [id, ...more] = this.app.marks.undo();
    const row = id === undefined ? -1 : this.app.data.row(id);
    if (row >= 0) this.#go(row);
    const said = more.length ? `${plural(more.length + 1, "mark")} undone` : row >= 0 ? `Row ${id}: undone` : "There is nothing to undo";
    this.app[this.#reviewing && row >= 0 ? "announce" : "flash"](said);
  }

  #key(key: string): boolean {
    const said = VERDICTS.find(([, letter]) => letter === key)?.[0];
    if (said) this.#say(said);
    else if (key === "u") this.#takeBack();
    else if (this.#reviewing && (key === "n" || key === "p")) this.#step(key === "n" ? 1 : -1);
    else return false;
    return true;
  }
}
