// What the page shows and which keys it knows; single letters can be switched off, as those who dictate need it.

import type { App } from "../app";
import { keep, kept } from "../host/kept";
import { h, on } from "./dom";
import { many, percent, plural } from "../core/words";

const KEPT = "centrality keys";
const KEYS: [string, string][] = [
  ["t", "to the dial; arrow keys turn it"], ["/, Enter", "to the search box, and back to the map"], ["e, r, c, d, b", "findings, review, columns, compare, table"],
  ["m", "the rows that change most with the dial"], ["arrows, + − 0", "move and zoom the map"],
  ["n, p", "next and previous row, from the oddest on"], ["x, z", "select the row of the card, zoom to what is selected"], ["v", "the row of the card in full"],
  ["o, f, l, u", "the row of the card, or all rows of the finding that is open, are outliers, fine, for later; undo"], ["Shift + O, F, L", "the same for all rows that are selected or left by the filter"],
  ["Shift, Alt + drag", "select a box, a lasso; with Ctrl to add"], ["Esc", "close, clear"],
];

export function fillHelp(help: HTMLElement, app: App): void {
  const { axes, columns, n, inliers } = app.data;
  const known = inliers ? ` Calibrated on ${plural(inliers.g.length, "row")}: false discovery rates can be chosen (${percent(0.05)} to begin with).` : "";
  help.append(h("form", { method: "dialog" }, h("h2", "Centrality explorer"),
    h("p", "Each point is a row. Its score goes from 0, odd, to 1, typical. The dial says what each row is compared with: at t = 0 a row is typical that is near to all others, at t = 1 one that has many rows near it. Between the two both count."),
    h("p", `The map is ${axes.names.join(" and ")} of ${many(n)} rows.${known}`),
    h("p", "Search for words, or by column: ", h("code", `${columns[0]?.name ?? "age"}>3`), ", ", h("code", "name:smith"), ", ", h("code", "centrality<.1"), ", ", h("code", "missing:name"), ", ", h("code", "mark:outlier"), ", ", h("code", "tags:typo"), ", ", h("code", "note:word"), ", ", h("code", "-word"), ", ", h("code", "a or b"), ", ", h("code", "#17"), " for a row."),
    h("dl", ...KEYS.flatMap(([key, what]) => [h("dt", h("kbd", key)), h("dd", what)])),
    h("p", keysSwitch(app)),
    h("button", "Close")));
}

function keysSwitch(app: App): HTMLElement {
  const box = h("input", { type: "checkbox" });
  const show = (on: boolean) => {
    box.checked = on;
    app.root.dataset.keys = on ? "on" : "off";
  };
  show(kept(KEPT) !== "off");
  on(box, { change: () => {
    show(box.checked);
    keep(KEPT, box.checked ? "on" : "off");
  } });
  return h("label", box, " Single letters are commands");
}
