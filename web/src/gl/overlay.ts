// What is drawn over the points: rings, marks, the outline in progress, the names of the axes.

import { type Frame, type Pair, toMap } from "../core/camera";
import type { Data } from "../core/data";
import type { Scene } from "./scene";
import type { Said } from "../host/marks";
import { day, rounded } from "../core/words";

type Canvas = CanvasRenderingContext2D;

/** Lines of each mark around its row: a cross for an outlier, a tick for what is fine, a dash for later. They are told apart without colours. */
export const SIGNS: Record<Exclude<Said, "">, Pair[][]> = {
  outlier: [[[-5, -5], [5, 5]], [[-5, 5], [5, -5]]],
  fine: [[[-5, 0], [-1, 5], [6, -5]]],
  later: [[[-4, 0], [4, 0]]],
};

/** Lines of two colours, so that they are seen on any ground. */
function stroke(c: Canvas, dark: boolean): void {
  for (const [colour, width] of [[dark ? "#000" : "#fff", 5], [dark ? "#fff" : "#111", 2]] as const) {
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.stroke();
  }
}

export function drawRing(c: Canvas, at: Pair, dark: boolean): void {
  c.beginPath();
  c.arc(...at, 8, 0, 7);
  stroke(c, dark);
}

export function drawSign(c: Canvas, [x, y]: Pair, mark: Said, dark: boolean): void {
  if (!mark) return;
  c.beginPath();
  for (const line of SIGNS[mark]) line.forEach(([dx, dy], k) => c[k ? "lineTo" : "moveTo"](x + dx, y + dy));
  stroke(c, dark);
}

export function drawOutline(c: Canvas, corners: Pair[], dark: boolean): void {
  if (!corners.length) return;
  c.beginPath();
  for (const corner of corners) c.lineTo(...corner);
  c.closePath();
  c.fillStyle = dark ? "rgb(255 255 255 / 0.1)" : "rgb(0 0 0 / 0.07)";
  c.fill();
  c.strokeStyle = dark ? "#fff" : "#111";
  c.setLineDash([5, 4]);
  c.lineWidth = 1.5;
  c.stroke();
  c.setLineDash([]);
}

/** Two columns of the data have names and numbers; directions of UMAP mean nothing. */
export const isNamed = ({ axes }: Data) => !/^(UMAP|PCA|\d)/.test(axes.names[0]);

export function nameAxes(c: Canvas, { data, dark, state: camera }: Scene, frame: Frame): void {
  const { names, center, half } = data.axes;
  const kinds = names.map((name) => data.columns.find((column) => column.name === name)?.kind);
  const text = (k: 0 | 1, u: number) => {
    const value = center[k] + u * half[k];
    return kinds[k] === "date" ? day(value) : rounded(value);
  };
  const { width, height } = frame;
  const [left, low] = toMap(camera, frame, [0, height]);
  const [right, high] = toMap(camera, frame, [width, 0]);
  c.fillStyle = dark ? "#fff" : "#111";
  c.globalAlpha = 0.7;
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "right";
  c.fillText(`${names[0]}: ${text(0, left)} to ${text(0, right)} →`, width - 12, height - 10);
  c.save();
  c.translate(width - 10, 12);
  c.rotate(-Math.PI / 2);
  c.fillText(`${names[1]}: ${text(1, low)} to ${text(1, high)} →`, 0, 0);
  c.restore();
  c.globalAlpha = 1;
}
