// The page, put together. In a page of ours it starts by itself; a notebook asks for `render`.

import { App } from "./app";
import { Cards } from "./cards";
import { Controls } from "./controls";
import { decode } from "./data";
import { Detail } from "./detail";
import { Dial } from "./dial";
import { h } from "./dom";
import { Histogram } from "./histogram";
import { fromFile, fromNotebook, fromServer, type Host, type NotebookModel } from "./hosts";
import { MapPart } from "./map";
import { Selection } from "./selection";

async function mount(root: HTMLElement, host: Host): Promise<void> {
  root.classList.add("centrality");
  root.replaceChildren(h("p.wait", { role: "status" }, "Reading the data …"));
  try {
    const data = await decode(await host.bytes());
    const live = h("div.hidden", { "aria-live": "polite" });
    const app = new App(data, host, root, live);
    const map = new MapPart(app, (row) => detail.hover(row));
    const detail: Detail = new Detail(app, (row) => map.toPixels(row));
    const controls = new Controls(app);
    const dial = new Dial(app);
    const panels = [new Histogram(app), new Selection(app), new Cards(app, (row) => map.show(row, true))];
    map.canvas.setAttribute("aria-label", `Map of ${data.n} rows: ${data.axes.names.join(" and ")}. Arrow keys move it, plus and minus zoom, n and p go from row to row.`);
    map.element.append(controls.legend, detail.element);
    app.parts.push(map, dial, detail);
    app.panels.push(controls, ...panels);
    root.replaceChildren(controls.element,
      h("main", map.element, h("aside", ...[dial, ...panels].map((part) => part.element))), live);
    app.begin();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      root.dataset.ready = "yes";
      performance.mark("centrality-ready");
    }));
  } catch (error) {
    root.replaceChildren(h("div.broken", { role: "alert" }, h("h1", "This page cannot be shown"), h("p", (error as Error).message),
      h("p", "Make it again with centrality explore.")));
  }
}

const page = document.querySelector<HTMLElement>("#centrality-page");
if (page) {
  const data = document.querySelector<HTMLElement>("#centrality-data");
  void mount(page, data ? fromFile(data) : fromServer());
}

export default {
  render({ model, el }: { model: NotebookModel; el: HTMLElement }): void {
    const root = h("div", { "data-lm-suppress-shortcuts": "true" }); // keys typed here are not the notebook's
    root.style.height = `${model.get("height")}px`;
    el.append(root);
    void mount(root, fromNotebook(model));
  },
};
