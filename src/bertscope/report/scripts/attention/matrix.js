// One head as a matrix with its tokens: rows are queries, columns are keys.
import { make } from "../base.js";
import { hex, paint, shade } from "./colours.js";

const LETTER = 0.62; // of the font's size: what a letter takes on average
const VECTOR = 64; // tokens: a matrix of more is a picture in an exported file too

export const cutShort = (token, letters = 14) => (token.length > letters ? `${token.slice(0, letters - 1)}…` : token);

// The side of a cell, the size of letters, and how much room tokens take, where all of it has so much `room`.
export function layoutOf(tokens, room) {
  const letters = Math.max(...tokens.map((token) => cutShort(token).length));
  const fontOf = (cell) => Math.max(8.5, Math.min(13, 0.8 * cell));
  const wordsOf = (cell) => letters * fontOf(cell) * LETTER + 10;
  const cellOf = (words) => Math.max(1.5, Math.min(26, (room - words - 4) / tokens.length));
  const near = cellOf(wordsOf(cellOf(wordsOf(12)))); // letters follow from it; then cells fill what the tokens leave
  const [font, words] = [fontOf(near), wordsOf(near)];
  const cell = cellOf(words);
  return { cell, font, every: Math.ceil((1.1 * font) / cell), words, side: cell * tokens.length };
}

export function drawMatrix({ weights, tokens, top, signed, scale, theme, mask, vector = false, room = 640 }) {
  const n = tokens.length;
  const { cell, font, every, words, side } = layoutOf(tokens, room);
  const size = words + side + 4;
  const svg = make("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${size} ${size}`, width: size, height: size, "font-size": font, fill: theme.muted });
  svg.append(make("rect", { x: words, y: words, width: side, height: side, fill: mask ? theme.grid : hex(scale[signed ? 128 : 0]) }));
  if (vector && n <= VECTOR) {
    for (let at = 0; at < n * n; at++) {
      if (mask && !mask[at]) continue;
      const fill = hex(scale[shade(weights[at], top, signed)]);
      svg.append(make("rect", { x: words + (at % n) * cell, y: words + Math.floor(at / n) * cell, width: cell, height: cell, fill }));
    }
  } else {
    const canvas = document.createElement("canvas");
    paint(canvas, n, scale, top, signed, weights, { mask });
    svg.append(make("image", { x: words, y: words, width: side, height: side, href: canvas.toDataURL(), "image-rendering": "pixelated", preserveAspectRatio: "none" }));
  }
  tokens.forEach((token, at) => {
    if (at % every) return;
    const middle = words + (at + 0.5) * cell;
    svg.append(make("text", { x: words - 5, y: middle, "text-anchor": "end", "dominant-baseline": "central" }, cutShort(token)));
    svg.append(make("text", { transform: `translate(${middle} ${words - 5}) rotate(-90)`, "dominant-baseline": "central" }, cutShort(token)));
  });

  const over = make("g", { class: "over" });
  svg.append(over);
  const label = (text, place, down) => {
    const long = cutShort(text).length * font * LETTER + 8;
    const height = 1.5 * font;
    const turned = down ? `translate(0 ${place})` : `translate(${place} 0) rotate(-90)`;
    const box = { x: down ? words - long - 1 : -words + 1, y: -height / 2, width: long, height, fill: theme.ink, rx: 2 };
    const at = { x: down ? words - 5 : -words + 5, y: 0, fill: theme.surface, "text-anchor": down ? "end" : "start", "dominant-baseline": "central" };
    return make("g", { transform: turned }, make("rect", box), make("text", at, cutShort(text)));
  };
  return {
    svg,
    // The cell under a point of the screen; null outside.
    cellAt(x, y) {
      const { x: left, y: up } = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
      const [key, query] = [left, up].map((at) => Math.floor((at - words) / cell));
      return key >= 0 && key < n && query >= 0 && query < n ? { query, key } : null;
    },
    // Puts a cross of lines on a cell, and its tokens before its row and over its column.
    point(at) {
      over.replaceChildren();
      if (!at) return;
      const [x, y] = [words + at.key * cell, words + at.query * cell];
      const line = { fill: "none", stroke: theme.ink, "stroke-width": 1 };
      over.append(
        make("rect", { x: words, y, width: side, height: cell, ...line, "stroke-opacity": 0.35 }),
        make("rect", { x, y: words, width: cell, height: side, ...line, "stroke-opacity": 0.35 }),
        make("rect", { x: x - 1, y: y - 1, width: cell + 2, height: cell + 2, ...line, "stroke-width": 2 }),
        label(tokens[at.query], y + cell / 2, true), label(tokens[at.key], x + cell / 2, false),
      );
    },
  };
}
