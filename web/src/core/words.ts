// Numbers, counts and dates in few characters.

const english = new Intl.NumberFormat("en"); // made once: tables ask for it in every line
export const many = (count: number) => english.format(count);

const ORDINALS = { one: "st", two: "nd", few: "rd" } as Record<string, string>;
const ordinals = new Intl.PluralRules("en", { type: "ordinal" });
/** "2nd " before what is counted from the second on; nothing before the first. */
export const nth = (place: number) => (place === 1 ? "" : `${many(place)}${ORDINALS[ordinals.select(place)] ?? "th"} `);

/** "1 row", "2 rows"; of another word, its plural where it is not an s. */
export const plural = (count: number, one: string, more = `${one}s`) => `${many(count)} ${count === 1 ? one : more}`;

export const short = (value: number) => String(Number(value.toPrecision(3)));

/** A score: three decimals, or two digits where these would all be zero. */
export const score = (f: number) => (f >= 0.0995 || f === 0 ? f.toFixed(3) : f >= 0.001 ? f.toFixed(4) : f.toExponential(1));

export const percent = (share: number) => `${share >= 0.995 && share < 1 ? Math.floor(1000 * share) / 10 : share >= 0.1 ? Math.round(100 * share) : Number((100 * share).toPrecision(2))}%`;

/** A moment: its day, and its time to so many characters where it has one. */
export function day(moment: number, time = 19): string {
  if (Math.abs(moment) > 8.64e15) return String(moment); // beyond what JavaScript calls a date
  const text = new Date(moment).toISOString();
  return time === 10 || text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text.slice(0, time).replace("T", " ");
}

const SECOND = 1000; // milliseconds
const DAY = 86_400 * SECOND;

/** What writes the moments of a column: days alone, or with seconds, or with milliseconds, as the finest of them needs it. */
export function moments(values: ArrayLike<number>): (moment: number) => string {
  let length = 10;
  for (let i = 0; i < values.length && length < 23; i++) {
    const v = values[i];
    if (v % SECOND) length = 23;
    else if (v % DAY) length = 19;
  }
  if (length === 10) return (moment) => day(moment, length);
  return (moment) => (Math.abs(moment) > 8.64e15 ? String(moment) : new Date(moment).toISOString().slice(0, length).replace("T", " "));
}

/** A number that stands for many, such as a mean or the end of an axis, to so many digits. It is never grouped: it may be a year. */
export const rounded = (value: number, digits = 4) => String(Number(value.toPrecision(digits)));

const LONG = 12; // characters of a number that stand anywhere

/** A cell in few characters; three dots say that digits were left out. */
export const brief = (text: string, value: number) => (text.length <= LONG || Number.isInteger(value) ? text : `${rounded(value, 6)}…`);

/** All digits of a number that is shown with few of them, for those who point at it. */
export const exact = (value: number) => ({ title: String(value) });

/** A number with its sign. */
export const signed = (value: number) => `${value < 0 ? "−" : "+"}${Number(Math.abs(value).toPrecision(2))}`;

const quoted = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Lines of cells as the text of a CSV file. */
export const csv = (lines: (string | number)[][]) =>
  [...lines.map((line) => line.map((cell) => quoted(String(cell))).join(",")), ""].join("\n");

/** A text with an apostrophe before it if a spreadsheet would compute it; a number is none of these. */
export const harmless = (text: string) =>
  (/^'*[=+\-@\t\r]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text) ? `'${text}` : text);

/** A number as a file has it, nothing for a gap: all its digits, or as few as tell it from all others of float32. */
export function plain(value: number, single = true): string {
  if (isNaN(value)) return "";
  for (let digits = single ? 6 : 17; digits < 10; digits++) {
    const text = Number(value.toPrecision(digits));
    if (Math.fround(text) === value) return String(text);
  }
  return String(value);
}
