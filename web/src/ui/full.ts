// A row as large as it is: its picture, or its texts from the first word to the last, over the page.

import type { App } from "../app";
import { h } from "./dom";

const LONG = 120; // characters that stand anywhere

/** Can more be seen of a row than cards show? */
function hasMore({ data }: App, row: number): boolean {
  return data.kind === "picture" || data.columns.some((column) => column.kind === "text" && column.text(row).length > LONG);
}

export function moreButton(app: App, row: number): HTMLElement | "" {
  return hasMore(app, row) && h("button.plain.more", { onclick: () => enlarge(app, row) }, "in full") || "";
}

export function enlarge(app: App, row: number): void {
  if (row < 0 || !hasMore(app, row)) return;
  const { data, host } = app;
  const name = `Row ${data.id(row)} in full`;
  const body = h("div.whole", { tabindex: 0, role: "group", label: name });
  const dialog = h("dialog.help.full", { label: name },
    h("form", { method: "dialog" }, h("h2", name), body, h("button", "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  app.root.append(dialog);
  dialog.showModal();
  const columns = data.columns.filter(({ kind }) => kind === "text");
  const show = (texts: Record<string, string>) =>
    body.append(...Object.entries(texts).flatMap(([column, text]) => [h("h3", column), h("p", text)]));
  const here = () => show(Object.fromEntries(columns.map((column) => [column.name, column.text(row)])));
  if (data.kind === "picture") {
    const image = h("img", { alt: `picture of row ${data.id(row)}` });
    body.append(image);
    const put = (address?: string) => (image.src = address ?? data.picture?.(row) ?? "");
    if (data.whole) void host.picture!(row, true).then(put, () => put());
    else put();
  }
  if (data.whole && columns.length) void host.ask!<Record<string, string>>("texts", row).then(show, here);
  else here();
}
