// Where the reader is: the address after # holds a section or a head, and the model and task that were chosen.
function place() {
  const parts = location.hash.slice(1).split("&").filter(Boolean);
  const asked = new URLSearchParams(parts.filter((part) => part.includes("=")).join("&"));
  const anchor = parts.find((part) => !part.includes("=")) ?? "";
  return { anchor, model: asked.get("model") ?? "", task: asked.get("task") ?? "" };
}

function address(anchor) {
  const { model, task } = place();
  const asked = Object.entries({ model, task }).filter(([, value]) => value);
  return "#" + [anchor, ...asked.map(([key, value]) => `${key}=${encodeURIComponent(value)}`)].filter(Boolean).join("&");
}

// Without a step in the history: a step for each arrow key would bury the page the reader came from.
function setAddress(hash) {
  history.replaceState(null, "", hash === "#" ? location.pathname + location.search : hash);
}

// Whether something that rests on these models and tasks is to be shown.
function fits(models, tasks) {
  const { model, task } = place();
  return (!model || models.includes(model)) && (!task || tasks.includes(task));
}

function chosenInWords() {
  const { model, task } = place();
  return [model || "all models", task || "all tasks"].join(", ");
}

function applyChoice() {
  const { model, task } = place();
  for (const element of all("[data-models]")) {
    element.hidden = !fits(JSON.parse(element.dataset.models), JSON.parse(element.dataset.tasks));
  }
  for (const line of all("section > .none")) {
    const shown = all("article", line.parentElement).some((article) => !article.hidden);
    line.hidden = shown;
    line.textContent = `Nothing here for ${chosenInWords()}.`;
  }
  const form = document.querySelector(".switch");
  if (!form) return;
  const known = (select, value) => [...select.options].some((option) => option.value === value);
  for (const [select, value] of [[form.elements.model, model], [form.elements.task, task]]) {
    if (select) select.value = known(select, value) ? value : "";
  }
}

function choose(form) {
  const { anchor } = place();
  const asked = new URLSearchParams();
  for (const name of ["model", "task"]) if (form.elements[name]?.value) asked.set(name, form.elements[name].value);
  // As `address` writes it: URLSearchParams writes a space as +, which reads badly.
  const parts = [...asked].map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
  setAddress("#" + [anchor, ...parts].filter(Boolean).join("&"));
  applyChoice();
}

// What the address says, after it changed or as the page opens.
function arrive() {
  const { anchor } = place();
  applyChoice();
  const head = anchor.match(/^head-(\d+)\.(\d+)$/);
  if (head && showHead(Number(head[1]), Number(head[2]))) return;
  closeCard();
  if (!head && location.hash.includes("&")) { // the browser itself finds plain anchors
    const target = document.getElementById(anchor);
    target?.scrollIntoView();
    if (target?.hasAttribute("tabindex")) target.focus({ preventScroll: true });
  }
}

// The contents mark the section, and the result in it, that is being read.
function watchPlace() {
  const contents = document.querySelector("nav details");
  const now = contents.querySelector(".now");
  const narrow = matchMedia("(max-width: 60rem)");
  const fold = () => { contents.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();
  contents.addEventListener("click", (event) => { if (event.target.closest("a")) fold(); });
  contents.addEventListener("keydown", (event) => { // as any menu: Escape folds it, and the focus stays with it
    if (event.key !== "Escape" || !narrow.matches) return;
    contents.open = false;
    contents.querySelector("summary").focus();
  });

  const links = new Map(all("a", contents).map((link) => [link.getAttribute("href").slice(1), link]));
  const targets = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
  const mark = () => {
    const reached = targets.filter((target) => target.offsetParent && target.getBoundingClientRect().top < innerHeight / 3);
    for (const link of all("[aria-current], .here", contents)) {
      link.removeAttribute("aria-current");
      link.classList.remove("here");
    }
    const link = links.get((reached.at(-1) ?? targets[0])?.id);
    if (!link) return;
    link.setAttribute("aria-current", "true");
    const section = link.closest("nav > details > ul > li");
    section.classList.add("here");
    now.textContent = section.querySelector("a").textContent;
    const nav = contents.closest("nav");
    const box = link.getBoundingClientRect();
    if (!narrow.matches && (box.top < 0 || box.bottom > innerHeight)) nav.scrollTop += box.top - innerHeight / 2;
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
}
