// The view as a file: predictions, all heads and the chosen one in one picture, drawn anew as SVG; a PNG is made of that.
import { make } from "/static/report/scripts/base.js";
import { inWords, LETTERS, listOf } from "./parts.js";
import { chance, number, pairsOf, signed, sizeOf } from "./predictions.js";

const [GAP, WIDE, CELL, BAR] = [28, 430, 34, 150];
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', sans-serif";
const LARGEST = 8192; // pixels: a canvas that is larger isn't drawn by all browsers

// Lines of a text that fit.
function wrapped(text, letters, most = 4) {
  const lines = [""];
  for (const word of text.split(/\s+/).flatMap((one) => one.match(new RegExp(`.{1,${letters}}`, "gu")) ?? [])) {
    if (lines.at(-1).length + word.length < letters) lines[lines.length - 1] += `${lines.at(-1) ? " " : ""}${word}`;
    else lines.push(word);
  }
  return lines.length > most ? [...lines.slice(0, most - 1), `${lines[most - 1]} …`] : lines;
}

// `view`: about, state, seen (of each checkpoint), pictures and entries (of the grid and its edges), shape, head (its own SVG as text), palette.
export function viewAsSvg({ about, state, seen, pictures, shape, entries, head, palette }) {
  const { surface, ink, muted, grid, category } = palette;
  const two = about.checkpoints.length > 1;
  const body = make("g");
  const text = (x, y, words, more = {}) => body.append(make("text", { x, y, fill: ink, "font-size": 13, ...more }, words));
  let y = GAP + 12;
  text(GAP, y, `bertscope explore: ${about.checkpoints.map((one, at) => (two ? `${LETTERS[at]} ${one.name}` : one.name)).join(", ")}`, { "font-size": 16, "font-weight": 600 });
  for (const line of [state.text, state.pair].filter(Boolean).flatMap((one) => wrapped(one, 120))) text(GAP, (y += 21), line);
  const switches = listOf(state.changes).map(({ act, part, places }) => `${inWords(part)} ${act === "off" ? "off" : "from the other"}${two && places.length < 2 ? ` in ${LETTERS[places[0]]}` : ""}`);
  for (const line of wrapped(switches.length ? `Switched (${state.mode}): ${switches.join(", ")}` : "Nothing is switched off.", 130)) text(GAP, (y += 19), line, { fill: muted, "font-size": 12 });
  y += 16;

  const top = y;
  let lowest = top;
  seen.forEach(({ before, after }, at) => {
    const x = GAP + at * (WIDE + GAP);
    let down = top + 16;
    text(x, down, `${two ? `${LETTERS[at]} ` : ""}${about.checkpoints[at].name}`, { "font-weight": 600, fill: category[at] });
    if (after) text(x, (down += 22), `${after.said}${after.p === null ? "" : `  ${chance(after.p)}`}${before.said === after.said ? "" : `  (was ${before.said})`}`, { "font-size": 15 });
    for (const { before: was, after: is } of after ? pairsOf(before.shares, after.shares).slice(0, 8) : []) {
      down += 20;
      const width = is.p === null ? 0 : BAR * is.p;
      text(x, down, is.label.length > 20 ? `${is.label.slice(0, 19)}…` : is.label, { "font-size": 12 });
      body.append(make("rect", { x: x + 150, y: down - 10, width: BAR, height: 11, fill: grid }), make("rect", { x: x + 150, y: down - 10, width, height: 11, fill: category[at] }));
      if (was && was.p !== null) body.append(make("rect", { x: x + 149 + BAR * was.p, y: down - 12, width: 2, height: 15, fill: ink }));
      text(x + 160 + BAR, down, is.p === null ? number(is.value) : chance(is.p), { "font-size": 12 });
      if (was && sizeOf(was) !== sizeOf(is)) text(x + 215 + BAR, down, signed(sizeOf(is) - sizeOf(was)), { "font-size": 12, fill: muted });
    }
    lowest = Math.max(lowest, down);
  });
  y = lowest + GAP;

  const off = new Set(listOf(state.changes).filter(({ act }) => act === "off").map(({ part }) => part));
  text(GAP, y + 10, `All heads: ${state.shown === "difference" ? "difference of the two" : about.checkpoints[Number(state.shown)].name}`, { "font-weight": 600 });
  y += 22;
  shape.forEach((_, at) => text(GAP + 14, y + at * CELL + CELL / 2 + 14, at + 1, { "text-anchor": "end", "font-size": 10, fill: muted }));
  for (let at = 0; at < Math.max(...shape); at++) text(GAP + 22 + at * CELL + CELL / 2, y + 6, at + 1, { "text-anchor": "middle", "font-size": 10, fill: muted });
  for (const { layer, head: place, edge, canvas } of pictures) {
    const [x, up] = [GAP + 22 + (place - 1) * CELL, y + 10 + (layer - 1) * CELL];
    if (edge) body.append(make("rect", { x, y: up, width: CELL - 2, height: CELL - 2, fill: edge }));
    const inset = edge ? 3 : 0;
    if (canvas && !canvas.hidden && canvas.width) body.append(make("image", { x: x + inset, y: up + inset, width: CELL - 2 - 2 * inset, height: CELL - 2 - 2 * inset, href: canvas.toDataURL(), "image-rendering": "pixelated", preserveAspectRatio: "none" }));
    if (off.has(`head:${layer}.${place}`) || off.has(`layer:${layer}`)) body.append(make("path", { d: `M${x} ${up}l${CELL - 2} ${CELL - 2}M${x + CELL - 2} ${up}l${2 - CELL} ${CELL - 2}`, stroke: ink, "stroke-width": 2 }));
  }
  const beside = GAP + 22 + Math.max(...shape) * CELL + GAP;
  if (entries.length) text(beside, y + 20, "Edges", { "font-size": 12, "font-weight": 600 });
  entries.forEach(({ fill, words }, at) => {
    if (fill) body.append(make("rect", { x: beside, y: y + 31 + 20 * at, width: 11, height: 11, fill }));
    text(beside + (fill ? 18 : 0), y + 41 + 20 * at, words, { "font-size": 12 });
  });
  y += 10 + shape.length * CELL + GAP;

  let width = Math.max(2 * WIDE + 3 * GAP, GAP * 2 + 22 + Math.max(...shape) * CELL);
  if (head) {
    const inner = document.importNode(new DOMParser().parseFromString(head, "image/svg+xml").documentElement, true);
    inner.setAttribute("x", 0);
    inner.setAttribute("y", y);
    body.append(inner);
    y += Number(inner.getAttribute("height"));
    width = Math.max(width, Number(inner.getAttribute("width")));
  }
  const whole = make("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${y}`, width, height: y, "font-family": FONT });
  whole.append(make("title", {}, `bertscope explore: ${state.text.slice(0, 80)}`), make("rect", { width, height: y, fill: surface }), body);
  return new XMLSerializer().serializeToString(whole);
}

export async function asPng(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const times = Math.min(2, LARGEST / Math.max(image.width, image.height));
    const canvas = make("canvas", { width: Math.round(image.width * times), height: Math.round(image.height * times) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => { canvas.toBlob(done, "image/png"); });
  } finally {
    URL.revokeObjectURL(address);
  }
}
