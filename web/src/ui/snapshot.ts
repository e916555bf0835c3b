// The view as a picture to take along: the map as it is seen, its title and its legend, as PNG.

import type { App } from "../app";
import { css, OTHER, shade } from "../core/colours";
import { save } from "./save";
import { plural, score } from "../core/words";

const [HEAD, FOOT] = [34, 40]; // pixels for the title and for the legend

/** Both canvases of the map, one over the other. */
export type Layers = () => HTMLCanvasElement[];

interface Swatch {
  text: string;
  colour: string;
}

export function savePng(app: App, layers: Layers): void {
  const [map] = layers();
  const { width, height } = map.getBoundingClientRect();
  const ratio = map.width / width;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [map.width, Math.round((height + HEAD + FOOT) * ratio)];
  const c = canvas.getContext("2d")!;
  c.scale(ratio, ratio);
  const [ground, ink] = grounds(app);
  c.fillStyle = ground;
  c.fillRect(0, 0, width, height + HEAD + FOOT);
  for (const layer of layers()) c.drawImage(layer, 0, HEAD, width, height);
  c.fillStyle = ink;
  c.font = "600 13px system-ui, sans-serif";
  c.fillText(title(app), 14, 22);
  c.font = "13px system-ui, sans-serif";
  let x = 14;
  const y = HEAD + height + 25;
  for (const { text, colour } of swatches(app)) {
    c.fillStyle = colour;
    c.fillRect(x, y - 10, 12, 12);
    c.fillStyle = ink;
    c.fillText(text, x + 17, y);
    x += 32 + c.measureText(text).width;
  }
  canvas.toBlob((file) => file && save("map.png", file), "image/png");
}

const grounds = ({ dark }: App) => (dark ? ["#0e1116", "#e8eaed"] : ["#fbfaf7", "#1c1e21"]);

const title = ({ data, state, count }: App) =>
  `${data.title}: ${count < data.n ? `${count.toLocaleString("en")} of ` : ""}${plural(data.n, "row")}, t = ${state.t.toFixed(2)}`;

function swatches(app: App): Swatch[] {
  const { paint, dark } = app;
  if (paint.map === "kinds") {
    const levels = paint.column!.levels!;
    const named = levels.slice(0, OTHER).map((text, k) => ({ text, colour: css(shade("kinds", k / 255, dark)) }));
    return levels.length > OTHER ? [...named, { text: "others", colour: css(shade("kinds", OTHER / 255, dark)) }] : named;
  }
  const [low, high] = paint.byScore ? [`odd, ≤ ${score(paint.range[0])}`, `typical, ≥ ${score(paint.range[1])}`] : paint.ends;
  return [{ text: `${paint.label}: ${low}`, colour: css(shade(paint.map, 0, dark)) }, { text: "", colour: css(shade(paint.map, 0.5, dark)) },
    { text: high, colour: css(shade(paint.map, 1, dark)) }];
}
