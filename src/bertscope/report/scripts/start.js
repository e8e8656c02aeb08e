// When the page is there: what happens on clicks and keys.
function clicked(event) {
  const link = event.target.closest('a[href^="#"]');
  if (link && address("") !== "#") { // the choice of model and task stays in the address
    event.preventDefault();
    location.hash = address(link.getAttribute("href").slice(1));
  }
  const tables = event.target.closest("[data-tables-of]");
  if (tables) chooseTables(tables.dataset.tablesOf, document.querySelector(tables.getAttribute("href")));
  const head = event.target.closest("[data-head]");
  const panel = event.target.closest("[data-panel]");
  if (head) goToHead(head.dataset.head);
  else if (panel) goToAnswer(panel.dataset.panel);
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.copy !== undefined) copyCommand(button);
  else if (button.dataset.whole !== undefined) showWhole(button.closest("figure"));
  else if (button.dataset.save === "csv") saveTable(button);
  else if (button.dataset.save) saveFigure(button);
  else if (button.closest("thead")) sortTable(button);
}

// Where a browser refuses the clipboard, the command is marked, to be copied by hand.
async function copyCommand(button) {
  const code = button.parentElement.querySelector("code");
  getSelection().selectAllChildren(code);
  await navigator.clipboard?.writeText(code.textContent).then(() => {
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }, () => {});
}

// A text with coloured words is one stop for the keyboard; arrows go from word to word.
function moveInText(event) {
  const words = all("i", event.target.closest("li")).filter((word) => word.offsetParent);
  const back = event.key === "ArrowLeft" || event.key === "ArrowUp";
  const to = words[words.indexOf(event.target) + (back ? -1 : 1)];
  if (!to) return;
  event.preventDefault();
  event.target.removeAttribute("tabindex");
  to.tabIndex = 0;
  to.focus();
}

function pressed(event) {
  if (event.target.matches?.(".tinted i") && ARROWS[event.key]) moveInText(event);
  if (event.key === "Enter" && event.target.matches?.(".chart [data-panel][tabindex]")) goToAnswer(event.target.dataset.panel);
  const mark = event.target.closest?.(".chart [data-head]");
  if (!mark) return;
  if (ARROWS[event.key]) moveInFigure(event);
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    goToHead(mark.dataset.head);
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const hidden of all("button[hidden], .save[hidden]")) hidden.hidden = false;
  for (const select of all(".whose select")) select.disabled = false;
  for (const fold of all("[data-folds]")) fold.open = false; // without scripts, which draw what it shows, it stays open
  setTheme(wantedTheme());
  document.querySelector("button.theme").addEventListener("click", () => {
    chooseTheme(root.dataset.theme === "dark" ? "light" : "dark");
    setTheme(wantedTheme());
  });
  system.addEventListener("change", () => setTheme(wantedTheme()));
  document.addEventListener("click", clicked);
  document.addEventListener("keydown", pressed);
  document.addEventListener("focusin", ({ target }) => { // what the keyboard reaches is seen
    if (target.matches?.(".cut-short :focus-visible")) showWhole(target.closest("figure"));
  });
  document.addEventListener("toggle", ({ target }) => { // it doesn't bubble, but it is captured
    if (target.matches?.("details.table[open]")) fillTable(target);
    if (target.matches?.("details.data-rows[open]")) listRows(target);
  }, true);
  document.addEventListener("change", ({ target }) => { if (target.matches(".whose select")) refillTable(target.closest("details")); });
  document.querySelector(".switch")?.addEventListener("change", choose);
  addEventListener("hashchange", arrive);
  watchFigures();
  watchPlace();
  watchCard();
  watchRows();
  watchRow();
  watchPrinting();
  arrive();
});
