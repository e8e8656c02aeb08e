// The page's behaviour: theme, figures drawn as they come into view, sortable tables, downloads, printing.
(() => {
  "use strict";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const KEY = "bertscope-theme";

  // A browser may refuse storage to a page opened from disk: the choice then lasts as long as the page.
  const recall = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const remember = (theme) => { try { localStorage.setItem(KEY, theme); } catch { /* see above */ } };

  let chosen = recall();
  const wanted = () => (chosen === "dark" || chosen === "light" ? chosen : system.matches ? "dark" : "light");
  root.dataset.theme = wanted(); // before the body is parsed: no flash of the other theme

  const all = (selector) => [...document.querySelectorAll(selector)];
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const unpacked = (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  };
  const drawn = new Map(); // a figure's id -> what vega-embed made of it

  // Panels fill the room in few and even rows: they shrink or grow a little, and keep their shape.
  function fitted(spec, room) {
    if (!spec.facet) return { ...spec, width: "container" };
    const { spec: panel, spacing, usermeta: { beside, around } } = spec;
    const inner = room - beside - 8 + spacing;
    const most = Math.max(1, Math.floor(inner / (panel.width + around + spacing)));
    const columns = Math.ceil(spec.facet.sort.length / Math.ceil(spec.facet.sort.length / most));
    const width = Math.min(1.6 * panel.width, Math.floor(inner / columns - spacing - around));
    return { ...spec, columns, spec: { ...panel, width, height: (panel.height * width) / panel.width } };
  }

  async function draw(chart) {
    const id = chart.dataset.spec;
    const spec = fitted(read(id), chart.clientWidth);
    const before = drawn.get(id);
    const made = await vegaEmbed(chart, spec, {
      mode: "vega-lite", renderer: "svg", actions: false, config: read("themes")[root.dataset.theme],
      ast: true, // expressions are interpreted, never compiled: the page's policy forbids eval
      tooltip: { theme: root.dataset.theme },
    });
    for (const { name } of before ? spec.params ?? [] : []) made.view.signal(name, before.view.signal(name));
    if (before) await made.view.runAsync(); // what the reader chose survives a change of theme or width
    before?.finalize();
    drawn.set(id, made);
    chart.dataset.drawn = root.dataset.theme;
  }

  function setTheme(theme) {
    root.dataset.theme = theme;
    document.querySelector("button.theme").textContent = theme === "dark" ? "Light" : "Dark";
    for (const chart of all(".chart[data-drawn]")) draw(chart);
  }

  function download(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name.replace(/[^\w.-]+/g, "_");
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  async function save(button) {
    const id = button.dataset.chart;
    const { view } = drawn.get(id);
    if (button.dataset.save === "svg") {
      download(`${id}.svg`, new Blob([await view.toSVG()], { type: "image/svg+xml" }));
    } else {
      (await view.toCanvas(2)).toBlob((blob) => download(`${id}.png`, blob));
    }
  }

  async function saveTable({ dataset: { csv, file } }) {
    const { type, textContent } = document.getElementById(csv);
    const text = type === "application/gzip" ? await unpacked(textContent) : read(csv);
    download(file, new Blob([text], { type: "text/csv" }));
  }

  function sort(button) {
    const head = button.closest("th");
    const table = head.closest("table");
    const column = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numeric = head.classList.contains("num");
    const key = (row) => {
      const cell = row.cells[column];
      if (!numeric) return cell.textContent;
      return cell.dataset.v === "" ? null : Number(cell.dataset.v.replace("inf", "Infinity"));
    };
    const compare = (a, b) => {
      if (a === null || b === null) return (a === null) - (b === null); // rows without a value stay at the end
      const order = numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
      return down ? -order : order;
    };
    const rows = [...table.tBodies[0].rows].map((row) => [key(row), row]);
    rows.sort((a, b) => compare(a[0], b[0]));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  document.addEventListener("DOMContentLoaded", () => {
    const toggle = document.querySelector("button.theme");
    for (const hidden of all("button[hidden], .save[hidden]")) hidden.hidden = false;
    setTheme(wanted());
    toggle.addEventListener("click", () => {
      chosen = root.dataset.theme === "dark" ? "light" : "dark";
      remember(chosen);
      setTheme(chosen);
    });
    system.addEventListener("change", () => setTheme(wanted()));

    const contents = document.querySelector("nav details");
    const narrow = matchMedia("(max-width: 60rem)");
    const fold = () => { contents.open = !narrow.matches; };
    narrow.addEventListener("change", fold);
    fold();
    contents.addEventListener("click", (event) => { if (event.target.closest("a")) fold(); });

    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((entry) => entry.isIntersecting)) {
        seen.unobserve(entry.target);
        if (!entry.target.dataset.drawn) draw(entry.target);
      }
    }, { rootMargin: "600px" });
    for (const chart of all(".chart")) {
      chart.style.maxWidth = `${Number(chart.dataset.width) + 140}px`; // wide screens don't stretch it
      chart.style.minHeight = `${Number(chart.dataset.height) + 80}px`; // the page doesn't jump as it appears
      seen.observe(chart);
    }

    let resized; // charts of one panel follow their container by themselves
    addEventListener("resize", () => {
      clearTimeout(resized);
      resized = setTimeout(() => {
        for (const chart of all(".chart[data-drawn]")) if (drawn.get(chart.dataset.spec).spec.facet) draw(chart);
      }, 200);
    });

    document.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.dataset.csv) {
        saveTable(button);
      } else if (button.dataset.save) {
        save(button);
      } else if (button.closest("thead")) {
        sort(button);
      }
    });

    // Paper is white and unfolds nothing: draw every figure in light, open what is short enough to print.
    let opened = [];
    addEventListener("beforeprint", () => {
      opened = all("main details:not([open]):not(.long)");
      for (const details of opened) details.open = true;
      root.dataset.theme = "light";
      for (const chart of all(".chart")) if (chart.dataset.drawn !== "light") draw(chart);
    });
    addEventListener("afterprint", () => {
      for (const details of opened) details.open = false;
      setTheme(wanted());
    });
  });
})();
