"""Draws attention maps from four models and writes maps.safetensors and maps.jsonl: the set that was labelled by eye.

    python patterns/make_maps.py MINILM POCKET-SST2 POCKET-MNLI [OUT]

The three are model folders; README.md says how to get them. What is drawn depends on nothing but the seeds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.models.batches import Batch
from bertscope.models.encoder import Encoder
from bertscope.models.load import load
from bertscope.models.observe import Seen, observe

HERE = Path(__file__).parent
HEADS = 12
"""Heads per layer: the same in all the models."""


@dataclass(frozen=True)
class Share:
    """How many maps of one model, spread evenly over these layers (1-based)."""

    model: str
    layers: tuple[int, ...]
    maps: int


ROUNDS: tuple[tuple[Share, ...], ...] = (
    (
        Share("pocket", tuple(range(1, 13)), 150),
        Share("pocket-sst2", tuple(range(1, 13)), 75),
        Share("pocket-mnli", tuple(range(1, 13)), 75),
        Share("minilm", tuple(range(1, 7)), 140),
    ),
)
"""Each round was drawn after the one before it had been labelled; a round's place is its seed."""


@dataclass(frozen=True)
class Drawn:
    """One map: which head reads which text. Layer and head count from 1."""

    id: str
    model: str
    layer: int
    head: int
    text: str


def read_texts(path: Path = HERE / "texts.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def draw(text_ids: Sequence[str]) -> list[Drawn]:
    """The maps of all rounds. Inside a round they are shuffled, so that an id says nothing about the model."""
    taken: set[tuple[str, int, int, str]] = set()
    drawn: list[Drawn] = []
    for seed, shares in enumerate(ROUNDS):
        random = np.random.default_rng(seed)
        places = [place for share in shares for place in _places(share, text_ids, random, taken)]
        for at in random.permutation(len(places)):
            drawn.append(Drawn(f"m{len(drawn) + 1:04d}", *places[at]))
    return drawn


def _places(
    share: Share, text_ids: Sequence[str], random: np.random.Generator, taken: set[tuple[str, int, int, str]]
) -> Iterator[tuple[str, int, int, str]]:
    """Layers in turn, texts in turn in random order (thus single and pair, short and long), heads at random."""
    texts = [text for _ in range(-(-share.maps // len(text_ids))) for text in random.permutation(text_ids).tolist()]
    for layer, text in zip(cycle(share.layers), texts[: share.maps], strict=False):
        free = [head for head in range(1, HEADS + 1) if (share.model, layer, head, text) not in taken]
        place = (share.model, layer, int(random.choice(free)), text)
        taken.add(place)
        yield place


class Collected:
    """The maps asked for, cropped to the real tokens, and what is known of their tokens."""

    needs = frozenset({"maps"})

    def __init__(self, rows: Sequence[Sequence[Drawn]]) -> None:
        self._rows = rows
        self.maps: dict[str, Tensor] = {}
        self.about: dict[str, dict[str, Any]] = {}

    def update(self, batch: Batch, seen: Sequence[Seen]) -> None:
        for place, row in enumerate(batch.rows):
            length = int(batch.lengths[place])
            special = batch.special[place, :length].nonzero().flatten().tolist()
            second = batch.segments[place, :length].nonzero().flatten().tolist()
            for drawn in self._rows[row]:
                attention = seen[0].maps[drawn.layer - 1][place, drawn.head - 1, :length, :length]
                self.maps[drawn.id] = attention.to("cpu", torch.float16, copy=True).contiguous()
                self.about[drawn.id] = {
                    **vars(drawn),
                    "length": length,
                    "special": special,
                    "second": second[0] if second else None,
                }


def collect(encoders: Mapping[str, Encoder], drawn: Sequence[Drawn], texts: Sequence[dict[str, Any]]) -> Collected:
    """Run each encoder over the texts it was drawn with, singles and pairs apart."""
    found = Collected([])
    for model, encoder in encoders.items():
        for paired in (False, True):
            chosen = [text for text in texts if (text["pair"] is not None) == paired]
            rows = [[one for one in drawn if (one.model, one.text) == (model, text["id"])] for text in chosen]
            examples = Examples(
                tuple(text["id"] for text in chosen),
                tuple(text["text"] for text in chosen),
                tuple(text["pair"] for text in chosen) if paired else None,
            )
            part = Collected(rows)
            observe([encoder], examples, [part])
            found.maps |= part.maps
            found.about |= part.about
    return found


def main(minilm: str, sst2: str, mnli: str, out: str = str(HERE)) -> None:
    folders = {"pocket": "pocket", "pocket-sst2": sst2, "pocket-mnli": mnli, "minilm": minilm}
    texts = read_texts()
    drawn = draw([text["id"] for text in texts])
    found = collect({model: load(folder, device="cpu") for model, folder in folders.items()}, drawn, texts)
    ids = [one.id for one in drawn]
    save_file({id: found.maps[id] for id in ids}, Path(out) / "maps.safetensors")
    lines = [json.dumps(found.about[id]) + "\n" for id in ids]
    (Path(out) / "maps.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
