// The dial t, from global to local.

import type { App, Changed, Part } from "../app";
import { h, on } from "./dom";

export class Dial implements Part {
  readonly element: HTMLElement;
  readonly #slider = h("input.turn", { type: "range", min: 0, max: 1, step: 0.01, label: "Compare each row with all rows, or with rows near it: t" });
  readonly #value = h("output.value", { "aria-hidden": "true" });

  constructor(private readonly app: App) {
    const release = () => {
      app.hold(false);
      this.#say();
    };
    on(this.#slider, {
      pointerdown: () => app.hold(true),
      input: () => app.set({ t: Number(this.#slider.value) }),
      change: release,
      pointerup: () => app.hold(false),
      pointercancel: () => app.hold(false),
      blur: () => app.hold(false),
    });
    const kind = app.data.given.length > 0;
    this.element = h("section.dial", { label: "Compare each row with" }, h("span.said", "Compare each row with"),
      h("b", { title: kind ? "common for its kind" : "common everywhere" }, kind ? "all of its kind" : "all rows"), this.#slider,
      h("b", { title: "common nearby" }, "rows near it"), this.#value);
  }

  update(changed: Changed): void {
    if (!changed.has("t")) return;
    const { t } = this.app.state;
    this.#slider.value = String(t);
    this.#slider.ariaValueText = `t = ${t.toFixed(2)}, ${t < 0.33 ? "mostly all rows" : t > 0.67 ? "mostly rows near it" : "in between"}`;
    this.#slider.style.setProperty("--at", String(t));
    this.#value.textContent = `t = ${t.toFixed(2)}`;
  }

  #say(): void {
    const { scores, data, state } = this.app;
    const [central, peripheral] = [true, false].map((end) => data.id(scores.ends(1, end)[0]));
    this.app.announce(`t ${state.t.toFixed(2)}: most typical row ${central}, oddest row ${peripheral}`);
  }
}
