// The list of a data set's rows: a page of it at a time, searched, chosen from and sorted as a whole.
const ROWS_AT_ONCE = 50;
const MOST_COLUMNS = 6; // of results; the card has all
const MOST_CHIPS = 8; // values of a fact; more are in a list to choose from
const MOST_CHOICES = 300;
const MOST_GROUPS = 4; // facts with chips; more are folded
const [LIST_TEXT, LABEL] = [180, 16]; // characters: of a text in the list, of a label that stands on one line
const lists = new Map(); // a data set's key -> its list

async function listRows(details) {
  const { rows: key } = details.dataset;
  const body = details.querySelector(".list-of-rows");
  if (!lists.has(key)) lists.set(key, { key, body, query: "", chosen: new Map(), sort: null, page: 0, made: false });
  const list = lists.get(key);
  if (list.made) return;
  list.made = true;
  body.setAttribute("aria-busy", "true");
  list.rows = await rowsOf(key);
  body.replaceChildren(toolsOf(list), make("p", { class: "found", role: "status" }), frameOf(list), pagerOf(list));
  body.setAttribute("aria-busy", "false");
  showList(list);
  setTimeout(() => writtenOf(list.rows)); // before the first letter is typed
}

// After another model or task was chosen.
function listRowsAgain() {
  for (const [key, list] of [...lists]) {
    lists.delete(key);
    const details = list.body.closest("details");
    if (details.open) listRows(details);
    else list.body.replaceChildren();
  }
}

const facts = (list, test) => list.rows.known.filter(({ fact }) => test(fact));

// The name of a fact, with whose it is where several results tell it.
function nameOf(one, list) {
  const same = list.rows.known.filter(({ fact, entry }) => fact.label === one.fact.label && entry !== one.entry);
  return same.length && !one.fact.of_row ? `${one.fact.label} (${one.entry.about})` : one.fact.label;
}

// Of facts that are the row's own, whoever tells them, the first.
function onceEach(known) {
  const seen = new Set();
  return known.filter(({ fact }) => {
    if (!fact.of_row) return true;
    const again = seen.has(fact.label);
    seen.add(fact.label);
    return !again;
  });
}

function toolsOf(list) {
  const search = make("input", { type: "search", placeholder: "Search texts, labels, ids", "aria-label": "Search the rows", spellcheck: "false" });
  search.addEventListener("input", () => change(list, { query: search.value }));
  const sorted = onceEach(facts(list, (fact) => fact.sorted_by));
  const order = make("select", { "aria-label": "Order" }, make("option", { value: "" }, "as in the data"));
  for (const one of sorted) {
    for (const [place, down] of [false, true].entries()) {
      const words = one.fact.ends[place] ? `${one.fact.ends[place]} first` : down ? "highest first" : "lowest first";
      order.append(make("option", { value: `${place} ${one.key}` }, `${nameOf(one, list)}: ${words}`));
    }
  }
  order.addEventListener("change", () => sortList(list, order.value));
  list.order = order;
  const tools = make("div", { class: "row-tools" }, search);
  if (sorted.length) tools.append(make("label", {}, make("span", {}, "Order"), order));
  const groups = onceEach(facts(list, (fact) => fact.chosen_by)).map((one) => choiceOf(one, list)).filter(Boolean);
  const quick = sorted.filter(({ fact }) => fact.ends[0]).map((one) => quickOrder(one, list));
  tools.append(...quick, ...groups.slice(0, MOST_GROUPS));
  const more = groups.slice(MOST_GROUPS);
  if (more.length) {
    tools.append(make("details", { class: "more-choices" }, make("summary", {}, `${more.length} more to choose by`), ...more));
  }
  return tools;
}

const chip = (words, times) => make("button", { type: "button", class: "chip", "aria-pressed": "false" },
  make("bdi", {}, words), ...(times === undefined ? [] : [" ", make("span", { class: "times" }, times.toLocaleString("en"))]));

// A fact's values as buttons, or in a list where they are many.
function choiceOf(one, list) {
  const choices = choicesOf(one, list.rows);
  if (choices.length < 2 || choices.length > MOST_CHOICES) return null; // answers in words of their own, one for each row
  const name = nameOf(one, list);
  const words = (value) => calledOf(one.fact, value, one.table);
  if (choices.length > MOST_CHIPS) {
    const select = make("select", { "aria-label": name }, make("option", { value: "" }, "all"),
      ...choices.map(([value, places], at) => make("option", { value: at }, `${words(value)} (${places.size})`)));
    select.addEventListener("change", () => choosePlaces(list, one, choices[select.value]?.[1]));
    return make("label", { class: "choice" }, make("bdi", {}, name), select);
  }
  const chips = choices.map(([value, places]) => {
    const button = chip(words(value), places.size);
    if (isWrong(one.fact, value)) button.classList.add("wrong");
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") === "false";
      for (const other of chips) other.setAttribute("aria-pressed", String(on && other === button));
      choosePlaces(list, one, on ? places : undefined);
    });
    return button;
  });
  return make("div", { class: "choice", role: "group", "aria-label": name }, make("bdi", {}, name), ...chips);
}

function quickOrder(one, list) {
  const button = chip(one.fact.ends[0]);
  button.dataset.order = `0 ${one.key}`;
  button.addEventListener("click", () => sortList(list, button.getAttribute("aria-pressed") === "true" ? "" : button.dataset.order));
  return make("div", { class: "choice", role: "group", "aria-label": nameOf(one, list) }, make("bdi", {}, nameOf(one, list)), button);
}

function choosePlaces(list, one, places) {
  if (places) list.chosen.set(one.key, places);
  else list.chosen.delete(one.key);
  change(list, {});
}

function sortList(list, value) {
  const [place, key] = [value[0], value.slice(2)];
  const one = list.rows.known.find((each) => each.key === key);
  change(list, { sort: one ? { one, down: place === "1" } : null });
}

function change(list, what) {
  Object.assign(list, what, { page: 0 });
  showList(list);
}

// The columns: what the list is to show, and what it is sorted by.
function columnsOf(list) {
  const listed = onceEach(facts(list, (fact) => (fact.listed || fact.of_row) && fact.shown === "value"));
  const own = listed.filter(({ fact }) => fact.of_row);
  const columns = [...own, ...listed.filter(({ fact }) => !fact.of_row).slice(0, MOST_COLUMNS)];
  const { sort } = list;
  return sort && !columns.includes(sort.one) ? [...columns, sort.one] : columns;
}

function frameOf() {
  return make("div", { class: "rows-frame" }, make("table", { class: "rows-table" }, make("thead"), make("tbody")));
}

function pagerOf(list) {
  const button = (step, words) => {
    const made = make("button", { type: "button", "data-step": step }, words);
    made.addEventListener("click", () => {
      list.page += step;
      showPage(list);
      list.body.querySelector(".found").scrollIntoView({ block: "nearest" });
    });
    return made;
  };
  return make("p", { class: "pager" }, button(-1, "‹ before"), make("span", {}), button(1, "next ›"));
}

function showList(list) {
  const { rows, query, chosen, sort } = list;
  list.found = orderOfRows(rows, { query, chosen: [...chosen.values()], sort });
  list.order.value = sort ? `${sort.down ? 1 : 0} ${sort.one.key}` : "";
  for (const button of all("[data-order]", list.body)) button.setAttribute("aria-pressed", String(button.dataset.order === list.order.value));
  showPage(list);
}

function showPage(list) {
  const { body, rows, found, sort } = list;
  const pages = Math.max(1, Math.ceil(found.length / ROWS_AT_ONCE));
  list.page = Math.min(Math.max(list.page, 0), pages - 1);
  const first = list.page * ROWS_AT_ONCE;
  const columns = columnsOf(list);
  const number = (n) => n.toLocaleString("en");
  body.querySelector(".found").textContent = found.length === rows.ids.length
    ? `${number(found.length)} rows` : `${number(found.length)} of ${number(rows.ids.length)} rows`;
  body.querySelector("thead").replaceChildren(make("tr", {}, make("th", { scope: "col" }, "row"), make("th", { scope: "col" }, "text"),
    ...columns.map((one) => headerOf(one, list, sort))));
  const values = columns.map((one) => valuesOfRows(one, rows));
  body.querySelector("tbody").replaceChildren(...found.slice(first, first + ROWS_AT_ONCE).map((place) =>
    rowOfList(list, place, columns, values)));
  const pager = body.querySelector(".pager");
  pager.hidden = pages < 2;
  pager.querySelector("span").textContent = `${number(first + 1)} to ${number(Math.min(first + ROWS_AT_ONCE, found.length))} of ${number(found.length)}`;
  pager.querySelector("[data-step='-1']").disabled = list.page === 0;
  pager.querySelector("[data-step='1']").disabled = list.page === pages - 1;
}

function headerOf(one, list, sort) {
  const { fact, table } = one;
  const numeric = table.decimals[table.columns.indexOf(fact.column)] !== null;
  const mine = sort?.one === one;
  const name = nameOf(one, list);
  const inside = fact.sorted_by ? make("button", { type: "button" }, make("bdi", {}, name)) : make("bdi", {}, name);
  if (fact.sorted_by) inside.addEventListener("click", (event) => {
    event.stopPropagation(); // the page's own tables are sorted otherwise
    sortList(list, `${mine && !sort.down ? 1 : 0} ${one.key}`);
  });
  const sorted = mine ? (sort.down ? "descending" : "ascending") : null;
  return make("th", { scope: "col", class: numeric ? "num" : null, "aria-sort": sorted, title: name }, inside);
}

function rowOfList(list, place, columns, values) {
  const { rows } = list;
  const id = rows.ids[place];
  const cells = columns.map(({ fact, table }, at) => {
    const value = values[at][place];
    const numeric = table.decimals[table.columns.indexOf(fact.column)] !== null;
    const words = value === null ? "" : calledOf(fact, value, table);
    const kinds = [numeric ? "num" : "", isWrong(fact, value) ? "mistake" : "", words.length <= LABEL ? "short" : ""];
    return make("td", { class: kinds.join(" ").trim() || null, "data-name": fact.label }, make("bdi", { dir: "auto" }, cutTo(words, LIST_TEXT / 2)));
  });
  const text = rows.texts.map((texts) => texts[place]).filter(Boolean).join(" | ");
  return make("tr", { "data-row": rowAddress(rows.key, id) },
    make("td", { class: "row-id" }, make("a", { href: `#${rowAddress(rows.key, id)}` }, make("bdi", {}, id))),
    make("td", { class: "in-list" }, make("bdi", { dir: "auto" }, ...marked(text, list.query))), ...cells);
}

const cutTo = (text, length) => (text.length > length ? `${text.slice(0, length)}…` : text);

// The part of a text in which what is searched is found, with that marked.
function marked(text, query) {
  const word = query.trim().toLowerCase().split(/\s+/)[0] ?? "";
  const at = word ? text.toLowerCase().indexOf(word) : -1;
  const from = at > LIST_TEXT - word.length ? at - 40 : 0;
  const end = from + LIST_TEXT;
  const [before, after] = [from ? "…" : "", end < text.length ? "…" : ""];
  if (at < 0) return [text.slice(from, end) + after];
  const behind = at + word.length;
  return [before + text.slice(from, at), make("mark", {}, text.slice(at, behind)), text.slice(behind, end) + after];
}

// A click anywhere in a line opens the row; up and down go from line to line.
function watchRows() {
  for (const body of all(".list-of-rows")) {
    body.addEventListener("click", (event) => {
      const line = event.target.closest("tr[data-row]");
      if (line && !event.target.closest("a") && !String(getSelection())) location.hash = address(line.dataset.row);
    });
    body.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || !event.target.closest(".row-id")) return;
      const links = all(".row-id a", body);
      links[links.indexOf(event.target.closest("a")) + step]?.focus();
      event.preventDefault();
    });
  }
}
