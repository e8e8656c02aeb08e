// One head: its map in each checkpoint and their difference, as matrices or as lines, all pointed at together.
import { download, make } from "../base.js";
import { hex, scaleOf, shade, written } from "./colours.js";
import { drawLines } from "./lines.js";
import { differenceOf, largest, maskOf } from "./maps.js";
import { drawMatrix } from "./matrix.js";

const BETWEEN = { all: "all tokens", "first-second": "first text → second", "second-first": "second text → first", "first-first": "within the first text", "second-second": "within the second text" };
const KEYS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
let choices = 0; // names of radio buttons are the document's

// A choice among a few as buttons side by side.
export function radio(sets, label, values, chosen) {
  const name = `${sets}-${++choices}`;
  return make("fieldset", { class: "choice" }, make("legend", {}, label), ...Object.entries(values).map(([value, words]) =>
    make("label", {}, make("input", { type: "radio", name, "data-sets": sets, value, checked: String(chosen) === value ? "" : null }), make("span", {}, make("bdi", {}, words)))));
}

// The colours from 0 to `top`, or from one end to the other, with a few values under them, written so.
export function legend(scale, top, signed, write) {
  const ends = signed ? [-top, 0, top] : [0, top / 16, top / 4, top];
  const bar = make("span", { class: "bar" });
  bar.style.background = `linear-gradient(to right, ${Array.from({ length: 17 }, (_, at) => hex(scale[at * 15.9375 | 0])).join(", ")})`;
  const ticks = ends.map((end) => {
    const tick = make("span", {}, end ? write(end) : "0");
    tick.style.left = `${(100 * shade(end, top, signed)) / 255}%`;
    return tick;
  });
  return make("div", { class: "legend", "aria-hidden": "true" }, bar, make("span", { class: "ticks" }, ...ticks));
}

const HOW = {
  matrix: "Each row is a token that looks (query), each column one that is looked at (key).",
  lines: "A line leads from a token that looks (query, on the left) to one that is looked at (key, on the right).",
};

// `theme()` gives "light" or "dark", `changed(as)` is told how the head is drawn. Gives `show(data, layer, head)`; `data`:
// tokens, inText (0, 1, -1 for special tokens), pair, step, palettes, models (Maps, one or two).
export function headView(element, { theme, as = "matrix", changed = () => {} }) {
  const now = { layer: 0, head: 0, as, between: "all", special: true, own: true, cell: null, token: null };
  let data = null;
  let n = 0;
  const both = () => data.models.length > 1;

  const tick = (name, words) => make("label", { class: "tick" }, make("input", { type: "checkbox", "data-sets": name, checked: now[name] ? "" : null }), words);
  const title = make("h2", { "aria-live": "polite" });
  const between = make("select", { "data-sets": "between", "aria-label": "Between which texts" }, ...Object.entries(BETWEEN).map(([value, words]) => make("option", { value }, words)));
  const save = make("button", { type: "button" }, "Save SVG");
  const controls = make("div", { class: "controls" }, radio("as", "As", { matrix: "matrix", lines: "lines" }, as), between, tick("special", "special tokens"), tick("own", "colours to the largest weight"), save);
  const told = make("p", { class: "told", "aria-live": "polite" });
  const panels = make("div", { class: "panels" });
  const keys = make("p", { class: "keys" }, "Arrow keys go from head to head in the grid, and from cell to cell or token to token in a head; Escape lets go.");
  const how = make("p", { class: "keys" });
  element.replaceChildren(title, controls, told, panels, how, keys);
  let drawn = []; // { name, weights, signed, drawing, figure } of each panel

  const palette = () => data.palettes[theme()];
  const scales = () => ({ even: scaleOf(palette().sequential), signed: scaleOf(palette().diverging) });

  function contents() {
    const { layer, head } = now;
    const { models } = data;
    const found = models.map((one) => ({ name: one.name, weights: one.weights(layer, head), signed: false }));
    const missing = (one) => `${one.name} has no head ${head} in layer ${layer}.`;
    for (const one of found) if (!one.weights) one.instead = missing(one);
    if (both()) {
      const weights = differenceOf(...models, layer, head);
      const instead = "Heads are counted in each model by itself: where a layer lost some in one of the two, which is which isn't known.";
      found.push({ name: data.difference ?? "difference: the second less the first", weights, signed: true, instead: weights ? null : instead });
    }
    return found;
  }

  function optionsOf(one, top, more = {}) {
    const { even, signed } = scales();
    const mask = maskOf(data.inText, now.between, now.special);
    return { weights: one.weights, tokens: data.tokens, top, signed: one.signed, scale: one.signed ? signed : even, theme: palette(), mask, ...more };
  }

  function topsOf(found) {
    const mask = maskOf(data.inText, now.between, now.special);
    const most = (some) => (now.own ? Math.max(data.step, ...some.filter((one) => one.weights).map((one) => largest(one.weights, mask))) : 1);
    return { even: most(found.filter((one) => !one.signed)), signed: most(found.filter((one) => one.signed)) };
  }

  function drawHead() {
    title.textContent = `Layer ${now.layer}, head ${now.head}`;
    const found = contents();
    const tops = topsOf(found);
    const draw = now.as === "matrix" ? drawMatrix : drawLines;
    const room = roomOf();
    drawn = found.map((one) => {
      const caption = make("figcaption", { title: one.name }, make("bdi", {}, one.name));
      if (!one.weights) return { ...one, figure: make("figure", { class: "missing" }, caption, make("p", {}, one.instead)) };
      const top = one.signed ? tops.signed : tops.even;
      const drawing = draw(optionsOf(one, top, { room }));
      const name = `${now.as === "matrix" ? "Matrix" : "Lines"} of layer ${now.layer}, head ${now.head}: ${one.name}`;
      for (const [key, value] of Object.entries({ tabindex: 0, role: "img", "aria-label": name })) drawing.svg.setAttribute(key, value);
      const figure = make("figure", {}, ...(both() ? [caption] : []), drawing.svg, now.as === "matrix" ? legend(one.signed ? scales().signed : scales().even, top, one.signed, (end) => (one.signed ? written(end, data.step, true) : String(Number(end.toPrecision(2))))) : strongest(one, top, drawing));
      figure.style.width = `${drawing.svg.getAttribute("width")}px`; // a long name doesn't widen it
      return { ...one, drawing, figure };
    });
    panels.replaceChildren(...drawn.map((one) => one.figure));
    panels.dataset.as = now.as;
    how.textContent = HOW[now.as];
    point();
  }

  // How wide a panel may be: three side by side, two, or one.
  let width = 0;
  function roomOf() {
    width = panels.clientWidth || 640;
    const columns = both() ? (width >= 900 ? 3 : width >= 560 ? 2 : 1) : 1;
    return Math.min(both() ? 460 : 700, (width - 24 * (columns - 1)) / columns);
  }

  const strongest = (one, top, { faint }) => make("p", { class: "keys" }, `Strongest: ${written(top, data.step, one.signed).replace("+", "±")}. Lines under ${Number(faint.toPrecision(2))} are drawn when their token is pointed at.`);

  // Points all panels at the same cell or token, and says in words what is there.
  function point() {
    const at = now.as === "matrix" ? now.cell : now.token;
    for (const one of drawn) one.drawing?.point(at);
    told.replaceChildren(...(at ? (now.as === "matrix" ? cellInWords(at) : tokenInWords(at)) : ["Point at a cell or a token, or go there with the keyboard."]));
    const maps = drawn.filter((one) => one.weights && !one.signed);
    if (!at && maps.length) told.replaceChildren("Largest: ", ...largestInWords(maps));
  }

  const named = (at) => make("b", {}, make("bdi", {}, data.tokens[at]));
  const value = (one, at) => make("span", { class: "value" }, written(one.weights[at], data.step, one.signed));
  const values = (at) => drawn.filter((one) => one.weights).flatMap((one) => [" ", ...(both() ? [make("span", { class: "of" }, one.signed ? "difference" : make("bdi", {}, one.name)), " "] : []), value(one, at)]);
  function cellInWords({ query, key }) {
    return [named(query), " attends to ", named(key), ":", ...values(query * n + key)];
  }
  function tokenInWords({ side, token }) {
    const mask = maskOf(data.inText, now.between, now.special);
    const cells = data.tokens.map((_, at) => (side ? at * n + token : token * n + at)).filter((at) => !mask || mask[at]);
    const most = (one) => [...cells].sort((a, b) => one.weights[b] - one.weights[a]).slice(0, 3).flatMap((at, place) => [place ? ", " : " ", named(side ? Math.floor(at / n) : at % n), " ", value(one, at)]);
    const shown = drawn.filter((one) => one.weights && !one.signed);
    const ends = shown.flatMap((one) => [...(both() ? [" ", make("span", { class: "of" }, make("bdi", {}, one.name))] : []), ...most(one)]);
    return [named(token), side ? " gets most from" : " attends most to", ...(cells.length ? ends : [" nothing that is shown"])];
  }
  function largestInWords(maps) {
    const mask = maskOf(data.inText, now.between, now.special);
    let [best, most] = [-1, -1];
    for (const { weights } of maps) weights.forEach((weight, at) => { if ((!mask || mask[at]) && weight > most) [best, most] = [at, weight]; });
    return best < 0 ? ["nothing is shown"] : cellInWords({ query: Math.floor(best / n), key: best % n });
  }

  function moveTo(at) {
    const [name, old] = now.as === "matrix" ? ["cell", now.cell] : ["token", now.token];
    if (JSON.stringify(old) === JSON.stringify(at)) return;
    now[name] = at;
    point();
  }

  const panelOf = (target) => drawn.find((one) => one.drawing?.svg.contains(target));
  const under = ({ target, clientX, clientY }) => {
    const drawing = panelOf(target)?.drawing;
    return drawing ? (drawing.cellAt ?? drawing.tokenAt)(clientX, clientY) : null;
  };
  panels.addEventListener("pointermove", (event) => moveTo(under(event)));
  panels.addEventListener("pointerdown", (event) => moveTo(under(event)));
  panels.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !panelOf(document.activeElement)) moveTo(null); });
  panels.addEventListener("focusin", ({ target }) => {
    if (!panelOf(target)) return;
    if (now.as === "matrix") moveTo(now.cell ?? { query: 0, key: 0 });
    else moveTo(now.token ?? { side: 0, token: 0 });
  });
  panels.addEventListener("focusout", () => moveTo(null));
  panels.addEventListener("keydown", (event) => {
    if (!panelOf(event.target)) return;
    if (event.key === "Escape") event.target.blur();
    const keys = KEYS[event.key];
    if (!keys) return;
    event.preventDefault();
    const [down, right] = keys;
    const within = (place) => Math.max(0, Math.min(n - 1, place));
    if (now.as === "matrix") {
      const { query, key } = now.cell ?? { query: 0, key: -right };
      moveTo({ query: within(query + down), key: within(key + right) });
    } else {
      const { side, token } = now.token ?? { side: 0, token: 0 };
      moveTo({ side: right ? (right > 0 ? 1 : 0) : side, token: within(token + down) });
    }
  });
  element.addEventListener("change", ({ target }) => {
    const name = target.dataset.sets;
    if (!name) return;
    now[name] = target.type === "checkbox" ? target.checked : target.value;
    if (data) drawHead();
    if (name === "as") changed(now.as);
  });
  new ResizeObserver(() => { if (data && Math.abs(panels.clientWidth - width) > 8) drawHead(); }).observe(panels);
  save.addEventListener("click", () => {
    download(`layer-${now.layer}-head-${now.head}-${now.as}.svg`, new Blob([exported()], { type: "image/svg+xml" }));
  });

  // The shown head as one file: its panels side by side, each under its name.
  function exported() {
    if (!data) return "";
    const shown = drawn.filter((one) => one.weights);
    const tops = topsOf(shown);
    const draw = now.as === "matrix" ? drawMatrix : drawLines;
    const svgs = shown.map((one) => draw(optionsOf(one, one.signed ? tops.signed : tops.even, { vector: true, room: 640 })).svg);
    const [gap, head] = [24, 56];
    const widths = svgs.map((svg) => Number(svg.getAttribute("width")));
    const width = widths.reduce((sum, one) => sum + one + gap, gap);
    const height = Math.max(...svgs.map((svg) => Number(svg.getAttribute("height")))) + head + gap;
    const { surface, ink } = palette();
    const whole = make("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, "font-family": "system-ui, sans-serif" });
    const name = `Layer ${now.layer}, head ${now.head}`;
    whole.append(make("title", {}, `${name}: ${shown.map((one) => one.name).join(", ")}`), make("rect", { width, height, fill: surface }), make("text", { x: gap, y: 24, fill: ink, "font-size": 15, "font-weight": 600 }, name));
    let x = gap;
    svgs.forEach((svg, at) => {
      svg.setAttribute("x", x);
      svg.setAttribute("y", head);
      whole.append(make("text", { x, y: 46, fill: ink, "font-size": 12 }, shown[at].name), svg);
      x += widths[at] + gap;
    });
    return new XMLSerializer().serializeToString(whole);
  }

  return {
    show(about, layer, head) {
      [data, now.layer, now.head] = [about, layer, head];
      if (data.tokens.length !== n) [now.cell, now.token] = [null, null];
      n = data.tokens.length;
      between.hidden = !data.pair;
      drawHead();
    },
    draw() { if (data) drawHead(); },
    drawAs(way) {
      now.as = way;
      for (const input of element.querySelectorAll("[data-sets=as]")) input.checked = input.value === way;
      if (data) drawHead();
    },
    // Nothing is there to be shown, for this reason.
    empty(why) {
      [data, drawn] = [null, []];
      title.textContent = "";
      panels.replaceChildren();
      told.textContent = why;
    },
    exported,
  };
}
