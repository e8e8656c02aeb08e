// Figures: drawn as they come into view, drawn again when the theme or the width changes, saved as files.
const drawn = new Map(); // a chart's element -> what vega-embed made of it

// Panels fill the width in few and even rows: they shrink or grow a little, and keep their shape.
// Of panels of several answers a row holds each of them, or an even part; few grow in width rather than in height.
function arranged({ width: wanted, height, spacing, beside, around, heading, group }, available) {
  const inner = available - beside - 8 + spacing;
  const most = Math.max(1, Math.floor(inner / (wanted + around + spacing)));
  const even = group ?? heading.length;
  const columns = Math.ceil(even / Math.ceil(even / most));
  const [widest, highest] = group ? [2.2, 1.25] : [1.6, 1.6];
  const width = Math.min(widest * wanted, Math.floor(inner / columns - spacing - around));
  return { columns, width, height: height * Math.min(highest, width / wanted) };
}

function fitted(spec, takes, available) {
  if (!spec.facet) return { ...spec, width: "container" };
  const { columns, width, height } = arranged(takes, available);
  const header = { ...spec.facet.header, labelLimit: width };
  return { ...spec, columns, facet: { ...spec.facet, header }, spec: { ...spec.spec, width, height } };
}

// A chart's height before it is drawn, so that nothing below it jumps.
function reserved(takes, available) {
  const { once, below, spacing, heading } = takes;
  if (!spacing) return once + takes.height + below;
  const { columns, height } = arranged(takes, available);
  const rows = Math.ceil(heading.length / columns);
  // All rows are equally far apart, as the highest heading between them needs it.
  const apart = spacing + Math.max(0, ...heading.slice(columns));
  return once + Math.max(...heading.slice(0, columns)) + rows * (height + below) + (rows - 1) * apart;
}

// For all that aren't drawn, also those in folds: figures are equally wide everywhere.
function reserveHeights() {
  const available = all("figure").find((figure) => figure.clientWidth)?.clientWidth;
  for (const chart of available ? all(".chart:not([data-drawn])") : []) {
    const takes = takesOf(chart);
    if (takes.heading.length) chart.style.minHeight = `${Math.round(reserved(takes, available))}px`;
  }
  cutShort();
}

// The figure that stands open in an answer is cut short where it is tall, until somebody wants all of it.
const TALL = 600; // pixels: what twelve layers need, whether as a map of their heads or as intervals in pairs, stands whole
function cutShort() {
  for (const cut of all(".cut-short:not([data-whole])")) {
    const tall = cut.scrollHeight > TALL;
    cut.toggleAttribute("data-tall", tall);
    cut.parentElement.querySelector(".whole").hidden = !tall;
  }
}

function showWhole(figure) {
  const cut = figure?.querySelector(":scope > .cut-short[data-tall]");
  if (!cut) return;
  cut.removeAttribute("data-tall");
  cut.dataset.whole = "";
  figure.querySelector(".whole").hidden = true;
}

async function draw(chart) {
  const data = await dataOf(chart.dataset.answer);
  const figure = data.figures[Number(chart.dataset.figure)];
  const theme = root.dataset.theme;
  const takes = takesOf(chart);
  const table = figure.parts ? figure : data.tables[figure.table]; // of the first its columns are read, as of the other
  const values = figure.parts ? await sharedRows(figure) : figure.spec.data?.name && vegaRows(table, figure.where);
  const rows = values ? { data: { values } } : {};
  const before = drawn.get(chart);
  const embedded = await vegaEmbed(chart, fitted({ ...figure.spec, ...rows }, takes, chart.clientWidth), {
    mode: "vega-lite", renderer: "svg", actions: false, config: read("themes")[theme],
    ast: true, // expressions are interpreted, never compiled: the page's policy forbids eval
    tooltip: { theme },
  });
  for (const { name } of before ? figure.spec.params ?? [] : []) embedded.view.signal(name, before.view.signal(name));
  if (before) await embedded.view.runAsync(); // what the reader chose survives a change of theme or width
  before?.finalize();
  drawn.set(chart, embedded);
  chart.dataset.drawn = theme;
  chart.style.minHeight = `${chart.querySelector("svg").getBoundingClientRect().height}px`; // kept when drawn again
  if (chart.dataset.heads !== undefined) markHeads(chart, table);
  if (figure.parts) markPanels(chart, figure);
  chart.dataset.panels = takes.heading.length;
  if (chart.parentElement.matches(".cut-short")) cutShort();
  if (theme !== root.dataset.theme) await draw(chart); // it changed meanwhile
}

// What stands for a head can be clicked; with the keyboard, a figure is one stop, and arrows go from head to head.
function markHeads(chart, table) {
  const [layer, head] = ["layer", "head"].map((name) => `c${table.columns.indexOf(name)}`);
  let first = true;
  for (const mark of all("path, image", chart)) {
    const datum = mark.__data__?.datum;
    if (!Number.isInteger(datum?.[layer]) || !Number.isInteger(datum?.[head])) continue;
    mark.dataset.head = `${datum[layer]}.${datum[head]}`;
    mark.setAttribute("tabindex", first ? 0 : -1);
    mark.setAttribute("role", "button");
    if (!mark.hasAttribute("aria-label")) mark.setAttribute("aria-label", `Layer ${datum[layer]}, head ${datum[head]}`);
    first = false;
  }
}

// The nearest mark in the direction of the arrow.
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
function neighbour(mark, key) {
  const [right, down] = ARROWS[key];
  const middle = (element) => {
    const box = element.getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  };
  const [x, y] = middle(mark);
  let nearest = null;
  let least = Infinity;
  for (const other of all("[data-head]", mark.closest(".chart"))) {
    const [dx, dy] = middle(other).map((at, axis) => at - [x, y][axis]);
    const along = dx * right + dy * down;
    const aside = Math.abs(dx * down) + Math.abs(dy * right);
    if (along > 1 && along + 3 * aside < least) [nearest, least] = [other, along + 3 * aside];
  }
  return nearest;
}

function moveInFigure(event) {
  const to = neighbour(event.target, event.key);
  if (!to) return;
  event.preventDefault();
  event.target.setAttribute("tabindex", -1);
  to.setAttribute("tabindex", 0);
  to.focus();
}

async function saveFigure(button) {
  const chart = button.closest("figure").querySelector(".chart");
  const { view } = drawn.get(chart);
  const name = `${chart.dataset.answer}-figure-${Number(chart.dataset.figure) + 1}`;
  if (button.dataset.save === "svg") {
    download(`${name}.svg`, new Blob([await view.toSVG()], { type: "image/svg+xml" }));
  } else {
    (await view.toCanvas(2)).toBlob((blob) => download(`${name}.png`, blob));
  }
}

function setTheme(theme) {
  root.dataset.theme = theme;
  const button = document.querySelector("button.theme");
  button.textContent = theme === "dark" ? "Light" : "Dark";
  button.setAttribute("aria-label", `Switch to ${theme === "dark" ? "light" : "dark"} colours`);
  for (const chart of all(".chart[data-drawn]")) redraw(chart);
}

// A chart that isn't shown has no width to fit into: it is drawn when it comes into view again.
function redraw(chart) {
  if (chart.clientWidth) draw(chart);
  else delete chart.dataset.drawn;
}

function watchFigures() {
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && target.dataset.drawn !== root.dataset.theme) draw(target);
    }
  }, { rootMargin: "600px" });
  for (const chart of all(".chart")) {
    const { width, spacing } = JSON.parse(chart.dataset.reserved);
    // Wide screens don't stretch it; a legend needs its room too.
    if (!spacing) chart.style.maxWidth = `${Math.max(width, 140) + 140}px`;
    seen.observe(chart);
  }
  let resized; // charts of one panel follow their container by themselves
  addEventListener("resize", () => {
    clearTimeout(resized);
    resized = setTimeout(() => {
      reserveHeights();
      for (const chart of all(".chart[data-drawn]")) if (drawn.get(chart).spec.facet) redraw(chart);
    }, 200);
  });
}
