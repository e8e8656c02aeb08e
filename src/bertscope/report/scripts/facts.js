// What results say of one head: found in their tables as the questions declare it, ranked among all heads.

// The lines of one fact: its rows for this head, each with its place among the heads' rows of the same kind.
function linesOf(fact, table, layer, head) {
  const [layers, heads, values] = [column(table, "layer"), column(table, "head"), column(table, fact.column)];
  const apart = [...fact.by, ...fact.items].map((name) => column(table, name));
  const kinds = new Map(); // what tells rows apart -> all heads' rows
  for (const row of rowsWhere(table, fact.where)) {
    if (layers[row] === null || heads[row] === null || values[row] === null) continue;
    const kind = JSON.stringify(apart.map((cells) => cells[row]));
    if (!kinds.has(kind)) kinds.set(kind, []);
    kinds.get(kind).push(row);
  }
  const numeric = fact.ranked && table.decimals[table.columns.indexOf(fact.column)] !== null;
  const lines = [];
  for (const rows of kinds.values()) {
    const row = rows.find((each) => layers[each] === layer && heads[each] === head);
    if (row === undefined) continue;
    const among = numeric ? rows.map((each) => values[each]) : [];
    lines.push({ fact, table, row, among, rank: numeric ? rankOf(values[row], among) : null });
  }
  return fact.items.length ? topOf(lines, fact) : lines;
}

function rankOf(value, among) {
  const count = (test) => among.filter(test).length;
  const [above, below, same] = [count((v) => v > value), count((v) => v < value), count((v) => v === value) - 1];
  return { above, below, same, of: among.length };
}

// Of a head's many items the first few, for each of what the fact is told apart by.
function topOf(lines, { top, order, by, column: name }) {
  const value = ({ table, row }) => column(table, name)[row];
  const better = order === "rank"
    ? (one, other) => one.rank.above - other.rank.above || value(other) - value(one)
    : (one, other) => value(other) - value(one);
  const kinds = [...new Set(lines.map((line) => kindOf(line, by)))];
  return kinds.flatMap((kind) => lines.filter((line) => kindOf(line, by) === kind).sort(better).slice(0, top));
}

const kindOf = ({ table, row }, names) => names.map((name) => String(column(table, name)[row])).join(", ");

function ordinal(n) {
  const last = n % 100 > 10 && n % 100 < 14 ? 0 : n % 10;
  return `${n}${{ 1: "st", 2: "nd", 3: "rd" }[last] ?? "th"}`;
}

// Counted from the nearer end; where many heads share the value, a place among them would say nothing.
function rankInWords({ above, below, same, of }) {
  if (of < 2) return "";
  if (same >= of / 4) return `like ${same} others of ${of}`;
  const [place, end] = above <= below ? [above + 1, "highest"] : [below + 1, "lowest"];
  return `${place === 1 ? end : `${ordinal(place)} ${end}`} of ${of}${same ? " (shared)" : ""}`;
}

// A bar from where nothing happened to the value, its interval, and a tick for every other head.
function strip({ fact, table, row, among }) {
  const [value, low, high] = [fact.column, fact.low, fact.high].map((name) => (name ? column(table, name)[row] : null));
  const known = [...among, value, low, high, fact.middle].filter((v) => v !== null && Number.isFinite(v));
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const x = (v) => (most > least ? (100 * (v - least)) / (most - least) : 50);
  const start = x(fact.middle ?? least);
  const picture = make("svg", { class: "strip", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true" });
  const line = (at, from, to, kind) => make("line", { x1: at, x2: at, y1: from, y2: to, class: kind });
  for (const other of new Set(among)) if (Number.isFinite(other)) picture.append(line(x(other), 9, 15, "other"));
  const bar = { x: Math.min(start, x(value)), width: Math.abs(x(value) - start), y: 2, height: 5, class: "bar" };
  picture.append(make("rect", bar));
  if (low !== null && high !== null) {
    picture.append(make("rect", { x: x(low), width: Math.max(0.5, x(high) - x(low)), y: 4, height: 1.4, class: "span" }));
  }
  picture.append(line(x(value), 0, 16, "this"));
  return picture;
}

// A small attention map with its tokens; by the square root, as the palette of all maps.
function mapPicture(name, levels, side, tokens) {
  const n = tokens.length;
  const short = (token) => (token.length > 11 ? `${token.slice(0, 10)}…` : token);
  const cell = 14;
  const size = n * cell;
  const beside = 10 + 6 * Math.max(...tokens.map((token) => short(token).length));
  const picture = make("svg", { class: "map", viewBox: `0 0 ${beside + size} ${size + beside}`, role: "img", "aria-label": name });
  for (let query = 0; query < n; query++) {
    for (let key = 0; key < n; key++) {
      const level = levels[query * side + key] / 255;
      const text = `${tokens[query]} → ${tokens[key]}: ${(level * level).toFixed(2)}`;
      const at = { x: beside + key * cell, y: query * cell, width: cell, height: cell };
      picture.append(make("rect", { ...at, style: `--level: ${level.toFixed(3)}` }, make("title", {}, text)));
    }
    const middle = (query + 0.5) * cell;
    picture.append(make("text", { x: beside - 5, y: middle, class: "from" }, short(tokens[query])));
    picture.append(make("text", { transform: `translate(${beside + middle} ${size + 5}) rotate(-90)`, class: "to" }, short(tokens[query])));
  }
  return make("figure", { class: "small-map" }, make("figcaption", {}, make("bdi", {}, name)), picture);
}

// The head's maps, one for each checkpoint, and the example they are of.
function mapsOf({ maps, tables }, layer, head) {
  if (!maps) return null;
  const table = tables[maps.table];
  const rows = rowsWhere(table, { layer, head });
  if (!rows.length) return null;
  const pictures = rows.map((row) => {
    const example = column(table, "example")[row];
    const tokens = rowsWhere(tables[maps.tokens], { example }).map((at) => column(tables[maps.tokens], "token")[at]);
    return mapPicture(column(table, "checkpoint")[row], maps.levels[row], maps.side, tokens.map(String));
  });
  return make("div", { class: "small-maps" }, ...pictures);
}
