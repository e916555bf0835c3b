// How two heads become one centrality: src/centrality/scores/mixing.py in the page's steps. Heads of a soft calibration are
// stretched to scales without ends, mixed there and squeezed again; clipped ones, as in the paper, are mixed linearly.

import type { Mixing } from "./header";

const STEPS = 65536;
const TOP = STEPS - 1;
const ROOM = 0.5; // at t = 1/2 the local head may exceed the global one by one unit
export const NO_VETO = 1e30;

/** How much the local head counts at t, and by how many units it may exceed the global one. */
export const shareOf = ({ local_weight: w }: Mixing, t: number) => (w === null ? t : (w * t) / (1 + (w - 1) * t));
export const roomOf = ({ veto }: Mixing, t: number) => (veto && t < 1 ? ROOM / (1 - t) : NO_VETO);

const squeezed = (u: number) => (u <= 0 ? 0.5 / (1 - u) : 0.5 + (0.5 * u) / Math.cbrt(1 + u * u * u));

function stretched(head: number): number {
  if (head <= 0.5) return 1 - 0.5 / Math.max(head, 1e-11);
  const above = Math.min(2 * head - 1, 1 - 1e-9);
  return above / Math.cbrt(1 - above * above * above);
}

let units: Float64Array | undefined; // of each step; steps are even in the root of a head

/** From the steps of both heads to the step of their mixture at t. */
export function mixer(mixing: Mixing, t: number): (g: number, l: number) => number {
  if (mixing.local_weight === null) return (g, l) => (Math.sqrt((1 - t) * g * g + t * l * l) + 0.5) | 0;
  if (t === 0) return (g) => g;
  if (t === 1) return (_, l) => l;
  const of = (units ??= Float64Array.from({ length: STEPS }, (_, step) => stretched((step / TOP) ** 2)));
  const [share, room] = [shareOf(mixing, t), roomOf(mixing, t)];
  return (g, l) => {
    const global = of[g];
    return (Math.sqrt(squeezed((1 - share) * global + share * Math.min(of[l], global + room))) * TOP + 0.5) | 0;
  };
}

/** The same for the graphics card, whose `heads` are roots. */
export const SHADER = `
uniform float share, room, soft;
float stretched(float head) {
  if (head <= 0.5) return 1.0 - 0.5 / max(head, 1e-11);
  float above = min(2.0 * head - 1.0, 1.0 - 1e-6);
  return above / pow(1.0 - above * above * above, 1.0 / 3.0);
}
float mixed(vec2 roots) {
  vec2 heads = roots * roots;
  if (soft < 0.5 || share <= 0.0 || share >= 1.0) return mix(heads.x, heads.y, share);
  float global = stretched(heads.x);
  float u = mix(global, min(stretched(heads.y), global + room), share);
  return u <= 0.0 ? 0.5 / (1.0 - u) : 0.5 + 0.5 * u / pow(1.0 + u * u * u, 1.0 / 3.0);
}`;
