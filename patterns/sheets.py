"""Draws contact sheets of the maps for somebody to label by eye: a number beside each, nothing else about it.

    python patterns/sheets.py OUT [FIRST [LAST]]      the maps from number FIRST to LAST, in the order of their ids
    python patterns/sheets.py OUT --sample N KEY.csv  N maps at random, numbered anew; which is which goes to KEY.csv

Large: square root of the attention, white = 0, black = the map's 99th percentile or 4 / length, whichever is more.
Small: the attention itself, white = 0, black = 1. Red ticks: [CLS] and [SEP]; blue line: where the second text begins.
"""

from __future__ import annotations

import json
import struct
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

HERE = Path(__file__).parent
LARGE, SMALL, MARGIN, ACROSS, DOWN = 260, 128, 12, 3, 4
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


def main(out: str, *options: str) -> None:
    maps = load_file(HERE / "maps.safetensors")
    lines = (HERE / "maps.jsonl").read_text(encoding="utf-8").splitlines()
    numbered = dict(enumerate((json.loads(line) for line in lines), start=1))
    if options[:1] == ("--sample",):
        chosen = np.random.default_rng(SEED).permutation(len(numbered))[: int(options[1])] + 1
        numbered = {new: numbered[int(old)] for new, old in enumerate(chosen, start=1)}
        key = [f"{number},{about['id']}\n" for number, about in numbered.items()]
        Path(options[2]).write_text("number,id\n" + "".join(key), encoding="utf-8")
    else:
        first, last = (*map(int, options), *(1, len(numbered))[len(options) :])
        numbered = {number: numbered[number] for number in range(first, last + 1)}
    Path(out).mkdir(parents=True, exist_ok=True)
    panels = [panel(number, maps[about["id"]], about) for number, about in numbered.items()]
    blank = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    for start in range(0, len(panels), ACROSS * DOWN):
        some = panels[start : start + ACROSS * DOWN]
        some += [blank] * (-len(some) % ACROSS)
        rows = [np.concatenate(some[at : at + ACROSS], axis=1) for at in range(0, len(some), ACROSS)]
        write_png(Path(out) / f"sheet-{min(numbered) + start:04d}.png", np.concatenate(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
