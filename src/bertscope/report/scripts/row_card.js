// The row card: everything the page's results say of one row of the data.
let shownRow = null; // [data set's key, id]
let turning = 0; // counts the times that the card was turned
const NEAR = 100; // so many other rows are marked beside a row's number

const rowCard = () => document.getElementById("row-card");
const rowAddress = (key, id) => `${key}-${encodeURIComponent(id)}`;

function rowNamed(encoded) {
  try { return decodeURIComponent(encoded); } catch { return encoded; }
}

// Opens the card, or turns it to another row, once the rows are unpacked; false where no result speaks of such rows.
function showRow(key, id) {
  if (!rowCard() || !document.getElementById(`${key}-data`) || !aboutRows(key).length) return false;
  fillRow(key, id, ++turning);
  return true;
}

function closeRow() {
  turning++;
  if (rowCard()?.open) rowCard().close();
}

// The rows in the order in which the reader has them: that of the list, if it has this row.
function orderNow(rows, place) {
  const found = lists.get(rows.key)?.found;
  return found?.includes(place) ? found : [...rows.ids.keys()];
}

async function fillRow(key, id, mine) {
  const rows = await rowsOf(key);
  if (mine !== turning) return; // the reader went on meanwhile
  const place = rows.places.get(id);
  if (place === undefined) return closeRow();
  shownRow = [key, id];
  const order = orderNow(rows, place);
  const at = order.indexOf(place);
  rowCard().querySelector("h2").replaceChildren("Row ", make("bdi", {}, id));
  rowCard().querySelector(".where").textContent = `${(at + 1).toLocaleString("en")} of ${order.length.toLocaleString("en")}`;
  for (const button of all("[data-turn]", rowCard())) {
    const next = order[at + Number(button.dataset.turn)];
    button.setAttribute("aria-disabled", String(next === undefined)); // a disabled one would lose the focus, and keys
    button.value = next === undefined ? "" : rows.ids[next];
  }
  rowCard().querySelector(".known").replaceChildren(...textsOf(rows, place), ...ownOf(rows, place), ...groupsOfRow(rows, place));
  if (rowCard().open) return;
  rowCard().querySelector(".chosen").replaceChildren(...switchOfCard());
  rowCard().showModal();
  rowCard().querySelector(".known").scrollTop = 0;
}

function textsOf(rows, place) {
  const texts = rows.texts.map((texts) => texts[place]).filter(Boolean);
  if (!texts.length) return [make("p", { class: "none" }, "Its text isn't on this page.")];
  return texts.map((text) => make("blockquote", { class: "row-text", dir: "auto" }, make("bdi", {}, text)));
}

// What is the row's own, whoever tells it.
function ownOf(rows, place) {
  const known = onceEach(rows.known.filter(({ fact }) => fact.of_row && fact.shown === "value"));
  const told = known.map((one) => [one, linesOfRow(one, rows, place)]).filter(([, lines]) => lines.length);
  const pairs = told.map(([{ fact, table }, lines]) => make("div", {}, make("dt", {}, fact.label), " ",
    make("dd", {}, make("bdi", {}, calledOf(fact, column(table, fact.column)[lines[0]], table)))));
  return pairs.length ? [make("dl", { class: "own" }, ...pairs)] : [];
}

// A question's answers one after the other, as on the head card: it is asked once.
function groupsOfRow(rows, place) {
  const groups = [];
  let before = null;
  for (const entry of predictionsFirst(rows.known)) {
    const facts = rows.known.filter((one) => one.entry === entry && !one.fact.of_row && one.fact.shown !== "text");
    const shown = facts.map((one) => [one, linesOfRow(one, rows, place)]).filter(([, lines]) => lines.length);
    if (!shown.length) continue;
    const same = entry.heading === before;
    const about = make("p", { class: "about" }, make("a", { href: `#${entry.id}` }, make("bdi", {}, entry.about)));
    const parts = shown.flatMap(([one, lines]) => SHOWN[one.fact.shown](one, [...lines], rows));
    groups.push(make("section", { class: same ? "same" : null }, ...(same ? [] : [make("h3", {}, entry.heading)]), about,
      make("dl", { class: "facts-of-row" }, ...parts)));
    before = entry.heading;
  }
  return groups.length ? groups : [make("p", { class: "none" }, "No result says anything else of this row.")];
}

// Results that have the row's text, or its label, say what is predicted of it: they come before what explains that.
const FIRST = [(fact) => fact.shown === "text", (fact) => fact.of_row, (fact) => fact.shown === "words", () => true];
function predictionsFirst(known) {
  const entries = [...new Set(known.map((one) => one.entry))];
  const turn = (entry) => FIRST.findIndex((is) => entry.rows.facts.some(is));
  return entries.sort((one, other) => turn(one) - turn(other));
}

// What a line says beside its value.
const besideOf = ({ fact, table }, line) => Object.entries(fact.beside).flatMap(([name, label]) => {
  const value = column(table, name)[line];
  if (value === null) return [];
  const words = written(value, table.decimals[table.columns.indexOf(name)]);
  return [" ", make("span", { class: "beside" }, label ? `${label} ` : "", make("bdi", { dir: "auto" }, words))];
});

// What it is called, once, and what tells its lines apart, where there are several.
const termOf = (one, line, first, several) => [make("dt", {}, first ? one.fact.label : ""), ...(one.fact.by.length && several
  ? [make("dd", { class: "kind-of-row" }, make("bdi", {}, kindOf({ table: one.table, row: line }, one.fact.by)))] : [])];

const SHOWN = {
  value(one, lines, rows) {
    const { fact, table } = one;
    const cells = column(table, fact.column);
    return lines.filter((line) => cells[line] !== null).map((line, at) => {
      const value = make("dd", {}, make("span", { class: isWrong(fact, cells[line]) ? "value mistake" : "value" },
        make("bdi", {}, calledOf(fact, cells[line], table))), ...besideOf(one, line));
      const numeric = table.decimals[table.columns.indexOf(fact.column)] !== null;
      if (numeric && !fact.by.length) value.append(amongRows(one, cells[line], rows));
      return make("div", {}, ...termOf(one, line, !at, lines.length > 1), value);
    });
  },
  words(one, lines) {
    const { fact, table } = one;
    const [words, strengths] = [column(table, fact.column), column(table, fact.strength)];
    const kinds = new Map();
    for (const line of lines) {
      const kind = kindOf({ table, row: line }, fact.by);
      kinds.set(kind, [...(kinds.get(kind) ?? []), line]);
    }
    return [...kinds.values()].map((same, at) => make("div", { class: "wide" }, ...termOf(one, same[0], !at, kinds.size > 1),
      make("dd", {}, tinted(same.map((line) => words[line]), same.map((line) => strengths[line] ?? 0)))));
  },
  list(one, lines) {
    const { fact, table } = one;
    const cells = column(table, fact.column);
    const plain = !Object.keys(fact.beside).length;
    const told = (line) => {
      if (plain) return unitLink(String(cells[line]));
      const kind = fact.by.length && lines.length > 1 ? `${kindOf({ table, row: line }, fact.by)}: ` : "";
      return make("bdi", { dir: "auto" }, kind, String(cells[line] ?? ""));
    };
    const items = lines.map((line) => make("li", {}, told(line), ...besideOf(one, line)));
    return [make("div", { class: "wide" }, make("dt", {}, fact.label), make("dd", {}, make("ul", { class: plain ? "few" : "lines" }, ...items)))];
  },
};

// A part of the model by its name; a head leads to its card.
function unitLink(text) {
  const named = text.match(/^(heads|mlp|layer):(\d+)$/);
  const words = { heads: "all heads of layer", mlp: "MLP", layer: "layer" };
  if (named) return make("span", {}, `${words[named[1]]} ${named[2]}`);
  const head = text.match(/^head:(\d+)\.(\d+)$/);
  return head ? headButton(head[1], head[2], `head ${head[1]}.${head[2]}`) : make("bdi", {}, text);
}

// Words on what they did: blue for, orange against, the stronger the more of the strongest's.
function tinted(words, strengths) {
  const strongest = Math.max(...strengths.map(Math.abs)) || 1;
  const one = (word, at) => {
    const [value, share] = [strengths[at], Math.abs(strengths[at]) / strongest];
    const kinds = [value > 0 ? "for" : value < 0 ? "against" : "", share >= 0.1 ? "seen" : ""].join(" ").trim();
    const by = `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(value).toFixed(3)}`;
    return make("i", { class: kinds || null, style: `--s: ${share.toFixed(2)}`, title: by, "data-by": by }, String(word));
  };
  const spaced = words.flatMap((word, at) => (at ? [" ", one(word, at)] : [one(word, at)]));
  return make("p", { class: "tinted", dir: "auto" }, ...spaced);
}

// A number's place among all rows; so many that only some of them are marked.
function amongRows(one, value, rows) {
  const { table, fact } = one;
  one.sorted ??= valuesOfRows(one, rows).filter((each) => each !== null && Number.isFinite(each)).sort((a, b) => a - b);
  const { sorted } = one;
  if (sorted.length < 2) return "";
  const below = firstAtLeast(sorted, value);
  const same = firstAtLeast(sorted, value, true) - below - 1;
  const rank = { above: sorted.length - below - same - 1, below, same, of: sorted.length };
  const step = Math.max(1, (sorted.length - 1) / NEAR);
  const some = Array.from({ length: Math.min(sorted.length, NEAR + 1) }, (_, at) => sorted[Math.round(at * step)]);
  const drawn = { fact: { column: fact.column, low: "", high: "", middle: null }, table, row: column(table, fact.column).indexOf(value), among: some };
  return make("span", { class: "among" }, strip(drawn), make("span", { class: "rank" }, rankInWords(rank)));
}

// How many of these numbers, in order, are below a value, or not above it.
function firstAtLeast(sorted, value, beyond = false) {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (beyond ? sorted[middle] <= value : sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function turnRow(step) {
  const id = rowCard().querySelector(`[data-turn="${step}"]`).value;
  if (!id) return;
  setAddress(address(rowAddress(shownRow[0], id)));
  showRow(shownRow[0], id);
}

// Back in the list, at the row that was looked at last.
function returnToList([key, id]) {
  const list = lists.get(key);
  const at = list?.found.indexOf(list.rows.places.get(id)) ?? -1;
  if (at < 0 || !list.body.closest("details").open) return;
  const page = Math.floor(at / ROWS_AT_ONCE);
  if (page !== list.page) {
    list.page = page;
    showPage(list);
  }
  all(".row-id a", list.body)[at % ROWS_AT_ONCE]?.focus();
}

function watchRow() {
  if (!rowCard()) return;
  rowCard().addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step || event.target.closest("select, input")) return;
    event.preventDefault();
    turnRow(step);
  });
  rowCard().addEventListener("click", (event) => {
    const turn = event.target.closest("[data-turn]");
    if (turn) turnRow(turn.dataset.turn);
    if (event.target === rowCard() || event.target.closest(".close")) rowCard().close();
  });
  rowCard().addEventListener("close", () => {
    const left = shownRow;
    shownRow = null;
    rowCard().querySelector(".chosen").replaceChildren();
    if (/^rows-[0-9a-f]+-/.test(place().anchor)) setAddress(address(""));
    if (left) returnToList(left);
  });
}
