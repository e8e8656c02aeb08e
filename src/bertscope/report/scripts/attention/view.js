// All heads and one of them, each with what chooses how it is drawn.
import { make } from "../base.js";
import { scaleOf, written } from "./colours.js";
import { headGrid } from "./grid.js";
import { headView, radio } from "./head.js";
import { largest } from "./maps.js";

// `data`: tokens, inText (0, 1, -1 for special tokens), pair, step, palettes, models (Maps, one or two). `theme()` gives
// "light" or "dark", `chosen(layer, head)` is told of every choice. Gives `show(layer, head)` and `draw()`.
export function attentionView(element, data, { theme, chosen = () => {} }) {
  const { tokens, models, step } = data;
  const n = tokens.length;
  const now = { layer: 0, head: 0, grid: "0" };
  const shape = Array.from({ length: Math.max(...models.map((one) => one.shape.length)) }, (_, layer) => Math.max(...models.map((one) => one.shape[layer] ?? 0)));

  const gridChoice = models.length > 1 ? [radio("grid", "Shown", { 0: models[0].name, 1: models[1].name, difference: "difference" }, now.grid)] : [];
  const cells = make("div", { class: "heads", role: "group", "aria-label": "All heads, layers down and heads across" });
  const scaleNote = make("p", { class: "keys" });
  const all = make("section", { class: "all", "aria-label": "All heads" }, ...gridChoice, cells, scaleNote);
  const one = make("section", { class: "one", "aria-label": "One head" });
  element.dataset.models = models.length;
  element.replaceChildren(all, one);
  const grid = headGrid(cells, shape, show);
  const view = headView(one, { theme });

  function drawGrid() {
    const signed = now.grid === "difference";
    const palette = data.palettes[theme()];
    const levels = (layer, head) => {
      if (!signed) return models[now.grid].has(layer, head) ? models[now.grid].levelsOf(layer, head) : null;
      if (models[0].shape[layer - 1] !== models[1].shape[layer - 1]) return null;
      const [before, after] = models.map((one) => one.levelsOf(layer, head));
      return Int32Array.from(after, (level, at) => level - before[at]);
    };
    // One scale for all heads, so that they can be compared; half of them reach its end.
    const tops = grid.heads.map((place) => levels(...place)).filter(Boolean).map((one) => largest(one)).sort((one, other) => one - other);
    const top = Math.max(1, tops[tops.length >> 1] ?? 1);
    grid.draw(n, scaleOf(signed ? palette.diverging : palette.sequential), top, signed, levels);
    scaleNote.textContent = `Layers down, heads across; one scale of colours for all heads, whose last colour is for ${written(top * step, step, signed).replace("+", "±")} and beyond.`;
  }

  function show(layer, head) {
    if (!models.some((model) => model.has(layer, head))) return false;
    [now.layer, now.head] = [layer, head];
    grid.mark(layer, head);
    view.show(data, layer, head);
    chosen(layer, head);
    return true;
  }

  all.addEventListener("change", ({ target }) => {
    now.grid = target.value;
    drawGrid();
  });

  return { show, draw() { drawGrid(); view.draw(); }, first: () => [shape.findIndex((heads) => heads) + 1, 1], exported: view.exported };
}
