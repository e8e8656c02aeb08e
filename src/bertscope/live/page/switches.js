// What is off and what is taken from the other checkpoint: typed, undone, and listed so that each can be let go.
import { make } from "/static/report/scripts/base.js";
import { everyPart, inWords, LETTERS, listOf, removed } from "./parts.js";

const MODES = { zero: "to zero", uniform: "to even attention", mean: "to its mean" };
const WHAT = { zero: "A head or MLP that is off adds nothing.", uniform: "A head that is off attends to all tokens alike.", mean: "A part that is off gives what it gives on average over the data." };
const NONE = [{ off: [], graft: [] }, { off: [], graft: [] }];

export function switchesView(element, about, store, toggle) {
  const two = about.checkpoints.length > 1;
  const field = make("input", { id: "part", list: "parts", placeholder: "head:4.2, mlp:5, layer:12", autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  const list = make("datalist", { id: "parts" }, ...everyPart(about.checkpoints).map((part) => make("option", { value: part })));
  const off = make("button", { type: "submit" }, "Switch off");
  const graft = make("button", { type: "button", disabled: about.graft ? "" : null, title: about.graft || "Take this part from the other checkpoint instead" }, "Take from the other");
  const form = make("form", { class: "tools" }, make("label", { for: "part", class: "hidden" }, "Part to switch off"), field, list, off, ...(two ? [graft] : []));
  const error = make("p", { class: "error", role: "alert", hidden: "" });
  const chips = make("ul", { class: "chips", "aria-label": "What is changed" });
  const empty = make("p", { class: "empty" }, "Nothing is off: both are as they are on disk. Click a head with ", make("i", {}, "switches off"), " chosen, press ", make("kbd", {}, "x"), " on it, or type its name.");
  if (!two) empty.firstChild.textContent = "Nothing is off: the model is as it is on disk. Click a head with ";
  const mode = make("select", { id: "mode" }, ...about.modes.map((one) => make("option", { value: one }, MODES[one])));
  const modeNote = make("p", { class: "small" });
  const preset = make("select", { id: "preset" }, make("option", { value: "" }, about.presets.length ? "choose …" : "none: they come from a store"), ...about.presets.map((one) => make("option", { value: one.key }, two ? `${LETTERS[one.model]}: ${one.label}` : one.label)));
  preset.disabled = !about.presets.length;
  const button = (words, title, press) => {
    const made = make("button", { type: "button", title }, words);
    made.addEventListener("click", press);
    return made;
  };
  const undo = button("Undo", "Ctrl+Z", () => store.undo());
  const redo = button("Redo", "Ctrl+Shift+Z", () => store.redo());
  const clear = button("Clear all", "Everything as it is on disk", () => store.set({ changes: NONE.slice(0, about.checkpoints.length) }));
  element.append(
    chips, empty, error,
    form,
    make("div", { class: "tools" }, make("label", { class: "labelled", for: "mode" }, make("span", { class: "what" }, "Off sets"), mode), make("label", { class: "labelled", for: "preset" }, make("span", { class: "what" }, "Presets"), preset), modeNote),
    ...(two && about.graft ? [make("p", { class: "small" }, "Parts can't be exchanged: ", make("bdi", {}, about.graft))] : []),
  );
  element.querySelector(".ends").append(undo, redo, clear);

  // As the page writes them (head 4.2), or as a command line has them (head:4.2).
  const typed = () => field.value.replace(/\b(heads?|mlp|layer|neuron)\s+(?=\d)/gi, "$1:").toLowerCase().split(/[\s,;]+/).filter(Boolean);
  function enter(act) {
    if (!typed().length) return;
    toggle(act, typed());
    field.value = "";
    field.focus();
  }
  form.addEventListener("submit", (event) => { event.preventDefault(); enter("off"); });
  graft.addEventListener("click", () => enter("graft"));
  mode.addEventListener("change", () => store.set({ mode: mode.value }));
  preset.addEventListener("change", () => {
    const one = about.presets.find(({ key }) => key === preset.value);
    if (one) store.set({ changes: store.now.changes.map((change, at) => (at === one.model ? { off: one.off, graft: [] } : change)) });
    preset.value = "";
  });

  function chip({ act, part, places }) {
    const everywhere = places.length === about.checkpoints.length;
    const places_ = two ? (everywhere ? "A and B" : LETTERS[places[0]]) : "";
    const words = act === "graft" ? `${inWords(part)} from ${everywhere ? "each other" : LETTERS[1 - places[0]]}` : inWords(part);
    const made = make("button", { type: "button", class: `chip ${act}`, "data-chip": part, "aria-label": `${act === "graft" ? "Give back" : "Switch on again"}: ${words}${places_ ? ` in ${places_}` : ""}` },
      make("span", {}, words), ...(places_ ? [make("span", { class: "in" }, `in ${places_}`)] : []), make("span", { class: "cross", "aria-hidden": "true" }, "✕"));
    made.addEventListener("click", () => {
      store.set({ changes: removed(store.now.changes, act, part, places) });
      (chips.querySelector("button") ?? field).focus();
    });
    return make("li", {}, made);
  }

  function draw(state) {
    const all = listOf(state.changes);
    chips.replaceChildren(...all.map(chip));
    chips.hidden = !all.length;
    empty.hidden = all.length > 0;
    mode.value = state.mode;
    modeNote.textContent = WHAT[state.mode] ?? "";
    undo.disabled = !store.canUndo;
    redo.disabled = !store.canRedo;
    clear.disabled = !all.length;
  }
  store.listen(draw);
  draw(store.now);

  // In a field the browser's own undo is meant.
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.closest?.("input:not([type=radio]):not([type=checkbox]), textarea")) return;
    const key = event.key.toLowerCase();
    if (key === "z" || key === "y") {
      event.preventDefault();
      if (key === "y" || event.shiftKey) store.redo();
      else store.undo();
    }
  });
  return {
    refuse(line) {
      error.textContent = line ?? "";
      error.hidden = !line;
    },
  };
}
