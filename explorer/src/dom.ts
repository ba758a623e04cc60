// Small helpers to make elements. Text is only ever set as text.

type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  set(element, attributes);
  element.append(...children.filter((child) => child != null));
  return element;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  set(element, attributes);
  element.append(...children.filter((child) => child != null));
  return element;
}

export function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === null || value === undefined || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

/** Put other elements in place of some, and leave the focus and the window where they were: what has the focus has an id in both. */
export function replacing(replace: () => void): void {
  const { id } = document.activeElement ?? { id: "" };
  const top = scrollY;
  replace();
  if (id) document.getElementById(id)?.focus({ preventScroll: true });
  scrollTo(0, top);
}

/** A button's picture: one path on a 24 × 24 grid. */
export function icon(path: string): SVGSVGElement {
  return svg("svg", { viewBox: "0 0 24 24", width: 24, height: 24, "aria-hidden": "true" }, svg("path", { d: path }));
}

/** The width of a character of the token font, in pixels. */
export function characterWidth(where: Element): number {
  const probe = el("span", { class: "mono", style: "position:absolute;visibility:hidden" }, "0".repeat(40));
  where.append(probe);
  const width = probe.getBoundingClientRect().width / 40;
  probe.remove();
  return width;
}
