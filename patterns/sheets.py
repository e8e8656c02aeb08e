"""Draws contact sheets of the maps for somebody to label by eye: a number beside each, nothing else about it.

    python patterns/sheets.py OUT                            every map, numbered as its id is
    python patterns/sheets.py OUT --sample N --key KEY.csv   N at random, numbered anew; KEY.csv says which is which

Large: square root of the attention, white = 0, black = the map's 99th percentile or 4 / length, whichever is more.
Small: the attention itself, white = 0, black = 1. Red ticks: [CLS] and [SEP]; blue lines: the second text begins.
"""

from __future__ import annotations

import json
import struct
import zlib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

HERE = Path(__file__).parent
LARGE, SMALL, MARGIN, ACROSS, DOWN = 252, 96, 8, 3, 4
WIDTH, HEIGHT = LARGE + SMALL + 3 * MARGIN, LARGE + 2 * MARGIN
RED, BLUE = (220, 0, 0), (60, 120, 255)
DIGITS = ("75557", "26227", "71747", "71717", "55711", "74717", "74757", "71111", "75757", "75717")
"""Each digit's five rows, the three pixels of a row as bits."""
SEED = 7


def panel(number: int, attention: np.ndarray, about: dict[str, Any]) -> np.ndarray:
    """One map [HEIGHT, WIDTH, 3]: large and small, its number under the small one."""
    length = len(attention)
    attention = attention.astype(np.float32)
    top = max(float(np.quantile(attention, 0.99)), 4 / length)
    image = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    _paste(image, MARGIN - 1, MARGIN - 1, grey(np.sqrt(attention / top), LARGE))
    _paste(image, MARGIN - 1, LARGE + 2 * MARGIN - 1, grey(attention, SMALL))
    for token in about["special"]:
        at = slice(MARGIN + token * LARGE // length, MARGIN + (token + 1) * LARGE // length)
        image[MARGIN - 6 : MARGIN - 1, at] = RED
        image[at, MARGIN - 6 : MARGIN - 1] = RED
    if about["second"] is not None:
        at = MARGIN + about["second"] * LARGE // length
        image[MARGIN : MARGIN + LARGE, at] = BLUE
        image[at, MARGIN : MARGIN + LARGE] = BLUE
    _paste(image, SMALL + 4 * MARGIN, LARGE + 2 * MARGIN, digits(number))
    return image


def grey(values: np.ndarray, size: int) -> np.ndarray:
    """Values from 0 (white) to 1 (black) as a square of `size` pixels and a frame of one."""
    at = np.arange(size) * len(values) // size
    shade = (255 * (1 - np.clip(values, 0, 1))).astype(np.uint8)[at][:, at]
    return np.repeat(np.pad(shade, 1, constant_values=170)[..., None], 3, axis=2)


def digits(number: int) -> np.ndarray:
    rows = np.array([[int(row) for row in DIGITS[int(digit)]] for digit in f"{number:04d}"])  # [digit, 5]
    bits = (rows[..., None] >> np.array([2, 1, 0, 5])) & 1  # the last is a gap
    return np.repeat(255 * (1 - bits.swapaxes(0, 1).reshape(5, -1, 1)), 3, axis=2).repeat(4, 0).repeat(4, 1)


def _paste(image: np.ndarray, top: int, left: int, part: np.ndarray) -> None:
    image[top : top + part.shape[0], left : left + part.shape[1]] = part


def write_png(path: Path, image: np.ndarray) -> None:
    height, width, _ = image.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)


def main() -> None:
    parser = ArgumentParser(description="Draw contact sheets of the maps.")
    parser.add_argument("out", type=Path, help="the folder for the sheets")
    parser.add_argument("--sample", type=int, help="how many maps, at random and numbered anew (default: all)")
    parser.add_argument("--key", type=Path, help="where to write which number is which map; with --sample")
    given = parser.parse_args()
    if (given.sample is None) != (given.key is None):
        parser.error("--sample and --key go together")
    maps = load_file(HERE / "maps.safetensors")
    about = [json.loads(line) for line in (HERE / "maps.jsonl").read_text(encoding="utf-8").splitlines()]
    if given.sample is not None:
        about = [about[at] for at in np.random.default_rng(SEED).permutation(len(about))[: given.sample]]
        key = [f"{number},{row['id']}\n" for number, row in enumerate(about, start=1)]
        given.key.write_text("number,id\n" + "".join(key), encoding="utf-8")
    given.out.mkdir(parents=True, exist_ok=True)
    blank = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    for start in range(0, len(about), ACROSS * DOWN):
        rows = enumerate(about[start : start + ACROSS * DOWN], start=start + 1)
        panels = [panel(number, maps[row["id"]], row) for number, row in rows]
        panels += [blank] * (-len(panels) % ACROSS)
        lines = [np.concatenate(panels[at : at + ACROSS], axis=1) for at in range(0, len(panels), ACROSS)]
        write_png(given.out / f"sheet-{start + 1:04d}.png", np.concatenate(lines))


if __name__ == "__main__":
    main()
