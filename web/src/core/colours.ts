// Colours that mean the same in light and in dark, here and in plots/figures.py: yellow is central, dark blue is peripheral; red
// is called odd; blue falls and orange rises. All are even to the eye and safe for the colour-blind.

import type { Column } from "./data";
import type { Scores } from "./scores";

const hex = (text: string) => text.match(/[0-9a-f]{6}/g)!.map((c) => [0, 2, 4].map((k) => parseInt(c.slice(k, k + 2), 16)));

// viridis at 17 equal steps: lightness rises evenly, with or without hues
const EVEN = hex(
  "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1fa08828ae803fbc735ec96284d44baddc30d8e219fde725",
);
// blue over grey to orange: a change down or up
const CHANGE = hex("0a4ea83f79c27ea5d7b9c6d6b8b8b4e0c39ae9a25dd97a1eb35300");
// Ten levels, any two at least ten units of CIEDE2000 apart with every kind of colour vision, as a test computes.
// Grey is for all further ones.
const KINDS = hex("296e9bc25900009e73cc79a756b4e96625ff8d4d33aba512dccf00f7bbd7" + "8a8f98");
export const OTHER = KINDS.length - 1;
export const ODD = { light: [194, 24, 60], dark: [255, 107, 107] };
const [SKY, BRIGHT, ODD_END] = [[176, 208, 255], 0.75, 0.3]; // in the dark: mixed into so much of the odd end of the colours
const GAP = [138, 143, 152]; // of rows without a value

export type Map = "even" | "change" | "kinds";

/** How rows are coloured. */
export interface Paint {
  map: Map;
  byScore: boolean;
  range: [number, number];
  label: string;
  ends: [string, string]; // what the ends of the colours mean
  column?: Column;
}

/** What tells the colour of a row: `values` unless it is its score. */
export interface Painted {
  paint: Paint;
  scores: Scores;
  values?: Float32Array;
  dark: boolean;
}

export function colourOf({ paint, scores, values, dark }: Painted, row: number): string {
  const value = paint.byScore ? scores.f[row] : values![row];
  if (value < 0) return css(shade(paint.map, -1, dark));
  const at = (value - paint.range[0]) / (paint.range[1] - paint.range[0]);
  return css(shade(paint.map, Math.max(0, Math.min(1, at)), dark));
}

/** 256 colours as RGBA bytes, for a texture. */
export function palette(map: Map, dark: boolean): Uint8Array {
  const out = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i++) out.set([...shade(map, i / 255, dark), 255], 4 * i);
  return out;
}

/** The colour of a number from 0 to 1; of kinds, of a level's number over 255; below 0 for a gap. */
export function shade(map: Map, at: number, dark: boolean): number[] {
  if (at < 0) return GAP;
  if (map === "kinds") return KINDS[Math.min(OTHER, Math.round(at * 255))];
  const stops = map === "even" ? EVEN : CHANGE;
  // The end that would vanish into the ground is left out: of the yellows on a light one, of the blues on a dark one.
  const place = map === "even" ? (dark ? 0.3 + 0.7 * at : 0.93 * at) : at;
  const k = Math.min(stops.length - 2, Math.floor(place * (stops.length - 1)));
  const part = place * (stops.length - 1) - k;
  // In the dark what is odd must not be the dimmest: towards that end blue becomes bright.
  const light = map === "even" && dark ? BRIGHT * Math.max(0, 1 - at / ODD_END) : 0;
  return stops[k].map((low, c) => Math.round((1 - light) * (low + (stops[k + 1][c] - low) * part) + light * SKY[c]));
}

export const css = (rgb: number[]) => `rgb(${rgb.join(" ")})`;
