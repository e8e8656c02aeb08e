// The page of one text's attention: unpacks what it holds, and shows the head that the address names.
import { all, chooseTheme, read, root, system, wantedTheme } from "../base.js";
import { Maps, unpackLevels } from "./maps.js";
import { attentionView } from "./view.js";

const named = () => location.hash.match(/^#head-(\d+)\.(\d+)$/)?.slice(1).map(Number);

// In a frame of a notebook there is no address to write to.
function remembered(layer, head) {
  if (window === window.top) history.replaceState(null, "", `#head-${layer}.${head}`);
}

document.addEventListener("DOMContentLoaded", async () => {
  const about = read("about");
  const levels = await Promise.all(all("script.levels").map((one) => unpackLevels(one.textContent, about.wide)));
  const models = about.models.map((one, at) => new Maps({ ...one, levels: levels[at], size: about.tokens.length, step: about.step }));
  const element = document.querySelector(".attention");
  const view = attentionView(element, { ...about, models }, { theme: () => root.dataset.theme, chosen: remembered });
  const button = document.querySelector("button.theme");
  const set = () => {
    root.dataset.theme = wantedTheme();
    const next = root.dataset.theme === "dark" ? "Light" : "Dark";
    button.textContent = next;
    button.setAttribute("aria-label", `Switch to ${next.toLowerCase()} colours`);
    view.draw();
  };
  button.hidden = false;
  button.addEventListener("click", () => { chooseTheme(root.dataset.theme === "dark" ? "light" : "dark"); set(); });
  system.addEventListener("change", set);
  addEventListener("hashchange", () => { if (named()) view.show(...named()); });
  set();
  if (!named() || !view.show(...named())) view.show(...view.first());
  element.setAttribute("aria-busy", "false");
});
