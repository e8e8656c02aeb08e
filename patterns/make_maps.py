"""Draws attention maps from four models and writes maps.safetensors and maps.jsonl: the set that was labelled by eye.

    python patterns/make_maps.py MINILM POCKET-SST2 POCKET-STSB [--out FOLDER]

The three are model folders; README.md says how to get them. What is drawn depends on nothing but the seed.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
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
SHARES = {"pocket": (12, 150), "pocket-sst2": (12, 75), "pocket-stsb": (12, 75), "minilm": (6, 140)}
"""Of each model: its layers, and how many maps are drawn from it."""
SEED = 0


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
    """All the maps. They are shuffled, so that an id says nothing about the model."""
    random = np.random.default_rng(SEED)
    places = [(model, *place) for model, share in SHARES.items() for place in _places(*share, text_ids, random)]
    return [
        Drawn(f"m{number:04d}", *places[at]) for number, at in enumerate(random.permutation(len(places)), start=1)
    ]


def _places(
    layers: int, maps: int, text_ids: Sequence[str], random: np.random.Generator
) -> Iterator[tuple[int, int, str]]:
    """Layer, head, text: layers in turn, texts in turn in random order (thus single and pair, short and long), a head
    at random of those that weren't drawn with that text."""
    texts = [text for _ in range(-(-maps // len(text_ids))) for text in random.permutation(text_ids).tolist()]
    taken: set[tuple[int, int, str]] = set()
    for layer, text in zip(cycle(range(1, layers + 1)), texts[:maps], strict=False):
        free = [head for head in range(1, HEADS + 1) if (layer, head, text) not in taken]
        place = (layer, int(random.choice(free)), text)
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


def main() -> None:
    parser = ArgumentParser(description="Draw the maps again.")
    for name, what in (("minilm", "all-MiniLM-L6-v2"), ("sst2", "pocket tuned on SST-2"), ("stsb", "... on STS-B")):
        parser.add_argument(name, help=f"the folder of {what}")
    parser.add_argument("--out", type=Path, default=HERE, help="where the two files go (default: %(default)s)")
    given = parser.parse_args()
    folders = {"pocket": "pocket", "pocket-sst2": given.sst2, "pocket-stsb": given.stsb, "minilm": given.minilm}
    texts = read_texts()
    drawn = draw([text["id"] for text in texts])
    found = collect({model: load(folder, device="cpu") for model, folder in folders.items()}, drawn, texts)
    ids = [one.id for one in drawn]
    save_file({id: found.maps[id] for id in ids}, given.out / "maps.safetensors")
    lines = [json.dumps(found.about[id]) + "\n" for id in ids]
    (given.out / "maps.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
