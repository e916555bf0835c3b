// Where on the map rows lie close together: a smooth count of them on a grid, lines of equal density, and the groups
// around its summits.

export const SIDE = 111; // cells of the grid, each way
const FROM = -1.3; // of the map, to the same on the other side: as far beyond the last row as it is blurred, or lines would be cut
const WIDTH = -2 * FROM;
const INSIDE = [0.35, 0.65, 0.9]; // shares of the rows that lie within a line
const DEEP = 1.6; // times higher than the saddle between them: then two summits are two groups

export const cellOf = (v: number) => Math.max(0, Math.min(SIDE - 1, Math.floor(((v - FROM) / WIDTH) * SIDE)));
export const placeOf = (cell: number) => FROM + ((cell + 0.5) / SIDE) * WIDTH;

/** How many rows lie about each cell: of few rows, over a wider neighbourhood. */
export function density(x: ArrayLike<number>, y: ArrayLike<number>): Float32Array {
  const far = x.length < 1000 ? 5 : x.length < 20_000 ? 4 : 2; // cells
  let grid = new Float32Array(SIDE * SIDE);
  for (let i = 0; i < x.length; i++) grid[cellOf(y[i]) * SIDE + cellOf(x[i])]++;
  for (const step of [1, SIDE, 1, SIDE]) grid = blurred(grid, step, far);
  return grid;
}

/** The mean of the cells so far away along a line. */
function blurred(grid: Float32Array, step: number, far: number): Float32Array<ArrayBuffer> {
  const out = new Float32Array(grid.length);
  for (let cell = 0; cell < grid.length; cell++) {
    const along = step === 1 ? cell % SIDE : Math.floor(cell / SIDE);
    let sum = 0;
    for (let k = -far; k <= far; k++) if (along + k >= 0 && along + k < SIDE) sum += grid[cell + k * step];
    out[cell] = sum / (2 * far + 1);
  }
  return out;
}

const falling = (grid: Float32Array) => Uint32Array.from(grid.keys()).sort((a, b) => grid[b] - grid[a]);

/** Lines within which a share of all rows lies: pieces of four numbers, from x and y to x and y. */
export function contours(grid: Float32Array): number[][] {
  const all = grid.reduce((a, v) => a + v, 0);
  const order = falling(grid);
  return INSIDE.map((share) => {
    let [sum, k] = [0, 0];
    while (sum < share * all) sum += grid[order[k++]];
    return line(grid, grid[order[k - 1]]);
  });
}

/** Where the grid crosses a level, square by square between the middles of cells. */
function line(grid: Float32Array, level: number): number[] {
  const out: number[] = [];
  for (let j = 0; j + 1 < SIDE; j++) {
    for (let i = 0; i + 1 < SIDE; i++) {
      const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]];
      const values = corners.map(([a, b]) => grid[b * SIDE + a] - level);
      const crossings: number[] = [];
      for (let k = 0; k < 4; k++) {
        const [v, w] = [values[k], values[(k + 1) % 4]];
        if (v < 0 === w < 0) continue;
        const [[a, b], [c, d]] = [corners[k], corners[(k + 1) % 4]];
        const at = v / (v - w);
        crossings.push(placeOf(a + at * (c - a)), placeOf(b + at * (d - b)));
      }
      out.push(...crossings); // two of them, or four
    }
  }
  return out;
}

/** The group of each cell: its summit's cell, or -1 where there is nothing. */
export function groups(grid: Float32Array): Int32Array {
  const of = new Int32Array(grid.length).fill(-1);
  const parent = new Map<number, number>();
  const root = (cell: number): number => (parent.has(cell) ? root(parent.get(cell)!) : cell);
  for (const cell of falling(grid)) {
    if (grid[cell] <= 0) break;
    const i = cell % SIDE;
    const near = [i && cell - 1, i < SIDE - 1 && cell + 1, cell - SIDE, cell + SIDE].filter((c): c is number => c !== false && of[c] >= 0);
    const summits = [...new Set(near.map((c) => root(of[c])))].sort((a, b) => grid[b] - grid[a]);
    of[cell] = summits[0] ?? cell;
    for (const lower of summits.slice(1)) if (grid[lower] < DEEP * grid[cell]) parent.set(lower, summits[0]);
  }
  return of.map((cell) => (cell < 0 ? cell : root(cell)));
}
