// Where the reader is: the address after # holds a section, a head or a row, and the model and task that were chosen.
function place() {
  const parts = location.hash.slice(1).split("&").filter(Boolean);
  const chosen = new URLSearchParams(parts.filter((part) => part.includes("=")).join("&"));
  const anchor = parts.find((part) => !part.includes("=")) ?? "";
  return { anchor, model: chosen.get("model") ?? "", task: chosen.get("task") ?? "" };
}

function address(anchor, { model, task } = place()) {
  const chosen = Object.entries({ model, task }).filter(([, value]) => value);
  return "#" + [anchor, ...chosen.map(([key, value]) => `${key}=${encodeURIComponent(value)}`)].filter(Boolean).join("&");
}

// Without a step in the history: a step for each arrow key would bury the page the reader came from.
function setAddress(hash) {
  history.replaceState(null, "", hash === "#" ? location.pathname + location.search : hash);
}

// What the address says, after it changed or as the page opens.
function arrive() {
  const { anchor } = place();
  applyChoice();
  const head = anchor.match(/^head-(\d+)\.(\d+)$/);
  if (head && showHead(Number(head[1]), Number(head[2]))) return closeRow();
  closeCard();
  const row = anchor.match(/^(rows-[0-9a-f]+)-(.+)$/);
  if (row && showRow(row[1], rowNamed(row[2]))) return;
  closeRow();
  goal = head || row ? null : document.getElementById(anchor);
  for (let fold = goal; fold; fold = fold.parentElement) if (fold.tagName === "DETAILS") fold.open = true;
  goal?.scrollIntoView();
  if (goal?.hasAttribute("tabindex")) goal.focus({ preventScroll: true });
}

// Where the reader asked to be. Figures grow as they are drawn and would push it away: until the reader scrolls, it stays.
let goal = null;
function holdGoal(then) {
  new ResizeObserver(() => { goal?.scrollIntoView(); then(); }).observe(document.querySelector("main"));
  for (const moved of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(moved, () => { goal = null; }, { passive: true, capture: true });
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
  const markSoon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  };
  addEventListener("scroll", markSoon, { passive: true });
  holdGoal(markSoon);
}
