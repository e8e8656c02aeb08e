// The switch: which models and tasks are shown, everywhere on the page.
// Whether something that rests on these models and tasks is to be shown.
function fits(models, tasks) {
  const { model, task } = place();
  return (!model || models.includes(model)) && (!task || tasks.includes(task));
}

function chosenInWords() {
  return all("nav .switch select").map((select) => select.value || select.options[0].text).join(", ");
}

function applyChoice() {
  const { model, task } = place();
  for (const element of all("[data-models]")) { // by the attribute: parts of a picture have no such property
    element.toggleAttribute("hidden", !fits(JSON.parse(element.dataset.models), JSON.parse(element.dataset.tasks)));
  }
  for (const group of all("[data-first-that-fits]")) { // of several that could be shown, the first
    const [shown, ...others] = [...group.children].filter((one) => !one.hidden);
    for (const other of others) other.hidden = true;
    group.closest("section").hidden = !shown;
  }
  for (const element of all("[data-holds]")) {
    element.hidden = all("[data-models]", element).every((inside) => inside.hasAttribute("hidden"));
  }
  for (const select of all(".switch select")) {
    select.value = { model, task }[select.name];
    if (select.selectedIndex < 0) select.value = ""; // the address names what the page hasn't got
  }
  for (const line of all("section > .none")) {
    line.hidden = all("article", line.parentElement).some((article) => !article.hidden);
    line.textContent = `Nothing here for ${chosenInWords()}.`;
  }
  leadAnew();
  standTogether();
  unfold(Boolean(model || task));
  recount();
  reserveHeights(); // where nothing was shown, no width could be measured
}

// Where the switch hides the answer that stands open, the first that it shows is opened in its place.
function leadAnew() {
  for (const section of all("section:has(> .further)")) {
    const shown = all(":scope > .further", section).find((answer) => !answer.hidden);
    if (section.querySelector(":scope > article")?.hidden && shown) shown.open = true;
  }
}

// What is folded because it is about many models and tasks is unfolded when one is chosen: few lines are left.
function unfold(chosen) {
  if (chosen === (root.dataset.chosen !== undefined)) return;
  if (chosen) root.dataset.chosen = "";
  else delete root.dataset.chosen;
  for (const details of all("details[data-follows]")) details.open = chosen;
}

// Verdicts and folded results are counted as far as they are shown.
function recount() {
  for (const badges of all(".tally, .verdicts")) {
    const shown = all(".readings > li:not([hidden])", badges.closest("details, section"));
    for (const badge of all("[data-verdict]", badges)) {
      if (badge.dataset.verdict === "not_tested") continue;
      const times = shown.filter((line) => line.dataset.verdict === badge.dataset.verdict).length;
      badge.querySelector(".times").textContent = times;
      badge.hidden = !times && badges.matches(".verdicts");
    }
  }
  for (const parts of all("details:is(.parts, .rest)")) {
    const times = all(":scope > .part:not([hidden]), :scope > ul > li:not([hidden])", parts).length;
    parts.querySelector(".times").textContent = times;
    parts.hidden = !times;
  }
}

function choose({ currentTarget: form }) {
  const chosen = Object.fromEntries(all("select", form).map((select) => [select.name, select.value]));
  setAddress(address(place().anchor, { model: "", task: "", ...chosen }));
  applyChoice();
  if (shownHead && !showHead(...shownHead)) closeCard();
  listRowsAgain();
  if (shownRow && !showRow(...shownRow)) closeRow();
}
