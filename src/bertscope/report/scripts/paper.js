// Printing: paper is white and unfolds nothing, so every figure is drawn in light and what is folded is opened: each
// answer with its figures, numbers and notes, each reading of a claim, and the tables that a page can hold. Long ones
// would bury the rest.
const unfolded = []; // what was closed
const OPENED = "details:is([data-paper], [data-follows])";

// What lies in a fold that stays closed, or that the switch hides, won't be on paper.
const onPaper = (element) => !element.closest("[hidden]") && !element.parentElement.closest(`details:not([open], ${OPENED})`);

async function preparePaper() {
  root.dataset.theme = "light";
  const closed = all(`main ${OPENED}:not([open])`).filter((details) => onPaper(details) && hasAnswers(details, true));
  for (const details of closed) details.open = true;
  unfolded.push(...closed);
  const charts = all(".chart").filter((chart) => onPaper(chart) && chart.dataset.drawn !== "light");
  await Promise.all([...closed.filter((details) => details.matches(".table")).map(fillForPaper), ...charts.map(draw)]);
  const pictures = all(".chart image").map((image) => {
    const picture = new Image();
    picture.src = image.getAttribute("href") ?? image.getAttribute("xlink:href");
    return picture.decode();
  });
  await Promise.allSettled(pictures);
}

// Of a table of several answers those that paper can hold, whatever was chosen on the screen.
function fillForPaper(details) {
  if (details.matches(":has(.whose)")) {
    details.dataset.onPaper = "";
    details.querySelector("tbody").replaceChildren();
  }
  return fillTable(details);
}

function putPaperAway() {
  for (const details of unfolded.splice(0)) {
    details.open = false;
    if (details.dataset.onPaper === undefined) continue;
    delete details.dataset.onPaper;
    refillTable(details); // when it is opened again
  }
  setTheme(wantedTheme());
}

async function printPage() {
  const button = document.querySelector("button.print");
  button.disabled = true;
  button.textContent = "Preparing";
  await preparePaper();
  button.disabled = false;
  button.textContent = "Print";
  print();
}

// From the browser's own menu there is no time to unpack anything: that is done before, while nothing else happens.
function unpackAtLeisure(ids) {
  const later = window.requestIdleCallback ?? ((call) => setTimeout(call, 200));
  if (ids.length) later(() => dataOf(ids[0]).then(() => unpackAtLeisure(ids.slice(1))));
}

function watchPrinting() {
  document.querySelector("button.print").addEventListener("click", printPage);
  addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "p" || event.shiftKey) return;
    event.preventDefault();
    printPage();
  });
  addEventListener("beforeprint", preparePaper);
  addEventListener("afterprint", putPaperAway);
  if (!matchMedia("(pointer: coarse)").matches) unpackAtLeisure(read("answers").map((entry) => entry.id));
}
