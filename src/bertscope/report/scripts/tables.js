// Tables: their rows are made when they are opened, sorted as a whole, and saved as CSV.
async function fillTable(details) {
  const { answer, table: name } = details.dataset;
  const { tables, heads } = await dataOf(answer);
  const body = details.querySelector("tbody");
  if (body.rows.length) return;
  const table = tables[name];
  const header = table.columns.map((title, place) =>
    make("th", { scope: "col", class: table.decimals[place] === null ? null : "num" },
      make("button", { type: "button" }, title)));
  details.querySelector("thead tr").replaceChildren(...header);
  showRows(body, table, [...Array(table.length).keys()], heads.includes(name));
}

function showRows(body, table, order, withHeads) {
  const layer = column(table, "layer");
  const cell = (row, place) => {
    const value = table.cells[place][row];
    const numeric = table.decimals[place] !== null;
    const text = written(value, table.decimals[place]);
    const isHead = withHeads && table.columns[place] === "head" && value !== null && layer[row] !== null;
    const inside = isHead ? headButton(layer[row], value, text) : text;
    return make("td", { class: numeric ? "num" : null }, inside);
  };
  body.replaceChildren(...order.slice(0, MOST_ROWS).map((row) =>
    make("tr", {}, ...table.columns.map((_, place) => cell(row, place)))));
}

function headButton(layer, head, text = `${layer}.${head}`) {
  const label = `Layer ${layer}, head ${head}: what is known of it`;
  return make("button", { type: "button", class: "to-head", "data-head": `${layer}.${head}`, "aria-label": label }, text);
}

async function sortTable(button) {
  const header = button.closest("th");
  const details = header.closest("details");
  const { tables, heads } = await dataOf(details.dataset.answer);
  const table = tables[details.dataset.table];
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
  showRows(details.querySelector("tbody"), table, order, heads.includes(details.dataset.table));
}

async function saveTable(button) {
  const { answer, table } = button.closest("details").dataset;
  const text = csv((await dataOf(answer)).tables[table]);
  download(`${answer}-${table}.csv`, new Blob([text], { type: "text/csv" }));
}
