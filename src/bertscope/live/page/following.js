// What is asked when something changes, and in which order: first the predictions, which nothing delays, then what each
// word did, then the other texts and the changed word. Whatever is newer makes the older ones be dropped.
import { Maps, unpackLevels } from "/static/report/scripts/attention/maps.js";
import { LETTERS } from "./parts.js";
import { Dropped, latest, Refused } from "./server.js";
import { changesOf, readingOf, same, unchanged } from "./store.js";

const PAUSE = 250; // milliseconds

const asked = (state) => [readingOf(state), changesOf(state)];

export function follower(about, store, views) {
  const { answers, heads, one, reading, switches, compare, patching, tell } = views;
  const [askLook, askMore, askPatch] = [latest(), latest(), latest()];
  const busy = (yes) => { views.state.textContent = yes ? "Busy with others: yours is next …" : ""; };
  let turn = 0;
  let plain = { key: "", maps: [] }; // of the text as it is read with nothing changed: layers below a switch are these
  let good = null; // the last state that was answered
  let shown = null; // { seen, data } of it

  // One checkpoint's maps as weights, and the shapes of its heads; layers under `first` from the unchanged ones.
  async function mapsOf(seen, at) {
    const { shape, name } = about.checkpoints[at];
    if (!seen.maps) return null;
    const { first, step, wide, levels, patterns } = seen.maps;
    const found = await unpackLevels(levels, wide);
    const size = seen.tokens.length;
    const under = shape.slice(0, first - 1).reduce((sum, many) => sum + many, 0) * size * size;
    const weights = new Float32Array(under + found.length);
    if (under) weights.set(plain.maps[at].maps.levels.subarray(0, under));
    for (let place = 0; place < found.length; place++) weights[under + place] = found[place] * step;
    const label = about.checkpoints.length > 1 ? `${LETTERS[at]} ${name}` : name;
    return { maps: new Maps({ name: label, shape, levels: weights, size, step: 1 }), step, patterns: [...(first > 1 ? plain.maps[at].patterns.slice(0, first - 1) : []), ...patterns] };
  }

  async function unpacked(state, look) {
    const key = JSON.stringify(readingOf(state));
    const needs = look.seen.some((each) => each.maps && each.maps.first > 1);
    if (needs && plain.key !== key) {
      const whole = await askLook("look", { reading: readingOf(state), changes: [], maps: true }, { busy });
      plain = { key, maps: await Promise.all(whole.seen.map(mapsOf)) };
    }
    const maps = await Promise.all(look.seen.map(mapsOf));
    if (unchanged(state)) plain = { key, maps };
    return maps;
  }

  function drawMaps(look, maps) {
    const there = maps.filter(Boolean);
    shown.data = null;
    if (!there.length) { // its notes say why
      heads.show(null);
      one.empty("There are no maps of this text.");
      return;
    }
    const step = Math.max(...there.map((each) => each.step));
    heads.show({ models: maps.map((each) => each?.maps), patterns: maps.map((each) => each?.patterns ?? []), change: look.change, step });
    const alike = there.length === maps.length && same(...(maps.length > 1 ? look.seen.map((each) => each.tokens.map((token) => token.text)) : [0, 0]));
    const models = alike ? maps.map((each) => each.maps) : [maps[0].maps];
    const tokens = look.seen[0].tokens;
    shown.data = { tokens: tokens.map((token) => token.text), inText: tokens.map((token) => Math.min(token.side, 1)) /* candidates count on */, pair: tokens.some((token) => token.side > 0), step, palettes: about.palettes, models, difference: "difference: B less A" };
    requestAnimationFrame(() => requestAnimationFrame(drawHead)); // after all heads: one frame isn't held for both
  }
  function drawHead() {
    if (shown?.data) one.show(shown.data, ...store.now.head.split(".").map(Number));
  }

  // What failed, where it is seen: a switch that is refused is taken back, a text stays as it was typed.
  function failed(error, state) {
    views.state.textContent = "";
    if (error instanceof Dropped) return;
    if (!(error instanceof Refused)) {
      tell(error.message, all);
      return;
    }
    if (good && same(readingOf(good), readingOf(state)) && !same(changesOf(good), changesOf(state))) {
      store.set({ changes: good.changes, mode: good.mode }, { undo: false, step: false });
      switches.refuse(error.message);
    } else reading.refuse(error.message);
  }

  // Whoever watches the page from outside sees in this when all that was asked is drawn.
  let working = 0;
  async function watched(work) {
    working += 1;
    document.body.dataset.settled = "false";
    try { await work(); } finally {
      working -= 1;
      if (!working) requestAnimationFrame(() => requestAnimationFrame(() => { document.body.dataset.settled = String(!working); }));
    }
  }

  const all = () => watched(everything);
  async function everything() {
    const mine = ++turn;
    const state = store.now;
    const [what, changes] = asked(state);
    views.state.textContent = "…";
    try {
      const look = await askLook("look", { reading: what, changes, maps: true }, { busy });
      [good, shown] = [state, { seen: look.seen, data: shown?.data }];
      reading.refuse(null);
      answers.show(look.seen, state);
      tell(null);
      views.spoken.textContent = answers.spoken();
      views.state.textContent = `answered in ${Math.max(1, Math.round(look.milliseconds))} ms`;
      const maps = await unpacked(state, look);
      if (mine !== turn) return;
      drawMaps(look, maps);
      await new Promise((done) => { setTimeout(done, PAUSE); }); // who switches on and on waits for no explanation
      if (mine !== turn) return;
      await explain();
      if (mine === turn) await Promise.all([compareAll(), patch()]);
    } catch (error) {
      failed(error, state);
    }
  }

  async function explain() {
    const [what, changes] = asked(store.now);
    if (about.checkpoints.every((each) => !each.predicts)) return;
    try {
      answers.explain(await askMore("explain", { reading: what, changes, method: store.now.method, towards: store.now.towards || null, word: Number(store.now.word) }, { busy }));
    } catch (error) {
      if (error instanceof Refused) {
        answers.explain(null);
        answers.refuse(error.message);
      } else if (!(error instanceof Dropped)) throw error;
    }
  }

  async function compareAll() {
    const { compared } = store.now;
    if (!compared.length) return;
    try {
      const told = await askPatch("compare", { readings: compared, changes: changesOf(store.now) }, { busy });
      if (same(compared, store.now.compared)) compare.show(told.moved);
    } catch (error) {
      if (error instanceof Refused) compare.refuse(error.message);
      else if (!(error instanceof Dropped)) throw error;
    }
  }

  const askParts = latest();
  async function patch() {
    const { other } = store.now;
    document.querySelector(".word-change").hidden = !other;
    if (!other) return;
    const what = readingOf(store.now);
    patching.texts(what, other);
    try {
      const look = await askLook("look", { reading: other, changes: changesOf(store.now), maps: false }, { busy });
      patching.answers(shown.seen, look.seen);
      if (!about.checkpoints[views.patched()].predicts) return;
      patching.wait("Taking each part's output from the first text, one after the other …");
      patching.parts(await askParts("patch", { reading: what, other, model: views.patched() }, { busy }), !unchanged(store.now));
    } catch (error) {
      if (error instanceof Refused) patching.wait(error.message);
      else if (!(error instanceof Dropped)) throw error;
    }
  }
  const calmly = (work) => watched(() => work().catch((error) => failed(error, store.now)));

  store.listen((now, was, { undo }) => {
    if (!same(asked(now), asked(was))) {
      if (undo !== false) switches.refuse(null);
      all();
    } else {
      if (now.method !== was.method || now.towards !== was.towards || now.word !== was.word) calmly(explain);
      if (!same(now.compared, was.compared)) calmly(compareAll);
      if (!same(now.other, was.other)) calmly(patch);
    }
    if (now.head !== was.head) requestAnimationFrame(drawHead);
  });
  return { all, patch: () => calmly(patch), seen: () => shown?.seen ?? [] };
}
