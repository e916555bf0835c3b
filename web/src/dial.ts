// The dial t, from global to local, and a button that turns it.

import type { App, Changed, Part } from "./app";
import { h, icon, on } from "./dom";

const SWEEP = 4000; // milliseconds from one end to the other

export class Dial implements Part {
  readonly element: HTMLElement;
  readonly #slider = h("input", { type: "range", id: "t", min: 0, max: 1, step: 0.01, "aria-label": "t, from global to local" });
  readonly #value = h("output.value", { "aria-hidden": "true" });
  readonly #play = h("button.round", { onclick: () => this.#toggle() });
  #turning = 0;

  constructor(private readonly app: App) {
    on(this.#slider, { input: () => this.#turn(Number(this.#slider.value)), change: () => this.#say() });
    this.element = h("section.dial", { "aria-label": "The dial t" },
      h("div.reading", h("span.t", "t"), this.#value, this.#play),
      this.#slider,
      h("div.ends", {},
        h("button.plain", { onclick: () => this.#turn(0) }, h("b", "global"), " near to everything"),
        h("button.plain.right", { onclick: () => this.#turn(1) }, h("b", "local"), " in a dense place")));
    this.#show();
  }

  update(changed: Changed): void {
    if (!changed.has("t")) return;
    const { t } = this.app.state;
    this.#slider.value = String(t);
    this.#slider.setAttribute("aria-valuetext", `t = ${t.toFixed(2)}, ${t < 0.33 ? "mostly global" : t > 0.67 ? "mostly local" : "in between"}`);
    this.#slider.style.setProperty("--at", String(t));
    this.#value.textContent = t.toFixed(2);
  }

  #turn(t: number): void {
    this.#stop();
    this.app.set({ t });
  }

  #toggle(): void {
    if (this.#turning) return this.#stop();
    const from = this.app.state.t >= 1 ? 0 : this.app.state.t;
    const start = performance.now();
    const step = (now: number) => {
      const t = Math.min(1, from + (now - start) / SWEEP);
      this.app.set({ t: Math.round(t * 100) / 100 });
      this.#turning = t < 1 ? requestAnimationFrame(step) : 0;
      if (!this.#turning) this.#show();
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
    const label = this.#turning ? "Stop" : "Turn the dial from global to local";
    this.#play.replaceChildren(icon(this.#turning ? "pause" : "play"));
    this.#play.setAttribute("aria-label", label);
    this.#play.title = label;
  }

  #say(): void {
    const { scores, data, state } = this.app;
    const last = data.n - 1;
    this.app.announce(`t ${state.t.toFixed(2)}: most central row ${data.id(scores.order[last])}, most peripheral row ${data.id(scores.order[0])}`);
  }
}
