// All heads as small pictures, layers down and heads across: one stop of the keyboard, arrows go from head to head.
import { make } from "../base.js";
import { paint } from "./colours.js";

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// `choose(layer, head, event)` is called with the head that the reader goes to. `beside` are columns after the heads':
// `{ name, title, cell(layer) }`. Gives `draw`, `mark` and `dress`.
export function headGrid(element, shape, choose, beside = []) {
  const buttons = new Map(); // "layer.head" -> its button
  const most = Math.max(...shape);
  const corner = make("span", { class: "corner", "aria-hidden": "true" });
  const across = Array.from({ length: most }, (_, head) => make("span", { class: "across", "aria-hidden": "true" }, head + 1));
  element.style.setProperty("--heads", most);
  element.replaceChildren(corner, ...across, ...beside.map(({ name, title }) => make("span", { class: "across beside", title }, name)));
  shape.forEach((heads, at) => {
    element.append(make("span", { class: "down", "aria-hidden": "true" }, at + 1));
    for (let head = 1; head <= most; head++) {
      if (head > heads) {
        element.append(make("span", { class: "gone", title: heads ? null : `Layer ${at + 1} has no heads` }));
        continue;
      }
      const canvas = make("canvas", { "aria-hidden": "true" });
      const button = make("button", { type: "button", "data-head": `${at + 1}.${head}`, "aria-label": `Layer ${at + 1}, head ${head}`, tabindex: -1 }, canvas);
      buttons.set(`${at + 1}.${head}`, button);
      element.append(button);
    }
    element.append(...beside.map(({ cell }) => cell(at + 1)));
  });

  const placeOf = (button) => button.dataset.head.split(".").map(Number);
  // The next head that way: a layer without heads is passed over, in a short layer its last head is taken.
  const next = ([layer, head], [down, right]) => {
    if (right) return buttons.get(`${layer}.${head + right}`);
    for (let at = layer + down; shape[at - 1] !== undefined; at += down) {
      if (shape[at - 1]) return buttons.get(`${at}.${Math.min(head, shape[at - 1])}`);
    }
    return undefined;
  };
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-head]");
    if (button) choose(...placeOf(button), event);
  });
  element.addEventListener("keydown", (event) => {
    const button = event.target.closest("[data-head]");
    const to = button && STEPS[event.key] && next(placeOf(button), STEPS[event.key]);
    if (!to) return;
    event.preventDefault();
    choose(...placeOf(to), event);
    to.focus();
  });

  return {
    // `levelsOf(layer, head)` gives a head's cells by keys and queries; from `top` up they have the last colour.
    draw(n, scale, top, signed, levelsOf) {
      for (const button of buttons.values()) {
        const levels = levelsOf(...placeOf(button));
        const canvas = button.firstChild;
        canvas.hidden = !levels;
        if (levels) paint(canvas, n, scale, top, signed, levels, { turned: true });
      }
      element.dataset.small = n < 40;
    },
    heads: [...buttons.values()].map(placeOf),
    // `how(layer, head)` gives a head's name, the colour of its edge (or null), and what its `data-` attributes say.
    dress(how) {
      for (const button of buttons.values()) {
        const { name, edge, ...said } = how(...placeOf(button));
        button.setAttribute("aria-label", name);
        button.style.setProperty("--edge", edge ?? "transparent");
        Object.assign(button.dataset, said);
      }
    },
    mark(layer, head) {
      for (const [name, button] of buttons) {
        const chosen = name === `${layer}.${head}`;
        if (chosen) button.setAttribute("aria-current", "true");
        else button.removeAttribute("aria-current");
        button.tabIndex = chosen ? 0 : -1;
      }
    },
  };
}
