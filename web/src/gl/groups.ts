// What the whole map shows when the reader looks at it from afar: lines around dense places, and what each group is,
// in words: a level, a number or the words that set it apart.

import { type Frame, toPixels } from "../core/camera";
import type { Column, Data } from "../core/data";
import { cellOf, contours, density, groups, SIDE } from "../core/density";
import { differences } from "../core/differences";
import { FAR, middle, type Named, writeNames } from "./labels";
import type { Scene } from "./scene";

const FEWEST = 300; // rows of which groups can be told
const ENOUGH = 20_000; // rows that groups are named by
const [SMALLEST, MOST] = [0.02, 12]; // share of the rows in a group that is named, and how many are
const [FEWEST_ODD, ODD] = [10, 0.5]; // rows of a smaller group that is named as well, if its typical score is below such a share of the map's
const APART = 1; // deviations, or a quarter of a level's share: less sets nothing apart
const [COMMON, OFTENER] = [0.25, 1.5]; // a word names a group if it stands in such a share of its texts, and so much oftener than elsewhere

export class Groups {
  #known?: [number[][], Named[]];

  any({ state: { groups: on, zoom, table }, data }: Scene): boolean {
    return on !== "off" && data.n >= FEWEST && zoom <= FAR && !table; // who reads a table looks at single rows
  }

  draw(c: CanvasRenderingContext2D, frame: Frame, scene: Scene): void {
    if (!this.any(scene)) return;
    const { data, dark, paint, state: camera } = scene;
    if (!this.#known) {
      const grid = density(data.x, data.y);
      this.#known = [contours(grid), names(data, groups(grid), scene.scores.f)];
    }
    const [lines, named] = this.#known;
    c.strokeStyle = dark ? "#fff" : "#1c1e21";
    c.lineWidth = 1;
    if (camera.groups === "lines") lines.forEach((line, k) => {
      c.globalAlpha = 0.34 - 0.08 * k;
      c.beginPath();
      for (let i = 0; i < line.length; i += 2) c[i % 4 ? "lineTo" : "moveTo"](...toPixels(camera, frame, [line[i], line[i + 1]]));
      c.stroke();
    });
    c.globalAlpha = 1;
    if (paint.map !== "kinds") writeNames(c, frame, camera, named, dark); // else its levels have their names there
  }
}

/** Groups, the odd ones first and then the largest, each at its middle, with what sets it apart most and no other has. */
function names(data: Data, group: Int32Array, f: Float64Array): Named[] {
  const { x, y, n } = data;
  const step = Math.max(1, Math.floor(n / ENOUGH));
  const rows = new Map<number, number[]>();
  for (let row = 0; row < n; row += step) {
    const summit = group[cellOf(y[row]) * SIDE + cellOf(x[row])];
    if (!rows.has(summit)) rows.set(summit, []);
    rows.get(summit)!.push(row);
  }
  const scored = [...rows.values()].filter((of) => of.length >= FEWEST_ODD).map((of) => ({ of, score: middleOf(of, f) }));
  const usual = middleOf(scored.flatMap(({ of }) => of), f);
  const named = scored.filter(({ of, score }) => of.length * step >= SMALLEST * n || score < ODD * usual);
  const odd = named.filter(({ score }) => score < ODD * usual).sort((a, b) => a.score - b.score).slice(0, MOST / 2);
  const others = named.filter((one) => !odd.includes(one)).sort((a, b) => b.of.length - a.of.length);
  const large = [...odd, ...others].slice(0, MOST).map(({ of }) => of);
  if (large.length < 2) return []; // what is all there is has no need of a name
  const taken = new Set<string>();
  const texts = data.columns.find((column) => column.name === data.itemColumn);
  const elsewhere = texts && counted(texts, large.flat());
  return large.flatMap((of): Named[] => {
    const said = texts ? typicalWords(texts, of, elsewhere!, large.flat().length) : [];
    const apart = differences(data, Uint32Array.from(of)).filter(({ by }) => by >= APART).map(({ label }) => label);
    const name = [...said, ...apart].find((one) => !taken.has(one));
    if (!name) return [];
    taken.add(name);
    return [[name, [middle(x, of), middle(y, of)]]];
  });
}

const middleOf = (rows: number[], f: Float64Array) => Float64Array.from(rows, (row) => f[row]).sort()[rows.length >> 1];

/** In how many of the texts each word stands. */
function counted(texts: Column, rows: number[]): Map<string, number> {
  const count = new Map<string, number>();
  for (const row of rows) {
    for (const word of new Set(texts.text(row).toLowerCase().match(/\p{L}{3,}/gu))) count.set(word, (count.get(word) ?? 0) + 1);
  }
  return count;
}

/** Up to two words that stand in many texts of a group and in few others. */
function typicalWords(texts: Column, rows: number[], elsewhere: Map<string, number>, all: number): string[] {
  const found: [string, number][] = [];
  for (const [word, count] of counted(texts, rows)) {
    const [here, there] = [count / rows.length, elsewhere.get(word)! / all];
    if (here >= COMMON && here >= OFTENER * there) found.push([word, here * Math.log(here / there)]);
  }
  const best = found.sort((a, b) => b[1] - a[1]).slice(0, 2).map(([word]) => word);
  return best.length ? [best.join(", ")] : [];
}
