// A word was changed for another: what both checkpoints say of either text, and which parts carry the difference.
import { make } from "/static/report/scripts/base.js";
import { hex, scaleOf, shade } from "/static/report/scripts/attention/colours.js";
import { legend, radio } from "/static/report/scripts/attention/head.js";
import { inWords, LETTERS } from "./parts.js";
import { chance, number } from "./predictions.js";
import { lettersOf, unitsOf } from "./words.js";

const share = (value) => `${value < 0 ? "−" : ""}${Math.abs(100 * value).toFixed(0)}%`;
const COLUMNS = [["mlp", "", "MLP", "the layer's feed-forward part"], ["layer", "@changed", "at the word", "the layer's output at the changed tokens alone"]];

// Words and what stands between them.
function piecesOf(text) {
  const letters = lettersOf(text);
  const cuts = [0, ...unitsOf(letters).flatMap(({ start, end }) => [start, end]), letters.length];
  return cuts.slice(1).map((cut, at) => letters.slice(cuts[at], cut).join("")).filter(Boolean);
}

export function patchingView(element, about, { theme, read, drop, chosen, choose }) {
  const two = about.checkpoints.length > 1;
  const texts = make("p", { class: "shown texts" });
  const moved = make("div", { class: "moved-answers" });
  const which = two ? radio("patched", "Parts of", { 0: `A ${about.checkpoints[0].name}`, 1: `B ${about.checkpoints[1].name}` }, 0) : null;
  const status = make("p", { class: "small", role: "status" });
  const carried = make("div", { class: "carried" });
  const [keep, forget] = ["Read this text instead", "Forget it"].map((words) => make("button", { type: "button" }, words));
  element.append(texts, moved, ...(which ? [which] : []), status, carried);
  element.querySelector(".ends").append(keep, forget);
  keep.addEventListener("click", read);
  forget.addEventListener("click", drop);
  which?.addEventListener("change", ({ target }) => choose(Number(target.value)));
  let told = null;

  // What stays, and which words stand in place of which.
  function difference(one, other) {
    const [a, b] = [one, other].map(piecesOf);
    let [start, end] = [0, 0];
    while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
    while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
    const cut = (pieces) => pieces.slice(start, pieces.length - end).join("");
    if (start === a.length && start === b.length) return [one];
    return [a.slice(0, start).join(""), make("del", {}, cut(a)), " ", make("ins", {}, cut(b)), a.slice(a.length - end).join("")];
  }

  const answer = (one) => (one ? make("span", { class: "answer" }, make("bdi", {}, one.said), one.p === null ? "" : ` ${chance(one.p)}`) : "nothing");
  function drawAnswers(before, after) {
    moved.replaceChildren(...before.map((one, at) => make("p", {}, ...(two ? [make("span", { class: `badge of-${at}` }, LETTERS[at]), " "] : []), answer(one.after), make("span", { class: "arrow", "aria-label": "becomes" }, " → "), answer(after[at].after))));
  }

  function cell(found, part, words) {
    const value = found.get(part);
    const box = make("span", { class: "share", title: value === undefined ? null : `${words}: ${share(value)}` });
    if (value !== undefined) box.style.backgroundColor = hex(scaleOf(about.palettes[theme()].diverging)[shade(value, 1, true)]);
    return box;
  }

  function drawParts() {
    if (!told) return carried.replaceChildren();
    const { parts, answers, clean, corrupted } = told;
    const found = new Map(parts.map((one) => [one.part, one.restored]));
    const { shape } = about.checkpoints[chosen()];
    const most = Math.max(...shape);
    const grid = make("div", { class: "shares", role: "img", "aria-label": "The share of the difference that each head, MLP and layer carries; the largest are listed beside it" });
    grid.style.setProperty("--heads", most);
    grid.append(make("span"), ...Array.from({ length: most }, (_, at) => make("span", { class: "across" }, at + 1)), ...COLUMNS.map(([, , words, title]) => make("span", { class: "across", title }, words)));
    shape.forEach((heads, at) => {
      const layer = at + 1;
      grid.append(make("span", { class: "down" }, layer));
      for (let head = 1; head <= most; head++) grid.append(head <= heads ? cell(found, `head:${layer}.${head}`, `head ${layer}.${head}`) : make("span"));
      grid.append(...COLUMNS.map(([kind, where, words]) => cell(found, `${kind}:${layer}${where}`, `${words} ${layer}`)));
    });
    const small = parts.filter(({ part }) => /^(head|mlp):/.test(part)).sort((one, other) => Math.abs(other.restored) - Math.abs(one.restored)).slice(0, 6);
    const list = make("ol", { class: "carriers" }, ...small.map(({ part, restored }) => make("li", {}, make("span", {}, inWords(part)), " ", make("b", {}, share(restored)))));
    carried.replaceChildren(make("div", {}, grid, legend(scaleOf(about.palettes[theme()].diverging), 1, true, (end) => `${end > 0 ? "+" : ""}${share(end)}`)), make("div", {}, make("h3", {}, "What carries most of it"), list,
      make("p", { class: "small" }, "The logit of ", make("b", {}, make("bdi", {}, answers[0])), " less that of ", make("b", {}, make("bdi", {}, answers[1])), ` is ${number(clean, 2)} for the first text and ${number(corrupted, 2)} for the second. A part's share: how far it brings the second text's answer back to the first's when its output is taken from there. Blue brings it back, orange drives it further away.`)));
  }

  return {
    texts(one, other) {
      texts.replaceChildren(...difference(one.text, other.text), ...(one.pair === null ? [] : [make("br"), ...difference(one.pair, other.pair ?? "")]));
    },
    answers: drawAnswers,
    wait(line) { told = null; status.textContent = line; drawParts(); },
    parts(found, switched) {
      told = found;
      status.textContent = switched ? "Parts are measured with nothing switched off." : "";
      drawParts();
    },
    redraw: drawParts,
  };
}
