"""Small pictures as PNG in pieces: a picture's head and body, and the palette between them.

A picture without a palette can be shown in any theme: the theme's palette is put in when it is drawn. Each piece but
the last is a multiple of three bytes long, so that pieces can be joined after they were written in base64.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

LEVELS = 256
START = "data:image/png;base64,"


def head_and_body(levels: np.ndarray) -> tuple[str, str]:
    """A matrix of levels, 0 to 255, as what stands before the palette and what stands after it."""
    import numpy as np

    height, width = levels.shape
    eight_bits, indexed = 8, 3
    size = struct.pack(">IIBBBBB", width, height, eight_bits, indexed, 0, 0, 0)
    unfiltered = np.zeros((height, 1), np.uint8)
    pixels = np.hstack([unfiltered, levels.astype(np.uint8)]).tobytes()
    head = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", size)
    return _text(head), _text(_chunk(b"IDAT", zlib.compress(pixels, 9)) + _chunk(b"IEND", b""))


def palette(stops: list[str]) -> str:
    """The colours of all levels, evenly between the stops (`#rrggbb`) from the lowest to the highest."""
    colours = [tuple(bytes.fromhex(stop[1:])) for stop in stops]
    steps, table = len(colours) - 1, bytearray()
    for level in range(LEVELS):
        stop = min(level * steps // (LEVELS - 1), steps - 1)
        along = level * steps / (LEVELS - 1) - stop
        table += bytes(round(a + (b - a) * along) for a, b in zip(colours[stop], colours[stop + 1], strict=True))
    return _text(_chunk(b"PLTE", bytes(table)))


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _text(piece: bytes) -> str:
    return b64encode(piece).decode()
