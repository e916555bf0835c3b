// Who shows the page: a file, our small server, or a notebook. They differ in where bytes and answers come from, and in
// who keeps the marks.

import type { Changed } from "../app";
import type { Data } from "../core/data";
import type { Change, KeptMarks, Mark, Why } from "../core/header";
import { said } from "./marks";
import type { State } from "../core/state";

type Bytes = Uint8Array<ArrayBuffer>;

/** Where marks are kept; `print` tells one set of rows from another. */
export interface Keeper {
  where: string; // in words
  load(print: string): Promise<KeptMarks>;
  save(change: Change, print: string): Promise<Mark | undefined>; // what is kept now; an error if nothing is
  follow?(act: (marks: Mark[]) => void): void; // somebody else has changed them
}

export interface Host {
  linked: boolean; // the address bar is ours, so that a link can restore the view
  bytes(): Bytes | Promise<Bytes>;
  marks: Keeper;
  picture?(row: number, full?: boolean): Promise<string | undefined>; // its address
  ask?<T>(what: "words" | "texts" | "what-if" | "way", row: number, given?: unknown): Promise<T>; // of the model itself
  why?(row: number): Promise<Why>;
  csv?(rows: number[], t: number): Promise<string>; // these rows with their cells, as they came
  wanted?(data: Data): Partial<State>; // to begin with
  follow?(act: (change: Partial<State>) => void, data: Data): void; // somebody else has changed the state
  tell?(state: State, changed: Changed, data: Data): void;
  hovered?(id: number): void; // the reader points at this row
  hover?(act: (id: number) => void): void; // somebody else does
  python?: boolean; // somebody reads `widget.selection` and `widget.marks`
  end?(): void;
}

/** In the browser, as long as it lets us: some forbid it to pages from disk. */
function inBrowser(): Keeper {
  const refused = new Error("This browser lets the page keep nothing: save them as CSV.");
  const read = (print: string) => JSON.parse(localStorage.getItem(`centrality ${print}`) ?? "[]") as Mark[];
  let place = "";
  return {
    where: "kept in this browser",
    load: async (print) => {
      place = `centrality ${print}`;
      try {
        return Promise.resolve({ marks: read(print), where: "", trouble: "" });
      } catch {
        throw refused;
      }
    },
    save: async (change, print) => {
      try {
        const marks = read(print); // another tab may have written
        const before = marks.find(({ key, row }) => (change.key ? key === change.key : row === change.row));
        const version = 1 + marks.reduce((newest, mark) => Math.max(newest, mark.version), 0);
        const now: Mark = { mark: "", note: "", ...before, key: change.key, row: change.row, ...said(change), version };
        localStorage.setItem(`centrality ${print}`, JSON.stringify([...marks.filter((mark) => mark !== before), now]));
        return Promise.resolve(now);
      } catch {
        throw refused;
      }
    },
    follow: (act) => addEventListener("storage", ({ key, newValue }) => key === place && act(JSON.parse(newValue ?? "[]") as Mark[])),
  };
}

/** A page that was exported: everything is in it. */
export function fromFile(element: HTMLElement): Host {
  const text = element.textContent.trim();
  return {
    linked: true,
    marks: inBrowser(),
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
    const answer = await fetch(path, options).catch(() => {
      throw new Error("centrality explore does not answer. Is it still running?");
    });
    if (!answer.ok) throw new Error((await answer.text()) || `The server answered ${answer.status}.`);
    return answer;
  };
  const marks: Keeper = {
    where: "",
    load: async () => {
      const kept = (await (await ask("marks")).json()) as KeptMarks;
      marks.where = `kept ${kept.where}`;
      return kept;
    },
    save: async (change) => (await ask("marks", { method: "PUT", body: JSON.stringify(change) })).json() as Promise<Mark>,
  };
  return {
    linked: true,
    marks,
    bytes: async () => new Uint8Array(await (await ask("data")).arrayBuffer()),
    picture: (row, full) => Promise.resolve(`${full ? "full" : "picture"}/${row}`),
    ask: async <T>(what: string, row: number, given?: unknown) =>
      (await ask(`${what}/${row}`, given === undefined ? {} : { method: "PUT", body: JSON.stringify(given) })).json() as Promise<T>,
    why: async (row) => (await ask(`why/${row}`)).json() as Promise<Why>,
    csv: async (rows, t) => (await ask("selection", { method: "PUT", body: JSON.stringify({ rows, t }) })).text(),
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
