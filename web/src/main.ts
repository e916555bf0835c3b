// The page, put together. In a page of ours it starts by itself; a notebook asks for `render`.

import { App, type Part } from "./app";
import { Alike } from "./ui/alike";
import { Banner } from "./ui/banner";
import { Bulk } from "./ui/bulk";
import { Cards } from "./ui/cards";
import { Copies } from "./ui/copies";
import { ColumnsPanel } from "./ui/columns";
import { Comparison } from "./ui/comparison";
import { Controls } from "./ui/controls";
import { decode } from "./core/data";
import { Detail } from "./ui/detail";
import { Dial } from "./ui/dial";
import { h } from "./ui/dom";
import { Drawer } from "./ui/drawer";
import { FindingsPanel } from "./ui/findings";
import { Histogram } from "./ui/histogram";
import { fromFile, fromServer, type Host, type NotebookModel } from "./host/hosts";
import { Legend } from "./ui/legend";
import { MapPart } from "./gl/map";
import { fromNotebook } from "./host/notebook";
import { Panels } from "./ui/panels";
import { Queue } from "./ui/queue";
import { Ranking } from "./ui/ranking";
import { Selection } from "./ui/selection";
import { Timeline } from "./ui/timeline";
import { Answers } from "./ui/why";

/** Show the page; what comes back takes it down. */
async function mount(root: HTMLElement, host: Host): Promise<() => void> {
  root.classList.add("centrality");
  root.replaceChildren(h("p.wait", { role: "status" }, "Reading the data …"));
  try {
    const data = await decode(await host.bytes());
    const live = h("div.hidden", { "aria-live": "polite" });
    const app = new App(data, host, root, live);
    build(app, live);
    app.begin();
    requestAnimationFrame(() => requestAnimationFrame(() => {
      root.dataset.ready = "yes";
      performance.mark("centrality-ready");
      void app.check();
    }));
    if (data.later && host.better) void improve(app);
    return () => app.end();
  } catch (error) {
    root.replaceChildren(h("div.broken", { role: "alert" }, h("h1", "This page cannot be shown"), h("p", (error as Error).message),
      h("p", "Make it again with centrality explore.")));
    return () => host.end?.();
  }
}

const [SOON, PATIENCE] = [500, 4]; // milliseconds between two looks, and how many times longer they become at most

/** Put the better map in place of the first one once the host has made it, and say meanwhile how far it is. */
async function improve(app: App): Promise<void> {
  const said = h("div.making", { role: "status" });
  app.root.querySelector(".stage")!.append(said);
  for (let pause = SOON; !app.gone.aborted; pause = Math.min(pause * 1.2, PATIENCE * SOON)) {
    const found = await app.host.better!().catch(() => undefined); // the banner tells of a host that is gone
    if (found?.trouble) return void said.replaceChildren(found.trouble);
    if (found?.axes) {
      const show = () => {
        said.remove();
        app.remap(found);
        app.flash(`The map is now ${found.axes!.names.join(" and ")}`);
      };
      const { zoom, selection, pinned } = app.state;
      if (zoom === 1 && !selection.length && pinned < 0) show();
      else said.replaceChildren(h("button", { onclick: show }, "Show the better map, UMAP")); // what is being looked at stays
      return;
    }
    said.textContent = `A better map is on its way${found?.share ? `: ${Math.round(100 * found.share)}%` : " …"}`;
    await new Promise((done) => setTimeout(done, pause));
  }
}

function build(app: App, live: HTMLElement): void {
  const answers = new Answers(app);
  const others = new Alike(app, answers, new Copies(app));
  const map = new MapPart(app.data, app.acts((row) => detail.hover(row)));
  const detail: Detail = new Detail(app, answers, others, map.element, (row) => map.toPixels(row), (row) => map.covered(row));
  const point = (row: number) => map.show(row, true);
  app.host.hover?.((id) => {
    point(app.data.row(id));
    detail.hover(app.data.row(id));
  });
  const legend = new Legend(app);
  const controls = new Controls(app, map.layers, (by) => map.step(by));
  const dial = new Dial(app);
  const drawer = new Drawer(app);
  const banner = new Banner(app);
  const histogram = new Histogram(app);
  const ranking = new Ranking(app, histogram, new Cards(app, answers, point));
  const panels = new Panels(app, { findings: new FindingsPanel(app), review: new Queue(app, answers, others), ranking, columns: new ColumnsPanel(app),
    compare: new Comparison(app) });
  const chosen: (Part & { element: HTMLElement })[] = [new Selection(app), new Bulk(app)];
  map.canvas.ariaLabel = `Map of ${app.data.n} rows: ${app.data.axes.names.join(" and ")}. Arrow keys move it, plus and minus zoom, n and p go from row to row, x selects one.`;
  app.parts.push({ update: (changed) => map.set(app, changed) }, dial, detail);
  app.resting.push(() => map.rest());
  app.bars.push(histogram);
  app.panels.push(banner, controls, legend, panels, ...chosen, drawer);
  const timeline = app.data.timeline && new Timeline(app, app.data.timeline);
  if (timeline) app.panels.push(timeline);
  dial.element.hidden = Boolean(timeline); // moments have one score at every t
  app.root.replaceChildren(banner.element, controls.element,
    h("main", h("aside.panels", { label: "Panels" }, panels.element),
      h("div.left", map.tools, map.element, timeline?.element, dial.element, legend.element, drawer.element),
      h("aside.inspector", { label: "What is chosen" }, detail.dock, ...chosen.map((part) => part.element))), live);
}

const page = document.querySelector<HTMLElement>("#centrality-page");
if (page) {
  const data = document.querySelector<HTMLElement>("#centrality-data");
  void mount(page, data ? fromFile(data) : fromServer());
}

export default {
  render({ model, el }: { model: NotebookModel; el: HTMLElement }): () => void {
    const root = h("div", { "data-lm-suppress-shortcuts": "true" }); // keys typed here are not the notebook's
    root.style.height = `${Number(model.get("height"))}px`;
    el.append(root);
    let mounted = mount(root, fromNotebook(model));
    const renew = () => {
      const before = mounted;
      mounted = before.then((end) => {
        end();
        delete root.dataset.ready;
        return mount(root, fromNotebook(model));
      });
    };
    model.on("change:_bytes", renew);
    return () => {
      model.off("change:_bytes", renew);
      void mounted.then((end) => end());
      root.remove();
    };
  },
};
