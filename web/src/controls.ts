// The bar at the top: search, colour, threshold, theme, link, help; and the legend on the map.

import { any, type App, type Changed, type Part, percent, score } from "./app";
import { css, OTHER, shade } from "./colours";
import { many } from "./data";
import { h, icon, on } from "./dom";
import { scoreOf } from "./scores";

export class Controls implements Part {
  readonly element: HTMLElement;
  readonly legend = h("div.legend", { role: "img" });
  readonly #search = h("input", { type: "search", placeholder: "Search, or column>3, name:value", "aria-label": "Search and filter by any column", list: "centrality-columns", spellcheck: "false" });
  readonly #complaint = h("span.complaint", { role: "alert" });
  readonly #colour: HTMLSelectElement;
  readonly #rule: HTMLSelectElement;
  readonly #level = h("input", { type: "number", min: 0.001, max: 0.5, step: 0.01, "aria-label": "Level of the threshold" });
  readonly #flagged = h("span.said", { role: "status" });
  readonly #help = h("dialog", { class: "help", "aria-label": "Help" });
  #waiting = 0;

  constructor(private readonly app: App) {
    const { data } = app;
    this.#colour = h("select", { "aria-label": "Colour by" }, ...app.colours().map(([value, name]) => h("option", { value }, name)));
    this.#rule = h("select", { "aria-label": "Threshold" }, h("option", { value: "" }, "no threshold"),
      h("option", { value: "share" }, "most peripheral share"),
      h("option", { value: "fdr", disabled: !data.inliers }, data.inliers ? "false discovery rate" : "false discovery rate (needs holdout)"));
    const searched = () => {
      clearTimeout(this.#waiting);
      this.#waiting = window.setTimeout(() => app.set({ query: this.#search.value }), 160);
    };
    const judged = () => {
      const level = Number(this.#level.value);
      if (level > 0 && level < 1) app.set({ level });
    };
    on(this.#search, { input: searched });
    on(this.#level, { input: judged });
    on(this.#colour, { change: () => app.set({ colour: this.#colour.value }) });
    on(this.#rule, { change: () => app.set({ rule: this.#rule.value as "" | "share" | "fdr" }) });
    const names = h("datalist", { id: "centrality-columns" }, ...data.columns.slice(0, 50).map((c) =>
      h("option", { value: `${/\s/.test(c.name) ? `"${c.name}"` : c.name}${c.kind === "number" || c.kind === "date" ? ">" : ":"}` })));
    const button = (name: string, label: string, act: () => void) =>
      h("button.round", { title: label, "aria-label": label, onclick: act }, icon(name));
    this.#fillHelp();
    this.element = h("header.bar", {},
      h("h1", data.title), h("span.said.rows", `${many(data.n)} rows`),
      h("div.search", this.#search, names, this.#complaint),
      h("label", h("span", "Colour"), this.#colour),
      h("label", h("span", "Outliers"), this.#rule), this.#level, this.#flagged,
      h("div.buttons", {},
        app.host.linked && button("link", "Copy a link to this view", () => void this.#copy()),
        button("theme", "Light or dark", () => app.set({ theme: app.dark ? "light" : "dark" })),
        button("help", "Help", () => this.#help.showModal())),
      this.#help);
    on(app.root, { keydown: (event) => this.#key(event) });
  }

  update(changed: Changed): void {
    const { state, complaint, limit, scores, data } = this.app;
    // What is being typed is never overwritten; it becomes the query in a moment.
    if (changed.has("query") && document.activeElement !== this.#search) this.#search.value = state.query;
    this.#complaint.textContent = complaint;
    this.#search.setAttribute("aria-invalid", String(Boolean(complaint)));
    this.#colour.value = state.colour;
    this.#rule.value = state.rule;
    this.#level.hidden = !state.rule;
    if (changed.has("level") && document.activeElement !== this.#level) this.#level.value = String(state.level);
    const count = scores.count(limit);
    this.#flagged.textContent = state.rule ? `${many(count)} outliers${limit ? `, below ${score(scoreOf(limit))}` : ""}` : "";
    if (changed.has("query") && (state.query || complaint) && !complaint) this.app.announce(`${many(this.app.countShown())} of ${many(data.n)} rows found`);
    if (any(changed, "colour", "theme") || (changed.has("t") && this.app.paint.byScore)) this.#drawLegend();
  }

  #drawLegend(): void {
    const { paint, dark } = this.app;
    if (paint.map === "kinds") {
      const levels = paint.column!.levels!;
      const named = levels.slice(0, levels.length > OTHER + 1 ? OTHER : OTHER + 1);
      const entry = (k: number, name: string) => {
        const spot = h("span.spot");
        spot.style.background = css(shade("kinds", k / 255, dark));
        return h("span.entry", spot, name);
      };
      const rest = levels.length > named.length ? [entry(OTHER, `${levels.length - named.length} more`)] : [];
      this.legend.replaceChildren(h("b", paint.label), ...named.map((name, k) => entry(k, name)), ...rest);
      this.legend.setAttribute("aria-label", `Colours: ${paint.label}, ${named.join(", ")}`);
      return;
    }
    const bar = h("div.gradient");
    bar.style.background = `linear-gradient(90deg, ${Array.from({ length: 17 }, (_, k) => css(shade(paint.map, k / 16, dark))).join(",")})`;
    const [low, high] = paint.range;
    const numbers = paint.byScore ? [0, 0.5, 1].map((u) => score(low + u * (high - low))) : paint.ends;
    const words = paint.byScore ? paint.ends : [];
    this.legend.replaceChildren(h("b", paint.label), bar, h("div.numbers", ...numbers.map((text) => h("span", text))),
      words.length > 0 && h("div.numbers", ...words.map((text) => h("i", text))) || "");
    this.legend.setAttribute("aria-label", `Colours: ${paint.label}, from ${numbers[0]} to ${numbers[numbers.length - 1]}`);
  }

  async #copy(): Promise<void> {
    const link = this.app.link();
    history.replaceState(null, "", link);
    try {
      await navigator.clipboard.writeText(link);
      this.app.announce("Link copied");
      this.#flash("Link copied");
    } catch {
      this.#flash("The link is in the address bar");
    }
  }

  #flash(text: string): void {
    const note = h("div.flash", { role: "status" }, text);
    this.app.root.append(note);
    window.setTimeout(() => note.remove(), 2000);
  }

  #key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key === "Escape") {
      const { state } = this.app;
      if (state.pinned >= 0) this.app.set({ pinned: -1 });
      else if (state.selection.length) this.app.set({ selection: new Uint32Array() });
      else if (state.brush) this.app.set({ brush: null });
      return;
    }
    if (target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") {
      event.preventDefault();
      this.#search.focus();
    } else if (event.key === "?") this.#help.showModal();
    else if (event.key === "t") (this.app.root.querySelector("#t") as HTMLElement).focus();
    else if (event.key === "m") this.app.set({ list: "moves", colour: "move" });
  }

  #fillHelp(): void {
    const { axes, columns, n, inliers } = this.app.data;
    const keys: [string, string][] = [["t", "to the dial; arrow keys turn it"], ["/", "to the search box"], ["m", "the rows that move most"],
      ["arrows, + − 0", "move and zoom the map"], ["n, p", "next and previous row on the map, from the most peripheral on"],
      ["Shift, Alt + drag", "select a box, a lasso; with Ctrl to add"], ["Esc", "close, clear"]];
    this.#help.append(h("form", { method: "dialog" }, h("h2", "Centrality explorer"),
      h("p", "Each point is a row. Its centrality is f = (1 − t) · global + t · local: at t = 0 a row is central that is near to everything, at t = 1 one that lies in a dense neighbourhood."),
      h("p", `The map is ${axes.names.join(" and ")} of ${many(n)} rows. ${inliers ? `Calibrated on ${many(inliers[0].length)} rows: false discovery rates can be chosen (${percent(0.05)} to begin with).` : ""}`),
      h("p", "Search for words, or by column: ", h("code", `${columns[0]?.name ?? "age"}>3`), ", ", h("code", "name:smith"), ", ", h("code", "-word"), ", ", h("code", "#17"), " for a row."),
      h("dl", ...keys.flatMap(([key, what]) => [h("dt", h("kbd", key)), h("dd", what)])),
      h("button", "Close")));
  }
}
