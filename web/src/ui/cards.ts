// The rows at both ends of the ranking, or those that move most, as cards that follow the dial.

import { any, type App, type Changed, type Part } from "../app";
import { h, on } from "./dom";
import { face, profile } from "./faces";
import { RankChart } from "./ranks";
import { argsort } from "../core/sorting";
import { score } from "../core/words";

const SHOWN = { picture: 10, series: 9, text: 6, "": 6 }; // full lines of cards
const FEW = 8; // selected rows that a chart can hold

export class Cards implements Part {
  readonly element: HTMLElement;
  readonly #lists = [h("ol.cards"), h("ol.cards")];
  readonly #headings = [h("h2"), h("h2")];
  readonly #tabs: Record<"ends" | "moves", HTMLButtonElement>;
  readonly #drawn: number[][] = [[], []];
  readonly #chart: RankChart;
  #changes?: Uint32Array; // rows by how far they move, from falling to rising

  constructor(
    private readonly app: App,
    private readonly onPoint: (row: number) => void,
  ) {
    this.#chart = new RankChart(app);
    const tab = (list: "ends" | "moves", text: string, title: string) =>
      h("button.tab", { title, onclick: () => this.#choose(list) }, text);
    this.#tabs = {
      ends: tab("ends", "Oddest and most typical", "The two ends of the ranking"),
      moves: tab("moves", "Change with the dial", "The rows whose place in the ranking changes most between t = 0 and t = 1"),
    };
    this.element = h("section.ranking", { label: "Ranking" },
      h("div.tabs", { role: "group", label: "Which rows" }, this.#tabs.ends, this.#tabs.moves),
      this.#chart.element,
      ...this.#lists.map((list, k) => h("div.list", this.#headings[k], list)));
    const leave = () => this.onPoint(-1);
    for (const list of this.#lists) on(list, { pointerleave: leave, focusout: leave });
  }

  update(changed: Changed): void {
    const { list } = this.app.state;
    for (const [name, tab] of Object.entries(this.#tabs)) tab.ariaPressed = String(name === list);
    if (!any(changed, "t", "selection", "query", "ranges", "brush", "list", "rule", "level", "pinned", "theme", "colour")) return;
    const moving = list === "moves";
    const { scores, visible, data } = this.app;
    const most = SHOWN[data.kind];
    const ends = moving ? [this.#take(most, 1), this.#take(most, -1)] : [false, true].map((central) => scores.ends(most, central, visible));
    const names = moving ? ["Typical of all rows, odd nearby", "Odd among all rows, typical nearby"] : ["Oddest", "Most typical"];
    this.#draw(moving, ends);
    ends.forEach((rows, k) => {
      this.#headings[k].textContent = names[k];
      this.#fill(k, rows);
    });
  }

  /** One click: the rows that move most, on the map and as cards. */
  #choose(list: "ends" | "moves"): void {
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

  #take(most: number, step: 1 | -1): number[] {
    const order = (this.#changes ??= argsort(this.app.moves));
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

  #card(row: number, old?: HTMLElement): HTMLElement {
    const { app } = this;
    const item = old ?? h("li", { "data-row": row });
    const button = (item.firstChild as HTMLElement) ?? h("button.card", {
      "data-row": row,
      onclick: () => {
        app.set({ pinned: row });
        this.onPoint(row);
        app.root.querySelector(".stage")!.scrollIntoView({ block: "nearest" });
      },
      onpointerenter: () => this.onPoint(row),
      onfocus: () => this.onPoint(row),
    }, h("span.hidden", `row ${app.data.id(row)} `), face(app, row), h("span.foot"));
    button.classList.toggle("pinned", app.state.pinned === row);
    button.classList.toggle("flagged", app.flagged(row));
    const spot = h("span.spot");
    spot.style.background = app.colourOf(row);
    button.lastElementChild!.replaceChildren(spot, h("b", score(app.scores.f[row])), app.data.kind !== "picture" && profile(app, row, 34, 18) || "");
    if (!item.firstChild) item.append(button);
    return item;
  }
}
