"""Maps with the class that people saw in them: folders of maps and of what one or two labellers said."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.numpy import load_file

from bertscope.analyses.attention.maps import LayerMaps
from bertscope.analyses.attention.view import View
from bertscope.analyses.shapes import CLASSES, Labels
from bertscope.core.errors import UserError, did_you_mean
from bertscope.models.batches import group_by_budget

NOBODY = -1
"""In the place of a class: this labeller didn't see the map."""


@dataclass(frozen=True)
class LabelledMaps:
    """One entry per map."""

    maps: list[np.ndarray]
    """[n, n] each, float32, cropped to the real tokens."""
    special: list[tuple[int, ...]]
    """Where the special tokens of each are."""
    labels: np.ndarray
    """[map, labeller]: the class's place in `CLASSES`, or `NOBODY`. The first labeller saw every map."""
    about: pd.DataFrame
    """`id`, `model`, `layer`, `head` and what else the folder says; `set` is the folder's place among those read."""

    def __len__(self) -> int:
        return len(self.maps)

    def take(self, which: np.ndarray) -> LabelledMaps:
        """Some of the maps, by position or by a mask."""
        at = np.arange(len(self))[which]
        maps, special = [self.maps[i] for i in at], [self.special[i] for i in at]
        return LabelledMaps(maps, special, self.labels[at], self.about.iloc[at].reset_index(drop=True))

    def targets(self, whose: Labels) -> np.ndarray:
        """[map, class]: the share of labellers who said so, of those whose labels are wanted (the first where the
        second didn't see the map)."""
        said = np.eye(len(CLASSES) + 1)[self.labels][..., : len(CLASSES)]  # NOBODY is the last, which is cut off
        if whose == "first":
            said = said[:, :1]
        elif whose == "second":
            said = np.where(self.labels[:, 1:] == NOBODY, self.labels[:, :1], self.labels[:, 1:])
            return np.eye(len(CLASSES))[said[:, 0]]
        return said.sum(1) / said.sum((1, 2))[:, None]

    def agreed(self) -> np.ndarray:
        """Whether both labellers saw the map and said the same."""
        return self.labels[:, 0] == self.labels[:, 1]

    def batches(self, cells: int) -> Iterator[tuple[np.ndarray, LayerMaps]]:
        """The maps in padded batches of similar lengths, with their positions: each a layer of one head."""
        lengths = np.array([len(one) for one in self.maps])
        for at in group_by_budget(lengths**2, cells):
            yield at, as_layer([self.maps[i] for i in at], [self.special[i] for i in at])


def read_labelled(folders: Sequence[Path]) -> LabelledMaps:
    """Read folders of labelled maps, end to end."""
    sets = [_read(folder) for folder in folders]
    return LabelledMaps(
        [one for each in sets for one in each.maps],
        [one for each in sets for one in each.special],
        np.concatenate([each.labels for each in sets]),
        pd.concat([each.about.assign(set=place) for place, each in enumerate(sets)], ignore_index=True),
    )


def _read(folder: Path) -> LabelledMaps:
    try:
        arrays, about, said = (_of_one_file if (folder / "labels.json").exists() else _of_tables)(folder)
        maps = [arrays[name].astype(np.float32) for name in about["id"]]
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{folder} isn't a folder of labelled maps ({error}); see patterns/README.md") from error
    labels = np.full((len(about), 2), NOBODY)
    for place, name in enumerate(about["id"]):
        for labeller, answers in enumerate(said):
            if labeller == 0 or name in answers:
                label = answers.get(name)
                if label not in CLASSES:
                    raise UserError(
                        f"{folder}: map {name} is labelled {label!r}; {did_you_mean(str(label), CLASSES)}"
                    )
                labels[place, labeller] = CLASSES.index(label)
    special = [tuple(places) for places in about["special"]]
    return LabelledMaps(maps, special, labels, about)


def _of_tables(folder: Path) -> tuple[Any, pd.DataFrame, list[dict[str, str]]]:
    """maps.safetensors, maps.jsonl, labels.csv, and second.csv where there is a second labeller."""
    about = pd.DataFrame(json.loads(line) for line in (folder / "maps.jsonl").read_text("utf-8").splitlines())
    files = [folder / "labels.csv", *([folder / "second.csv"] if (folder / "second.csv").exists() else [])]
    said = [pd.read_csv(file).set_index("id")["label"].to_dict() for file in files]
    return load_file(folder / "maps.safetensors"), about, said


def _of_one_file(folder: Path) -> tuple[Any, pd.DataFrame, list[dict[str, str]]]:
    """maps.npz, and labels.json with `meta`, `labels_A` and `labels_B`."""
    known = json.loads((folder / "labels.json").read_text("utf-8"))
    about = pd.DataFrame(known["meta"]).assign(id=lambda rows: "m" + rows["id"].astype(str))
    about["special"] = [(0, *places) for places in about["sep"]]
    said = [{f"m{name}": label for name, label in known[key].items()} for key in ("labels_A", "labels_B")]
    return np.load(folder / "maps.npz"), about, said


def agreement(labelled: LabelledMaps) -> dict[str, float] | None:
    """How often two labellers said the same of the maps that both saw; None where there are none."""
    from sklearn.metrics import cohen_kappa_score

    one, other = labelled.labels[labelled.labels[:, 1] != NOBODY].T
    if not len(one):
        return None
    return {"maps": len(one), "share": float((one == other).mean()), "kappa": float(cohen_kappa_score(one, other))}


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
