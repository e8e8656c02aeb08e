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

// A map as a picture, a pixel for each cell; `weightAt` is asked for the cell of a row and a column.
export function paint(canvas, n, scale, top, signed, weightAt, mask = null) {
  canvas.width = n;
  canvas.height = n;
  const context = canvas.getContext("2d");
  const image = context.createImageData(n, n);
  for (let at = 0; at < n * n; at++) {
    if (mask && !mask[at]) continue;
    const colour = scale[shade(weightAt(at), top, signed)];
    image.data[4 * at] = colour[0];
    image.data[4 * at + 1] = colour[1];
    image.data[4 * at + 2] = colour[2];
    image.data[4 * at + 3] = 255;
  }
  context.putImageData(image, 0, 0);
}

// A weight as readers see it. Less than half a step is no more known to be 0 than to be a little more.
export function written(weight, step, signed = false) {
  const digits = step < 0.001 ? 4 : 3;
  if (signed) return `${weight < 0 ? "−" : "+"}${Math.abs(weight).toFixed(digits)}`;
  return weight < step / 2 ? `< ${step / 2}` : Math.min(1, weight).toFixed(digits);
}
