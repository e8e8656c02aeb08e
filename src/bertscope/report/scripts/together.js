// Answers to one question side by side: figures with a panel for each answer, and one table of each name for all.
const BETWEEN = " · "; // the parts of a panel's name
const isShown = (id) => {
  const { models, tasks } = read("answers").find((entry) => entry.id === id);
  return fits(models, tasks);
};

// What a chart will take; of one with panels of several answers, with those that the switch shows.
function takesOf(chart) {
  const takes = JSON.parse(chart.dataset.reserved);
  if (!takes.answers) return takes;
  const shown = new Set([...new Set(takes.answers)].filter(isShown));
  return { ...takes, group: shown.size, heading: takes.heading.filter((_, place) => shown.has(takes.answers[place])) };
}

// The rows of all answers that are shown, as Vega reads them; the last column says in which panel each stands.
async function sharedRows({ columns, facet, parts }) {
  const rows = [];
  for (const { answer, label, table: name, where, names } of parts.filter((part) => isShown(part.answer))) {
    const table = (await dataOf(answer)).tables[name];
    const cells = columns.slice(0, -1).map((each) => column(table, each));
    const panels = facet ? column(table, facet.column) : null;
    const said = (cell) => names[cell] ?? cell;
    for (const row of rowsWhere(table, where)) {
      if (panels && panels[row] === null) continue;
      const panel = panels ? `${label}${BETWEEN}${facet.before}${said(panels[row])}` : label;
      const values = [...cells.map((each) => drawable(said(each?.[row] ?? null))), panel];
      rows.push(Object.fromEntries(values.map((value, place) => [`c${place}`, value])));
    }
  }
  return rows;
}

// A panel leads to its answer: by its name, also with the keyboard, and by what is free in it.
function markPanels(chart, { columns, panels }) {
  const names = new Map(panels);
  const field = `c${columns.length - 1}`;
  for (const group of all("g.role-scope.cell > g", chart)) {
    const answer = names.get(group.__data__?.datum?.[field]);
    if (!answer) continue;
    group.dataset.panel = answer;
    for (const title of all(".role-title-text text", group)) {
      title.dataset.panel = answer;
      title.setAttribute("tabindex", 0);
      title.setAttribute("role", "link");
      title.setAttribute("aria-label", `Open this answer: ${group.__data__.datum[field].replaceAll(BETWEEN, ", ")}`);
    }
  }
}

function goToAnswer(id) {
  if (place().anchor === id) arrive();
  else location.hash = address(id);
}

// The tables of one name under one another, with a column that says whose each row is.
async function joinedTables(name, answers) {
  const tables = [];
  for (const { id } of answers) tables.push((await dataOf(id)).tables[name]);
  const columns = [...new Set(tables.flatMap((table) => table.columns))];
  const decimals = columns.map((each) => {
    const known = tables.filter((table) => table.columns.includes(each)).map((table) => table.decimals[table.columns.indexOf(each)]);
    return known.includes(null) ? null : Math.max(...known);
  });
  const cells = columns.map((each) => tables.flatMap((table) => column(table, each) ?? Array(table.length).fill(null)));
  const whose = tables.flatMap((table, place) => Array(table.length).fill(answers[place].label));
  let title = "answer";
  while (columns.includes(title)) title += "_";
  return { columns: [title, ...columns], decimals: [null, ...decimals], cells: [whose, ...cells], length: whose.length };
}

// The answers that a table's own switch can choose, as far as the page's shows them; those whose tables paper can hold.
const answersOf = (select, paper = false) => [...select.options].slice(1)
  .filter((option) => !option.disabled && (!paper || option.dataset.paper !== undefined))
  .map((option) => ({ id: option.value, label: option.text }));

// Whether there is one at all; a table of one answer always has its own.
function hasAnswers(details, paper = false) {
  const select = details.querySelector(".whose select");
  return !select || answersOf(select, paper).length > 0;
}

// From an answer to the tables that it shares with others: its own rows.
function chooseTables(answer, fold) {
  fold.open = true;
  for (const select of all("select", fold)) {
    if (![...select.options].some((option) => option.value === answer)) continue;
    select.value = answer;
    refillTable(select.closest("details.table"));
  }
}

// Where the switch leaves one answer, it stands open, and nothing beside it; its tables stay where they are.
function standTogether() {
  for (const block of all(".side-by-side")) {
    const section = block.closest("section");
    const shown = all(":scope > article, :scope > .further > article", section).filter((article) => !article.hidden);
    block.hidden = !shown.length;
    block.toggleAttribute("data-alone", shown.length === 1);
    block.querySelector(".times").textContent = shown.length;
    for (const fold of all(":scope > .further[data-led]", section)) {
      fold.open = false;
      delete fold.dataset.led;
    }
    const fold = shown.length === 1 && shown[0].closest("details.further:not([open])");
    if (fold) Object.assign(fold, { open: true }).dataset.led = "";
    for (const select of all("select", block)) offerAnswers(select);
    for (const chart of all(".chart", block)) showPanels(chart);
  }
}

function offerAnswers(select) {
  const before = answersOf(select).length;
  for (const option of [...select.options].slice(1)) option.hidden = option.disabled = !isShown(option.value);
  const lost = select.selectedOptions[0].disabled;
  if (lost) select.value = "";
  if (lost || before !== answersOf(select).length) refillTable(select.closest("details.table"));
}

function showPanels(chart) {
  const { heading } = takesOf(chart);
  chart.closest("figure").hidden = !heading.length;
  if (chart.dataset.drawn !== undefined && Number(chart.dataset.panels) !== heading.length) redraw(chart);
}
