// The one formula of the page, as src/centrality/scores/mixing.py has it: from the pair of units of a row to its score at
// t, and from contributions to both units to contributions at t. Units have no ends and are mixed linearly; then the
// mixture is squeezed into [0, 1], unless the model's calibration clips, as in the paper.

import type { Mixing } from "./header";

export type Pair = [global: number, local: number];
const SAME = 1e-9; // mixtures nearer than that: the slope says how scores go with them

/** How much the local units count at t. */
export const shareOf = ({ local_weight: w }: Mixing, t: number) => (w === null ? t : (w * t) / (1 + (w - 1) * t));

const squeezed = (u: number) => (u <= 0 ? 0.5 / (1 - u) : 0.5 + (0.5 * u) / Math.cbrt(1 + u * u * u));
const slope = (u: number) => (u <= 0 ? 0.5 / (1 - u) ** 2 : 0.5 / Math.cbrt(1 + u * u * u) ** 4);

/** From both units to the score at t. */
export function mixer(mixing: Mixing, t: number): (global: number, local: number) => number {
  const share = shareOf(mixing, t);
  if (mixing.local_weight === null) return (g, l) => (1 - share) * g + share * l;
  return (g, l) => squeezed((1 - share) * g + share * l);
}

/** From contributions to both units of a row to those to its score at t, which add up to its score less the typical one. */
export function weigher(mixing: Mixing, t: number, row: Pair, typical: Pair): (global: number, local: number) => number {
  const share = shareOf(mixing, t);
  const mixed = (g: number, l: number) => (1 - share) * g + share * l;
  const [here, there] = [mixed(...row), mixed(...typical)];
  const rate = mixing.local_weight === null ? 1
    : Math.abs(here - there) < SAME ? slope(here) : (squeezed(here) - squeezed(there)) / (here - there);
  return (g, l) => mixed(g, l) * rate;
}

/** The scores for the graphics card. */
export const SHADER = `
uniform float share, soft;
float mixed(vec2 units) {
  float u = mix(units.x, units.y, share);
  if (soft < 0.5) return u;
  float v = clamp(u, 0.0, 1e12);
  return u <= 0.0 ? 0.5 / (1.0 - u) : 0.5 + 0.5 * v / pow(1.0 + v * v * v, 1.0 / 3.0);
}`;
