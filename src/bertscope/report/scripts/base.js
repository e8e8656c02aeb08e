// What all scripts share: finding and making elements, and the theme, set before the body is parsed. Scripts are modules
// that can be imported as they are; a page that is one file has them joined into one (report/scripting.py).
export const root = document.documentElement;
export const all = (selector, within = document) => [...within.querySelectorAll(selector)];
export const read = (id) => JSON.parse(document.getElementById(id).textContent);

const SVG = new Set(["svg", "g", "rect", "line", "path", "image", "text", "title", "defs", "linearGradient", "stop"]);

// An element with its attributes and what is in it. Text is text: nothing here reads HTML.
export function make(name, attributes = {}, ...inside) {
  const svg = SVG.has(name);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}

// A browser may refuse storage to a page opened from disk: the choice then lasts as long as the page.
const KEY = "bertscope-theme";
const recall = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
const remember = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* see above */ } };

export const system = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = recall();
export const chooseTheme = (theme) => { chosenTheme = theme; remember(theme); };
export const wantedTheme = () => (["dark", "light"].includes(chosenTheme) ? chosenTheme : system.matches ? "dark" : "light");
root.dataset.theme = wantedTheme(); // no flash of the other theme

export function download(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name.replace(/[^\w.-]+/g, "_") });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
