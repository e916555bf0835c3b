// What a map is given to show, and what it tells of what is done on it. It knows nothing else of the page.

import type { Painted } from "../core/colours";
import type { Data } from "../core/data";
import type { State } from "../core/state";
import type { Marks } from "../host/marks";

export interface Scene extends Painted {
  data: Data;
  state: State;
  filter?: Uint8Array; // 1 for rows that are not filtered away
  shown: (row: number) => boolean; // neither filtered nor brushed away
  limit: number; // the score below which rows are flagged
  marks: Pick<Marks, "size" | "all" | "of">;
  lit?: { rows: Uint32Array; name: string }; // rows that are pointed at elsewhere, and what they are
}

export interface Acts {
  set(change: Partial<State>): void;
  hover(row: number): void; // the pointer is on this row, or on none: -1
  hold(held: boolean): void; // something is dragged, or let go
  announce(text: string): void;
  keys(): boolean; // single letters are commands
  picture?(row: number): Promise<string | undefined>; // the address of a row's picture, where rows are pictures
  linked: boolean; // the page is ours: the wheel is always the map's
  gone: AbortSignal; // the page is taken down
}
