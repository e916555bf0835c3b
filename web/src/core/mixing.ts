// The one formula of the page, as src/centrality/network/calibration.py has it: from the pair of units of a row to its score at
// t, and from contributions to both units to contributions at t. Units have no ends and are mixed, the global one with a
// veto; then the mixture is squeezed into [0, 1], unless the model's calibration clips, as in the paper.

import type { Mixing } from "./header";

export type Pair = [global: number, local: number];
const ALIKE = 1e-9; // mixtures that differ by less have the slope for a chord

/** How much the local units count at t. */
export const shareOf = ({ local_weight: w }: Mixing, t: number) => (w === null ? t : (w * t) / (1 + (w - 1) * t));

/** By how many units the local score may exceed the global one at t. */
export const roomOf = ({ room }: Mixing, t: number) => (room === null ? Infinity : room / (1 - t));

/** From both units to their mixture at t. */
export function mixture(mixing: Mixing, t: number): (global: number, local: number) => number {
  const [share, room] = [shareOf(mixing, t), roomOf(mixing, t)];
  return (g, l) => (1 - share) * g + share * Math.min(l, g + room);
}

/** From a mixture to the score. */
export const squeeze = ({ local_weight: w }: Mixing, u: number) =>
  (w === null ? u : u <= 0 ? 0.5 / (1 - u) : 0.5 + (0.5 * u) / Math.cbrt(1 + u * u * u));

/** From both units to the score at t. */
export function mixer(mixing: Mixing, t: number): (global: number, local: number) => number {
  const mixed = mixture(mixing, t);
  return (g, l) => squeeze(mixing, mixed(g, l));
}

/** The same of all rows, written out: a call for each would take twice as long, in every frame while the dial is turned. */
export function scoreAll(mixing: Mixing, t: number, g: Float64Array, l: Float64Array, out: Float64Array): void {
  const [share, room, soft] = [shareOf(mixing, t), roomOf(mixing, t), mixing.local_weight !== null];
  for (let i = 0; i < out.length; i++) {
    const u = (1 - share) * g[i] + share * Math.min(l[i], g[i] + room);
    out[i] = !soft ? u : u <= 0 ? 0.5 / (1 - u) : 0.5 + (0.5 * u) / Math.cbrt(1 + u * u * u);
  }
}

/** From contributions to both units of a row to those to its score at t, which add up to its score less the typical one. */
export function weigher(mixing: Mixing, t: number, row: Pair, typical: Pair): (global: number, local: number) => number {
  const share = shareOf(mixing, t);
  const vetoed = row[1] > row[0] + roomOf(mixing, t);
  const weighed = (g: number, l: number) => (vetoed ? g : (1 - share) * g + share * l);
  const mixed = mixture(mixing, t);
  const moved = weighed(row[0] - typical[0], row[1] - typical[1]);
  let [before, after] = [mixed(...typical), mixed(...row)];
  const factor = Math.abs(moved) > ALIKE ? (after - before) / moved : 1;
  const size = 1 + Math.abs(before);
  if (Math.abs(after - before) < ALIKE * size) [before, after] = [before - 1e-6 * size, before + 1e-6 * size];
  const rate = (factor * (squeeze(mixing, after) - squeeze(mixing, before))) / (after - before);
  return (g, l) => weighed(g, l) * rate;
}

/** The scores for the graphics card. */
export const SHADER = `
uniform float share, room, soft;
float mixed(vec2 units) {
  float u = mix(units.x, min(units.y, units.x + room), share);
  if (soft < 0.5) return u;
  float v = clamp(u, 0.0, 1e12);
  return u <= 0.0 ? 0.5 / (1.0 - u) : 0.5 + 0.5 * v / pow(1.0 + v * v * v, 1.0 / 3.0);
}`;
