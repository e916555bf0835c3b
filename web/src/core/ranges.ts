// What the reader wants to see of each column: numbers and dates from one value to another, categories by their levels.

import type { Column } from "./data";

/** By the column's name: its lowest and highest value, or the codes of the levels wanted, 0 for gaps. */
export type Ranges = Readonly<Record<string, readonly number[]>>;

/** Leave in `found` only the rows that lie in every range. */
export function narrow(found: Uint8Array, ranges: Ranges, columns: Column[]): void {
  for (const column of columns) {
    const range = Object.hasOwn(ranges, column.name) ? ranges[column.name] : undefined;
    const { values } = column;
    if (!range || !values) continue;
    if (column.levels) {
      const wanted = new Uint8Array(256);
      for (const code of range) wanted[code] = 1;
      for (let row = 0; row < found.length; row++) found[row] &= wanted[values[row]];
    } else {
      const [low, high] = range;
      for (let row = 0; row < found.length; row++) if (!(values[row] >= low && values[row] <= high)) found[row] = 0;
    }
  }
}

/** The ranges with another one for this column, or with none. */
export function withRange(ranges: Ranges, name: string, range?: readonly number[]): Ranges {
  const others = Object.entries(ranges).filter(([other]) => other !== name);
  return Object.fromEntries(range ? [...others, [name, range]] : others);
}
