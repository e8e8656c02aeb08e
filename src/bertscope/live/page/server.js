// Asking the server. It works on one thing at a time: when it is busy it is asked again after a pause, and what it no
// longer needs to answer, since newer was asked, is dropped.
import { tokenOf } from "./link.js";

const PAUSES = [250, 500, 1000, 1500, 2000, 3000, 3000, 3000]; // milliseconds
const client = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
let sequence = 0;

// The server's own line: what was asked can't be.
export class Refused extends Error {}
// No answer, or none that means anything.
export class Gone extends Error {}
// Newer was asked: nobody waits for this.
export class Dropped extends Error {}

const wait = (time, signal) => new Promise((done, drop) => {
  const timer = setTimeout(done, time);
  signal?.addEventListener("abort", () => { clearTimeout(timer); drop(new Dropped()); });
});

async function send(name, body, signal) {
  const headers = { "X-Bertscope-Token": tokenOf(), "X-Bertscope-Client": client, "X-Bertscope-Sequence": String(++sequence) };
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(`/api/${name}`, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), signal });
    const said = await response.json().catch(() => null);
    return { status: response.status, said };
  } catch {
    if (signal?.aborted) throw new Dropped();
    throw new Gone("bertscope doesn't answer. Is it still running where this page was opened from?");
  }
}

// `busy(true)` is called when there is something to wait for, `busy(false)` after it.
export async function ask(name, body = null, { signal, busy = () => {} } = {}) {
  try {
    for (const pause of [...PAUSES, null]) {
      const { status, said } = await send(name, body, signal);
      if (status === 200 && said) return said;
      if (status === 409) throw new Dropped();
      if (status === 401 || status === 403) throw new Gone(said?.error ?? "This link's token isn't accepted. Open the link that bertscope printed when it started.");
      if (status !== 503 && status !== 429) throw status < 500 && said?.error ? new Refused(said.error) : new Gone(said?.error ?? "The server couldn't answer this.");
      if (pause === null) throw new Gone(said?.error ?? "The server is busy. Try again in a moment.");
      busy(true);
      await wait(pause, signal);
    }
  } finally {
    busy(false);
  }
  return null;
}

// A way of asking where the newest question drops those before it.
export function latest() {
  let before = null;
  return (name, body, how = {}) => {
    before?.abort();
    before = new AbortController();
    return ask(name, body, { ...how, signal: before.signal });
  };
}
