// Elements in few words.

type Value = string | number | boolean | undefined | ((event?: MouseEvent) => void);
type Child = Node | string | null | undefined | false;
type Props = Record<string, Value>;

type Tag<T extends string> = T extends `${infer Name}.${string}` ? Name : T;
type Made<T extends string> = Tag<T> extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Tag<T>] : HTMLElement;

/** h("button.small", {onclick, label: "..."}, "text"): a label is for those who cannot see; what is nothing is left out */
export function h<T extends string>(what: T, ...rest: (Child | Props)[]): Made<T> {
  return fill(document.createElement(what.split(".")[0]), what, rest) as unknown as Made<T>;
}

/** The same in SVG. */
export function s(what: string, ...rest: (Child | Props)[]): SVGElement {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", what.split(".")[0]), what, rest);
}

function fill<E extends HTMLElement | SVGElement>(element: E, what: string, rest: (Child | Props)[]): E {
  const [, ...classes] = what.split(".");
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const part of rest) {
    if (!part) continue;
    if (typeof part === "string" || part instanceof Node) element.append(part);
    else for (const [name, value] of Object.entries(part)) set(element, name, value);
  }
  return element;
}

function set(element: Element, name: string, value: Value): void {
  if (value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value as () => void);
  else element.setAttribute(name === "label" ? "aria-label" : name, value === true ? "" : String(value));
}

type Events = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export function on<E extends HTMLElement>(element: E, events: Events): E {
  for (const [name, act] of Object.entries(events)) element.addEventListener(name, act as EventListener, { passive: false });
  return element;
}

const ICONS: Record<string, string> = {
  pan: "M12 3v18M3 12h18M12 3l-3 3m3-3 3 3M12 21l-3-3m3 3 3-3M3 12l3-3m-3 3 3 3M21 12l-3-3m3 3-3 3",
  box: "M4 6V4h2m4 0h4m4 0h2v2m0 4v4m0 4v2h-2m-4 0h-4m-4 0H4v-2m0-4v-4",
  lasso: "M12 15c-5 0-9-2.4-9-5.5S7 4 12 4s9 2.4 9 5.5-4 5.5-9 5.5Zm-3 0c-2 1-2 3-.5 3.5S11 20 10 21",
  in: "M12 5v14M5 12h14",
  out: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  near: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v4m0 12v4M2 12h4m12 0h4",
  groups: "M12 4c5 0 8 3 8 7s-4 9-9 9-7-4-7-8 3-8 8-8Zm0 5a3 3 0 1 1-1 6 3 3 0 0 1 1-6Z",
  twin: "M4 5h7v14H4ZM13 5h7v14h-7Z",
  table: "M4 5h16v14H4ZM4 10h16M4 14.5h16M10 5v14",
  back: "M9 7 4 12l5 5M4 12h10a5 5 0 0 1 0 10",
  loop: "M4 12a7 7 0 0 1 12-5l3 3m0-5v5h-5M20 12a7 7 0 0 1-12 5l-3-3m0 5v-5h5",
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
