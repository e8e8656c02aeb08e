// Both checkpoints side by side: what each says, and how much each word did for it.
import { make } from "/static/report/scripts/base.js";
import { scaleOf } from "/static/report/scripts/attention/colours.js";
import { LETTERS } from "./parts.js";
import { answerOf, inBrief, isScore, marksOf, spoken } from "./predictions.js";
import { readingOf, same, unchanged } from "./store.js";
import { lettersOf, replaced, textShown } from "./words.js";

const METHODS = { integrated: "integrated gradients", gradient: "gradient × input", leave_out: "leaving each word out" };

const OF_WORDS = new Set(["tokens", "trees"]);

export function answersView(element, about, store, { theme }) {
  const two = about.checkpoints.length > 1;
  const sides = about.checkpoints.map((one, at) => {
    const answer = make("div", { class: "answer-of" });
    const name = make("h3", { title: one.name }, ...(two ? [make("span", { class: `badge of-${at}` }, LETTERS[at]), " "] : []), make("bdi", {}, one.name));
    const notes = make("ul", { class: "notes" });
    return { answer, notes, block: make("article", { "data-model": at, "aria-label": one.name }, name, answer, notes) };
  });
  element.querySelector(".says").replaceChildren(...sides.map((one) => one.block));
  element.querySelector(".says").dataset.models = about.checkpoints.length;

  const method = make("select", { id: "method" }, ...Object.entries(METHODS).map(([value, words]) => make("option", { value }, words)));
  const labels = [...new Set(about.checkpoints.flatMap((one) => one.labels))];
  const towards = make("select", { id: "towards" }, make("option", { value: "" }, "what each says"), ...labels.map((label) => make("option", { value: label }, label)));
  const word = make("select", { id: "word" });
  const note = make("p", { class: "small", role: "status" });
  const what = (words, id, control) => make("label", { class: "labelled", for: id }, make("span", { class: "what" }, words), control);
  const ofWord = what("of the word", "word", word); // of models that say something of each
  ofWord.hidden = true;
  element.querySelector(".explaining").append(make("div", { class: "tools" }, what("Words coloured by", "method", method), ...(labels.length ? [what("for", "towards", towards)] : []), ofWord), note);
  element.querySelector(".explaining").hidden = about.checkpoints.every((one) => !one.predicts);
  method.addEventListener("change", () => store.set({ method: method.value }));
  towards.addEventListener("change", () => store.set({ towards: towards.value }));
  word.addEventListener("change", () => store.set({ word: word.value }));

  let [seen, explained, reading, moved] = [null, null, null, false];

  function change(side, unit, word) {
    const other = { ...reading, [side ? "pair" : "text"]: replaced(side ? reading.pair : reading.text, unit, word) };
    store.set({ other });
  }

  function textsOf(at) {
    const { before, after } = seen[at];
    const found = explained?.seen[at] ?? null;
    const top = found ? Math.max(1e-9, ...found.words.map((one) => Math.abs(one.value))) : 1;
    return [reading.text, reading.pair].map((text, side) => (text ? textShown(text, {
      words: found ? found.words.filter((one) => one.side === side) : [],
      marks: marksOf(before, after, side),
      top,
      scale: scaleOf(about.palettes[theme()].diverging),
      label: `${about.called[side]} as ${about.checkpoints[at].name} reads it; each word can be changed`,
      change: (unit, word) => change(side, unit, word),
    }) : null)).filter(Boolean);
  }

  function draw() {
    if (!seen) return;
    sides.forEach(({ answer, notes, block }, at) => {
      const held = block.contains(document.activeElement) && document.activeElement.matches(".instead");
      if (held) return; // somebody types in it
      const whole = make("div", { class: "words" }, ...textsOf(at));
      const found = explained?.seen[at];
      if (found) whole.append(make("p", { class: "small" }, ...(isScore(seen[at].after) ? ["Blue words raise it, orange ones lower it."] : ["Blue words speak for ", make("bdi", {}, found.explained), ", orange ones against."])));
      answer.replaceChildren(...answerOf(seen[at], moved, [whole]));
      notes.replaceChildren(...[...about.checkpoints[at].notes, ...seen[at].notes].map((line) => make("li", {}, make("bdi", {}, line[0].toUpperCase() + line.slice(1)))));
    });
  }

  function drawWords() {
    const words = explained?.seen.find(Boolean)?.words ?? [];
    const of = ({ side, start, end }) => lettersOf(side ? reading.pair : reading.text).slice(start, end).join("");
    ofWord.hidden = !seen?.some((one) => OF_WORDS.has(one.after?.kind));
    if (!ofWord.hidden) word.replaceChildren(make("option", { value: 0 }, "the surest"), ...words.map((one, at) => make("option", { value: at + 1 }, `${at + 1}: ${of(one)}`)));
    word.value = store.now.word;
  }
  const take = (now) => { [method.value, towards.value, word.value] = [now.method, now.towards, now.word]; };
  const brief = document.querySelector(".brief");
  function drawBrief() {
    brief.replaceChildren(...seen.map((one, at) => make("span", {}, ...(two ? [make("span", { class: `badge of-${at}` }, LETTERS[at]), " "] : []), ...inBrief(one, moved))));
  }
  store.listen(take);
  take(store.now);
  return {
    show(found, state) {
      if (!same(reading, readingOf(state))) explained = null; // of the same text it is right again in a moment
      [seen, reading, moved] = [found, readingOf(state), !unchanged(state)];
      draw();
      drawBrief();
    },
    explain(found) {
      explained = found;
      drawWords();
      note.textContent = found?.notes.join(" ") ?? "";
      draw();
    },
    refuse(line) { note.textContent = line; },
    redraw: draw,
    spoken: () => seen.map((one, at) => spoken(about.checkpoints[at].name, one, moved)).join(" "),
  };
}
