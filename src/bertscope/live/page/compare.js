// The same switches on several texts at once, with the change of each prediction.
import { make } from "/static/report/scripts/base.js";
import { LETTERS } from "./parts.js";
import { chance, number } from "./predictions.js";
import { readingOf, same } from "./store.js";

const BETWEEN = "||"; // between the texts of a typed pair

export function compareView(element, about, store, { rows, read }) {
  const most = about.limits.compared;
  const two = about.checkpoints.length > 1;
  const hint = about.pair ? `One pair a line, ${BETWEEN} between its texts` : "One sentence a line";
  const area = make("textarea", { id: "several", rows: 3, dir: "auto", placeholder: hint, spellcheck: "false" });
  const button = (words, press) => {
    const made = make("button", { type: "button" }, words);
    made.addEventListener("click", press);
    return made;
  };
  const status = make("p", { class: "small", role: "status" });
  const list = make("ul", { class: "compared" });
  const line = (text) => {
    const [first, ...second] = text.split(BETWEEN);
    return { text: first.trim(), pair: second.length ? second.join(BETWEEN).trim() : about.pair ? "" : null, choices: about.choices ? store.now.choices : [] };
  };
  function add(readings) {
    const next = [...store.now.compared, ...readings].filter((one, at, all) => one.text && all.findIndex((other) => same(one, other)) === at);
    status.textContent = next.length > most ? `At most ${most} at once: the first ${most} are kept.` : "";
    store.set({ compared: next.slice(0, most) });
  }
  const typed = button("Add these", () => { add(area.value.split("\n").filter((one) => one.trim()).map(line)); area.value = ""; });
  const current = button("Add what is read now", () => add([readingOf(store.now)]));
  const some = button(`Add ${most} rows, wrong ones first`, async () => {
    try { add(await rows(most)); } catch (error) { status.textContent = error.message; }
  });
  const clear = button("Clear the list", () => store.set({ compared: [] }));
  const note = make("p", { class: "help" }, "What the switches do to each prediction; the bar says how far it moved, from 0 to 1.");
  element.append(
    note, list, status,
    make("details", { class: "typing", open: "" }, make("summary", {}, "Add texts"), make("label", { for: "several", class: "hidden" }, hint), area, make("div", { class: "tools" }, typed, current, ...(about.rows ? [some] : []), clear)),
  );

  let moved = null;
  const answer = (one) => make("span", { class: "answer" }, make("bdi", {}, one.said), one.p === null ? "" : ` ${chance(one.p)}`);
  function side(one, at) {
    if (!one) return make("span", { class: "side" }, "…");
    const bar = make("span", { class: "fill" });
    bar.style.width = `${100 * Math.min(1, one.distance)}%`;
    const turned = one.before.said !== one.after.said;
    return make("span", { class: `side ${turned ? "turned" : ""}` }, ...(two ? [make("span", { class: `badge of-${at}` }, LETTERS[at]), " "] : []), answer(one.before), make("span", { "aria-label": "becomes" }, " → "), answer(one.after),
      make("span", { class: "track", title: "How far the two are apart: 0 the same, 1 nothing in common", "aria-hidden": "true" }, bar), make("span", { class: "number", title: "How far it moved", "data-distance": one.distance }, number(one.distance)));
  }

  function draw(state) {
    clear.disabled = !state.compared.length;
    note.hidden = !state.compared.length;
    if (!state.compared.length) {
      list.replaceChildren(make("li", { class: "empty" }, `Up to ${most} texts, read with the same switches: which predictions move, and how far?`));
      return;
    }
    list.replaceChildren(...state.compared.map((reading, place) => {
      const text = make("button", { type: "button", class: "row-text", title: "Read this one above" }, make("bdi", {}, [reading.text, reading.pair].filter(Boolean).join(" | ")));
      text.addEventListener("click", () => read(reading));
      const drop = make("button", { type: "button", class: "close", "aria-label": `Leave out: ${reading.text.slice(0, 60)}` }, "✕");
      drop.addEventListener("click", () => store.set({ compared: state.compared.filter((_, at) => at !== place) }));
      const sides = moved?.[place] ? moved[place].map((one, at) => side(one, at)) : [make("span", { class: "side" }, "…")];
      return make("li", {}, text, drop, make("span", { class: "sides" }, ...sides));
    }));
  }
  store.listen((now, was) => {
    if (same(now.compared, was.compared)) return;
    moved = null;
    draw(now);
  });
  draw(store.now);
  return {
    show(found) { moved = found; draw(store.now); },
    refuse(text) { status.textContent = text; },
  };
}
