// Elements in few words.

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

/** h("button.small", {onclick, "aria-label": "..."}, "text") */
export function h<K extends keyof HTMLElementTagNameMap>(what: K, props?: Props, ...children: Child[]): HTMLElementTagNameMap[K];
export function h(what: string, props?: Props, ...children: Child[]): HTMLElement;
export function h(what: string, props: Props = {}, ...children: Child[]): HTMLElement {
  const [tag, ...classes] = what.split(".");
  return fill(document.createElement(tag), classes, props, children);
}

/** The same in SVG. */
export function s(what: string, props: Props = {}, ...children: Child[]): SVGElement {
  const [tag, ...classes] = what.split(".");
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag) as SVGElement, classes, props, children);
}

function fill<E extends HTMLElement | SVGElement>(element: E, classes: string[], props: Props, children: Child[]): E {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const ICONS: Record<string, string> = {
  pan: "M12 3v18M3 12h18M12 3l-3 3m3-3 3 3M12 21l-3-3m3 3 3-3M3 12l3-3m-3 3 3 3M21 12l-3-3m3 3-3 3",
  box: "M4 6V4h2m4 0h4m4 0h2v2m0 4v4m0 4v2h-2m-4 0h-4m-4 0H4v-2m0-4v-4",
  lasso: "M12 15c-5 0-9-2.4-9-5.5S7 4 12 4s9 2.4 9 5.5-4 5.5-9 5.5Zm-3 0c-2 1-2 3-.5 3.5S11 20 10 21",
  in: "M12 5v14M5 12h14",
  out: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  play: "M8 5.5v13l11-6.5Z",
  pause: "M8 5v14M16 5v14",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1m2 4a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9Z",
  help: "M9.2 9a3 3 0 1 1 4.3 2.8c-1 .5-1.5 1-1.5 2.2m0 3v.2",
  close: "M6 6l12 12M18 6 6 18",
  save: "M12 4v11m0 0-4-4m4 4 4-4M5 19h14",
};

export function icon(name: string): SVGElement {
  return s("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
}
