"""Windows of one text or pair, token by token: what `models/windows.py` is held to."""

from __future__ import annotations

from typing import Any

NAMES = ("input_ids", "token_type_ids")


def plain_windows(tokenizer: Any, text: str, pair: str | None, length: int, first: int) -> list[dict[str, list[int]]]:
    """What a model reads, window by window; of a pair's first text at most so many tokens as `first` says."""
    coded = tokenizer(text, pair, truncation=False, verbose=False)
    side, kept = (0 if pair is None else 1), 0
    head, body, tail = list[int](), list[int](), list[int]()
    for at, part in enumerate(coded.sequence_ids(0)):
        if part == side:
            body.append(at)
        elif part == 0 and (kept := kept + 1) > first:
            continue
        else:
            (tail if body else head).append(at)
    size, found, begin = length - len(head) - len(tail), [], 0
    while True:
        places = head + body[begin : begin + size] + tail
        found.append({name: [coded[name][at] for at in places] for name in NAMES if name in coded})
        if begin + size >= len(body):
            return found
        begin += size - length // 4
