// The points, drawn by the graphics card. t is one number given to it: nothing is computed or sent again when it turns.

import { type Map, ODD, palette } from "../core/colours";
import type { Data } from "../core/data";
import { roomOf, SHADER, shareOf } from "../core/mixing";

export interface Look {
  t: number;
  center: [number, number];
  scale: [number, number]; // from map units to the canvas, which is 2 wide and 2 high
  size: number; // pixels of a point
  map: Map;
  byScore: boolean; // or by the values that `paint` got
  range: [number, number]; // of what is painted, from one end of the colours to the other
  brush: [number, number]; // scores outside are faint
  limit: number; // scores below are ringed; 0 for none
  chosen: boolean; // there is a selection: the others step back
  lit: boolean; // it is of rows that are pointed at: in the colour of what is odd
  dark: boolean;
}

export const FILTERED = 1; // states of a row
export const SELECTED = 2;

// What is odd stands out in either light: larger, and in the dark, where its blues are dim, before paler typical rows.
const VERTEX = `#version 300 es
in vec2 position; in vec2 units; in float value; in float state;
uniform float size, byScore, limit, chosen, lit, dark, alpha;
uniform vec2 center, scale, range, brush;
uniform vec3 faint, oddInk;
uniform sampler2D colours;
${SHADER}
flat out vec4 colour; flat out float wide; flat out float ring;
void main() {
  float f = mixed(units);
  bool selected = state >= 2.0;
  bool away = mod(state, 2.0) > 0.5 || f < brush.x || f > brush.y;
  bool odd = limit > 0.0 && f < limit;
  float shown = byScore > 0.5 ? f : value;
  float at = clamp((shown - range.x) / max(range.y - range.x, 1e-6), 0.0, 1.0);
  colour = vec4(texelFetch(colours, ivec2(int(at * 255.0 + 0.5), 0), 0).rgb, alpha);
  if (value < 0.0 && byScore < 0.5) colour.rgb = faint;
  float oddness = byScore > 0.5 ? 1.0 - at : 0.0;
  if (dark > 0.5) colour.a *= 0.76 + 0.24 * smoothstep(0.3, 0.9, oddness);
  if (lit > 0.5 && selected) colour = vec4(oddInk, 1.0);
  if ((chosen > 0.5 && !selected) || (limit > 0.0 && !odd)) colour.a *= 0.3;
  if (away) colour = vec4(faint, 0.16);
  wide = size * (away ? 0.75 : selected || odd ? 1.45 : 1.0 + 0.45 * smoothstep(0.95, 1.0, oddness));
  ring = !away && odd ? 1.0 : !away && lit < 0.5 && (selected || (dark > 0.5 && oddness > 0.97)) && wide > 5.0 ? 2.0 : 0.0;
  gl_Position = vec4((position - center) * scale, 0.0, 1.0);
  gl_PointSize = wide;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
flat in vec4 colour; flat in float wide; flat in float ring;
uniform vec3 oddInk, ink;
out vec4 pixel;
void main() {
  vec4 c = colour;
  if (wide > 2.6) {
    float inside = 0.5 * wide - length(gl_PointCoord - 0.5) * wide;
    if (inside <= 0.0) discard;
    if (ring > 0.5 && inside < max(1.3, 0.16 * wide)) c.rgb = ring > 1.5 ? ink : oddInk;
    c.a *= min(inside, 1.0);
  } else if (ring > 0.5) c.rgb = ring > 1.5 ? ink : oddInk;
  pixel = vec4(c.rgb * c.a, c.a);
}`;

export class Points {
  readonly #gl: WebGL2RenderingContext;
  readonly #program: WebGLProgram;
  readonly #uniforms = new Map<string, WebGLUniformLocation | null>();
  readonly #stride: number;
  readonly #slots: Uint32Array; // slot -> row: any first few of them are spread over all rows
  readonly #slotOf: Uint32Array;
  readonly #positions: WebGLBuffer;
  readonly #values: WebGLBuffer;
  readonly #states: WebGLBuffer;
  #painted = "";

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly data: Data,
  ) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: true, premultipliedAlpha: true });
    if (!gl) throw new Error("This browser cannot draw with WebGL2, which the map needs.");
    this.#gl = gl;
    const n = data.n;
    this.#stride = coprime(n);
    this.#slots = new Uint32Array(n);
    this.#slotOf = new Uint32Array(n);
    for (let s = 0, row = 0; s < n; s++, row = (row + this.#stride) % n) {
      this.#slots[s] = row;
      this.#slotOf[row] = s;
    }
    this.#program = link(gl);
    gl.useProgram(this.#program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.#positions = this.#attribute("position", this.#paired(data.x, data.y), 2, gl.FLOAT);
    this.#attribute("units", this.#paired(data.g, data.l), 2, gl.FLOAT);
    this.#values = this.#attribute("value", new Float32Array(n), 1, gl.FLOAT);
    this.#states = this.#attribute("state", new Uint8Array(n), 1, gl.UNSIGNED_BYTE);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, 4 * n, gl.DYNAMIC_DRAW);
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }

  /** Rows lie elsewhere now. */
  move(): void {
    const gl = this.#gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#positions);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.#paired(this.data.x, this.data.y));
  }

  /** A number for each row, to be coloured by; below zero where there is none. */
  paint(values: Float32Array): void {
    const gl = this.#gl;
    const slots = this.#slots;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#values);
    const out = new Float32Array(slots.length);
    for (let s = 0; s < slots.length; s++) out[s] = values[slots[s]];
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, out);
  }

  /** The state of each row. */
  mark(states: Uint8Array): void {
    const gl = this.#gl;
    const slots = this.#slots;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#states);
    const out = new Uint8Array(slots.length);
    for (let s = 0; s < slots.length; s++) out[s] = states[slots[s]];
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, out);
  }

  /** Rows from the most peripheral to the most central; they are drawn the other way round, so that few odd ones are
   * not hidden among many. */
  arrange(order: Uint32Array): void {
    const gl = this.#gl;
    const slotOf = this.#slotOf;
    const n = order.length;
    const last = new Uint32Array(n);
    for (let i = 0; i < n; i++) last[n - 1 - i] = slotOf[order[i]];
    gl.bufferSubData(gl.ELEMENT_ARRAY_BUFFER, 0, last);
  }

  /** Draw all points, or only some of them, spread evenly, while the map moves. */
  draw(look: Look, some = Infinity): void {
    const gl = this.#gl;
    const { data } = this;
    this.#colour(look);
    const whole = some >= data.n;
    const share = whole ? 1 : some / data.n;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const one = (name: string, value: number) => gl.uniform1f(this.#where(name), value);
    const two = (name: string, [a, b]: [number, number]) => gl.uniform2f(this.#where(name), a, b);
    one("share", shareOf(data.mixing, look.t));
    one("room", Math.min(roomOf(data.mixing, look.t), 1e38));
    one("soft", data.mixing.local_weight === null ? 0 : 1);
    one("size", look.size / Math.sqrt(Math.max(share, 0.25)));
    one("byScore", look.byScore ? 1 : 0);
    one("limit", look.limit * (1 - 2e-6)); // the row at the limit stays above it, whatever float32 makes of it
    one("chosen", look.chosen ? 1 : 0);
    one("lit", look.lit ? 1 : 0);
    one("dark", look.dark ? 1 : 0);
    one("alpha", data.n > 50_000 ? 0.75 : 0.88);
    two("center", look.center);
    two("scale", look.scale);
    two("range", look.range);
    two("brush", look.brush);
    const grey = look.dark ? [0.5, 0.53, 0.58] : [0.55, 0.55, 0.55];
    gl.uniform3f(this.#where("faint"), grey[0], grey[1], grey[2]);
    const [r, g, b] = (look.dark ? ODD.dark : ODD.light).map((part) => part / 255);
    gl.uniform3f(this.#where("oddInk"), r, g, b);
    const ink = look.dark ? 1 : 0.05;
    gl.uniform3f(this.#where("ink"), ink, ink, ink);
    if (whole) gl.drawElements(gl.POINTS, data.n, gl.UNSIGNED_INT, 0);
    else gl.drawArrays(gl.POINTS, 0, some);
  }

  /** Give the graphics card back: a browser lends it to sixteen maps, and takes it from the oldest. */
  end(): void {
    this.#gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  #colour(look: Look): void {
    const name = `${look.map} ${look.dark}`;
    if (name === this.#painted) return;
    this.#painted = name;
    const gl = this.#gl;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, palette(look.map, look.dark));
  }

  #paired(a: ArrayLike<number>, b: ArrayLike<number>): Float32Array {
    const out = new Float32Array(2 * a.length);
    for (let s = 0; s < a.length; s++) {
      out[2 * s] = a[this.#slots[s]];
      out[2 * s + 1] = b[this.#slots[s]];
    }
    return out;
  }

  #attribute(name: string, values: ArrayBufferView, size: number, type: number): WebGLBuffer {
    const gl = this.#gl;
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    const at = gl.getAttribLocation(this.#program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, type, false, 0, 0);
    return buffer;
  }

  #where(name: string): WebGLUniformLocation | null {
    if (!this.#uniforms.has(name)) this.#uniforms.set(name, this.#gl.getUniformLocation(this.#program, name));
    return this.#uniforms.get(name)!;
  }
}

function link(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]] as const) {
    const shader = gl.createShader(kind)!;
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(`The map cannot be drawn: ${gl.getProgramInfoLog(program)}`);
  return program;
}

/** A step near the golden section of n that shares no factor with it: it visits every row once, spread out. */
function coprime(n: number): number {
  const gcd = (a: number, b: number): number => (b ? gcd(b, a % b) : a);
  let step = Math.max(1, Math.round(n * 0.618034));
  while (gcd(step, n) !== 1) step++;
  return step;
}
