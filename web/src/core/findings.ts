// What is wrong with the rows, as Python found it, by the rows of the page: a page may show fewer rows than were checked.

import type { Data } from "./data";
import type { Finding, Findings } from "./header";

export interface Found extends Omit<Finding, "rows" | "typical"> {
  rows: Uint32Array; // those that are here, in rising order
  typical: number; // -1: none is here
}

export interface Checked {
  verdict: string;
  found: Found[];
  touched: number; // rows that some finding is about
}

export function placed({ verdict, findings }: Findings, data: Data): Checked {
  const here = (rows: number[]) => rows.map((id) => data.row(id)).filter((row) => row >= 0);
  const found = findings.map((one): Found => ({
    ...one, rows: Uint32Array.from(here(one.rows)).sort(), examples: here(one.examples), typical: one.typical === null ? -1 : data.row(one.typical) }));
  return { verdict, found, touched: new Set(found.flatMap(({ rows }) => [...rows])).size };
}

/** The rows to look at for these findings: their examples, each once. */
export const examplesOf = (found: Found[]) => [...new Set(found.flatMap(({ examples }) => examples))];

const [LEAST, MOST] = [1, 6]; // decimal digits of a severity at which its bar is empty, and full

/** How much of its bar a severity fills: one in ten ordinary rows is nothing, one in a million all of it. */
export const barOf = (severity: number) => Math.max(0.04, Math.min(1, (Math.log10(Math.max(1, severity)) - LEAST) / (MOST - LEAST)));
