// The rows at both ends of the ranking, of all rows or group by group; or those that move most, or that two models judge
// most differently: as cards that follow the dial.

import { any, type App, type Changed, type Part } from "../app";
import { h, on } from "./dom";
import { face } from "./faces";
import { RankChart } from "./ranks";
import { differences, Scores } from "../core/scores";
import { argsort } from "../core/sorting";
import type { State } from "../core/state";
import type { Answers } from "./why";
import { many, plural, score } from "../core/words";

const SHOWN = { picture: 10, series: 9, text: 6, "": 6 }; // full lines of cards
const FEW = 8; // selected rows that a chart can hold
const MOST_GROUPS = 10;
const MOST_ASKED = 100_000; // rows of a page whose host is asked why each card's row is odd: it compares it with all of them
type List = State["list"];

export class Cards implements Part {
  readonly element: HTMLElement;
  readonly #lists: HTMLElement[] = [];
  readonly #headings: HTMLElement[] = [];
  readonly #places = h("div.lists");
  readonly #tabs: Partial<Record<List, HTMLButtonElement>>;
  readonly #drawn: number[][] = [];
  readonly #by: HTMLSelectElement;
  readonly #chart: RankChart;
  #changes?: Uint32Array; // rows by how far they move, from falling to rising
  #other?: Scores; // of the other model

  constructor(
    private readonly app: App,
    private readonly answers: Answers,
    private readonly onPoint: (row: number) => void,
  ) {
    this.#chart = new RankChart(app);
    app.resting.push(() => this.#ask());
    const { against, columns } = app.data;
    const tab = (list: List, text: string, title: string) =>
      h("button.tab", { title, onclick: () => this.#choose(list) }, text);
    this.#tabs = {
      ends: tab("ends", "Oddest and most typical", "The two ends of the ranking"),
      moves: tab("moves", "Change with the dial", "The rows whose place in the ranking changes most between t = 0 and t = 1"),
      ...(against && { differ: tab("differ", "The models disagree", `The rows whose places by this model and by ${against.name} differ most`) }),
    };
    const groups = columns.filter(({ kind }) => kind === "category");
    this.#by = h("select.small", { label: "Both ends of which rows" }, h("option", { value: "" }, "of all rows"),
      ...groups.map(({ name }) => h("option", { value: name }, `by ${name}`)));
    on(this.#by, { change: () => app.set({ by: this.#by.value }) });
    this.element = h("section.ranking", { label: "Both ends" },
      h("div.tabs", { role: "group", label: "Which rows" }, ...Object.values(this.#tabs), this.#by),
      this.#chart.element, this.#places);
  }

  update(changed: Changed): void {
    const { list } = this.app.state;
    for (const [name, tab] of Object.entries(this.#tabs)) tab.ariaPressed = String(name === list);
    this.#by.hidden = list !== "ends" || this.#by.options.length < 2;
    this.#by.value = this.app.state.by;
    if (!any(changed, "t", "selection", "query", "ranges", "brush", "list", "by", "rule", "level", "pinned", "theme", "colour")) return;
    const found = list === "differ" && this.app.data.against ? this.#differing() : list === "moves" ? this.#moving() : this.#ends();
    this.#draw(list === "moves", found.map(([, rows]) => rows));
    this.#room(found.length);
    found.forEach(([name, rows], k) => {
      this.#headings[k].textContent = name;
      this.#fill(k, rows);
    });
  }

  /** Once things rest: which columns make each row odd, so that these come first on its card. */
  #ask(): void {
    const { app, answers } = this;
    if (app.state.panel !== "ranking" || app.data.kind || !app.data.asks || app.data.n > MOST_ASKED) return;
    for (const item of this.#places.querySelectorAll<HTMLElement>(".list:not([hidden]) li[data-row]")) {
      const row = Number(item.dataset.row);
      if (!answers.now(row)) void answers.ask(row).then((why) => why && item.querySelector(".face")?.replaceWith(face(app, row, false, why)));
    }
  }

  /** As many lists as there are to be filled. */
  #room(count: number): void {
    const leave = () => this.onPoint(-1);
    while (this.#lists.length < count) {
      const list = on(h("ol.cards"), { pointerleave: leave, focusout: leave });
      this.#lists.push(list);
      this.#headings.push(h("h2"));
      this.#drawn.push([]);
      this.#places.append(h("div.list", this.#headings.at(-1), list));
    }
    [...this.#places.children].forEach((list, k) => ((list as HTMLElement).hidden = k >= count));
  }

  /** Both ends of all rows, or of each of the largest groups. */
  #ends(): [string, number[]][] {
    const { scores, visible, data, state } = this.app;
    const most = SHOWN[data.kind];
    const column = data.columns.find(({ name, levels }) => name === state.by && levels);
    const both = (rows: Uint8Array | undefined, count: number, of = ""): [string, number[]][] =>
      [["Oddest", false], ["Most typical", true]].map(([name, central]) => [`${name as string}${of}`, scores.ends(count, central as boolean, rows)]);
    if (!column) return both(visible, most);
    const codes = column.values!;
    const counts = new Map<number, number>();
    for (let row = 0; row < data.n; row++) if (!visible || visible[row]) counts.set(codes[row], (counts.get(codes[row]) ?? 0) + 1);
    const largest = [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_GROUPS);
    return largest.flatMap(([code, count]) => both(Uint8Array.from(codes, (one, row) => (one === code && (!visible || visible[row]) ? 1 : 0)),
      Math.min(count, most / 2), ` of ${column.name}: ${column.levels![code - 1] ?? "missing"}, ${plural(count, "row")}`));
  }

  #moving(): [string, number[]][] {
    const order = (this.#changes ??= argsort(this.app.moves));
    return [["Typical of all rows, odd nearby", this.#take(order, 1)], ["Odd among all rows, typical nearby", this.#take(order, -1)]];
  }

  /** The rows that two models judge most differently at this t. */
  #differing(): [string, number[]][] {
    const { data, scores, state } = this.app;
    const { name, ...units } = data.against!;
    this.#other ??= new Scores({ ...data, ...units, inliers: undefined });
    this.#other.at(state.t);
    const order = argsort(differences(scores, this.#other));
    return [[`Odder by ${name}`, this.#take(order, 1)], [`More typical by ${name}`, this.#take(order, -1)]];
  }

  /** One click: the rows that move most, on the map and as cards. */
  #choose(list: List): void {
    this.app.set({ list, colour: list === "moves" ? "move" : this.app.state.colour === "move" ? "f" : this.app.state.colour });
  }

  /** The selected rows if they are few, else the largest movers, on a small chart of places. */
  #draw(moving: boolean, ends: number[][]): void {
    const { selection, pinned } = this.app.state;
    const chosen = selection.length > 0 && selection.length <= FEW;
    this.#chart.element.hidden = !moving && !chosen;
    if (this.#chart.element.hidden) return;
    const rows = chosen ? [...selection] : [...ends[0].slice(0, 3), ...ends[1].slice(0, 3)];
    if (pinned >= 0 && !rows.includes(pinned)) rows.push(pinned);
    this.#chart.draw(rows, `Places of ${chosen ? "the selected rows" : "the rows that change most"}: the top is most typical, t goes from left to right`);
  }

  /** The first rows of an order that are visible, from one of its ends. */
  #take(order: Uint32Array, step: 1 | -1): number[] {
    const most = SHOWN[this.app.data.kind];
    const rows: number[] = [];
    for (let k = step > 0 ? 0 : order.length - 1; k >= 0 && k < order.length && rows.length < most; k += step) {
      if (this.app.shown(order[k])) rows.push(order[k]);
    }
    return rows;
  }

  #fill(k: number, rows: number[]): void {
    const focus = this.#lists[k].querySelector(":focus")?.getAttribute("data-row");
    // Cards of rows that stay keep their element: pictures do not flicker while the dial turns.
    const old = new Map([...this.#lists[k].children].map((item) => [(item as HTMLElement).dataset.row!, item as HTMLElement]));
    const items = rows.map((row) => this.#card(row, old.get(String(row))));
    if (rows.some((row, i) => row !== this.#drawn[k][i]) || rows.length !== this.#drawn[k].length) this.#lists[k].replaceChildren(...items);
    this.#drawn[k] = rows;
    if (focus) this.#lists[k].querySelector<HTMLElement>(`button[data-row="${focus}"]`)?.focus();
    if (!rows.length) this.#lists[k].replaceChildren(h("li.none", "No rows left by the filter."));
  }

  /** The places of a row by both models, where these are compared. */
  #beside(row: number): HTMLElement | "" {
    const { scores, state, data } = this.app;
    if (state.list !== "differ" || !this.#other) return "";
    return h("span.said", `rank ${many(scores.rank(row))}, by ${data.against!.name} ${many(this.#other.rank(row))}`);
  }

  #card(row: number, old?: HTMLElement): HTMLElement {
    const { app } = this;
    const item = old ?? h("li", { "data-row": row });
    const button = (item.firstChild as HTMLElement) ?? h("button.card", {
      "data-row": row,
      onclick: () => {
        app.set({ pinned: row });
        app.root.querySelector(".stage")!.scrollIntoView({ block: "nearest" });
      },
      onpointerenter: () => this.onPoint(row),
      onfocus: () => this.onPoint(row),
    }, h("span.hidden", `row ${app.data.id(row)} `), face(app, row, false, this.answers.now(row)), h("span.foot"));
    button.classList.toggle("pinned", app.state.pinned === row);
    button.classList.toggle("flagged", app.flagged(row));
    const spot = h("span.spot");
    spot.style.background = app.colourOf(row);
    button.lastElementChild!.replaceChildren(spot, h("b", score(app.scores.f[row])), this.#beside(row));
    if (!item.firstChild) item.append(button);
    return item;
  }
}
