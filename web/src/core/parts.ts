// How odd each part of a row is: its picture, its text, its vector, its other columns, and whether they go together.

import type { Data, Part } from "./data";
import { many, rounded } from "./words";

const ODD = 100; // one in so many rows is called odd

export const oneIn = (odd: number) => `1 in ${many(Number(rounded(odd, 2)))}`;

/** The parts that can be seen by themselves. */
export const blocksOf = ({ parts }: Data) => parts.filter(({ kind }) => kind !== "pair" && kind !== "rest");

const holds = (pair: Part, { name }: Part) => pair.name.startsWith(`${name} and `) || pair.name.endsWith(` and ${name}`);

/** The odd parts of a row, the oddest first; then the pairs that do not go together though neither part is odd. */
export function oddParts({ parts }: Data, row: number): Part[] {
  const odd = parts.filter((part) => part.odd[row] >= ODD).sort((a, b) => b.odd[row] - a.odd[row]);
  const alone = odd.filter(({ kind }) => kind !== "pair");
  return [...alone, ...odd.filter((pair) => pair.kind === "pair" && !alone.some((part) => holds(pair, part)))];
}

/** "odd as a picture (1 in 900), ordinary otherwise". */
export function inParts(data: Data, row: number): string {
  const odd = oddParts(data, row);
  const named = ({ name, kind }: Part) => (kind === "pair" ? `as a combination: ${name}` : kind === "rest" ? `in ${name}`
    : data.parts.filter((part) => part.kind === kind).length > 1 ? `in ${name}` : `as a ${kind}`);
  const shown = odd.filter(({ kind }, k) => kind !== "pair" || k === 0 || odd[k - 1].kind !== "pair"); // of pairs, the worst
  const told = shown.map((part) => `${named(part)} (${oneIn(part.odd[row])})`).join(", ");
  const missing = blocksOf(data).filter((part) => isNaN(part.odd[row])).map(({ name }) => `no ${name}`);
  return [told ? `odd ${told}` : "", told ? "ordinary otherwise" : "ordinary in each part", ...missing].filter(Boolean).join(", ");
}

/** What is said of a part where it is named as a reason; nothing if it is none. */
export function partInWords({ parts }: Data, name: string, row: number): string | undefined {
  const part = parts.find((one) => one.name === name);
  if (!part) return undefined;
  const odd = part.odd[row];
  return isNaN(odd) ? "missing" : part.kind === "pair" ? `go together as badly as ${oneIn(odd)}` : `as odd as ${oneIn(odd)}`;
}
