// Three steps for who sees the page for the first time; gone once they are read or taken.

import { keep, kept } from "../host/kept";
import { h, icon } from "./dom";

const KEPT = "centrality hint";

export function hint(): HTMLElement | "" {
  if (kept(KEPT) || !keep(KEPT, "")) return ""; // a browser that keeps nothing would show it for ever
  const box = h("div.hint",
    h("button.plain", { label: "Close the hint", onclick: () => closed(box) }, icon("close")),
    h("ol", h("li", "Look at the oddest rows: each stands beside a typical one, with what makes it odd."),
      h("li", "Say what each is: ", h("kbd", "o"), " outlier, ", h("kbd", "f"), " fine, ", h("kbd", "l"), " later."),
      h("li", "What you say is kept, as the last line here tells; save it as CSV when you are done.")));
  return box;
}

export function closed(box: HTMLElement | ""): void {
  if (!box || !box.isConnected) return;
  box.remove();
  keep(KEPT, "read");
}
