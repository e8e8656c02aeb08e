// Rows of the data, to take one: searched, and those first that the first checkpoint gets wrong.
import { make } from "/static/report/scripts/base.js";
import { chance } from "./predictions.js";
import { Dropped, latest } from "./server.js";

const PAGE = 20;
const ORDERS = { wrong: "wrong ones first", unsure: "unsure ones first", file: "as in the file" };

export function rowsView(dialog, about, take) {
  const ask = latest();
  const now = { search: "", order: "wrong", first: 0 };
  const search = make("input", { type: "search", placeholder: "Search the texts", "aria-label": "Search the texts", autocomplete: "off" });
  const order = make("select", { "aria-label": "Order" }, ...Object.entries(ORDERS).map(([value, words]) => make("option", { value }, words)));
  const found = make("p", { class: "small", role: "status" });
  const list = make("ul", { class: "rows" });
  const [before, after] = ["Earlier", "Further"].map((words) => make("button", { type: "button" }, words));
  const close = make("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
  const title = make("h2", { id: "rows-title" }, "Take a row of the data");
  dialog.replaceChildren(
    make("header", {}, title, close),
    make("div", { class: "tools" }, search, order),
    found, list, make("div", { class: "tools pager" }, before, after),
  );
  let [what, count] = ["one", 0];

  const side = (row, at) => make("span", { class: "says" }, make("span", { class: `badge of-${at}` }, about.checkpoints.length > 1 ? "AB"[at] : "says"), " ", make("bdi", {}, row.said[at]), row.p[at] === null ? "" : ` ${chance(row.p[at])}`);
  function item(row) {
    const { text, pair, choices } = row.reading;
    const inside = [
      make("bdi", { class: "row-text" }, text),
      ...(pair ? [make("bdi", { class: "row-text" }, pair)] : []),
      ...(choices.length ? [make("bdi", { class: "row-text" }, choices.join(" · "))] : []),
      make("span", { class: "row-facts" },
        make("span", { class: row.right === false ? "gold wrong" : "gold" }, "right answer ", make("b", {}, make("bdi", {}, row.gold || "none given"))),
        ...row.said.map((_, at) => side(row, at))),
    ];
    const button = make("button", { type: "button", class: "row" }, ...inside);
    button.addEventListener("click", () => {
      dialog.close();
      take([row.reading]);
    });
    return make("li", {}, button);
  }

  async function draw() {
    found.textContent = "Looking …";
    try {
      const told = await ask("rows", { ...now, count: PAGE });
      count = told.found;
      list.replaceChildren(...told.rows.map(item));
      const last = now.first + told.rows.length;
      found.textContent = count ? `${now.first + 1} to ${last} of ${count.toLocaleString("en")} rows of ${about.data}` : "No row has that in its text. Search for less of it.";
      before.disabled = !now.first;
      after.disabled = last >= count;
    } catch (error) {
      if (!(error instanceof Dropped)) found.textContent = error.message;
    }
  }
  const turn = (by) => { now.first = Math.max(0, now.first + by); draw(); dialog.scrollTo(0, 0); };
  let timer = null;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { [now.search, now.first] = [search.value, 0]; draw(); }, 200);
  });
  order.addEventListener("change", () => { [now.order, now.first] = [order.value, 0]; draw(); });
  before.addEventListener("click", () => turn(-PAGE));
  after.addEventListener("click", () => turn(PAGE));
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", ({ target }) => { if (target === dialog) dialog.close(); });

  return {
    open() {
      dialog.showModal();
      search.focus();
      draw();
    },
    // The first rows of an order, for comparing.
    first: async (many) => (await ask("rows", { search: "", order: "wrong", first: 0, count: many })).rows.map((row) => row.reading),
  };
}
