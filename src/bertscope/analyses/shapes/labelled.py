"""Maps with the class that somebody saw in them: a folder of `maps.safetensors`, `maps.jsonl` and `labels.csv`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import load_file

from bertscope.analyses.attention.maps import LayerMaps, View
from bertscope.analyses.shapes import CLASSES
from bertscope.core.errors import UserError, did_you_mean
from bertscope.models.batches import group_by_budget


@dataclass(frozen=True)
class LabelledMaps:
    """One entry per map."""

    maps: list[np.ndarray]
    """[n, n] each, float32, cropped to the real tokens."""
    special: list[tuple[int, ...]]
    """Where the special tokens of each are."""
    label: np.ndarray
    """Its place in `CLASSES`."""
    about: pd.DataFrame = field(default_factory=pd.DataFrame)
    """`id`, `model`, `layer`, `head`, `length` and what else the folder says; empty for synthetic maps."""

    def __len__(self) -> int:
        return len(self.maps)

    def __add__(self, other: LabelledMaps) -> LabelledMaps:
        return LabelledMaps(
            self.maps + other.maps, self.special + other.special, np.concatenate([self.label, other.label])
        )

    def take(self, which: np.ndarray) -> LabelledMaps:
        """Some of the maps, by position or by a mask."""
        at = np.arange(len(self))[which]
        about = self.about.iloc[at] if len(self.about) else self.about
        return LabelledMaps([self.maps[i] for i in at], [self.special[i] for i in at], self.label[at], about)

    def batches(self, cells: int, device: torch.device | str = "cpu") -> Iterator[tuple[np.ndarray, LayerMaps]]:
        """The maps in padded batches of similar lengths, with their positions: each a layer of one head."""
        lengths = np.array([len(one) for one in self.maps])
        for at in group_by_budget(lengths**2, cells):
            yield at, as_layer([self.maps[i] for i in at], [self.special[i] for i in at], device)


def read_labelled(folder: Path) -> LabelledMaps:
    """Read a folder of labelled maps."""
    try:
        about = pd.DataFrame(json.loads(line) for line in (folder / "maps.jsonl").read_text("utf-8").splitlines())
        labels = pd.read_csv(folder / "labels.csv")
        arrays = load_file(folder / "maps.safetensors")
        about = about.merge(labels, on="id", how="left", validate="one_to_one")
        maps = [arrays[name].astype(np.float32) for name in about["id"]]
        special = [tuple(places) for places in about["special"]]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder} isn't a folder of labelled maps ({error}); see patterns/README.md") from error
    for name, label in zip(about["id"], about["label"], strict=True):
        if label not in CLASSES:
            raise UserError(f"{folder}: map {name} is labelled {label!r}; {did_you_mean(str(label), CLASSES)}")
    return LabelledMaps(maps, special, np.array([CLASSES.index(label) for label in about["label"]]), about)


def agreement(folder: Path) -> dict[str, float] | None:
    """How often a second labeller, who saw some of the maps, said the same; None where there was none."""
    from sklearn.metrics import cohen_kappa_score

    path = folder / "second.csv"
    if not path.exists():
        return None
    both = pd.read_csv(folder / "labels.csv").merge(pd.read_csv(path), on="id", suffixes=("", "_second"))
    one, other = both["label"], both["label_second"]
    return {"maps": len(both), "share": float((one == other).mean()), "kappa": float(cohen_kappa_score(one, other))}


def as_layer(
    maps: Sequence[np.ndarray], special: Sequence[Sequence[int]], device: torch.device | str = "cpu"
) -> LayerMaps:
    """Maps that are at hand, as the one-headed layer of a batch. Each row is given back the sum of 1 that storing it
    in half precision cost."""
    longest = max(map(len, maps))
    padded = np.zeros((len(maps), 1, longest, longest), dtype=np.float32)
    real = np.zeros((len(maps), longest), dtype=bool)
    added = np.zeros((len(maps), longest), dtype=bool)
    segments = np.zeros((len(maps), longest), dtype=np.int64)
    for row, (one, places) in enumerate(zip(maps, special, strict=True)):
        n = len(one)
        padded[row, 0, :n, :n] = one / one.sum(-1, keepdims=True)
        real[row, :n] = True
        added[row, list(places)] = True
        if len(places) > 2:  # a pair: its second text begins after the separator that closes the first
            segments[row, places[-2] + 1 : places[-1]] = 1
    arrays = (real, added, np.full(real.shape, -1), segments)
    valid, of_tokenizer, words, sides = (torch.from_numpy(array).to(device) for array in arrays)
    view = View(np.arange(len(maps)), valid, of_tokenizer, words, sides)
    return LayerMaps(torch.from_numpy(padded).to(device), view)
