// A notebook shows the page, and Python is at the other end: traits go both ways, questions are asked by message.

import type { Data } from "../core/data";
import type { Host, Keeper, NotebookModel } from "./hosts";
import type { Change, Mark } from "../core/header";
import type { State } from "../core/state";

interface Answer {
  question: number;
  picture?: boolean; // its file comes beside the message
  answer?: unknown;
  wrong?: string; // with the question
}
type Said = Record<string, string>;

/** Questions that wait for their answer, by number. */
class Questions {
  readonly #waiting = new Map<number, (answer: Answer, file?: DataView<ArrayBuffer>) => void>();
  #asked = 0;

  constructor(private readonly model: NotebookModel) {}

  readonly answered = (answer: Answer, files: DataView<ArrayBuffer>[]): void => {
    this.#waiting.get(answer.question)?.(answer, files?.[0]);
    this.#waiting.delete(answer.question);
  };

  ask<T>(what: object, read: (answer: Answer, file?: DataView<ArrayBuffer>) => T): Promise<T> {
    return new Promise((done, fail) => {
      this.#waiting.set(++this.#asked, (answer, file) => (answer.wrong ? fail(new Error(answer.wrong)) : done(read(answer, file))));
      this.model.send({ question: this.#asked, ...what });
    });
  }
}

export function fromNotebook(model: NotebookModel): Host {
  const questions = new Questions(model);
  const listeners: [string, (...parts: never[]) => void][] = [];
  const listen = (event: string, then: (...parts: never[]) => void) => {
    model.on(event, then);
    listeners.push([event, then]);
  };
  listen("msg:custom", questions.answered);
  const addresses = new Map<string, Promise<string | undefined>>();
  const tell = (changes: Record<string, unknown>) => {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };
  const picture = (row: number, full?: boolean) =>
    questions.ask({ picture: row, ...(full && { full }) }, (_, file) => file && URL.createObjectURL(new Blob([file], { type: file.getUint8(0) === 0x89 ? "image/png" : "image/jpeg" })));
  let hovered = -1;
  let told: Partial<State> = {}; // what both sides know
  return {
    linked: false,
    python: true,
    marks: keeper(model, tell, listen, questions),
    reviewer: (name) => tell({ reviewer: name }),
    bytes: () => {
      const view = model.get("_bytes") as DataView<ArrayBuffer>;
      return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
    },
    picture: (row, full) => {
      const name = `${row} ${full}`;
      if (!addresses.has(name)) addresses.set(name, picture(row, full));
      return addresses.get(name)!;
    },
    ask: <T>(what: string, row: number, given?: unknown) => questions.ask({ ask: what, row, given }, ({ answer }) => answer as T),
    again: (given) => questions.ask({ ask: "given", given }, () => undefined), // other bytes come, see `render`
    wanted: (data) => ({ t: Number(model.get("t")), query: String(model.get("query")), selection: selected(model, data) }),
    follow: (act, data) => {
      const on = (name: "t" | "query" | "selection", read: () => Partial<State>) =>
        listen(`change:${name}`, () => {
          const change = read();
          if (same(told[name], change[name])) return; // our own words, coming back
          told = { ...told, ...change };
          act(change);
        });
      on("t", () => ({ t: Number(model.get("t")) }));
      on("query", () => ({ query: String(model.get("query")) }));
      on("selection", () => ({ selection: selected(model, data) }));
    },
    tell: ({ t, query, selection }, changed, data) => {
      const changes: Record<string, unknown> = {};
      if (changed.has("t") && t !== told.t) changes.t = t;
      if (changed.has("query") && query !== told.query) changes.query = query;
      if (changed.has("selection") && !same(selection, told.selection)) {
        changes.selection = new DataView(Uint32Array.from(selection, data.id).buffer);
      }
      told = { t, query, selection };
      if (Object.keys(changes).length) tell(changes);
    },
    hovered: (id) => {
      hovered = id;
      tell({ hovered: id });
    },
    hover: (act) => listen("change:hovered", () => {
      const id = Number(model.get("hovered"));
      if (id !== hovered) act((hovered = id));
    }),
    end: () => {
      for (const [event, then] of listeners) model.off(event, then);
      for (const address of addresses.values()) void address.then((known) => known && URL.revokeObjectURL(known));
    },
  };
}

/** The rows that Python has selected; it names them by their numbers in the data. */
function selected(model: NotebookModel, data: Data): Uint32Array {
  const view = model.get("selection") as DataView<ArrayBuffer> | null;
  if (!view?.byteLength) return new Uint32Array();
  const ids = new Uint32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  return Uint32Array.from([...ids].map((id) => data.row(id)).filter((row) => row >= 0)).sort();
}

function same(a: unknown, b: unknown): boolean {
  if (a instanceof Uint32Array && b instanceof Uint32Array) return a.length === b.length && a.every((v, i) => v === b[i]);
  return a === b;
}

const PATIENCE = 10_000; // milliseconds that Python may be busy with something else

const silence = () => new Promise<never>((_, fail) => setTimeout(() => fail(new Error("Python does not answer: it is busy, or gone.")), PATIENCE));

/** What was said of rows, with something else for some of them; nothing said is no entry. */
function put(all: unknown, changes: Change[], part: "mark" | "note" | "tags"): Said {
  const out = { ...((all ?? {}) as Said) };
  for (const change of changes) {
    const now = change[part];
    if (now) out[change.row] = now;
    else if (now === "") delete out[change.row];
  }
  return out;
}

function keeper(
  model: NotebookModel, tell: (changes: Record<string, unknown>) => void, listen: (event: string, then: () => void) => void,
  questions: Questions,
): Keeper {
  const read = (): Mark[] => {
    const marks = (model.get("marks") ?? {}) as Said;
    const notes = (model.get("notes") ?? {}) as Said;
    const tags = (model.get("tags") ?? {}) as Said;
    const rows = new Set([marks, notes, tags].flatMap(Object.keys));
    return [...rows].map((row) => ({
      key: "", row: Number(row), mark: (marks[row] ?? "") as Mark["mark"], note: notes[row] ?? "", tags: tags[row] ?? "", by: "", at: "", version: 0 }));
  };
  let sent = "";
  return {
    where: "in Python: widget.marks",
    load: () => Promise.resolve({ marks: read(), where: "", trouble: "" }),
    save: async (changes) => {
      const now = {
        marks: put(model.get("marks"), changes, "mark"), notes: put(model.get("notes"), changes, "note"), tags: put(model.get("tags"), changes, "tags") };
      sent = JSON.stringify([now.marks, now.notes, now.tags]);
      try {
        tell(now);
      } catch {
        throw new Error("The kernel that made this widget is gone: save these marks as CSV, then run its cell again."); // Jupyter has closed its line
      }
      await Promise.race([questions.ask({ ask: "kept" }, () => undefined), silence()]);
      return undefined;
    },
    follow: (act) => {
      const names = ["marks", "notes", "tags"];
      const changed = () => JSON.stringify(names.map((name) => model.get(name) ?? {})) !== sent && act(read());
      for (const name of names) listen(`change:${name}`, changed);
    },
  };
}
