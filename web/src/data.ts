// The bytes that src/centrality/explorer/payload.py packs, as typed arrays.

import type { Axes, EmbeddedPictures, EmbeddedReasons, Header, Reason, StoredArray } from "./header";

type Get = <T extends ArrayBufferView>(place: StoredArray) => T;
type Numbers = Float32Array | Float64Array | Uint8Array;

export interface Column {
  name: string;
  kind: Header["columns"][number]["kind"];
  values?: Numbers; // of a category: codes into levels, 0 for a gap
  levels?: string[];
  text: (row: number) => string; // as the page shows it; "" for a gap
}

export interface Data {
  title: string;
  n: number;
  t: number;
  axes: Axes;
  x: Float32Array; // from -1 to 1 across the map
  y: Float32Array;
  g: Uint16Array; // steps, see scores.ts
  l: Uint16Array;
  id: (row: number) => number; // where the row stands in the user's data
  columns: Column[];
  kind: Header["items"]["kind"];
  itemColumn: string;
  picture?: (row: number) => string | undefined; // an address; absent: ask the host
  curve?: (row: number) => Uint8Array;
  inliers?: [Uint16Array, Uint16Array];
  asks: boolean; // reasons come from the host
  reasons?: (row: number) => Reason[] | undefined;
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
    return read(whole);
  } catch (error) {
    throw new DataError(`The data does not fit together: ${(error as Error).message}`);
  }
}

function read(whole: ArrayBuffer): Data {
  const size = new DataView(whole).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(whole, 4, size))) as Header;
  const start = 4 + size;
  const get: Get = <T extends ArrayBufferView>(place: StoredArray) =>
    new TYPES[place.type](whole, start + place.at, place.length) as unknown as T;
  const { n, items, reasons } = header;
  const points = planes(get(header.points), n, 3, Float32Array);
  const heads = planes(get(header.heads), n, 2, Uint16Array);
  for (const line of points) for (let i = 0; i < n; i++) line[i] = (line[i] / 0xffffff) * 2 - 1;
  const rows = header.rows && get<Uint32Array>(header.rows);
  const inliers = header.inliers && get<Uint16Array>(header.inliers);
  const data: Data = {
    title: header.title,
    n,
    t: header.t,
    axes: header.axes,
    x: points[0],
    y: points[1],
    g: heads[0],
    l: heads[1],
    id: rows ? (row) => rows[row] : (row) => row,
    columns: header.columns.map((c) => column(c, get)),
    kind: items.kind,
    itemColumn: items.kind === "text" ? items.column : "",
    inliers: inliers && [inliers.subarray(0, inliers.length / 2), inliers.subarray(inliers.length / 2)],
    asks: reasons === "ask",
  };
  if (items.kind === "picture" && items.embedded) data.picture = pictures(items.embedded, get);
  if (items.kind === "series") {
    const all = get<Uint8Array>(items.curves);
    const moments = all.length / n;
    data.curve = (row) => all.subarray(row * moments, (row + 1) * moments);
  }
  if (reasons && reasons !== "ask") data.reasons = embeddedReasons(reasons, header.features, get);
  return data;
}

/** Two lines of n numbers, from their bytes: all high bytes of a line come first. */
function planes<T extends Float32Array | Uint16Array>(bytes: Uint8Array, n: number, count: number, kind: new (n: number) => T): [T, T] {
  if (bytes.length !== 2 * n * count) throw new Error("it does not have as many rows as it says");
  const line = (first: number): T => {
    const out = new kind(n);
    for (let k = 0; k < count; k++) {
      const at = (first + k) * n;
      for (let i = 0; i < n; i++) out[i] = out[i] * 256 + bytes[at + i];
    }
    return out;
  };
  return [line(0), line(count)];
}

function column(header: Header["columns"][number], get: Get): Column {
  const { name, kind } = header;
  if (kind === "text") {
    const ends = get<Uint32Array>(header.ends);
    const place = header.text;
    let all: string | undefined; // decoded when the first of them is asked for
    const text = (row: number) => {
      all ??= new TextDecoder().decode(get<Uint8Array>(place));
      return all.slice(row ? ends[row - 1] : 0, ends[row]);
    };
    return { name, kind, text };
  }
  const values = get<Numbers>(header.values);
  if (kind === "category") {
    const { levels } = header;
    return { name, kind, values, levels, text: (row) => levels[values[row] - 1] ?? "" };
  }
  const shown = kind === "date" ? day : number;
  return { name, kind, values, text: (row) => (Number.isNaN(values[row]) ? "" : shown(values[row])) };
}

export const many = (count: number) => count.toLocaleString("en");

export function day(moment: number): string {
  const text = new Date(moment).toISOString();
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
}

/** A number in few characters. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return many(value);
  const size = Math.abs(value);
  return size >= 1e-4 && size < 1e7 ? String(Number(value.toPrecision(4))) : value.toExponential(2);
}

function pictures(places: EmbeddedPictures, get: Get) {
  const rows = get<Uint32Array>(places.rows);
  const ends = get<Uint32Array>(places.ends);
  const files = get<Uint8Array<ArrayBuffer>>(places.files);
  const made = new Map<number, string>();
  return (row: number): string | undefined => {
    const known = made.get(row);
    if (known) return known;
    const k = find(rows, row);
    if (k < 0) return undefined;
    const file = files.subarray(k ? ends[k - 1] : 0, ends[k]);
    const address = URL.createObjectURL(new Blob([file], { type: file[0] === 0x89 ? "image/png" : "image/jpeg" }));
    made.set(row, address);
    return address;
  };
}

function embeddedReasons(header: EmbeddedReasons, names: string[], get: Get) {
  const rows = get<Uint32Array>(header.rows);
  const features = get<Uint16Array>(header.features);
  const values = get<Float32Array>(header.values);
  return (row: number): Reason[] | undefined => {
    const k = find(rows, row);
    if (k < 0) return undefined;
    const top = features.length / rows.length;
    return Array.from(features.subarray(k * top, (k + 1) * top), (feature, j) => {
      const at = 2 * (k * top + j);
      return { name: names[feature], global: values[at], local: values[at + 1] };
    });
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
