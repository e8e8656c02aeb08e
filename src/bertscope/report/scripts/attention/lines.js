// One head as lines from each query, on the left, to the keys that it attends to, on the right.
import { make } from "../base.js";
import { hex, shade } from "./colours.js";
import { cutShort } from "./matrix.js";

const ROW = 17;
const FONT = 12.5;
const LETTER = 7.2;
const STRENGTHS = 24; // kinds of lines: those of one kind are one path, so that thousands are drawn at once
const FAINT = 0.015; // of the largest weight: fainter lines aren't drawn unless their token is pointed at
const MOST = 1500; // lines that are drawn at once: the strongest

export function drawLines({ weights, tokens, top, signed, scale, theme, mask, room = 420 }) {
  const n = tokens.length;
  const words = Math.max(...tokens.map((token) => cutShort(token).length)) * LETTER + 16;
  const between = Math.max(80, Math.min(260, room - 2 * words));
  const [left, right] = [words, words + between];
  const [width, height] = [right + words, n * ROW + 8];
  const svg = make("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, width, height, "font-size": FONT, fill: theme.ink });
  const middle = (at) => 4 + (at + 0.5) * ROW;
  const marks = make("g", { class: "marks" });
  const lines = make("g", { class: "lines", fill: "none" });
  svg.append(marks, lines);
  const texts = tokens.flatMap((token, at) => [
    make("text", { x: left - 8, y: middle(at), "text-anchor": "end", "dominant-baseline": "central", "data-side": 0, "data-token": at }, cutShort(token)),
    make("text", { x: right + 8, y: middle(at), "dominant-baseline": "central", "data-side": 1, "data-token": at }, cutShort(token)),
  ]);
  svg.append(...texts);

  const allows = (at) => !mask || mask[at];
  // The cells of a token: what it attends to as a query (side 0), or what attends to it as a key (side 1).
  const cellsOf = ({ side, token }) => Array.from({ length: n }, (_, at) => (side ? at * n + token : token * n + at));
  const colourOf = (weight) => hex(scale[signed ? shade(Math.sign(weight), 1, true) : 200]);

  // Under which share of the largest weight no line is drawn, so that they aren't too many.
  const counts = new Array(257).fill(0);
  weights.forEach((weight, at) => { if (allows(at)) counts[Math.ceil(256 * Math.min(1, Math.abs(weight) / top))] += 1; });
  let [bin, many] = [256, 0];
  while (bin > 0 && many + counts[bin] <= MOST) many += counts[bin--];
  const faint = Math.max(FAINT, Math.min(bin, 255) / 256);

  function draw(pointed) {
    const paths = new Map(); // sign and strength -> what is drawn so
    const cells = pointed ? cellsOf(pointed) : weights.keys();
    for (const at of cells) {
      const share = Math.abs(weights[at]) / top;
      if (!allows(at) || !(share > (pointed ? 0 : faint))) continue;
      const kind = Math.sign(weights[at]) * Math.max(1, Math.ceil(Math.min(1, share) * STRENGTHS));
      if (!paths.has(kind)) paths.set(kind, []);
      paths.get(kind).push(`M${left} ${middle(Math.floor(at / n))}L${right} ${middle(at % n)}`);
    }
    lines.replaceChildren(...[...paths].sort(([one], [other]) => Math.abs(one) - Math.abs(other)).map(([kind, steps]) => {
      const strength = Math.abs(kind) / STRENGTHS;
      return make("path", { d: steps.join(""), stroke: colourOf(kind), "stroke-opacity": (pointed ? 0.15 + 0.85 * strength : strength ** 0.8).toFixed(3), "stroke-width": (0.8 + 2.2 * strength).toFixed(2) });
    }));
  }

  // Tokens that no line can begin or end at.
  if (mask) texts.forEach((text, at) => { if (!cellsOf({ side: at % 2, token: at >> 1 }).some(allows)) text.setAttribute("opacity", 0.4); });
  draw(null);
  return {
    svg,
    faint: faint * top,
    // The token at a point of the screen, on which side; null outside.
    tokenAt(x, y) {
      const { x: across, y: down } = new DOMPoint(x, y).matrixTransform(svg.getScreenCTM().inverse());
      const token = Math.floor((down - 4) / ROW);
      const side = across < left + 12 ? 0 : across > right - 12 ? 1 : null;
      return side === null || token < 0 || token >= n ? null : { side, token };
    },
    // Shows one token's lines alone, the tokens at their other ends on a ground as strong as the weight.
    point(at) {
      draw(at);
      marks.replaceChildren();
      for (const text of texts) text.removeAttribute("font-weight");
      if (!at) return;
      const box = (side, token, fill) => make("rect", { x: side ? right + 2 : 0, y: middle(token) - ROW / 2, width: words - 2, height: ROW, fill, rx: 2 });
      cellsOf(at).forEach((cell, token) => {
        if (allows(cell)) marks.append(make("g", { opacity: 0.55 }, box(1 - at.side, token, hex(scale[shade(weights[cell], 2 * top, signed)]))));
      });
      marks.append(box(at.side, at.token, theme.grid));
      texts[2 * at.token + at.side].setAttribute("font-weight", 700);
    },
  };
}
