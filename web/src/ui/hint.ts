// Three steps for who sees the page for the first time; gone once they are read or taken.

import { h, icon } from "./dom";

const KEPT = "centrality hint";

export function hint(where: string): HTMLElement | "" {
  try {
    if (localStorage.getItem(KEPT)) return "";
  } catch {
    return ""; // a browser that keeps nothing would show it for ever
  }
  const box = h("div.hint",
    h("button.plain", { label: "Close the hint", onclick: () => closed(box) }, icon("close")),
    h("ol", h("li", "Look at the oddest rows: each stands beside a typical one, with what makes it odd."),
      h("li", "Say what each is: ", h("kbd", "o"), " outlier, ", h("kbd", "f"), " fine, ", h("kbd", "l"), " later."),
      h("li", `What you say is ${where || "kept"}; save it as CSV when you are done.`)));
  return box;
}

export function closed(box: HTMLElement | ""): void {
  if (!box || !box.isConnected) return;
  box.remove();
  try {
    localStorage.setItem(KEPT, "read");
  } catch {
    // then it comes again
  }
}
