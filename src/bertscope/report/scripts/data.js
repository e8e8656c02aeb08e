// Results: each answer's tables and charts are packed in one script element, and unpacked when they are first needed.
const unpacking = new Map(); // an answer's id -> the promise of its data

function dataOf(answer) {
  if (!unpacking.has(answer)) unpacking.set(answer, unpack(document.getElementById(`${answer}-data`).textContent));
  return unpacking.get(answer);
}

async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const text = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const data = JSON.parse(await text);
  for (const table of Object.values(data.tables)) {
    await unfoldCells(table);
    table.length = table.cells[0]?.length ?? 0;
    table.cells.forEach((cells, place) => { // JSON has no infinity: words for it, in a column of numbers
      if (table.decimals[place] === null) return;
      for (let row = 0; row < cells.length; row++) if (typeof cells[row] === "string") cells[row] = Number(cells[row]);
    });
  }
  return data;
}

// Columns of tables about rows: words that are said often stand there once, and rows' own texts in one place for all.
async function unfoldCells(table) {
  for (const [place, cells] of table.cells.entries()) {
    if (cells.codes) table.cells[place] = cells.codes.map((code) => cells.values[code]);
  }
  for (const [place, cells] of table.cells.entries()) {
    if (!cells.rows) continue;
    const { rows } = (await dataOf(cells.rows)).tables;
    const [places, texts] = [placesOf(rows), column(rows, cells.column)];
    table.cells[place] = column(table, "row").map((id) => texts[places.get(String(id))] ?? null);
  }
}

// Where each row stands among those of its data.
function placesOf(rows) {
  rows.places ??= new Map(column(rows, "row").map((id, place) => [id, place]));
  return rows.places;
}

const column = (table, name) => table.cells[table.columns.indexOf(name)];

// The rows that have these values; all, if none are named.
function rowsWhere(table, where) {
  const wanted = Object.entries(where).map(([name, value]) => [column(table, name), value]);
  const rows = [];
  for (let row = 0; row < table.length; row++) {
    if (wanted.every(([cells, value]) => cells[row] === value)) rows.push(row);
  }
  return rows;
}

// Rows as Vega reads them: columns are called c0, c1 ... (a name of the table's could mean something to Vega).
const drawable = (cell) => (typeof cell === "number" && !Number.isFinite(cell) ? null : cell);
function vegaRows(table, where) {
  return rowsWhere(table, where).map((row) =>
    Object.fromEntries(table.cells.map((cells, place) => [`c${place}`, drawable(cells[row])])));
}

// A cell as a reader sees it; numbers with the decimals of their column.
function written(cell, decimals) {
  if (cell === null || cell === undefined) return "–";
  if (typeof cell === "boolean") return cell ? "yes" : "no";
  if (decimals === null || typeof cell !== "number") return String(cell);
  if (!Number.isFinite(cell)) return cell > 0 ? "∞" : "−∞";
  const fixed = cell.toFixed(decimals);
  // An exponent for a value that the column's decimals would round away, or that needs too many of them.
  const lost = cell !== 0 && Number(fixed) === 0;
  return (lost || decimals > 6 ? Number(cell.toPrecision(2)).toExponential() : fixed).replaceAll("-", "−");
}

function csv(table) {
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cell = (value) => {
    if (value === null) return "";
    if (typeof value === "boolean") return value ? "True" : "False";
    return quoted(String(value).replace(/^(-?)Infinity$/, "$1inf"));
  };
  const rows = [table.columns.map(quoted)];
  for (let row = 0; row < table.length; row++) rows.push(table.cells.map((cells) => cell(cells[row])));
  return rows.map((cells) => cells.join(",") + "\n").join("");
}
