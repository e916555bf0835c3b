// The bytes that src/centrality/apps/explorer/payload.py packs, as typed arrays.

import type { Axes, EmbeddedAnswers, EmbeddedPictures, Findings, Header, Mixing, Part as StoredPart, StoredArray, Texts, TimelineNames, Why } from "./header";
import { type Summary, summaryOf } from "./summary";
import { brief, moments, plain } from "./words";

type Get = <T extends ArrayBufferView>(place: StoredArray) => T;
type Numbers = Float32Array | Float64Array | Uint8Array;

export interface Column {
  name: string;
  kind: Header["columns"][number]["kind"];
  values?: Numbers; // of a category: codes into levels, 0 for a gap
  levels?: string[];
  text: (row: number) => string; // as the data has it, "" for a gap; a long text is cut
  cell: (row: number) => string; // as the data has it, from the first to the last character: for search and CSV
  brief: (row: number) => string; // for cards: long numbers lose digits, which three dots tell
  summary?: () => Summary; // of numbers and dates, made when it is first asked for
}

/** A part of each row, or two that should go together: for each row, one in how many is as odd; NaN where it is missing. */
export type Part = Pick<StoredPart, "name" | "kind"> & { odd: Float32Array };

export interface Data {
  title: string;
  n: number;
  t: number;
  mixing: Mixing;
  axes: Axes;
  x: Float32Array; // from -1 to 1 across the map, beyond for rows that are far from all others
  y: Float32Array;
  g: Float64Array; // units, see mixing.ts
  l: Float64Array;
  id: (row: number) => number; // where the row stands in the user's data
  row: (id: number) => number; // and back; -1 if it is not shown
  key: (row: number) => string; // under which its marks are kept; "" if that is its number
  keysLater: boolean; // keys are asked of the host, once there is a picture
  about: boolean; // units are rounded, so that ranks are not exact
  columns: Column[];
  kind: Header["items"]["kind"];
  itemColumn: string;
  picture?: (row: number) => string | undefined; // an address; absent: ask the host
  curve?: (row: number) => Uint8Array;
  inliers?: { g: Float64Array; l: Float64Array; contamination: number }; // units of calibration rows
  asks: boolean; // why a row is odd, and what lies near it, is asked of the host
  why?: (row: number) => Why | undefined; // from the page's own bytes, where they hold some rows' answers
  colour: string; // "f", or "=" and the column that rows are coloured by to begin with
  findings?: Findings | "ask"; // what is wrong, or the host is asked for it after the first picture
  typicalWith: boolean; // the host says which cells would make a row typical
  words: string[]; // columns of texts of which the host says which words make a row odd
  whole: boolean; // pictures and texts as large as they are
  later: boolean; // the host makes a better map
  jobs: boolean; // it learns from marks, picks rows and finds copies
  against?: { name: string; mixing: Mixing; g: Float64Array; l: Float64Array }; // what another model says
  given: string[]; // columns that are the context: rows of one kind are compared with each other
  mayBeGiven: string[]; // those that could be, where the host can fit the model anew
  guilty: string[]; // features, from the one that makes the odd rows odd most of all
  timeline?: TimelineNames; // rows are moments of series
  parts: Part[]; // of a row: its pictures, texts, vectors and other columns; none if it is one thing
  alike: boolean; // the host says which rows are like one
  sides?: [string, string]; // two groups that are compared to begin with, as sides.ts spells them
  print: string; // tells these bytes from others
  end: () => void; // lets go of what the browser keeps for us
}

export class DataError extends Error {}

const MARK = "CNTRLTY1";
const TYPES: Record<StoredArray["type"], new (b: ArrayBuffer, at: number, n: number) => ArrayBufferView> = {
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  float32: Float32Array,
  float64: Float64Array,
};

/** The data of a view, or a DataError that says what is wrong with the bytes. */
export async function decode(bytes: Uint8Array<ArrayBuffer>): Promise<Data> {
  const mark = String.fromCharCode(...bytes.subarray(0, 8));
  if (mark !== MARK) throw new DataError("This is not explorer data, or it was made by another version.");
  let whole: ArrayBuffer;
  try {
    const stream = new Blob([bytes.subarray(8)]).stream().pipeThrough(new DecompressionStream("gzip"));
    whole = await new Response(stream).arrayBuffer();
  } catch {
    throw new DataError("The data is damaged or cut short.");
  }
  try {
    return read(whole, fingerprint(bytes));
  } catch (error) {
    throw new DataError(`The data does not fit together: ${(error as Error).message}`);
  }
}

/** A short text that differs between different bytes: their number, and a sum of some of them (FNV). */
function fingerprint(bytes: Uint8Array): string {
  let sum = 0x811c9dc5;
  const step = Math.max(1, Math.floor(bytes.length / 50_000));
  for (let i = 0; i < bytes.length; i += step) sum = Math.imul(sum ^ bytes[i], 0x01000193);
  return `${bytes.length.toString(36)}-${(sum >>> 0).toString(36)}`;
}

function read(whole: ArrayBuffer, print: string): Data {
  const size = new DataView(whole).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, size))) as Header;
  const start = 4 + size;
  const get: Get = <T extends ArrayBufferView>(place: StoredArray) =>
    new TYPES[place.type](whole, start + place.at, place.length) as unknown as T;
  const { n, items, why } = header;
  const points = placesOf(get(header.points), header.axes, n);
  const [g, l] = unitsOf(header.units, n, get);
  const rows = header.rows && get<Uint32Array>(header.rows);
  const inliers = header.inliers && halves(get<Float64Array>(header.inliers.units));
  const data: Data = {
    title: header.title,
    n,
    t: header.t,
    mixing: header.mixing,
    axes: header.axes,
    x: points[0],
    y: points[1],
    g,
    l,
    id: rows ? (row) => rows[row] : (row) => row,
    row: rows ? (id) => find(rows, id) : (id) => (id >= 0 && id < n ? id : -1),
    key: header.keys && header.keys !== "ask" ? texts(header.keys, get) : () => "",
    keysLater: header.keys === "ask",
    about: header.units.type !== "float64",
    columns: header.columns.map((c) => column(c, get, header.cells?.[c.name])),
    kind: items.kind,
    itemColumn: items.kind === "text" ? items.column : "",
    inliers: inliers && { g: inliers[0], l: inliers[1], contamination: header.inliers!.contamination },
    asks: why === "ask",
    colour: header.colour ? `=${header.colour}` : "f",
    guilty: header.guilty ?? [],
    given: header.given ?? [],
    mayBeGiven: header.may_be_given ?? [],
    findings: header.findings,
    typicalWith: Boolean(header.typical_with),
    words: header.words ?? [],
    whole: Boolean(header.whole),
    later: Boolean(header.later),
    jobs: Boolean(header.jobs),
    timeline: header.timeline,
    sides: header.sides,
    parts: (header.parts ?? []).map(({ name, kind, severity }) => ({ name, kind, odd: get<Float32Array>(severity) })),
    alike: Boolean(header.alike),
    print,
    end: () => undefined,
  };
  if (items.kind === "picture" && items.embedded) [data.picture, data.end] = pictures(items.embedded, get);
  if (items.kind === "series") {
    const all = get<Uint8Array>(items.curves);
    const moments = all.length / n;
    data.curve = (row) => all.subarray(row * moments, (row + 1) * moments);
  }
  if (header.against) {
    const { name, mixing, units } = header.against;
    const [g, l] = unitsOf(units, n, get);
    data.against = { name, mixing, g, l };
  }
  if (why && why !== "ask") data.why = embeddedAnswers(why, get);
  return data;
}

/** Where rows lie along both axes, from -1 to 1 across the map. */
export function placesOf(bytes: Uint8Array, axes: Axes, n: number): Float32Array[] {
  return planes(bytes, n, 3).map((line, axis) => {
    const reach = axes.reach[axis];
    return Float32Array.from(line, (step) => ((step / 0xffffff) * 2 - 1) * reach);
  });
}

/** Two lines of n numbers, from their bytes: all high bytes of a line come first. */
function planes(bytes: Uint8Array, n: number, count: number): Uint32Array<ArrayBuffer>[] {
  if (bytes.length !== 2 * n * count) throw new Error("it does not have as many rows as it says");
  return [0, count].map((first) => {
    const out = new Uint32Array(n);
    for (let k = 0; k < count; k++) {
      const at = (first + k) * n;
      for (let i = 0; i < n; i++) out[i] = (out[i] << 8) | bytes[at + i];
    }
    return out;
  });
}

const halves = (all: Float64Array) => [all.subarray(0, all.length / 2), all.subarray(all.length / 2)];

/** Both units of all rows: as they are, or of very many rows the first three bytes of float32. */
function unitsOf(place: StoredArray, n: number, get: Get): Float64Array[] {
  if (place.type === "float64") return halves(get(place));
  return planes(get(place), n, 3).map((line) => Float64Array.from(new Float32Array(line.map((bits) => bits << 8).buffer)));
}

/** The text of each row, decoded when the first of them is asked for. */
function texts(places: Texts, get: Get): (row: number) => string {
  const ends = get<Uint32Array>(places.ends);
  let all: string | undefined;
  return (row) => {
    all ??= new TextDecoder().decode(get<Uint8Array>(places.text));
    return all.slice(row ? ends[row - 1] : 0, ends[row]);
  };
}

/** The keys of all rows as the host sends them by themselves: where each ends, then all of them. */
export function takeKeys(data: Data, bytes: Uint8Array<ArrayBuffer>): void {
  const ends = { at: 0, length: data.n, type: "uint32" } as const;
  const text = { at: 8 * Math.ceil(data.n / 2), length: 0, type: "uint8" } as const;
  data.key = texts({ ends, text }, (({ at, type }: StoredArray) => (type === "uint32" ? new Uint32Array(bytes.buffer, at, data.n) : bytes.subarray(at))) as unknown as Get);
  data.keysLater = false;
}

/** A column; `cells` are its texts as they came, where its values do not tell. */
function column(header: Header["columns"][number], get: Get, cells?: Texts): Column {
  const { name, kind } = header;
  const came = cells && texts(cells, get);
  if (kind === "text") {
    const text = texts(header, get);
    return { name, kind, text, cell: came ?? text, brief: text };
  }
  const values = get<Numbers>(header.values);
  if (kind === "category") {
    const { levels } = header;
    const text = (row: number) => levels[values[row] - 1] ?? "";
    return { name, kind, values, levels, text, cell: came ?? text, brief: text };
  }
  const single = values instanceof Float32Array;
  let write: ((value: number) => string) | undefined;
  const written = (row: number) => (isNaN(values[row]) ? "" : (write ??= kind === "date" ? moments(values) : (v) => plain(v, single))(values[row]));
  const text = came ? (row: number) => came(row).replace(/(:\d\d)\.0+$/, "$1") : written; // a moment to the second has no fraction
  let known: Summary | undefined;
  const summary = () => (known ??= summaryOf(values));
  return { name, kind, values, summary, text, cell: came ?? text, brief: kind === "date" ? text : (row) => brief(text(row), values[row]) };
}

function pictures(places: EmbeddedPictures, get: Get): [(row: number) => string | undefined, () => void] {
  const rows = get<Uint32Array>(places.rows);
  const ends = get<Uint32Array>(places.ends);
  const files = get<Uint8Array<ArrayBuffer>>(places.files);
  const made = new Map<number, string>();
  const picture = (row: number): string | undefined => {
    const known = made.get(row);
    if (known) return known;
    const k = find(rows, row);
    if (k < 0) return undefined;
    const file = files.subarray(k ? ends[k - 1] : 0, ends[k]);
    const address = URL.createObjectURL(new Blob([file], { type: file[0] === 0x89 ? "image/png" : "image/jpeg" }));
    made.set(row, address);
    return address;
  };
  return [picture, () => made.forEach((address) => URL.revokeObjectURL(address))];
}

function embeddedAnswers(header: EmbeddedAnswers, get: Get): (row: number) => Why | undefined {
  const rows = get<Uint32Array>(header.rows);
  const answers = texts(header.answers, get);
  return (row) => {
    const k = find(rows, row);
    return k < 0 ? undefined : (JSON.parse(answers(k)) as Why);
  };
}

/** Where `value` stands among rising numbers, or -1. */
function find(sorted: Uint32Array, value: number): number {
  let low = 0;
  let high = sorted.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] === value) return middle;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
