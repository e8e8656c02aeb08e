// Tables: their rows are made when they are opened, sorted as a whole, and saved as CSV.
async function fillTable(details) {
  if (details.querySelector("tbody").rows.length) return;
  const asked = (details.asked = {});
  const { table, withHeads } = await tableOf(details);
  if (details.asked !== asked) return; // another answer was chosen meanwhile
  const header = table.columns.map((title, place) =>
    make("th", { scope: "col", class: table.decimals[place] === null ? null : "num" },
      make("button", { type: "button" }, title)));
  details.querySelector("thead tr").replaceChildren(...header);
  showRows(details, table, [...Array(table.length).keys()], withHeads);
}

// The table that stands in a fold: an answer's own, or that of the answers that were chosen there, or fit on paper.
async function tableOf(details) {
  const { table: name, onPaper } = details.dataset;
  const paper = onPaper !== undefined;
  const select = details.querySelector("select");
  const answer = !select ? details.dataset.answer : paper ? "" : select.value;
  const answers = answer ? [{ id: answer }] : answersOf(select, paper);
  const { tables, heads } = await dataOf(answers[0].id);
  const table = answer ? tables[name] : await joinedTables(name, answers);
  return { table, withHeads: heads.includes(name), file: answer || details.closest("section").id };
}

function refillTable(details) {
  details.querySelector("tbody").replaceChildren();
  if (details.open && hasAnswers(details)) fillTable(details);
}

function showRows(details, table, order, withHeads) {
  const most = Number(details.dataset.most);
  const layer = column(table, "layer");
  const cell = (row, place) => {
    const value = table.cells[place][row];
    const numeric = table.decimals[place] !== null;
    const text = written(value, table.decimals[place]);
    const isHead = withHeads && table.columns[place] === "head" && value !== null && layer[row] !== null;
    const inside = isHead ? headButton(layer[row], value, text) : text;
    return make("td", { class: numeric ? "num" : null }, inside);
  };
  details.querySelector("tbody").replaceChildren(...order.slice(0, most).map((row) =>
    make("tr", {}, ...table.columns.map((_, place) => cell(row, place)))));
  const cut = details.querySelector(".cut");
  if (!cut) return;
  cut.hidden = table.length <= most;
  cut.querySelector(".total").textContent = table.length.toLocaleString("en");
}

function headButton(layer, head, text = `${layer}.${head}`) {
  const label = `Layer ${layer}, head ${head}: what is known of it`;
  return make("button", { type: "button", class: "to-head", "data-head": `${layer}.${head}`, "aria-label": label }, text);
}

async function sortTable(button) {
  const header = button.closest("th");
  const details = header.closest("details");
  const { table, withHeads } = await tableOf(details);
  const down = header.getAttribute("aria-sort") === "ascending";
  for (const other of all("th", details)) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const cells = table.cells[header.cellIndex];
  const numeric = table.decimals[header.cellIndex] !== null;
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null); // rows without a value stay at the end
    const order = numeric ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true });
    return down ? -order : order;
  };
  const order = [...Array(table.length).keys()].sort((one, other) => compare(cells[one], cells[other]) || one - other);
  showRows(details, table, order, withHeads);
}

async function saveTable(button) {
  const details = button.closest("details");
  const { table, file } = await tableOf(details);
  download(`${file}-${details.dataset.table}.csv`, new Blob([csv(table)], { type: "text/csv" }));
}
