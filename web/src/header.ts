// Written by web/header.py from src/centrality/explorer/header.py: change that, then run make web.

export interface Place {
  at: number;
  length: number;
  type: "uint8" | "uint16" | "uint32" | "float32" | "float64";
}

export interface Axes {
  names: [string, string];
  center: [number, number];
  half: [number, number];
}

export interface TextColumn {
  name: string;
  kind: "text";
  ends: Place;
  text: Place;
}

export interface CategoryColumn {
  name: string;
  kind: "category";
  levels: string[];
  values: Place;
}

export interface NumberColumn {
  name: string;
  kind: "number" | "date";
  values: Place;
}

export interface EmbeddedPictures {
  rows: Place;
  ends: Place;
  files: Place;
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
  curves: Place;
}

export interface PictureItems {
  kind: "picture";
  embedded?: EmbeddedPictures;
}

export interface EmbeddedReasons {
  rows: Place;
  features: Place;
  values: Place;
}

export interface Header {
  title: string;
  n: number;
  t: number;
  axes: Axes;
  points: Place;
  heads: Place;
  columns: (TextColumn | CategoryColumn | NumberColumn)[];
  items: NoItems | TextItems | SeriesItems | PictureItems;
  features: string[];
  rows?: Place;
  inliers?: Place;
  reasons?: EmbeddedReasons | "ask";
}

export interface Reason {
  name: string;
  global: number;
  local: number;
}
