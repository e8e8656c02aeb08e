// Parts and what is done to them: `head:4.2`, `mlp:5`, `layer:12` are switched off, or taken from the other checkpoint.
export const LETTERS = ["A", "B"];
export const ACTS = { off: "off", graft: "graft" };

const KINDS = { head: "head", heads: "all heads of layer", mlp: "MLP", layer: "layer", embeddings: "embeddings" };

export function inWords(part) {
  const [kind, place] = part.split(":");
  return [KINDS[kind] ?? kind, place].filter(Boolean).join(" ");
}

// Whether a checkpoint has this part; what isn't known here the server refuses with its reason.
export function has({ shape }, part) {
  const [, kind, layer, head] = part.match(/^(head|heads|mlp|layer):(\d+)(?:\.(\d+))?$/) ?? [];
  if (!kind) return true;
  if (layer < 1 || layer > shape.length) return false;
  return kind !== "head" || (head >= 1 && head <= shape[layer - 1]);
}

// The checkpoints that a choice of `where` means.
export const placesOf = (where, count) => (where === "both" ? Array.from({ length: count }, (_, at) => at) : [Number(where)]);

// In which checkpoints a part is changed so, as a list of their places.
export const changedIn = (changes, act, part) => changes.flatMap((one, at) => (one[act].includes(part) ? [at] : []));

const without = (list, part) => list.filter((one) => one !== part);

// The changes with this part done to, or, where it is already in all of these checkpoints, as it was.
export function toggled(changes, checkpoints, act, parts, where) {
  const fitting = placesOf(where, changes.length);
  let next = changes;
  for (const part of parts) {
    const places = fitting.filter((at) => has(checkpoints[at], part));
    const meant = places.length ? places : fitting; // none has it: the server says so
    const all = meant.every((at) => next[at][act].includes(part));
    next = next.map((one, at) => {
      if (!meant.includes(at)) return one;
      const cleared = { off: without(one.off, part), graft: without(one.graft, part) };
      return all ? cleared : { ...cleared, [act]: [...cleared[act], part] };
    });
  }
  return next;
}

export function removed(changes, act, part, places) {
  return changes.map((one, at) => (places.includes(at) ? { ...one, [act]: without(one[act], part) } : one));
}

// Each changed part once, with the checkpoints in which it is.
export function listOf(changes) {
  return Object.keys(ACTS).flatMap((act) => {
    const parts = [...new Set(changes.flatMap((one) => one[act]))];
    return parts.map((part) => ({ act, part, places: changedIn(changes, act, part) }));
  });
}

// Every part that can be typed.
export function everyPart(checkpoints) {
  const shape = checkpoints.map((one) => one.shape).reduce((one, other) => (other.length > one.length ? other : one));
  const layers = shape.map((_, at) => at + 1);
  return [
    ...layers.flatMap((layer) => Array.from({ length: Math.max(...checkpoints.map((one) => one.shape[layer - 1] ?? 0)) }, (_, head) => `head:${layer}.${head + 1}`)),
    ...layers.map((layer) => `mlp:${layer}`),
    ...layers.map((layer) => `layer:${layer}`),
  ];
}
