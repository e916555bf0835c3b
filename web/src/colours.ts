// Colours that are even to the eye and safe for the colour-blind, and that let the odd rows stand off the ground:
// dark on light, bright on dark.

const hex = (text: string) => text.match(/.{6}/g)!.map((c) => [0, 2, 4].map((k) => parseInt(c.slice(k, k + 2), 16)));

// viridis at 17 equal steps: lightness rises evenly, with or without hues
const EVEN = hex(
  "44015448186a472d7b4240863b528b33638d2c728e26828e21918c1fa08828ae803fbc735ec96284d44baddc30d8e219fde725",
);
// blue over grey to orange: a change down or up
const CHANGE = hex("0a4ea83f79c27ea5d7b9c6d6b8b8b4e0c39ae9a25dd97a1eb35300");
// Okabe and Ito's, told apart with every kind of colour vision; grey for all further levels
const KINDS = hex("0072b2e69f00009e73cc79a756b4e9d55e00b8a800666666");
export const OTHER = KINDS.length - 1;

export type Map = "even" | "change" | "kinds";

/** 256 colours as RGBA bytes, for a texture. */
export function palette(map: Map, dark: boolean): Uint8Array {
  const out = new Uint8Array(256 * 4);
  for (let i = 0; i < 256; i++) out.set([...shade(map, i / 255, dark), 255], 4 * i);
  return out;
}

/** The colour of a number from 0 to 1; of kinds, of a level's number over 255. */
export function shade(map: Map, at: number, dark: boolean): number[] {
  if (map === "kinds") return KINDS[Math.min(OTHER, Math.round(at * 255))];
  const stops = map === "even" ? EVEN : CHANGE;
  // The ends that would vanish into the ground are left out.
  const place = map === "even" ? (dark ? 1 - 0.87 * at : 0.93 * at) : at;
  const k = Math.min(stops.length - 2, Math.floor(place * (stops.length - 1)));
  const part = place * (stops.length - 1) - k;
  return stops[k].map((low, c) => Math.round(low + (stops[k + 1][c] - low) * part));
}

export const css = (rgb: number[]) => `rgb(${rgb.join(" ")})`;
