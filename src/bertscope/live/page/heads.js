// All heads as small maps, with what is done to them: a click looks at a head, switches it off, or takes it from the
// other checkpoint; beside each layer stand its MLP and the layer whole. Edges have the colours of what is known.
import { make } from "/static/report/scripts/base.js";
import { hex, scaleOf, shade, written } from "/static/report/scripts/attention/colours.js";
import { headGrid } from "/static/report/scripts/attention/grid.js";
import { radio } from "/static/report/scripts/attention/head.js";
import { largest } from "/static/report/scripts/attention/maps.js";
import { changedIn, inWords, LETTERS } from "./parts.js";

const PATTERN = "pattern";
const CHANGE = "change";

export function headsView(element, about, store, { theme, toggle }) {
  const { checkpoints } = about;
  const two = checkpoints.length > 1;
  const depth = Math.max(...checkpoints.map((one) => one.shape.length));
  const shape = Array.from({ length: depth }, (_, at) => Math.max(...checkpoints.map((one) => one.shape[at] ?? 0)));
  const names = checkpoints.map((one, at) => (two ? `${LETTERS[at]} ${one.name}` : one.name));

  const option = (value, words) => make("option", { value }, words);
  const known = checkpoints.flatMap((_, at) => {
    const own = about.colourings.filter((one) => one.model === at);
    return own.length ? [make("optgroup", { label: names[at] }, ...own.map((one) => option(one.key, one.label)))] : [];
  });
  const colour = make("select", { id: "colour" }, option("", "nothing"), option(PATTERN, "the shape of its map here"), ...(two ? [option(CHANGE, "the change between the two")] : []), ...known);
  const shown = two ? radio("shown", "Maps of", { 0: "A", 1: "B", difference: "difference" }, store.now.shown) : null;
  for (const [at, name] of names.entries()) shown?.querySelector(`[value="${at}"]`).setAttribute("aria-label", name);
  const acts = { look: "looks", off: "switches off", ...(two ? { graft: "takes from the other" } : {}) };
  const act = radio("act", "A click on a head", acts, store.now.act);
  const where = radio("where", "Switches are for", { both: "both", 0: "A", 1: "B" }, store.now.where);
  const graftInput = act.querySelector("[value=graft]");
  if (graftInput && about.graft) {
    graftInput.disabled = true;
    graftInput.closest("label").title = about.graft;
  }
  const labelled = (words, ...inside) => make("div", { class: "labelled" }, make("span", { class: "what", "aria-hidden": "true" }, words), ...inside);
  const cells = make("div", { class: "heads", role: "group", "aria-label": "All heads, layers down and heads across" });
  const legend = make("div", { class: "edges" });
  const scaleNote = make("p", { class: "keys" });
  element.append(
    make("div", { class: "tools" }, labelled("A click", act), ...(two ? [labelled("in", where)] : [])),
    make("div", { class: "tools" }, ...(two ? [labelled("Maps of", shown)] : []), make("label", { class: "labelled", for: "colour" }, make("span", { class: "what" }, "Edges show"), colour)),
    cells, legend, scaleNote,
    make("p", { class: "keys" }, "Arrow keys go from head to head. ", make("kbd", {}, "x"), " switches the head off or on again", ...(two && !about.graft ? [", ", make("kbd", {}, "g"), " takes it from the other"] : []), "; shift and a click does, too."),
  );

  const sideCell = (kind, title) => (layer) => make("button", { type: "button", class: "part", "data-part": `${kind}:${layer}`, title: `${title} ${layer}` }, kind === "mlp" ? "M" : "L");
  const grid = headGrid(cells, shape, pressed, [
    { name: "MLP", title: "MLP: the layer's feed-forward part", cell: sideCell("mlp", "MLP of layer") },
    { name: "layer", title: "The whole layer", cell: sideCell("layer", "Layer") },
  ]);
  let look = null; // { models: Maps of each checkpoint, patterns, change, n, step }

  const doing = () => (store.now.act === "graft" ? "graft" : "off");
  function pressed(layer, head, event) {
    const click = event.type === "click";
    if (click && (event.shiftKey || store.now.act !== "look")) toggle(doing(), [`head:${layer}.${head}`]);
    store.set({ head: `${layer}.${head}` }, { step: click });
  }
  cells.addEventListener("click", ({ target }) => {
    const part = target.closest("[data-part]")?.dataset.part;
    if (part) toggle(doing(), [part]);
  });
  cells.addEventListener("keydown", (event) => {
    const at = event.target.closest("[data-head]")?.dataset.head;
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "x") toggle("off", [`head:${at}`]);
    if (event.key === "g" && two) toggle("graft", [`head:${at}`]);
  });
  element.addEventListener("change", ({ target }) => {
    if (target === colour) store.set({ colour: target.value });
    else if (target.dataset.sets) store.set({ [target.dataset.sets]: target.value }, { step: target.dataset.sets === "shown" });
  });

  const palette = () => about.palettes[theme()];
  const model = () => (store.now.shown === "difference" ? 0 : Number(store.now.shown));

  // A head's edge, and in words what it says.
  function edgeOf() {
    const { colour: key } = store.now;
    const { category, sequential, diverging } = palette();
    if (key === PATTERN && look) {
      return (layer, head) => {
        const name = look.patterns[model()]?.[layer - 1]?.[head - 1];
        return name ? { edge: category[about.patterns.indexOf(name) % category.length], said: name } : {};
      };
    }
    const known = about.colourings.find((one) => one.key === key);
    const values = key === CHANGE ? look?.change : known?.values;
    if (!values?.length) return () => ({});
    const signed = known?.signed ?? false;
    const scale = scaleOf(signed ? diverging : sequential);
    const top = topOf(values);
    return (layer, head) => {
      const value = values[layer - 1]?.[head - 1];
      return value === null || value === undefined ? {} : { edge: hex(scale[shade(value, top, signed)]), said: Number(value.toPrecision(3)) };
    };
  }
  const topOf = (values) => Math.max(1e-9, ...values.flat().filter((value) => value !== null).map(Math.abs));

  // The colours of edges, each with what it says.
  function entries() {
    const { colour: key } = store.now;
    const { category, sequential, diverging } = palette();
    if (key === PATTERN) return about.patterns.map((name, at) => ({ fill: category[at % category.length], words: name }));
    const of = about.colourings.find((one) => one.key === key);
    const values = key === CHANGE ? look?.change : of?.values;
    if (!values) return [];
    if (!values.length) return [{ words: "The two split the text into other tokens: their maps can't be compared." }];
    const signed = of?.signed ?? false;
    const scale = scaleOf(signed ? diverging : sequential);
    const top = topOf(values);
    const ends = signed ? [-top, 0, top] : [0, top / 4, top];
    const written = (end) => (end ? `${end < 0 ? "−" : ""}${Math.abs(Number(end.toPrecision(2)))}` : "0");
    return [...ends.map((end) => ({ fill: hex(scale[shade(end, top, signed)]), words: written(end) })), { words: key === CHANGE ? "how far its two maps are apart, 0 to 1" : of.label }];
  }
  function drawLegend() {
    legend.replaceChildren(...entries().map(({ fill, words }) => {
      const box = make("span", { class: "swatch" });
      box.style.backgroundColor = fill ?? "";
      return make("span", { class: "entry" }, ...(fill ? [box] : []), make("bdi", {}, words));
    }));
  }

  const state = (act_, part) => changedIn(store.now.changes, act_, part).map((at) => LETTERS[at]).join("");
  const namedState = (off, graft) => [off && `switched off${two && off.length < 2 ? ` in ${off}` : ""}`, graft && `from the other${graft.length < 2 ? ` in ${graft}` : ""}`].filter(Boolean);
  function dress() {
    const edge = edgeOf();
    grid.dress((layer, head) => {
      const part = `head:${layer}.${head}`;
      const [off, graft] = [state("off", part), state("graft", part)];
      const { edge: fill, said } = edge(layer, head);
      return { name: [`Layer ${layer}, head ${head}`, said, ...namedState(off, graft)].filter((one) => one !== undefined && one !== "").join(", "), edge: fill, within: state("off", `layer:${layer}`), off: two && off.length === 1 ? off : off && "all", graft: graft.length === 1 ? graft : graft && "all" };
    });
    for (const button of cells.querySelectorAll("[data-part]")) {
      const { part } = button.dataset;
      const [off, graft] = [state("off", part), state("graft", part)];
      button.dataset.off = two && off.length === 1 ? off : off && "all";
      button.dataset.graft = graft.length === 1 ? graft : graft && "all";
      button.setAttribute("aria-pressed", String(Boolean(off || graft)));
      button.setAttribute("aria-label", [inWords(part), ...namedState(off, graft)].join(", "));
    }
    cells.dataset.edges = Boolean(store.now.colour);
    const [layer, head] = store.now.head.split(".").map(Number);
    grid.mark(layer, head);
    drawLegend();
  }

  // Levels as the grid wants them; of a difference the second's less the first's.
  function levelsOf(layer, head) {
    const { models } = look;
    if (store.now.shown !== "difference") return models[model()]?.has(layer, head) ? models[model()].levelsOf(layer, head) : null;
    const [one, other] = models;
    if (!one || !other || one.size !== other.size || one.shape[layer - 1] !== other.shape[layer - 1] || !one.has(layer, head)) return null;
    const [before, after] = [one, other].map((each) => each.levelsOf(layer, head));
    const difference = new Float32Array(after.length);
    for (let at = 0; at < after.length; at++) difference[at] = after[at] - before[at];
    return difference;
  }

  function paint() {
    if (!look) {
      grid.draw(1, [], 1, false, () => null);
      scaleNote.textContent = "";
      return;
    }
    const began = performance.now();
    const signed = store.now.shown === "difference";
    const n = look.models[model()]?.size;
    const levels = new Map(grid.heads.map((place) => [place.join("."), levelsOf(...place)]));
    const tops = [...levels.values()].filter(Boolean).map((one) => largest(one)).sort((one, other) => one - other);
    const top = tops[tops.length >> 1] || look.step;
    grid.draw(n, scaleOf(signed ? palette().diverging : palette().sequential), top, signed, (layer, head) => levels.get(`${layer}.${head}`));
    scaleNote.textContent = tops.length ? `One scale of colours for all maps: its last colour is for ${written(top, look.step, signed).replace("+", "±")} and beyond.` : "The two split the text into other tokens: there is no difference of their maps.";
    cells.dataset.drawn = Number(cells.dataset.drawn ?? 0) + 1;
    cells.dataset.milliseconds = (performance.now() - began).toFixed(1);
  }

  // Drawn once for all changes since the last picture of the screen.
  let [asked, again] = [0, false];
  function draw(maps) {
    again ||= maps;
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      if (again) paint();
      again = false;
      dress();
    });
  }

  store.listen((now, was) => {
    for (const set of ["shown", "act", "where"]) for (const input of element.querySelectorAll(`[data-sets=${set}]`)) input.checked = input.value === now[set];
    colour.value = now.colour;
    draw(now.shown !== was.shown);
  });
  colour.value = store.now.colour;
  draw(false);
  return {
    show(found) { look = found; draw(true); },
    redraw: () => draw(true),
    pictures: () => grid.heads.map(([layer, head]) => ({ layer, head, ...edgeOf()(layer, head), canvas: cells.querySelector(`[data-head="${layer}.${head}"] canvas`) })),
    entries,
    shape,
  };
}
