// A text word by word: each on a ground as strong as what it did for the prediction, pieces that a model marks under
// their label, and every word ready to be changed for another.
import { make } from "/static/report/scripts/base.js";
import { hex } from "/static/report/scripts/attention/colours.js";

const DEEPEST = 50; // of 127: ink stays readable on it
const WORD = /[\p{L}\p{M}\p{N}_'’]/u;

// Places are counted in letters as Python counts them, not in a browser's halves of them.
export const lettersOf = (text) => Array.from(text);

// Where words begin and end: runs of letters, and anything else that is no space by itself.
export function unitsOf(letters) {
  const units = [];
  letters.forEach((letter, at) => {
    if (!letter.trim()) return;
    const last = units.at(-1);
    if (last && last.end === at && WORD.test(letter) && WORD.test(letters[at - 1])) last.end = at + 1;
    else units.push({ start: at, end: at + 1 });
  });
  return units;
}

export function replaced(text, { start, end }, word) {
  const letters = lettersOf(text);
  return [...letters.slice(0, start), word, ...letters.slice(end)].join("");
}

const covering = (pieces, at) => pieces.find((one) => one.start <= at && at < one.end);

// `words` have values, `marks` labels; `change(unit, word)` is called with what is typed in a word's place.
export function textShown(text, { words = [], marks = [], top = 1, scale = null, label, change = null }) {
  const letters = lettersOf(text);
  const ends = new Set([...words, ...marks].flatMap((one) => [one.start, one.end]));
  const shown = make("p", { class: "shown", dir: "auto", role: change ? "group" : null, "aria-label": change ? label : null });
  const units = unitsOf(letters);
  let at = 0;

  // Letters from here to there, cut where a coloured word or a mark begins or ends.
  function pieces(start, end) {
    const cut = [];
    let from = start;
    for (let place = start + 1; place <= end; place++) {
      if (place === end || ends.has(place)) {
        cut.push(piece(from, place));
        from = place;
      }
    }
    return cut;
  }

  function piece(start, end) {
    const [word, mark] = [covering(words, start), covering(marks, start)];
    const inside = letters.slice(start, end).join("");
    if (!word && !mark) return inside;
    const element = make("span", { class: mark ? `marked ${mark.state ?? ""}` : null, title: word ? `${word.value < 0 ? "−" : "+"}${Math.abs(word.value).toPrecision(2)}` : null }, inside);
    if (word && scale) {
      const level = Math.round(127.5 + (DEEPEST * Math.max(-1, Math.min(1, word.value / top)))); // by what it did, not its root
      element.style.backgroundColor = hex(scale[level]);
    }
    if (mark && mark.start === start) element.dataset.label = mark.label;
    return element;
  }

  units.forEach((unit, place) => {
    if (unit.start > at) shown.append(...pieces(at, unit.start));
    const inside = pieces(unit.start, unit.end);
    if (change) {
      const word = letters.slice(unit.start, unit.end).join("");
      const element = make("span", { class: "word", role: "button", tabindex: place ? -1 : 0, "aria-label": `${word}: change this word` }, ...inside);
      element.addEventListener("click", () => edit(element, unit, word));
      shown.append(element);
    } else shown.append(...inside);
    at = unit.end;
  });
  if (at < letters.length) shown.append(...pieces(at, letters.length));

  function edit(element, unit, word) {
    const field = make("input", { class: "instead", "aria-label": `Another word for ${word}`, value: word, autocomplete: "off", spellcheck: "false" });
    field.style.width = `${Math.min(30, Math.max(4, word.length + 3))}ch`;
    let over = false;
    const finish = (keep, focus) => {
      if (over) return;
      over = true;
      field.replaceWith(element);
      if (focus) element.focus();
      if (keep && field.value.trim() && field.value !== word) change(unit, field.value.trim());
    };
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter") finish(true, true);
      if (event.key === "Escape") finish(false, true);
      event.stopPropagation();
    });
    field.addEventListener("blur", () => finish(true, false));
    element.replaceWith(field);
    field.focus();
    field.select();
  }

  // One stop of the keyboard: arrows go from word to word.
  shown.addEventListener("keydown", (event) => {
    const all = [...shown.querySelectorAll(".word")];
    const place = all.indexOf(event.target.closest(".word"));
    if (place < 0) return;
    const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: all.length - 1 }[event.key];
    if (event.key === "Enter" || event.key === " ") event.target.click();
    else if (to === undefined || !all[to]) return;
    else {
      for (const one of all) one.tabIndex = one === all[to] ? 0 : -1;
      all[to].focus();
    }
    event.preventDefault();
  });
  return shown;
}
