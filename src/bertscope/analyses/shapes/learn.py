"""Training the classifiers of maps on labelled ones, and how good they are on heads and models they have never seen.

Maps of one head look alike, and a fine-tuned model's head looks like its parent's. So all maps of (base model, layer,
head) are on one side of a split, or all maps of a base model. Generated maps join the training only. Sets of maps
whose labellers mean the classes differently are trained on together: an input of the net says which set a map is of.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from bertscope.analyses.shapes import CLASSES, LABELS, Labels
from bertscope.analyses.shapes.features import features
from bertscope.analyses.shapes.labelled import NOBODY, LabelledMaps
from bertscope.analyses.shapes.net import MEMBERS, FeatureNet
from bertscope.analyses.shapes.synthetic import some
from bertscope.core.intervals import interval
from bertscope.core.progress import progress
from bertscope.core.resampling import resamples

HeldOut = Literal["head", "model"]
HeldTo = Literal["agreed", "first", "second"]
_FOLDS, _SPLITS = 8, 10
_SYNTHETIC, _OF_SYNTHETIC, _OF_OTHER_SETS = 600, 0.3, 0.5  # how many; what one weighs against a map of the first set
_STEPS, _RATE, _DECAY, _DROPOUT, _NOISE, _SMOOTHING = 300, 1e-2, 0.05, 0.2, 0.1, 0.05
_REPEATS = 2000  # of the bootstrap
_CELLS = 2**17  # of a padded batch


@dataclass(frozen=True)
class Evaluation:
    """How well a classifier does on maps of heads, or of models, that it wasn't trained on."""

    held_out: HeldOut
    of_set: int
    labels: HeldTo
    """What it is held to: the maps of which two labellers say the same, or the labels of one."""
    macro_f1: float
    """The mean over the ways of dividing the heads (of models there is one)."""
    spread: float
    """The standard deviation over them; 0 of one."""
    low: float
    high: float
    """A bootstrap interval over heads, of the mean over ways."""
    accuracy: float
    maps: int
    heads: int
    f1: dict[str, float]
    confusion: list[list[float]]
    """Rows are the labels, columns what the classifier says; maps, mean over the ways."""


@dataclass(frozen=True)
class Sample:
    """What the nets are trained on: of each map its features and, last, its set; what it is; what it weighs."""

    inputs: Tensor
    targets: Tensor
    weights: Tensor

    def take(self, which: np.ndarray) -> Sample:
        at = torch.from_numpy(np.flatnonzero(which))
        return Sample(self.inputs[at], self.targets[at], self.weights[at])


def cross_validate(labelled: LabelledMaps, *, seed: int = 0) -> dict[str, Any]:
    """`evaluations`; and for each labeller the confusion of maps of the first set whose model was held out."""
    whole = {labels: sample(labelled, labels) for labels in LABELS}
    by_head = np.stack(
        [_held_out_chances(labelled, whole["both"], folds(labelled, split), seed) for split in range(_SPLITS)]
    )
    model = _base(labelled)
    by_model = {labels: _held_out_chances(labelled, whole[labels], model, seed) for labels in LABELS}
    first = (labelled.about["set"] == 0).to_numpy()
    confusions = {}
    for labels in LABELS:
        confusion = np.zeros((len(CLASSES), len(CLASSES)))
        called = by_model[labels].argmax(-1)
        np.add.at(confusion.T, called[first], labelled.targets(labels)[first])
        confusions[labels] = confusion.tolist()
    held_out: dict[HeldOut, np.ndarray] = {"head": by_head, "model": by_model["both"][None]}
    found = [one for what, chances in held_out.items() for one in _evaluations(labelled, chances.argmax(-1), what)]
    return {"evaluations": [asdict(one) for one in found], "of_another_model": confusions, "seed": seed}


def _evaluations(labelled: LabelledMaps, called: np.ndarray, held_out: HeldOut) -> Iterator[Evaluation]:
    """Of what maps are called, [way of dividing, map]."""
    for of_set in labelled.about["set"].unique():
        here = (labelled.about["set"] == of_set).to_numpy()
        wanted: dict[HeldTo, np.ndarray] = {"agreed": labelled.agreed(), "first": labelled.labels[:, 0] != NOBODY,
                  "second": labelled.labels[:, 1] != NOBODY}  # fmt: skip
        for labels, seen in wanted.items():
            at = here & seen
            label = labelled.labels[at, int(labels == "second")]
            if at.any():
                judged = judge(label, called[:, at], heads(labelled)[at])
                yield replace(judged, held_out=held_out, of_set=int(of_set), labels=labels)


def _held_out_chances(labelled: LabelledMaps, whole: Sample, group: np.ndarray, seed: int) -> np.ndarray:
    """[map, class]: what nets that saw no map of its group say of each."""
    found = np.zeros((len(labelled), len(CLASSES)))
    for one in np.unique(group):
        out = group == one
        net = learn(whole.take(~out), seed=seed)
        with torch.inference_mode():
            inputs = whole.inputs[torch.from_numpy(np.flatnonzero(out))]
            found[out] = net.logits(net.standardised(inputs)).softmax(-1).mean(0).numpy()
    return found


def heads(labelled: LabelledMaps) -> np.ndarray:
    """Which head each map is of; a fine-tuned model's is its parent's (`pocket-rte` is of `pocket`)."""
    about = labelled.about
    return (_base(labelled) + ":" + about["layer"].astype(str) + "." + about["head"].astype(str)).to_numpy()


def _base(labelled: LabelledMaps) -> np.ndarray:
    return labelled.about["model"].str.partition("-")[0].to_numpy()


def folds(labelled: LabelledMaps, split: int) -> np.ndarray:
    """Which eighth of the heads each map's head is in, in one way of dividing them: the same always."""
    names, at = np.unique(heads(labelled), return_inverse=True)
    return (np.random.default_rng(split).permutation(len(names)) % _FOLDS)[at]


def sample(labelled: LabelledMaps, labels: Labels) -> Sample:
    of_set = labelled.about["set"].to_numpy(float).clip(max=1)  # the first set, or another
    return Sample(
        torch.cat([_features(labelled), torch.from_numpy(of_set).float()[:, None]], 1),
        torch.from_numpy(labelled.targets(labels)).float(),
        torch.from_numpy(np.where(of_set > 0, _OF_OTHER_SETS, 1.0)).float(),
    )


@torch.inference_mode()
def _features(labelled: LabelledMaps) -> Tensor:
    batches = [(at, features(layer)[:, 0]) for at, layer in labelled.batches(_CELLS)]
    order = torch.from_numpy(np.argsort(np.concatenate([at for at, _ in batches])))
    return torch.cat([found for _, found in batches])[order]


def learn(given: Sample, *, seed: int = 0) -> FeatureNet:
    """A classifier trained on these maps and on synthetic ones; rarer classes weigh more."""
    made = _synthetic(seed)
    inputs, targets, weights = (
        torch.cat([getattr(given, name), getattr(made, name)]) for name in ("inputs", "targets", "weights")
    )
    torch.manual_seed(seed)
    net = FeatureNet()
    share = weights / weights.sum()
    net.mean = share @ inputs
    net.deviation = (share @ (inputs - net.mean).square()).sqrt().clamp_min(1e-3)
    standardised = net.standardised(inputs)
    rarity = (weights @ targets).clamp_min(1).rsqrt()
    weights = weights * (targets @ rarity)
    weights = weights / weights.sum()
    soft = (1 - _SMOOTHING) * targets + _SMOOTHING / len(CLASSES)
    optimiser = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=_STEPS)
    with progress("training", _STEPS) as bar:
        for _ in range(_STEPS):
            optimiser.zero_grad()
            noisy = standardised + _NOISE * torch.randn(MEMBERS, *standardised.shape)
            chances = net.logits(noisy, _DROPOUT).log_softmax(-1)
            loss = -((chances * soft).sum(-1) * weights).sum()
            loss.backward()
            optimiser.step()
            schedule.step()
            bar.advance(loss=f"{loss.item() / MEMBERS:.2f}")
    return net.eval()


def judge(label: np.ndarray, called: np.ndarray, head: np.ndarray) -> Evaluation:
    """What a classifier says of maps, [way of dividing, map], against their labels; the interval is over heads, not
    maps."""
    names, of_head = np.unique(head, return_inverse=True)
    cells = np.zeros((len(called), len(names), len(CLASSES), len(CLASSES)))
    np.add.at(cells, (np.arange(len(called))[:, None], of_head, label, called), 1)
    whole = cells.sum(1)
    of_ways, confusion = macro_f1(whole), whole.mean(0)
    drawn = [np.einsum("rh,whij->rwij", counts, cells) for counts in resamples(len(names), _REPEATS, seed=0)]
    low, high = interval(np.concatenate([[of_ways.mean()], *(macro_f1(each).mean(1) for each in drawn)]))
    return Evaluation(
        held_out="head", of_set=0, labels="first",
        macro_f1=float(of_ways.mean()), spread=float(of_ways.std(ddof=1)) if len(called) > 1 else 0.0,
        low=float(low), high=float(high),
        accuracy=float(np.mean(called == label)), maps=len(label), heads=len(names),
        f1=dict(zip(CLASSES, map(float, class_f1(whole).mean(0)), strict=True)),
        confusion=confusion.tolist(),
    )  # fmt: skip


def class_f1(confusion: np.ndarray) -> np.ndarray:
    """Each class's F1 of confusion matrices [..., label, predicted]; NaN for a class that neither has."""
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    both = confusion.sum(-1) + confusion.sum(-2)
    return np.divide(2 * hits, both, out=np.full(hits.shape, np.nan), where=both > 0)


def macro_f1(confusion: np.ndarray) -> np.ndarray:
    """The mean of the classes' F1, over the classes that occur."""
    return np.nanmean(class_f1(confusion), axis=-1)


def _synthetic(seed: int) -> Sample:
    maps, layouts, classes = some(_SYNTHETIC, np.random.default_rng(seed))
    special: list[tuple[int, ...]] = [(0, n - 1) if second == n else (0, second - 1, n - 1) for n, second in layouts]
    about = pd.DataFrame({"set": np.zeros(len(maps))})
    labels = np.stack([classes, np.full(len(maps), NOBODY)], 1)
    made = sample(LabelledMaps(maps, special, labels, about), "first")
    return replace(made, weights=torch.full_like(made.weights, _OF_SYNTHETIC))
