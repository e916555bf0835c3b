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
  lasso: "M12 15c-5 0-9-2.4-9-5.5S7 4 12 4s9 2.4 9 5.5-4 5.5-9 5.5Zm-3 0c-2 1-2 3-.5 3.5S11 20 10 21",
  in: "M12 5v14M5 12h14",
  out: "M5 12h14",
  fit: "M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5",
  near: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8ZM12 2v4m0 12v4M2 12h4m12 0h4",
  back: "M9 7 4 12l5 5M4 12h10a5 5 0 0 1 0 10",
  close: "M6 6l12 12M18 6 6 18",
  save: "M12 4v11m0 0-4-4m4 4 4-4M5 19h14",
};

export function icon(name: string): SVGElement {
  return s("svg.icon", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
}
