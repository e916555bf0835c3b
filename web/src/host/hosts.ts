// Who shows the page: a file, our small server, or a notebook. They differ in where bytes and answers come from, and in
// who keeps the marks.

import type { Data } from "../core/data";
import type { BetterMap, Change, KeptMarks, Mark } from "../core/header";
import { said } from "./marks";
import type { Changed, State } from "../core/state";

type Bytes = Uint8Array<ArrayBuffer>;

/** Where marks are kept; `print` tells one set of rows from another. */
export interface Keeper {
  where: string; // in words
  load(print: string): Promise<KeptMarks>;
  save(changes: Change[], print: string): Promise<Mark[] | undefined>; // what is kept now; an error if nothing is
  take?(file: File): Promise<unknown>; // marks of a file that the reader has, to be added to those here
  follow?(act: (marks: Mark[]) => void): void; // somebody else has changed them
}

/** What can be asked of Python: of one row, or, from `review` on, of those that are given. */
type Question = "why" | "words" | "texts" | "typical" | "findings" | "copies" | "review" | "pick" | "selection" | "alike" | "certificate";

export interface Host {
  linked: boolean; // the address bar is ours, so that a link can restore the view
  bytes(): Bytes | Promise<Bytes>;
  keys?(): Promise<Bytes>; // of very many rows, once there is a picture
  marks: Keeper;
  picture?(row: number, full?: boolean): Promise<string | undefined>; // its address
  ask?<T>(what: Question, row: number, given?: unknown): Promise<T>;
  again?(given: string[]): Promise<void>; // the model fitted anew, given these columns; the page is then read again
  wanted?(data: Data): Partial<State>; // to begin with
  follow?(act: (change: Partial<State>) => void, data: Data): void; // somebody else has changed the state
  tell?(state: State, changed: Changed, data: Data): void;
  hovered?(id: number): void; // the reader points at this row
  hover?(act: (id: number) => void): void; // somebody else does
  better?(): Promise<BetterMap>; // how far a better map is, or the map
  page?(marks: Mark[]): string | Promise<string>; // this page as a file, with marks in it
  reviewer?(name: string): void; // who marks
  python?: boolean; // somebody reads `widget.selection` and `widget.marks`
  end?(): void;
}

const sameRow = (a: { key: string; row: number }, b: { key: string; row: number }) => (a.key ? a.key === b.key : a.row === b.row);

/** Marks of two places together: of two on one row, the newer. */
function together(marks: Mark[], more: Mark[]): Mark[] {
  const of = (mark: Mark) => mark.key || String(mark.row);
  const all = new Map(marks.map((mark) => [of(mark), mark]));
  for (const mark of more) if (!(all.has(of(mark)) && all.get(of(mark))!.at >= mark.at)) all.set(of(mark), mark);
  return [...all.values()];
}

/** In the browser, as long as it lets us: some forbid it to pages from disk. `held` are marks that came in the page. */
function inBrowser(held: Mark[]): Keeper {
  const refused = new Error("This browser lets the page keep nothing: save them as CSV, or in a page of their own.");
  const read = (print: string) => JSON.parse(localStorage.getItem(`centrality ${print}`) ?? "[]") as Mark[];
  let place = "";
  return {
    where: "kept in this browser",
    load: async (print) => {
      place = `centrality ${print}`;
      try {
        return Promise.resolve({ marks: together(held, read(print)), where: "", trouble: "" });
      } catch {
        throw refused;
      }
    },
    save: async (changes, print) => {
      try {
        let marks = together(held, read(print)); // another tab may have written
        let version = marks.reduce((newest, mark) => Math.max(newest, mark.version), 0);
        const at = new Date().toISOString().slice(0, 19).replace("T", " ");
        const kept = changes.map((change): Mark => {
          const before = marks.find((mark) => sameRow(change, mark));
          return { mark: "", note: "", tags: "", by: "", ...before, key: change.key, row: change.row, ...said(change), at, version: ++version };
        });
        const rows = new Set(kept.map(({ key, row }) => key || String(row)));
        marks = [...marks.filter(({ key, row }) => !rows.has(key || String(row))), ...kept];
        localStorage.setItem(`centrality ${print}`, JSON.stringify(marks));
        return Promise.resolve(kept);
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
  element.remove(); // its text is no longer needed
  const known = Uint8Array as { fromBase64?: (text: string) => Bytes }; // younger than TypeScript's library
  let held: Bytes | undefined; // read once
  const bytes = () => (held ??= known.fromBase64?.(text) ?? Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
  const marks = document.querySelector("#centrality-marks")?.textContent;
  return {
    linked: true,
    marks: inBrowser(marks ? (JSON.parse(marks) as Mark[]) : []),
    bytes,
    page: (marks) => pageOf(bytes(), marks),
  };
}

/** This page as it came, but with these marks. Its policy knows the script by its text, which stays. */
function pageOf(bytes: Bytes, marks: Mark[]): string {
  let data = "";
  for (let at = 0; at < bytes.length; at += 0x6000) data += btoa(String.fromCharCode(...bytes.subarray(at, at + 0x6000)));
  const held = JSON.stringify(marks).replaceAll("<", "\\u003c");
  return ["<!doctype html>", '<html lang="en">', document.head.outerHTML, "<body>", '<div id="centrality-page"></div>',
    `<script type="application/octet-stream" id="centrality-data">${data}</script>`,
    `<script type="application/json" id="centrality-marks">${held}</script>`,
    document.querySelector("script[type=module]")!.outerHTML, "</body>", "</html>", ""].join("\n");
}

/** A page that `centrality explore` serves. */
export function fromServer(): Host {
  const get = async (path: string, options?: RequestInit) => {
    const answer = await fetch(path, options).catch(() => {
      throw new Error("centrality explore does not answer. Is it still running?");
    });
    if (!answer.ok) throw new Error((await answer.text()) || `The server answered ${answer.status}.`);
    return answer;
  };
  const put = async <T>(path: string, content: unknown) => (await get(path, { method: "PUT", body: JSON.stringify(content) })).json() as Promise<T>;
  const bytes = async (path: string) => new Uint8Array(await (await get(path)).arrayBuffer());
  const marks: Keeper = {
    where: "",
    load: async () => {
      const kept = (await (await get("marks")).json()) as KeptMarks;
      marks.where = `kept ${kept.where}`;
      return kept;
    },
    save: (changes) => put<Mark[]>("marks", changes),
    take: (file) => get("marks-file", { method: "PUT", body: file }),
  };
  return {
    linked: true,
    marks,
    bytes: () => bytes("data"),
    keys: () => bytes("keys"),
    picture: (row, full) => Promise.resolve(`${full ? "full" : "picture"}/${row}`),
    ask: (what, row, given) => put("ask", { ask: what, row, given }),
    again: async (given) => {
      await put("given", given);
      location.reload();
    },
    better: async () => (await get("map")).json() as Promise<BetterMap>,
    page: async () => (await get("page")).text(),
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
