// What is known of the chosen head, by the store and by the checkpoint itself, and its switches.
import { make } from "/static/report/scripts/base.js";
import { changedIn, has, LETTERS } from "./parts.js";
import { Dropped, latest } from "./server.js";

export function cardView(element, about, store, toggle) {
  const ask = latest();
  const two = about.checkpoints.length > 1;
  const title = make("h2");
  const facts = make("dl", { class: "facts" });
  const status = make("p", { class: "small", role: "status" });
  const off = make("button", { type: "button", class: "primary" });
  const graft = make("button", { type: "button", disabled: about.graft ? "" : null, title: about.graft || null });
  element.replaceChildren(make("header", {}, title), make("div", { class: "tools" }, off, ...(two ? [graft] : [])), status, facts);
  const part = () => `head:${store.now.head}`;
  off.addEventListener("click", () => toggle("off", [part()]));
  graft.addEventListener("click", () => toggle("graft", [part()]));

  const model = () => (store.now.shown === "1" ? 1 : 0);
  function drawButtons() {
    const [isOff, grafted] = ["off", "graft"].map((act) => changedIn(store.now.changes, act, part()).length > 0);
    off.textContent = isOff ? "Switch on again" : "Switch off";
    graft.textContent = grafted ? "Give back" : "Take from the other";
    title.textContent = `What is known of head ${store.now.head}`;
  }
  const key = () => `${store.now.head} ${model()}`;
  let drawn = "";
  async function draw() {
    drawButtons();
    const [layer, head] = store.now.head.split(".").map(Number);
    if (drawn === key()) return;
    drawn = key();
    element.setAttribute("aria-busy", "true"); // what is shown is still the last head's
    if (!has(about.checkpoints[model()], part())) {
      facts.replaceChildren();
      status.textContent = `${about.checkpoints[model()].name} has no such head.`;
      element.setAttribute("aria-busy", "false");
      return;
    }
    try {
      const told = await ask("head", { layer, head, model: model() });
      facts.replaceChildren(...told.facts.map(({ label, value, note }) => make("div", {}, make("dt", {}, make("bdi", {}, label)), make("dd", {}, make("span", { class: "value" }, make("bdi", {}, value)), " ", note ? make("span", { class: "among" }, make("bdi", {}, note)) : ""))));
      status.replaceChildren(...(two ? [make("span", { class: `badge of-${model()}` }, LETTERS[model()]), " ", make("bdi", {}, about.checkpoints[model()].name), told.facts.length ? "" : ". "] : []), ...(told.facts.length ? [] : ["Nothing is stored of it. With ", make("code", {}, "--store"), ", what was measured of each head is here."]));
      element.setAttribute("aria-busy", "false");
    } catch (error) {
      if (error instanceof Dropped) return;
      drawn = "";
      element.setAttribute("aria-busy", "false");
      facts.replaceChildren();
      status.textContent = error.message;
    }
  }
  store.listen(draw);
  return { draw };
}
