// A row of several parts as it is: its picture, its words and its cells, what is odd of them marked.

import type { App } from "../app";
import { barOf } from "../core/findings";
import { blocksOf, inParts, oddParts, oneIn } from "../core/parts";
import { h } from "./dom";

const MOST_PAIRS = 3; // that are told

/** On a card: the picture, if there is one, beside the words, the cells and what is odd. */
export function thing({ data }: App, row: number, picture: HTMLElement | "", cells: HTMLElement | ""): HTMLElement {
  const odd = oddParts(data, row);
  const mark = (element: HTMLElement | "", kind: string) => {
    if (element && odd.some((part) => part.kind === kind)) element.classList.add("odd");
    return element;
  };
  const texts = blocksOf(data).filter(({ kind }) => kind === "text").map((part) =>
    h(odd.includes(part) ? "span.text.odd" : "span.text", data.columns.find(({ name }) => name === part.name)?.text(row) || `no ${part.name}`));
  return h("span.face.thing", mark(picture, "picture"),
    h("span.parts", h(odd.length ? "b.oddness" : "span.oddness", inParts(data, row)), mark(cells, "rest"), ...texts));
}

/** Part by part, how odd a row is: in a sentence and, `whole`, as bars; "" if it is one thing. */
export function partsOf({ data }: App, row: number, whole: boolean): HTMLElement | "" {
  if (!data.parts.length) return "";
  const odd = oddParts(data, row);
  const pairs = odd.filter(({ kind }) => kind === "pair").slice(0, MOST_PAIRS);
  const lines = whole ? [...data.parts.filter(({ kind }) => kind !== "pair"), ...pairs] : [];
  return h("div.by-part", h("p.oddness", inParts(data, row)), h("ul", ...lines.map((part) => {
    const bar = h("span.filled");
    const value = part.odd[row];
    if (value > 1) bar.style.width = `${100 * barOf(value)}%`;
    return h(odd.includes(part) ? "li.odd" : "li", h("span", { title: part.name }, part.name), h("span.track", bar), h("span", isNaN(value) ? "missing" : oneIn(value)));
  })));
}
