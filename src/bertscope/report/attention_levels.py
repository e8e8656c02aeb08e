"""Attention maps as a page holds them: rounded, and packed as small as they get.

A map of 12 x 12 heads and 128 tokens has 2.4 million weights. Most are small: on an even scale with a step of 0.004
they take two or three bits each, and the largest are as exact as the smallest. Of short texts the step is finer.
"""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertscope.core.attention_maps import ADDED, AttentionMaps

if TYPE_CHECKING:
    import numpy as np

STEPS = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.004, 0.01, 0.02)
"""What weights are rounded to a multiple of."""
ROOM = 880_000
"""Letters for the maps of one checkpoint: of the steps that need no more, the finest is taken."""
LONGEST = 256
"""Rows of a map: of more tokens, neighbours are taken together."""
_SAMPLE = 2**18
"""Weights whose entropy is computed; it tells that of all of them."""
_EVEN = 0.52
"""No step is longer than this share of what even attention gives to each token: an even map would look empty."""
_PLAIN = 0.004
"""The shortest step with which a level has one byte."""


@dataclass(frozen=True)
class Packed:
    """The maps of one text for the page."""

    step: float
    wide: bool
    """Whether a level has two bytes: the higher ones of all levels come first, then the lower ones."""
    block: int
    """How many neighbouring tokens are taken together, at most."""
    tokens: list[str]
    in_text: list[int]
    levels: list[str]
    """Of each checkpoint all layers' heads, each [key, query]: down a column weights are alike. Deflated, base64."""


def packed(maps: AttentionMaps) -> Packed:
    import numpy as np

    block = -(-len(maps.tokens) // LONGEST)
    starts = _starts(maps.in_text, block)
    ends = [*starts[1:], len(maps.tokens)]
    weights = [_taken_together(layers, starts) for layers in maps.of_models.values()]
    longest = _EVEN / len(starts)
    steps = [step for step in STEPS if step <= longest] or [STEPS[0]]
    room = ROOM * len(weights)
    for step in steps:
        if step != steps[-1] and sum(_letters(one, step) for one in weights) > room:
            continue
        levels = [np.round(one / np.float32(step)).astype(np.uint16) for one in weights]
        wide = any(one.max(initial=0) > 255 for one in levels)
        texts = [_text(one, wide) for one in levels]
        if sum(map(len, texts)) <= room:
            break
    return Packed(
        step, wide, block,
        tokens=[_named(maps.tokens[start:end]) for start, end in zip(starts, ends, strict=True)],
        in_text=[maps.in_text[start] for start in starts],
        levels=texts,
    )  # fmt: skip


def packed_quickly(layers: Sequence[np.ndarray]) -> tuple[float, bool, str]:
    """The step, whether levels are wide, and the levels of one checkpoint's maps [head, query, key], layer by layer:
    for who waits. No step is looked for, and deflating takes less time than it could."""
    import numpy as np

    tokens = layers[0].shape[-1] if layers else 1
    step = max([one for one in STEPS if one <= min(_EVEN / tokens, _PLAIN)], default=STEPS[0])
    wide = step < _PLAIN
    weights = _taken_together(layers, range(tokens)) if layers else np.zeros(0, np.float32)
    levels = np.rint(weights * np.float32(1 / step)).astype(np.uint16 if wide else np.uint8)
    return step, wide, b64encode(_deflated(_body(levels, wide), zlib.Z_DEFAULT_STRATEGY, 1)).decode()


def _starts(in_text: Sequence[int], block: int) -> list[int]:
    """Where blocks of tokens begin: none goes from one text into another, and added tokens stand alone."""
    starts: list[int] = []
    for place, text in enumerate(in_text):
        same = starts and text != ADDED and in_text[starts[-1]] == text
        if not same or place - starts[-1] == block:
            starts.append(place)
    return starts


def _taken_together(layers: Sequence[np.ndarray], starts: Sequence[int]) -> np.ndarray:
    """All heads' maps [head, key, query], end to end: from a block the mean over its tokens, to a block their sum."""
    import numpy as np

    whole = np.concatenate(layers)
    n = whole.shape[-1]
    if len(starts) < n:
        sizes = np.diff([*starts, n])
        whole = np.add.reduceat(np.add.reduceat(whole, starts, axis=2), starts, axis=1) / sizes[:, None]
    return np.ascontiguousarray(whole.swapaxes(1, 2))


def _letters(weights: np.ndarray, step: float) -> float:
    """About how many letters these would take, by their entropy: it takes no time to know."""
    import numpy as np

    some = weights.ravel()[:: max(1, weights.size // _SAMPLE) | 1]  # an odd stride meets every row and column
    levels = np.round(some / np.float32(step)).astype(np.uint16)
    planes = (levels,) if levels.max(initial=0) < 256 else (levels >> 8, levels & 255)
    counts = (np.bincount(plane) for plane in planes)
    shares = [each[each > 0] / max(some.size, 1) for each in counts]
    return sum(float(-(each * np.log2(each)).sum()) for each in shares) * weights.size / 6


def _named(tokens: Sequence[str]) -> str:
    return tokens[0] if len(tokens) == 1 else f"{tokens[0]} … {tokens[-1]}"


def _text(levels: np.ndarray, wide: bool) -> str:
    body = _body(levels, wide)
    # Few of these bytes repeat in long runs: which of these codes is shorter depends on the heads.
    return b64encode(min((_deflated(body, how) for how in (zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY)), key=len)).decode()


def _body(levels: np.ndarray, wide: bool) -> bytes:
    import numpy as np

    planes = [levels >> 8, levels & 255] if wide else [levels]
    return b"".join(plane.astype(np.uint8).tobytes() for plane in planes)


def _deflated(body: bytes, how: int, effort: int = 7) -> bytes:  # 9 takes 4 times as long as 7 for 3% less
    deflate = zlib.compressobj(effort, zlib.DEFLATED, -zlib.MAX_WBITS, 9, how)
    return deflate.compress(body) + deflate.flush()
