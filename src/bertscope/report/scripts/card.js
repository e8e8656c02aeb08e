// The head card: everything the page's results say of one head, in one place.
let shownHead = null; // [layer, head]
let filling = 0; // counts the times that the card was filled

const card = () => document.getElementById("head-card");
const entries = () => read("answers").filter((entry) => entry.shape.length && fits(entry.models, entry.tasks));

function shapeNow() {
  const shape = [];
  for (const entry of entries()) entry.shape.forEach((heads, layer) => { shape[layer] = Math.max(heads, shape[layer] ?? 0); });
  return shape;
}

// Opens the card, or turns it to another head; false where no result speaks of that head.
function showHead(layer, head) {
  if (!(head >= 1 && head <= shapeNow()[layer - 1])) return false;
  const first = !card().open;
  shownHead = [layer, head];
  card().querySelector("h2").textContent = `Layer ${layer}, head ${head}`;
  showGrid(layer, head);
  if (first) {
    card().querySelector(".chosen").replaceChildren(...switchOfCard());
    card().showModal();
    card().querySelector("[aria-current]").focus();
  }
  fillCard(layer, head);
  return true;
}

// The page's switch can't be reached under the card: the card has one of its own while it is open.
function switchOfCard() {
  const form = document.querySelector(".switch")?.cloneNode(true);
  for (const select of form ? all("select", form) : []) select.value = place()[select.name];
  form?.addEventListener("change", choose);
  return form ? [form] : [];
}

function closeCard() {
  if (card().open) card().close();
}

async function fillCard(layer, head) {
  const body = card().querySelector(".known");
  body.setAttribute("aria-busy", "true");
  const [known, mine] = [entries(), ++filling];
  const found = await groupsOf(known.filter((entry) => !entry.part), layer, head);
  if (mine !== filling) return; // the reader went on meanwhile
  const parts = partsFold(known.filter((entry) => entry.part), layer, head);
  parts.open = body.querySelector(".behind")?.open ?? !found.length;
  const nothing = make("p", { class: "none" }, "No result says anything of this head.");
  body.replaceChildren(...(found.length || parts.childElementCount ? found : [nothing]), parts);
  body.setAttribute("aria-busy", "false");
}

async function groupsOf(entries, layer, head) {
  const groups = [];
  for (const entry of entries) {
    const group = groupOf(entry, await dataOf(entry.id), layer, head, groups.at(-1)?.entry.heading);
    if (group) groups.push({ entry, group });
  }
  return groups.map(({ group }) => group);
}

// What the results say that others were made of, such as those of single seeds: unpacked when it is asked for.
function partsFold(parts, layer, head) {
  const fold = make("details", { class: "behind" });
  if (parts.length) fold.append(make("summary", {}, `${parts.length} results that others are made of`));
  fold.addEventListener("toggle", async () => {
    if (fold.open && fold.childElementCount === 1) fold.append(...await groupsOf(parts, layer, head));
  });
  return fold;
}

// A question's answers one after the other: it is asked once.
function groupOf(entry, data, layer, head, before) {
  const maps = mapsOf(data, layer, head);
  const lines = entry.facts.flatMap((fact) => linesOf(fact, data.tables[fact.table], layer, head));
  if (!lines.length && !maps) return null;
  const same = entry.heading === before;
  const heading = make("h3", {}, entry.heading);
  const about = make("p", { class: "about" }, make("a", { href: `#${entry.id}` }, make("bdi", {}, entry.about)));
  const rows = make("dl", { class: "facts-of-head" });
  rows.append(...lines.map((line, at) => lineRow(line, lines[at - 1])));
  return make("section", { class: same ? "same" : null }, ...(same ? [] : [heading]), about, ...(maps ? [maps] : []), rows);
}

// What a line shares with the one before, its label and its checkpoint, isn't said again.
function lineRow(line, before) {
  const { fact, table, row, rank } = line;
  const same = before?.fact === fact;
  const telling = (names) => kindOf(line, names.filter((name) => new Set(column(table, name)).size > 1));
  const by = same && fact.items.length && kindOf(line, fact.by) === kindOf(before, fact.by) ? "" : telling(fact.by);
  const decimals = table.decimals[table.columns.indexOf(fact.column)];
  const own = (name) => written(column(table, name)[row], table.decimals[table.columns.indexOf(name)]);
  const more = Object.entries(fact.beside).map(([name, text]) => `${text} ${own(name)}`);
  if (fact.low && column(table, fact.low)[row] !== null) {
    more.unshift([fact.low, fact.high].map((name) => written(column(table, name)[row], decimals)).join(" to "));
  }
  const value = make("dd", {}, make("span", { class: "value" }, headLink(own(fact.column))));
  if (more.length) value.append(" ", make("span", { class: "interval" }, more.join(" · ")));
  const among = make("dd", { class: "among" });
  if (rank && rank.of > 1) among.append(strip(line), make("span", { class: "rank" }, rankInWords(rank)));
  const kind = make("dd", { class: "kind-of-row" });
  for (const [name, text] of [["by", by], ["item", telling(fact.items)]]) {
    if (text) kind.append(make("bdi", { class: name }, text));
  }
  return make("div", {}, make("dt", {}, same ? "" : fact.label), kind, value, among);
}

// A head that is named in a table leads to its own card.
function headLink(text) {
  const named = text.match(/^head:(\d+)\.(\d+)$/);
  return named ? headButton(named[1], named[2]) : make("bdi", {}, text);
}

function showGrid(layer, head) {
  const shape = shapeNow();
  const cell = (row, place) => make("button", {
    type: "button", "data-head": `${row}.${place}`, "aria-label": `Layer ${row}, head ${place}`,
    "aria-current": row === layer && place === head ? "true" : null, tabindex: row === layer && place === head ? 0 : -1,
  });
  const rows = shape.map((heads, at) => make("div", {}, make("span", {}, at + 1),
    ...Array.from({ length: heads }, (_, place) => cell(at + 1, place + 1))));
  const grid = card().querySelector(".grid");
  const focused = grid.contains(document.activeElement);
  grid.replaceChildren(...rows);
  if (focused) grid.querySelector("[aria-current]").focus();
}

// The arrow keys go to the neighbouring head: left and right in the layer, up and down between layers.
function turnCard(event) {
  const [right, down] = ARROWS[event.key];
  const [layer, head] = [shownHead[0] + down, shownHead[1] + right];
  if (event.target.closest("select, input") || !showHead(layer, head)) return;
  event.preventDefault();
  setAddress(address(`head-${layer}.${head}`));
}

function goToHead(name) {
  if (card().open) {
    const [layer, head] = name.split(".").map(Number);
    if (showHead(layer, head)) setAddress(address(`head-${name}`));
  } else {
    location.hash = address(`head-${name}`);
  }
}

function watchCard() {
  card().addEventListener("keydown", (event) => { if (ARROWS[event.key]) turnCard(event); });
  card().addEventListener("click", (event) => {
    if (event.target === card() || event.target.closest(".close")) card().close(); // outside it, or its button
  });
  card().addEventListener("close", () => {
    shownHead = null;
    card().querySelector(".chosen").replaceChildren();
    if (place().anchor.startsWith("head-")) setAddress(address(""));
  });
}
