// Written by web/header.py from src/centrality/apps/explorer/header.py: change that, then run make web.

export interface StoredArray {
  at: number;
  length: number;
  type: "uint8" | "uint16" | "uint32" | "float32" | "float64";
}

export interface Axes {
  names: [string, string];
  center: [number, number];
  half: [number, number];
  reach: [number, number];
}

export interface Texts {
  ends: StoredArray;
  text: StoredArray;
}

export interface TextColumn {
  name: string;
  kind: "text";
  ends: StoredArray;
  text: StoredArray;
}

export interface CategoryColumn {
  name: string;
  kind: "category";
  levels: string[];
  values: StoredArray;
}

export interface NumberColumn {
  name: string;
  kind: "number" | "date";
  values: StoredArray;
}

export interface EmbeddedPictures {
  rows: StoredArray;
  ends: StoredArray;
  files: StoredArray;
}

export interface NoItems {
  kind: "";
}

export interface TextItems {
  kind: "text";
  column: string;
}

export interface SeriesItems {
  kind: "series";
  curves: StoredArray;
}

export interface PictureItems {
  kind: "picture";
  embedded?: EmbeddedPictures;
}

export interface EmbeddedAnswers {
  rows: StoredArray;
  answers: Texts;
}

export interface Mixing {
  local_weight: number | null;
  room: number | null;
}

export interface Inliers {
  units: StoredArray;
  contamination: number;
}

export interface Against {
  name: string;
  mixing: Mixing;
  units: StoredArray;
}

export interface Finding {
  kind: string;
  sentence: string;
  reason: string;
  columns: string[];
  count: number;
  rows: number[];
  severity: number;
  examples: number[];
  typical: number | null;
  advice: string;
  certificate: string;
}

export interface Findings {
  verdict: string;
  rows: number;
  findings: Finding[];
}

export interface TimelineNames {
  time: string;
  by: string;
  channels: string[];
}

export interface Part {
  name: string;
  kind: "picture" | "text" | "vector" | "rest" | "pair";
  severity: StoredArray;
}

export interface Header {
  title: string;
  n: number;
  t: number;
  mixing: Mixing;
  axes: Axes;
  points: StoredArray;
  units: StoredArray;
  columns: (TextColumn | CategoryColumn | NumberColumn)[];
  items: NoItems | TextItems | SeriesItems | PictureItems;
  features: string[];
  rows?: StoredArray;
  inliers?: Inliers;
  why?: EmbeddedAnswers | "ask";
  colour?: string;
  guilty?: string[];
  findings?: Findings | "ask";
  typical_with?: boolean;
  words?: string[];
  cells?: Record<string, Texts>;
  keys?: Texts | "ask";
  whole?: boolean;
  later?: boolean;
  jobs?: boolean;
  against?: Against;
  given?: string[];
  may_be_given?: string[];
  sides?: [string, string];
  timeline?: TimelineNames;
  parts?: Part[];
  alike?: boolean;
}

export interface Reason {
  name: string;
  global: number;
  local: number;
  usual?: string;
}

export interface Heat {
  width: number;
  height: number;
  values: number[];
}

export interface Why {
  reasons: Reason[];
  typical: [number, number];
  near: number[];
  heat?: Heat;
}

export interface TypicalWith {
  columns: string[];
  like: number;
  units: [number, number];
}

export interface Word {
  text: string;
  global: number;
  local: number;
}

export interface Words {
  words: Word[];
  typical: [number, number];
}

export interface Mark {
  key: string;
  row: number;
  mark: "" | "outlier" | "fine" | "later";
  tags: string;
  note: string;
  by: string;
  at: string;
  version: number;
}

export interface Change {
  key: string;
  row: number;
  mark?: "" | "outlier" | "fine" | "later";
  tags?: string;
  note?: string;
  by?: string;
  was?: string;
}

export interface KeptMarks {
  marks: Mark[];
  where: string;
  trouble: string;
}

export interface BetterMap {
  share: number;
  trouble: string;
  axes?: Axes;
  points?: string;
}

export interface Renewed {
  given: string[];
}

export interface Learned {
  order: number[];
  said: string;
}

export interface CopiesOfRow {
  kind: string;
  rows: number[];
  differs: string;
}
