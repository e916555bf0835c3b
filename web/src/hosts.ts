// Who shows the page: a file, our small server, or a notebook. They differ in where bytes and answers come from.

import type { Reason } from "./data";

export interface Host {
  linked: boolean; // the address bar is ours, so that a link can restore the view
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  picture?(row: number): string;
  reasons?(row: number): Promise<Reason[]>;
  select?(ids: Uint32Array): void;
}

/** A page that was exported: everything is in it. */
export function fromFile(element: HTMLElement): Host {
  const text = element.textContent!.trim();
  return {
    linked: true,
    bytes: async () => {
      element.remove(); // its text is no longer needed
      const decoded = (Uint8Array as any).fromBase64?.(text);
      return decoded ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
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
    reasons: async (row) => (await ask(`reasons/${row}`)).json(),
  };
}

interface NotebookModel {
  get(name: string): any;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, then: (content: any) => void): void;
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
    bytes: async () => {
      const view: DataView = model.get("_bytes");
      return new Uint8Array(view.buffer as ArrayBuffer, view.byteOffset, view.byteLength).slice();
    },
    reasons: (row) =>
      new Promise((answer) => {
        waiting.set(++asked, answer);
        model.send({ question: asked, row });
      }),
    select: (ids) => {
      model.set("_selected", new DataView(ids.buffer as ArrayBuffer));
      model.save_changes();
    },
  };
}
