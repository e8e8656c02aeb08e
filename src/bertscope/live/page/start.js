// The page: one value that says what is shown, views that draw it, and the questions to the server that follow from it.
import { chooseTheme, download, make, root, system, wantedTheme } from "/static/report/scripts/base.js";
import { headView } from "/static/report/scripts/attention/head.js";
import { answersView } from "./answers.js";
import { compareView } from "./compare.js";
import { asPng, viewAsSvg } from "./exporting.js";
import { cardView } from "./card.js";
import { follower } from "./following.js";
import { headsView } from "./heads.js";
import { keepInLink, stateIn } from "./link.js";
import { LETTERS, toggled } from "./parts.js";
import { patchingView } from "./patching.js";
import { readingView } from "./reading.js";
import { rowsView } from "./rows.js";
import { ask } from "./server.js";
import { changesOf, makeStore, readingOf } from "./store.js";
import { switchesView } from "./switches.js";

const find = (selector) => document.querySelector(selector);
const theme = () => root.dataset.theme;
const banner = find(".banner");

function tellBanner(line, again) {
  banner.hidden = !line;
  banner.replaceChildren(line ?? "");
  if (line && again) {
    const button = make("button", { type: "button" }, "Try again");
    button.addEventListener("click", again);
    banner.append(" ", button);
  }
}

function startOf(about) {
  const { shape } = about.checkpoints[0];
  const layer = shape.findIndex((heads) => heads) + 1;
  return {
    ...about.example, changes: about.checkpoints.map(() => ({ off: [], graft: [] })), mode: about.modes[0] ?? "zero",
    head: `${layer}.1`, shown: "0", colour: "pattern", as: "matrix", method: "integrated", towards: "", word: "0", act: "look",
    where: about.checkpoints.length > 1 ? "both" : "0", other: null, compared: [],
  };
}

function themeButton(redraw) {
  const button = find("button.theme");
  const set = () => {
    root.dataset.theme = wantedTheme();
    const next = theme() === "dark" ? "Light" : "Dark";
    button.textContent = next;
    button.setAttribute("aria-label", `Switch to ${next.toLowerCase()} colours`);
    redraw();
  };
  button.addEventListener("click", () => { chooseTheme(theme() === "dark" ? "light" : "dark"); set(); });
  system.addEventListener("change", set);
  set();
}

// What is copied, where the browser lets it; otherwise it is shown to be copied by hand.
function codeDialog(dialog) {
  const title = make("h2", { id: "code-title" });
  const close = make("button", { type: "button", class: "close", "aria-label": "Close" }, "✕");
  const area = make("textarea", { readonly: "", rows: 16, spellcheck: "false", "aria-labelledby": "code-title" });
  const note = make("p", { class: "small", role: "status" });
  dialog.append(make("header", {}, title, close), area, note);
  close.addEventListener("click", () => dialog.close());
  return async (name, text) => {
    [title.textContent, area.value] = [name, text];
    const copied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
    note.textContent = copied ? "It is in the clipboard." : "Copy it from here.";
    dialog.showModal();
    area.select();
  };
}

function begin(about) {
  const start = startOf(about);
  const store = makeStore(stateIn(start));
  find(".bench").hidden = false; // what is measured while it is drawn must be there
  const names = about.checkpoints.map((one, at) => make("span", { title: one.id }, ...(about.checkpoints.length > 1 ? [make("span", { class: `badge of-${at}` }, LETTERS[at]), " "] : []), make("bdi", {}, one.name)));
  find(".checkpoints").replaceChildren(...names);
  document.title = `${about.checkpoints.map((one) => one.name).join(" and ")}: bertscope explore`;

  const toggle = (act, parts) => {
    if (act === "graft" && about.graft) return switches.refuse(`Parts can't be exchanged: ${about.graft}`);
    return store.set({ changes: toggled(store.now.changes, about.checkpoints, act, parts, store.now.where) });
  };
  const read = (one) => store.set({ ...one, other: null, word: "0" });
  const switches = switchesView(find(".switches"), about, store, toggle);
  const heads = headsView(find(".all-heads"), about, store, { theme, toggle });
  const answers = answersView(find(".answers"), about, store, { theme });
  const one = headView(find(".one"), { theme, as: store.now.as, changed: (as) => store.set({ as }, { step: false }) });
  const card = cardView(find(".head-card"), about, store, toggle);
  const rows = rowsView(find("#rows"), about, ([reading]) => read(reading));
  const takeRow = make("button", { type: "button" }, "Take a row …");
  takeRow.addEventListener("click", rows.open);
  if (about.rows) find(".reading .tools").append(takeRow);
  const reading = readingView(find(".reading"), about, store);
  const compare = compareView(find(".comparing"), about, store, { rows: rows.first, read });
  let patched = 0;
  const patching = patchingView(find(".word-change"), about, {
    theme, chosen: () => patched, read: () => read(store.now.other), drop: () => store.set({ other: null }),
    choose: (which) => { patched = which; follow.patch(); },
  });
  const follow = follower(about, store, { answers, heads, one, reading, switches, compare, patching, patched: () => patched, tell: tellBanner, spoken: find("#spoken"), state: find("#state") });
  keepInLink(store, start);
  store.listen((now, was) => { if (now.as !== was.as) one.drawAs(now.as); });
  themeButton(() => { heads.redraw(); answers.redraw(); one.draw(); patching.redraw(); });
  find(".skip").addEventListener("click", () => find("#read-text").focus());

  const showCode = codeDialog(find("#code"));
  find("#copy-link").addEventListener("click", async ({ target }) => {
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    if (!copied) return showCode("The link to this view", location.href);
    target.textContent = "Copied";
    setTimeout(() => { target.textContent = "Copy link"; }, 1500);
    return null;
  });
  const picture = () => viewAsSvg({ about, state: store.now, seen: follow.seen(), pictures: heads.pictures(), shape: heads.shape, entries: heads.entries(), head: one.exported(), palette: about.palettes[theme()] });
  const looked = () => ({ reading: readingOf(store.now), changes: changesOf(store.now) });
  const exports = {
    svg: () => download("bertscope-explore.svg", new Blob([picture()], { type: "image/svg+xml" })),
    png: async () => download("bertscope-explore.png", await asPng(picture())),
    json: async () => download("bertscope-maps.json", new Blob([JSON.stringify(await ask("maps", looked()))], { type: "application/json" })),
    python: async () => showCode("The same in Python", await ask("python", looked())),
  };
  find(".export").addEventListener("click", async ({ target }) => {
    const wanted = exports[target.dataset.export];
    if (!wanted) return;
    find(".export").open = false;
    try { await wanted(); } catch (error) { tellBanner(error.message); }
  });
  addEventListener("click", ({ target }) => { if (!find(".export").contains(target)) find(".export").open = false; });
  addEventListener("keydown", ({ key }) => { if (key === "Escape") find(".export").open = false; });
  card.draw();
  follow.all();
}

async function open() {
  tellBanner(null);
  try {
    begin(await ask("about"));
  } catch (error) {
    tellBanner(error.message, open);
  }
  find("main").setAttribute("aria-busy", "false");
}
open();
