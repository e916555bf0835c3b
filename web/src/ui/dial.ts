// The dial t, from global to local, and a button that turns it: once, or to and fro.

import type { App, Changed, Part } from "../app";
import { h, icon, on } from "./dom";

const SWEEP = 4000; // milliseconds from one end to the other, at speed 1
const SPEEDS = ["0.5", "1", "2", "4"];

export class Dial implements Part {
  readonly element: HTMLElement;
  readonly #slider = h("input.turn", { type: "range", min: 0, max: 1, step: 0.01, label: "Compare each row with all rows, or with rows near it: t" });
  readonly #value = h("output.value", { "aria-hidden": "true" });
  readonly #play = h("button.round", { onclick: () => this.#toggle() });
  readonly #loop = h("button.small", { "aria-pressed": "false", title: "To and fro until stopped", onclick: () => this.#again() }, "loop");
  readonly #speed = h("select.small", { label: "Speed" }, ...SPEEDS.map((value) => h("option", { value }, `${value}×`)));
  #turning = 0;

  constructor(private readonly app: App) {
    this.#speed.value = "1";
    const release = () => {
      app.hold(false);
      this.#say();
    };
    on(this.#slider, {
      pointerdown: () => app.hold(true),
      input: () => this.#turn(Number(this.#slider.value)),
      change: release,
      pointerup: () => app.hold(false),
      pointercancel: () => app.hold(false),
      blur: () => app.hold(false),
    });
    this.element = h("section.dial", { label: "Compare each row with" },
      h("div.reading", h("h2", "Compare each row with"), this.#value),
      h("div.turning", this.#slider, this.#play),
      h("div.ends", {},
        h("button.plain", { onclick: () => this.#turn(0) }, h("b", app.data.given.length ? "all of its kind" : "all rows"), h("span", app.data.given.length ? "common for its kind" : "common everywhere")),
        h("span.row", this.#loop, this.#speed),
        h("button.plain.right", { onclick: () => this.#turn(1) }, h("b", "rows near it"), h("span", "common nearby"))));
    app.gone.addEventListener("abort", () => cancelAnimationFrame(this.#turning));
    this.#show();
  }

  update(changed: Changed): void {
    if (!changed.has("t")) return;
    const { t } = this.app.state;
    this.#slider.value = String(t);
    this.#slider.ariaValueText = `t = ${t.toFixed(2)}, ${t < 0.33 ? "mostly all rows" : t > 0.67 ? "mostly rows near it" : "in between"}`;
    this.#slider.style.setProperty("--at", String(t));
    this.#value.textContent = `t = ${t.toFixed(2)}`;
  }

  #turn(t: number): void {
    this.#stop();
    this.app.set({ t });
  }

  #again(): void {
    this.#loop.ariaPressed = String(this.#loop.getAttribute("aria-pressed") !== "true");
  }

  #toggle(): void {
    if (this.#turning) {
      this.#stop();
      return this.app.hold(false);
    }
    let place = this.app.state.t >= 1 ? 0 : this.app.state.t; // from 0 to 1, and on to 2 on the way back
    let last = performance.now();
    this.app.hold(true);
    const step = (now: number) => {
      place += ((now - last) / SWEEP) * Number(this.#speed.value);
      last = now;
      const loops = this.#loop.getAttribute("aria-pressed") === "true";
      if (loops) place %= 2;
      const t = Math.min(1, place > 1 && loops ? 2 - place : place);
      this.app.set({ t: Math.round(t * 100) / 100 });
      if (loops || t < 1) this.#turning = requestAnimationFrame(step);
      else {
        this.#stop();
        this.app.hold(false);
      }
    };
    this.#turning = requestAnimationFrame(step);
    this.#show();
  }

  #stop(): void {
    if (this.#turning) cancelAnimationFrame(this.#turning);
    this.#turning = 0;
    this.#show();
  }

  #show(): void {
    const label = this.#turning ? "Stop" : "Turn the dial from all rows to rows near it";
    this.#play.replaceChildren(icon(this.#turning ? "pause" : "play"));
    this.#play.ariaLabel = label;
    this.#play.title = label;
  }

  #say(): void {
    const { scores, data, state } = this.app;
    const [central, peripheral] = [true, false].map((end) => data.id(scores.ends(1, end)[0]));
    this.app.announce(`t ${state.t.toFixed(2)}: most typical row ${central}, oddest row ${peripheral}`);
  }
}
