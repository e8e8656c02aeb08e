// Colours: a scale of 256, from a theme's stops. By the square root: weight spread over thirty tokens is seen as well as
// weight on one.
const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

export function scaleOf(stops) {
  const rgb = stops.map(parts);
  return Array.from({ length: 256 }, (_, level) => {
    const along = (level / 255) * (rgb.length - 1);
    const stop = Math.min(Math.floor(along), rgb.length - 2);
    return rgb[stop].map((from, at) => Math.round(from + (rgb[stop + 1][at] - from) * (along - stop)));
  });
}

export const hex = (rgb) => `#${rgb.map((part) => part.toString(16).padStart(2, "0")).join("")}`;

// The place of a weight in the scale; of a difference, from the middle to either end.
export function shade(weight, top, signed) {
  const strength = Math.sqrt(Math.min(1, Math.abs(weight) / top));
  return Math.round(signed ? 127.5 + 127.5 * Math.sign(weight) * strength : 255 * strength);
}

// A map as a picture, a pixel for each cell. `turned`: the weights are by keys and then by queries. All cells of all heads
// are painted at once where a page shows a grid: what can be done once for all of them is.
const inks = new WeakMap(); // of a scale, as pixels

function inkOf(scale) {
  if (!inks.has(scale)) inks.set(scale, new Uint32Array(new Uint8Array(scale.flatMap((colour) => [...colour, 255])).buffer));
  return inks.get(scale);
}

export function paint(canvas, n, scale, top, signed, weights, { mask = null, turned = false } = {}) {
  if (canvas.width !== n || canvas.height !== n) [canvas.width, canvas.height] = [n, n];
  const context = canvas.getContext("2d");
  const image = context.createImageData(n, n);
  const pixels = new Uint32Array(image.data.buffer);
  const ink = inkOf(scale);
  const [middle, reach] = signed ? [127.5, 127.5] : [0, 255];
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      const at = row * n + column;
      if (mask && !mask[at]) continue;
      const share = weights[turned ? column * n + row : at] / top;
      const level = middle + (share < 0 ? -reach * Math.sqrt(share < -1 ? 1 : -share) : reach * Math.sqrt(share > 1 ? 1 : share)); // as `shade`
      pixels[at] = ink[(level + 0.5) | 0];
    }
  }
  context.putImageData(image, 0, 0);
}

// A weight as readers see it. Less than half a step is no more known to be 0 than to be a little more.
export function written(weight, step, signed = false) {
  const digits = step < 0.001 ? 4 : 3;
  if (signed) return `${weight < 0 ? "−" : "+"}${Math.abs(weight).toFixed(digits)}`;
  return weight < step / 2 ? `< ${step / 2}` : Math.min(1, weight).toFixed(digits);
}
