// What each checkpoint says, before and after the switches: probabilities as bars, pieces of the text, words for a mask.
import { make } from "/static/report/scripts/base.js";

const FIRST = 8; // bars that are shown at once
const LONG = 48; // letters of a headline that is set smaller
const THIN = 0.0005;

export const number = (value, digits = 3) => (value < 0 ? `−${Math.abs(value).toFixed(digits)}` : value.toFixed(digits));
export const signed = (value, digits = 3) => (Math.abs(value) < 0.5 * 10 ** -digits ? "±0" : `${value > 0 ? "+" : "−"}${Math.abs(value).toFixed(digits)}`);
// A probability: never a 1 or a 0 that isn't one.
export const chance = (p) => (p > 1 - THIN && p < 1 ? "> 0.999" : p < THIN && p > 0 ? "< 0.001" : p.toFixed(3));
export const sizeOf = ({ p, value }) => p ?? value;
const shown = (share) => (share.p === null ? number(share.value) : chance(share.p));

// The same labels before and after, in the order that they had before: a bar doesn't jump away under the eye.
export function pairsOf(before, after) {
  const found = new Map(after.map((one) => [one.label, one]));
  const known = new Set(before.map((one) => one.label));
  const kept = before.filter((one) => found.has(one.label)).map((one) => ({ before: one, after: found.get(one.label) }));
  return [...kept, ...after.filter((one) => !known.has(one.label)).map((one) => ({ before: null, after: one }))];
}

export function barsOf(before, after, moved) {
  const pairs = pairsOf(before, after);
  const most = Math.max(1e-9, ...pairs.flatMap(({ before: one, after: other }) => [one, other].filter((each) => each && each.p === null).map((each) => Math.abs(each.value))));
  const width = (share) => 100 * (share.p ?? Math.abs(share.value) / most);
  const bars = pairs.map(({ before: was, after: is }) => {
    const fill = make("span", { class: "fill" });
    fill.style.width = `${width(is)}%`;
    const track = make("span", { class: "track", "aria-hidden": "true" }, fill);
    if (moved && was) {
      const tick = make("span", { class: "was" });
      tick.style.left = `${width(was)}%`;
      track.append(tick);
    }
    const change = moved && was ? make("span", { class: "moved", title: `before the switches ${shown(was)}` }, signed(sizeOf(is) - sizeOf(was))) : "";
    return make("li", { "data-label": is.label, "data-value": sizeOf(is) }, make("bdi", { class: "label", title: is.label }, is.label), track, make("span", { class: "number" }, shown(is)), change);
  });
  const list = make("ul", { class: moved ? "bars moves" : "bars" }, ...bars.slice(0, FIRST));
  if (bars.length <= FIRST) return [list];
  const more = make("details", { class: "more" }, make("summary", {}, `${bars.length - FIRST} more`), make("ul", { class: list.className }, ...bars.slice(FIRST)));
  return [list, more];
}

// Pieces of the text after the switches, and those that are gone by them.
export function marksOf(before, after, side) {
  const key = (one) => [one.start, one.end, one.label].join();
  const [old, now] = [before, after].map((one) => (one?.marks ?? []).filter((mark) => mark.side === side));
  const [oldKeys, nowKeys] = [old, now].map((marks) => new Set(marks.map(key)));
  const free = (one) => !now.some((mark) => mark.start < one.end && one.start < mark.end);
  return [
    ...now.map((one) => ({ ...one, state: oldKeys.has(key(one)) ? "" : "new" })),
    ...old.filter((one) => !nowKeys.has(key(one)) && free(one)).map((one) => ({ ...one, state: "gone" })),
  ];
}

export const isScore = (one) => one.shares.length === 1 && one.shares[0].p === null;

function headline(before, after, moved) {
  const said = make("p", { class: after.said.length > LONG ? "said long" : "said" }, make("bdi", {}, after.said));
  const single = isScore(after); // it is its number already
  if (after.p !== null) said.append(" ", make("span", { class: "number", "data-p": after.p }, chance(after.p)));
  if (moved && single) said.append(" ", make("span", { class: "moved" }, signed(after.shares[0].value - before.shares[0].value)));
  else if (moved && before.said !== after.said) said.append(" ", make("span", { class: "turned" }, "was ", make("bdi", {}, before.said), before.p === null ? "" : ` ${chance(before.p)}`));
  else if (moved && after.p !== null) said.append(" ", make("span", { class: "moved" }, signed(after.p - before.p)));
  return said;
}

// One checkpoint's answer; `texts` are the elements of the words, which stand between the answer and its bars.
export function answerOf({ before, after, tokens }, moved, texts) {
  if (!after) return [make("p", { class: "empty" }, "It predicts nothing by itself: it has no task head. Its attention is below."), ...texts];
  const guesses = after.guesses.map((guess, at) => {
    const was = before.guesses[at]?.token === guess.token ? before.guesses[at].words : [];
    const place = after.guesses.length > 1 ? `For mask ${at + 1}, ` : "For the mask, ";
    return make("div", { class: "guess" }, make("p", { class: "small" }, `${place}token ${guess.token + 1} of ${tokens.length}`), ...barsOf(was.length ? was : guess.words, guess.words, moved && was.length > 0));
  });
  const bars = after.shares.length > 1 || (after.shares.length && after.shares[0].p !== null) ? barsOf(before.shares, after.shares, moved) : [];
  return [headline(before, after, moved), ...bars, ...guesses, ...texts];
}

// The same in one line, for a narrow screen on which switches and answers aren't seen together.
export function inBrief({ before, after }, moved) {
  if (!after) return [];
  const change = moved && after.p !== null && before.said === after.said ? ` ${signed(after.p - before.p)}` : "";
  return [make("strong", {}, make("bdi", {}, after.said)), after.p === null ? "" : ` ${chance(after.p)}`, make("span", { class: "moved" }, change)];
}

// All of it in one sentence, for those who hear it.
export function spoken(name, { before, after }, moved) {
  if (!after) return `${name} predicts nothing.`;
  const p = (one) => (one.p === null ? "" : ` ${chance(one.p)}`);
  return `${name}: ${after.said}${p(after)}${moved ? `, before the switches ${before.said}${p(before)}` : ""}.`;
}
