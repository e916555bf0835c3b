// Who shows the page: a file, our small server, or a notebook. They differ in where bytes and answers come from, and in
// who keeps the marks.

import type { Changed } from "./app";
import type { Data } from "./data";
import type { Mark, Why } from "./header";
import type { State } from "./state";

type Bytes = Uint8Array<ArrayBuffer>;

/** Where marks are kept; `print` tells one set of rows from another. */
export interface Keeper {
  where: string; // in words
  load(print: string): Promise<Mark[]>;
  save(marks: Mark[], print: string): void;
  follow?(act: (marks: Mark[]) => void): void; // somebody else has changed them
}

export interface Host {
  linked: boolean; // the address bar is ours, so that a link can restore the view
  bytes(): Bytes | Promise<Bytes>;
  marks: Keeper;
  picture?(row: number, full?: boolean): Promise<string | undefined>; // its address
  ask?<T>(what: "words" | "texts" | "what-if" | "way", row: number, given?: unknown): Promise<T>; // of the model itself
  why?(row: number): Promise<Why>;
  wanted?(data: Data): Partial<State>; // to begin with
  follow?(act: (change: Partial<State>) => void, data: Data): void; // somebody else has changed the state
  tell?(state: State, changed: Changed, data: Data): void;
  hovered?(id: number): void; // the reader points at this row
  hover?(act: (id: number) => void): void; // somebody else does
  python?: boolean; // somebody reads `widget.selection` and `widget.marks`
  end?(): void;
}

/** In the browser, as long as it lets us: some forbid it to pages from disk. */
const inBrowser: Keeper = {
  where: "kept in this browser",
  load: (print) => Promise.resolve(JSON.parse(localStorage.getItem(`centrality ${print}`) ?? "[]") as Mark[]),
  save: (marks, print) => {
    try {
      localStorage.setItem(`centrality ${print}`, JSON.stringify(marks));
    } catch {
      inBrowser.where = "not kept: this browser lets the page keep nothing, so save them as CSV";
    }
  },
};

/** A page that was exported: everything is in it. */
export function fromFile(element: HTMLElement): Host {
  const text = element.textContent.trim();
  return {
    linked: true,
    marks: inBrowser,
    bytes: () => {
      element.remove(); // its text is no longer needed
      const known = Uint8Array as { fromBase64?: (text: string) => Bytes }; // younger than TypeScript's library
      return known.fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    },
  };
}

/** A page that `centrality explore` serves. */
export function fromServer(): Host {
  const ask = async (path: string, options?: RequestInit) => {
    const answer = await fetch(path, options);
    if (!answer.ok) throw new Error((await answer.text()) || `The server answered ${answer.status}.`);
    return answer;
  };
  let last = Promise.resolve(); // saved one after the other, so that the newest stays
  const marks: Keeper = {
    where: "kept beside the model",
    load: async () => (await ask("marks")).json() as Promise<Mark[]>,
    save: (all) => {
      const put = () => ask("marks", { method: "PUT", body: JSON.stringify(all) });
      last = last.then(put).then(
        () => void (marks.where = "kept beside the model"),
        (error: Error) => void (marks.where = `not kept: ${error.message}`),
      );
    },
  };
  return {
    linked: true,
    marks,
    bytes: async () => new Uint8Array(await (await ask("data")).arrayBuffer()),
    picture: (row, full) => Promise.resolve(`${full ? "full" : "picture"}/${row}`),
    ask: async <T>(what: string, row: number, given?: unknown) =>
      (await ask(`${what}/${row}`, given === undefined ? {} : { method: "PUT", body: JSON.stringify(given) })).json() as Promise<T>,
    why: async (row) => (await ask(`why/${row}`)).json() as Promise<Why>,
  };
}

/** What a notebook lends the page: traits of `widget.Widget`, and messages to and fro. */
export interface NotebookModel {
  get(name: string): unknown;
  set(name: string, value: unknown): void;
  save_changes(): void;
  send(content: unknown): void;
  on(event: string, then: (...parts: never[]) => void): void;
  off(event: string, then: (...parts: never[]) => void): void;
}
