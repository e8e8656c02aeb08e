// The view as a link: what is after the # never leaves the browser, and names the whole view beside the token.
const PLAIN = { mode: "mode", head: "head", shown: "show", colour: "colour", as: "as", method: "method", towards: "towards", word: "word" };

const parameters = () => new URLSearchParams(location.hash.slice(1));
export const tokenOf = () => parameters().get("token") ?? "";

export function hashOf(state, start) {
  const found = new URLSearchParams();
  if (tokenOf()) found.set("token", tokenOf());
  found.set("text", state.text);
  if (state.pair !== null) found.set("pair", state.pair);
  for (const choice of state.choices) found.append("choice", choice);
  state.changes.forEach(({ off, graft }, at) => {
    if (off.length) found.set(`off${at}`, off.join(" "));
    if (graft.length) found.set(`graft${at}`, graft.join(" "));
  });
  for (const [key, name] of Object.entries(PLAIN)) if (state[key] !== start[key]) found.set(name, state[key]);
  if (state.other) found.set("other", JSON.stringify(state.other));
  for (const one of state.compared) found.append("compare", JSON.stringify(one));
  return `#${found}`;
}

const words = (text) => (text ?? "").split(" ").filter(Boolean);

function readingIn(text) {
  try {
    const { text: first, pair, choices } = JSON.parse(text);
    if (typeof first !== "string") return null;
    return { text: first, pair: typeof pair === "string" ? pair : null, choices: Array.isArray(choices) ? choices.map(String) : [] };
  } catch {
    return null;
  }
}

// What the link says; what it doesn't say is as at the start.
export function stateIn(start) {
  const said = parameters();
  if (!said.has("text")) return start;
  const plain = Object.entries(PLAIN).map(([key, name]) => [key, said.get(name) ?? start[key]]);
  return {
    ...start,
    ...Object.fromEntries(plain),
    text: said.get("text"),
    pair: said.get("pair"),
    choices: said.getAll("choice"),
    changes: start.changes.map((_, at) => ({ off: words(said.get(`off${at}`)), graft: words(said.get(`graft${at}`)) })),
    other: readingIn(said.get("other")),
    compared: said.getAll("compare").map(readingIn).filter(Boolean),
  };
}

export function keepInLink(store, start) {
  store.listen((now, was, { step, fromLink }) => {
    if (fromLink) return;
    const hash = hashOf(now, start);
    if (hash === location.hash) return;
    if (step) history.pushState(null, "", hash);
    else history.replaceState(null, "", hash);
  });
  // Back, forward, and a link that is pasted into the address.
  addEventListener("popstate", () => store.set(stateIn({ ...start, act: store.now.act, where: store.now.where }), { fromLink: true }));
}
