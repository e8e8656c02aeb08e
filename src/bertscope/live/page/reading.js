// What the checkpoints read: a text, its pair or its candidates, as the data has them.
import { make } from "/static/report/scripts/base.js";
import { readingOf } from "./store.js";

const PAUSE = 220; // milliseconds after the last letter

export function readingView(element, about, store) {
  const field = (name, label, rows) => {
    const area = make("textarea", { id: `read-${name}`, rows, dir: "auto", spellcheck: "false", autocomplete: "off", maxlength: about.limits.letters });
    return { area, block: make("div", { class: "field" }, make("label", { for: `read-${name}` }, label), area) };
  };
  const text = field("text", about.called[0], 2);
  const pair = field("pair", about.called[1], 2);
  const choices = field("choices", "Candidates, one a line", 3);
  const wants = { pair: about.pair || store.now.pair !== null, choices: about.choices };
  const addPair = make("button", { type: "button", class: "quiet" }, "Add a second text");
  const dropPair = make("button", { type: "button", class: "quiet" }, "Drop the second text");
  const error = make("p", { class: "error", role: "alert", hidden: "" });
  element.append(text.block, pair.block, choices.block, error);
  const tools = element.querySelector(".tools");
  tools.append(addPair, dropPair);

  let timer = null;
  const said = () => ({
    text: text.area.value,
    pair: wants.pair ? pair.area.value : null,
    choices: wants.choices ? choices.area.value.split("\n").map((one) => one.trim()).filter(Boolean) : store.now.choices,
  });
  // What is typed within one visit of a field is one place to come back to.
  let visited = false;
  const commit = () => {
    clearTimeout(timer);
    store.set({ ...said(), other: null, word: "0" }, { step: !visited, from: "reading" });
    visited = true;
  };
  for (const { area } of [text, pair, choices]) {
    area.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(commit, PAUSE);
    });
    area.addEventListener("blur", () => { visited = false; });
    area.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && area !== choices.area) {
        event.preventDefault();
        commit();
      }
    });
  }
  addPair.addEventListener("click", () => { wants.pair = true; draw(store.now); commit(); pair.area.focus(); });
  dropPair.addEventListener("click", () => { wants.pair = false; draw(store.now); commit(); text.area.focus(); });

  const put = (area, value) => { if (area.value !== value) area.value = value; };
  function draw(state) {
    if (state.pair !== null) wants.pair = true;
    pair.block.hidden = !wants.pair;
    choices.block.hidden = !wants.choices;
    addPair.hidden = wants.pair || about.choices;
    dropPair.hidden = !wants.pair || about.pair;
  }
  function fill(state) {
    wants.pair = about.pair || state.pair !== null;
    put(text.area, state.text);
    put(pair.area, state.pair ?? "");
    put(choices.area, state.choices.join("\n"));
    draw(state);
  }
  store.listen((now, was, { from }) => {
    if (from !== "reading" && JSON.stringify(readingOf(now)) !== JSON.stringify(readingOf(was))) fill(now);
  });
  fill(store.now);
  return {
    refuse(line) {
      error.textContent = line ?? "";
      error.hidden = !line;
    },
  };
}
