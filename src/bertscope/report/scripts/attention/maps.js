// Attention maps: unpacked from what a page holds, and read by layer and head, counted from 1.
export async function unpackLevels(base64, wide) {
  const letters = atob(base64);
  const packed = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) packed[at] = letters.charCodeAt(at);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (!wide) return bytes;
  const half = bytes.length / 2; // the higher bytes of all levels, then the lower ones
  const levels = new Uint16Array(half);
  for (let at = 0; at < half; at++) levels[at] = (bytes[at] << 8) | bytes[half + at];
  return levels;
}

// One checkpoint's maps. `shape` is how many heads each layer has; `levels` are all heads' maps end to end, each by keys
// and then by queries, in steps of `step`.
export class Maps {
  constructor({ name, shape, levels, size, step }) {
    Object.assign(this, { name, shape, levels, size, step });
    this.before = shape.map((_, layer) => shape.slice(0, layer).reduce((sum, heads) => sum + heads, 0));
  }

  has(layer, head) {
    return head >= 1 && head <= (this.shape[layer - 1] ?? 0);
  }

  levelsOf(layer, head) {
    const cells = this.size * this.size;
    const place = this.before[layer - 1] + head - 1;
    return this.levels.subarray(place * cells, (place + 1) * cells);
  }

  // The weights of one head, by queries and then by keys; null where there is no such head.
  weights(layer, head) {
    if (!this.has(layer, head)) return null;
    const [n, levels] = [this.size, this.levelsOf(layer, head)];
    const weights = new Float32Array(n * n);
    for (let key = 0; key < n; key++) {
      for (let query = 0; query < n; query++) weights[query * n + key] = levels[key * n + query] * this.step;
    }
    return weights;
  }
}

// The other checkpoint's weights less the first one's. Heads are counted in each by itself: where a layer has lost some
// in one of the two, which is which isn't known.
export function differenceOf(first, other, layer, head) {
  if (first.shape[layer - 1] !== other.shape[layer - 1] || !first.has(layer, head)) return null;
  const [before, after] = [first.weights(layer, head), other.weights(layer, head)];
  return after.map((weight, at) => weight - before[at]);
}

export function largest(weights, mask = null) {
  let most = 0;
  for (let at = 0; at < weights.length; at++) {
    if (!mask || mask[at]) most = Math.max(most, Math.abs(weights[at]));
  }
  return most;
}

// Which cells are looked at: those between two texts or within them, special tokens left out or not. null: all.
export function maskOf(inText, which, special) {
  if (which === "all" && special) return null;
  const [from, to] = { all: ["01", "01"], "first-second": ["0", "1"], "second-first": ["1", "0"], "first-first": ["0", "0"], "second-second": ["1", "1"] }[which];
  const n = inText.length;
  const mask = new Uint8Array(n * n);
  const shown = (text, side) => (text < 0 ? special && which === "all" : side.includes(text));
  inText.forEach((query, row) => inText.forEach((key, column) => {
    mask[row * n + column] = shown(query, from) && shown(key, to) ? 1 : 0;
  }));
  return mask;
}
