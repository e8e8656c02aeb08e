// What results say of single rows: found in their tables as the questions declare it, joined by the rows' data.
const aboutRows = (key) => read("answers").filter((entry) => entry.rows?.data === key && fits(entry.models, entry.tasks));

// A data set's rows, and what the results that are shown say of them: made once for each choice of model and task.
const gathering = new Map();
function rowsOf(key) {
  const name = `${key} ${address("")}`;
  if (!gathering.has(name)) gathering.set(name, gather(key));
  return gathering.get(name);
}

// `known` are facts with their tables, unpacked.
async function gather(key) {
  const { rows } = (await dataOf(key)).tables;
  const known = [];
  for (const entry of aboutRows(key)) {
    const { tables } = await dataOf(entry.id);
    entry.rows.facts.forEach((fact, place) => {
      known.push({ entry, fact, table: tables[fact.table], key: `${entry.id} ${place}` });
    });
  }
  const texts = rows.columns.slice(1).map((name) => column(rows, name));
  return { key, ids: column(rows, "row"), places: placesOf(rows), texts, known };
}

// Of a table about rows the lines of each: those of the row at `place` are order[starts[place]] and so on.
function linesByRow(table, places) {
  if (table.byRow) return table.byRow;
  const at = column(table, "row").map((id) => places.get(String(id)) ?? -1);
  const starts = new Int32Array(places.size + 1);
  for (const place of at) if (place >= 0) starts[place + 1]++;
  for (let place = 0; place < places.size; place++) starts[place + 1] += starts[place];
  const [next, order] = [starts.slice(), new Int32Array(starts[places.size])];
  at.forEach((place, line) => { if (place >= 0) order[next[place]++] = line; });
  table.byRow = { starts, order };
  return table.byRow;
}

function linesOfRow({ table }, { places }, place) {
  const { starts, order } = linesByRow(table, places);
  return order.subarray(starts[place], starts[place + 1]);
}

// Of every row its first value, or null.
function valuesOfRows(one, rows) {
  const { starts, order } = linesByRow(one.table, rows.places);
  const cells = column(one.table, one.fact.column);
  return rows.ids.map((_, place) => (starts[place] < starts[place + 1] ? cells[order[starts[place]]] : null));
}

const calledOf = (fact, value, table) =>
  fact.called[String(value)] ?? written(value, table.decimals[table.columns.indexOf(fact.column)]);

const isWrong = (fact, value) => fact.wrong.includes(value);

// What a reader can choose rows by: the values of a fact, each with the rows that have it.
function choicesOf(one, rows) {
  const cells = column(one.table, one.fact.column);
  const found = new Map();
  const { starts, order } = linesByRow(one.table, rows.places);
  for (let place = 0; place < rows.ids.length; place++) {
    for (const value of new Set(Array.from(order.subarray(starts[place], starts[place + 1]), (line) => cells[line]))) {
      if (value === null) continue;
      if (!found.has(value)) found.set(value, new Set());
      found.get(value).add(place);
    }
  }
  return [...found].sort(([one], [other]) => alphabet.compare(one, other));
}

// The places of the rows that are asked for, in the order that is asked for: `sort` is a fact and whether from the
// highest, `chosen` are sets of places, `query` is found in ids, texts and words of the list.
function orderOfRows(rows, { query, chosen, sort }) {
  let order = [...rows.ids.keys()];
  for (const places of chosen) order = order.filter((place) => places.has(place));
  const wanted = query.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length) {
    const written = writtenOf(rows);
    order = order.filter((place) => wanted.every((word) => written[place].includes(word)));
  }
  if (!sort) return order;
  const values = inNumbers(valuesOfRows(sort.one, rows));
  const down = sort.down ? -1 : 1;
  const compare = (a, b) => {
    if (a === null || b === null) return (a === null) - (b === null); // rows without a value stay at the end
    return down * (a - b);
  };
  return order.sort((one, other) => compare(values[one], values[other]) || one - other);
}

// Words by their places in the alphabet: to compare each with each would take half a second.
const alphabet = new Intl.Collator(undefined, { numeric: true });
function inNumbers(values) {
  if (values.every((value) => value === null || typeof value === "number")) return values;
  const words = [...new Set(values)].filter((value) => value !== null).sort((one, other) => alphabet.compare(one, other));
  const places = new Map(words.map((word, place) => [word, place]));
  return values.map((value) => places.get(value) ?? null);
}

// All that is searched, in small letters.
function writtenOf(rows) {
  if (rows.written) return rows.written;
  const shown = rows.known.filter(({ fact }) => (fact.listed || fact.of_row) && fact.shown === "value");
  const words = shown.filter(({ table, fact }) => table.decimals[table.columns.indexOf(fact.column)] === null)
    .map((one) => valuesOfRows(one, rows).map((value) => (value === null ? "" : calledOf(one.fact, value, one.table))));
  rows.written = rows.ids.map((id, place) =>
    [id, ...[...rows.texts, ...words].map((texts) => texts[place] ?? "")].join("\n").toLowerCase());
  return rows.written;
}
