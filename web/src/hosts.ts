// Who shows the page: a file, our small server, or a notebook. They differ in where bytes and answers come from.

import type { Reason } from "./header";

type Bytes = Uint8Array<ArrayBuffer>;

export interface Host {
  linked: boolean; // the address bar is ours, so that a link can restore the view
  bytes(): Bytes | Promise<Bytes>;
  picture?(row: number): string;
  reasons?(row: number): Promise<Reason[]>;
  select?(ids: Uint32Array): void;
}

/** A page that was exported: everything is in it. */
export function fromFile(element: HTMLElement): Host {
  const text = element.textContent.trim();
  return {
    linked: true,
    bytes: () => {
      element.remove(); // its text is no longer needed
      const known = Uint8Array as { fromBase64?: (text: string) => Bytes }; // younger than TypeScript's library
      return known.fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    },
  };
}

/** A page that `centrality explore` serves. */
export function fromServer(): Host {
  const ask = async (path: string) => {
    const answer = await fetch(path);
    if (!answer.ok) throw new Error((await answer.text()) || `The server answered ${answer.status}.`);
    return answer;
  };
  return {
    linked: true,
    bytes: async () => new Uint8Array(await (await ask("data")).arrayBuffer()),
    picture: (row) => `picture/${row}`,
    reasons: async (row) => (await ask(`reasons/${row}`)).json() as Promise<Reason[]>,
  };
}

/** What a notebook lends the page: traits of `widget.Widget`, and messages to and fro. */
export interface NotebookModel {
  get(name: "_bytes"): DataView<ArrayBuffer>;
  get(name: "height"): number;
  set(name: "_selected", value: DataView): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: "msg:custom", then: (content: { question: number; reasons: Reason[] }) => void): void;
}

/** A notebook: Python is at the other end. */
export function fromNotebook(model: NotebookModel): Host {
  const waiting = new Map<number, (reasons: Reason[]) => void>();
  let asked = 0;
  model.on("msg:custom", (content) => {
    waiting.get(content.question)?.(content.reasons);
    waiting.delete(content.question);
  });
  return {
    linked: false,
    bytes: () => {
      const view = model.get("_bytes");
      return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
    },
    reasons: (row) =>
      new Promise((answer) => {
        waiting.set(++asked, answer);
        model.send({ question: asked, row });
      }),
    select: (ids) => {
      model.set("_selected", new DataView(ids.buffer));
      model.save_changes();
    },
  };
}
