"""Training the classifiers of maps on labelled ones, and how good they are on heads they have never seen.

Splits are by head: maps of one head look alike, and a fine-tuned model's head looks like its parent's. So all maps of
(base model, layer, head) are on one side. Two evaluations: a quarter of the heads held out; and everything of the
second model held out, trained on the first. Generated maps join the training only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from bertscope.analyses.shapes import CLASSES
from bertscope.analyses.shapes.labelled import LabelledMaps
from bertscope.analyses.shapes.net import NETS, Method
from bertscope.analyses.shapes.synthetic import some
from bertscope.core.intervals import percentile_ends
from bertscope.core.progress import progress
from bertscope.core.resampling import resamples
from bertscope.models.evaluating import best_device

TEST_SHARE = 0.25
_SYNTHETIC_SHARE = 0.3  # of each batch
_SYNTHETIC, _STEPS, _BATCH, _RATE, _DECAY = 1500, 1200, 64, 2e-3, 1e-2
_REPEATS = 2000  # of the bootstrap
_ENDS = (0.025, 0.975)  # `core.intervals.ENDS` but for the last bit: evaluations are written down as they were
_CELLS = 2**19  # of a padded batch: what a CPU's cache and a small GPU both hold


@dataclass(frozen=True)
class Evaluation:
    """How well a classifier does on maps of heads that it wasn't trained on."""

    held_out: str
    macro_f1: float
    low: float
    high: float
    """A bootstrap interval over heads."""
    accuracy: float
    maps: int
    heads: int
    f1: dict[str, float]
    confusion: list[list[int]]
    """Rows are the labels, columns what the classifier says."""


def evaluate(labelled: LabelledMaps, method: Method, *, seed: int = 0) -> list[Evaluation]:
    """Train without, and judge on: a quarter of the heads; every head of another model than pocket."""
    splits = {"a quarter of the heads": held_out(labelled), "every head of another model": of_another(labelled)}
    found = []
    for name, test in splits.items():
        if test.any() and not test.all():
            net = learn(labelled.take(~test), method, seed=seed)
            found.append(judge(name, net, labelled.take(test)))
    return found


def heads(labelled: LabelledMaps) -> np.ndarray:
    """Which head each map is of; a fine-tuned model's is its parent's (`pocket-rte` is of `pocket`)."""
    about = labelled.about
    base = about["model"].str.partition("-")[0]
    return (base + ":" + about["layer"].astype(str) + "." + about["head"].astype(str)).to_numpy()


def held_out(labelled: LabelledMaps) -> np.ndarray:
    """Whether each map belongs to the quarter of heads that is kept for the test: the same quarter always."""
    head = heads(labelled)
    names = np.random.default_rng(0).permutation(np.unique(head))
    return np.isin(head, names[: round(TEST_SHARE * len(names))])


def of_another(labelled: LabelledMaps) -> np.ndarray:
    """Whether each map is of a model that isn't pocket or its child."""
    return ~labelled.about["model"].str.startswith("pocket").to_numpy()


def learn(labelled: LabelledMaps, method: Method, *, seed: int = 0) -> nn.Module:
    """A classifier trained on these maps and on synthetic ones. Each class is seen as often as any other."""
    random = np.random.default_rng(seed)
    synthetic = _synthetic(random)
    torch.manual_seed(seed)
    device = best_device()
    net = NETS[method]().to(device)
    net.prepare(labelled)
    optimiser = torch.optim.AdamW(net.parameters(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=_STEPS)
    by_class = 1 / np.bincount(labelled.label, minlength=len(CLASSES))[labelled.label]
    net.train()
    with progress(f"training ({method})", _STEPS) as bar:
        for _ in range(_STEPS):
            few = round(_SYNTHETIC_SHARE * _BATCH)
            real_at = random.choice(len(labelled), _BATCH - few, p=by_class / by_class.sum())
            batch = labelled.take(real_at) + synthetic.take(random.integers(0, len(synthetic), few))
            optimiser.zero_grad()
            total = 0.0
            for at, layer in batch.batches(_CELLS, device):
                wanted = torch.from_numpy(batch.label[at]).to(device)
                loss = nn.functional.cross_entropy(
                    net.logits(layer)[:, 0], wanted, reduction="sum", label_smoothing=0.05
                )
                (loss / _BATCH).backward()
                total += loss.item() / _BATCH
            optimiser.step()
            schedule.step()
            bar.advance(loss=f"{total:.2f}")
    return net.cpu().eval()


@torch.inference_mode()
def classify(net: nn.Module, labelled: LabelledMaps) -> np.ndarray:
    """The class of each map, as its place in `CLASSES`."""
    found = np.zeros(len(labelled), dtype=np.int64)
    for at, layer in labelled.batches(_CELLS):
        found[at] = net(layer)[:, 0].argmax(-1).numpy()
    return found


def judge(name: str, net: nn.Module, test: LabelledMaps) -> Evaluation:
    """What the classifier says of these maps against their labels; the interval is over heads, not maps."""
    from sklearn.metrics import confusion_matrix

    predicted, head = classify(net, test), heads(test)
    names, of_head = np.unique(head, return_inverse=True)
    cells = np.zeros((len(names), len(CLASSES), len(CLASSES)))
    np.add.at(cells, (of_head, test.label, predicted), 1)
    drawn = (np.einsum("rh,hij->rij", counts, cells) for counts in resamples(len(names), _REPEATS, seed=0))
    low, high = percentile_ends(np.concatenate([macro_f1(each) for each in drawn]), _ENDS)
    whole = confusion_matrix(test.label, predicted, labels=range(len(CLASSES)))
    return Evaluation(
        held_out=name,
        macro_f1=float(macro_f1(whole)),
        low=float(low),
        high=float(high),
        accuracy=float(np.mean(predicted == test.label)),
        maps=len(test),
        heads=len(names),
        f1=dict(zip(CLASSES, map(float, class_f1(whole)), strict=True)),
        confusion=whole.tolist(),
    )


def class_f1(confusion: np.ndarray) -> np.ndarray:
    """Each class's F1 of confusion matrices [..., label, predicted]; NaN for a class that neither has."""
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    both = confusion.sum(-1) + confusion.sum(-2)
    return np.divide(2 * hits, both, out=np.full(hits.shape, np.nan), where=both > 0)


def macro_f1(confusion: np.ndarray) -> np.ndarray:
    """The mean of the classes' F1, over the classes that occur."""
    return np.nanmean(class_f1(confusion), axis=-1)


def _synthetic(random: np.random.Generator) -> LabelledMaps:
    maps, layouts, labels = some(_SYNTHETIC, random)
    special: list[tuple[int, ...]] = [(0, n - 1) if second == n else (0, second - 1, n - 1) for n, second in layouts]
    return LabelledMaps(maps, special, np.array(labels))
