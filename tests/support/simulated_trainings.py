"""Trainings that never ran, with a truth that is known: what every seed's model answers to every text of a test set,
and which parts survive its pruning. They go through the real question: a verdict is that of the whole pipeline.

A model is right on a text if its skill, the text's ease and chance together are large enough; texts are shared by all
arms and seeds, seeds differ in skill, and what is left differs by both. Now and then a training fails, to a coin's
flip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
import pandas as pd

from bertscope.core.examples import Examples
from bertscope.core.model_record import ModelRecord, Origin
from bertscope.core.number import Number
from bertscope.core.result import Result
from bertscope.data.task import Task
from bertscope.experiments.lottery.question import LotteryConfig, lottery
from bertscope.experiments.scratch.question import ScratchConfig, scratch

SEEDS, TEXTS, HEADS, LAYERS, CHANCE = (0, 1, 2, 3, 4), 400, 144, 12, 0.5
BASE = ModelRecord("base", "pocket")


@dataclass(frozen=True)
class Noise:
    """How trainings and texts vary, in units of what is left (which varies by both)."""

    run: float
    text: float = 1.0
    fails: float = 0.0
    """The share of trainings that fail."""

    def right(self, score: float, ease: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Which texts each seed's model is right on [seed, text], if the expected score is so."""
        if self.fails:
            score = (score - self.fails * CHANCE) / (1 - self.fails)
        level = NormalDist().inv_cdf(score) * (1 + self.run**2 + self.text**2) ** 0.5
        skill = self.run * random.normal(size=(len(SEEDS), 1))
        right = level + skill + self.text * ease + random.normal(size=(len(SEEDS), TEXTS)) > 0
        failed = random.random((len(SEEDS), 1)) < self.fails
        return np.where(failed, random.random((len(SEEDS), TEXTS)) < CHANCE, right)


@cache
def task() -> Task:
    """Half of each split has one label, half the other."""

    def split(rows: int) -> Examples:
        texts = tuple(f"text {row}" for row in range(rows))
        return Examples(texts, texts, label=np.arange(rows) % 2)

    return Task("toy", "classification", ("a", "b"), split(20), split(20), split(TEXTS), "accuracy")


def _outputs(right: np.ndarray) -> np.ndarray:
    """Logits [text, label] of answers that are right there."""
    answer = np.where(right, task().test.label, 1 - task().test.label)
    return np.eye(2)[answer]


def _ease(random: np.random.Generator) -> np.ndarray:
    return random.normal(size=TEXTS)


Scores = Mapping[tuple[str, str, str], float]
"""By method, arm and stage; the full model under `("", "full", "")`."""


def simulated_lottery(
    scores: Scores, survives: np.ndarray, weights: float, noise: Noise, random: np.random.Generator
) -> Result:
    """A lottery whose expected scores are these; `survives` has each head's chance to survive, `weights` the share of
    weights that does, on average."""
    ease = _ease(random)
    answers = {key: noise.right(score, ease, random) for key, score in scores.items()}
    tuned = [
        Result("finetune", 2, arrays={"outputs": _outputs(right)}, subject={"seed": str(seed)})
        for seed, right in zip(SEEDS, answers["", "full", ""], strict=True)
    ]
    tickets = [
        Result("ticket", 1, arrays={stage: _outputs(answers[method, arm, stage][at]) for stage in _STAGES},
               headline=[Number("left", 0.5), Number("shared", 0.5)], models={BASE.id: BASE},
               subject={"method": method, "arm": arm, "seed": str(seed)})
        for method in "sm" for arm in ("good", "random", "bad") for at, seed in enumerate(SEEDS)
    ]  # fmt: skip
    parts = np.concatenate([survives, np.full(LAYERS, 0.7)])  # heads, then MLPs
    kept = {"s": random.random((len(SEEDS), len(parts))) < parts, "m": _sizes(weights, random)}
    pruned = [_pruned(method, seed, kept[method][at]) for method in "sm" for at, seed in enumerate(SEEDS)]
    config = LotteryConfig(("s", "m"), SEEDS, super_survivors=False, patterns=False)
    return lottery.compute(tuned, pruned, tickets, task(), config=config)


_STAGES = ("pruned", "retrained")


def _sizes(share: float, random: np.random.Generator, of: int = 1000) -> np.ndarray:
    """Masks [seed, weight] of about such a size."""
    return np.arange(of) < of * (share + 0.03 * random.normal(size=(len(SEEDS), 1)))


def _pruned(method: str, seed: int, kept: np.ndarray) -> Result:
    tables = {"steps": pd.DataFrame({"left": [1.0], "score": [0.9], "phase": ["heads"]})}
    if method == "s":
        head = np.arange(HEADS)
        layer = [*(head // LAYERS + 1), *range(1, LAYERS + 1)]
        places = {"kind": ["head"] * HEADS + ["mlp"] * LAYERS, "layer": layer, "survives": kept}
        places["head"] = [*(head % LAYERS + 1.0), *[np.nan] * LAYERS]
        tables["survivors"] = pd.DataFrame(places)
    else:
        tables["weights"] = pd.DataFrame({"layer": [1], "map": ["query"], "share": [kept.mean()]})
    model = ModelRecord(f"tuned-{seed}", "tuned", Origin("finetune", BASE, seed=seed))
    arrays = {"kept": np.packbits(kept), "count": np.array([kept.size])}
    numbers = [Number("left", float(kept.mean())), Number("above_bar", 0.02)]
    return Result("prune", 2, tables, arrays, numbers, models={model.id: model}, subject={"method": method})


def simulated_scratch(scores: Mapping[str, float], noise: Noise, random: np.random.Generator) -> Result:
    """The arms `tuned`, `random` and `untuned` with these expected scores; the frozen ones are at chance."""
    ease, known = _ease(random), [Number("chance", CHANCE, CHANCE, CHANCE, TEXTS, "accuracy")]
    curve = pd.DataFrame({"epoch": [0], "score": [0.5], "low": [0.4], "high": [0.6]})

    def runs(arm: str, key: str) -> list[Result]:
        right = noise.right(scores.get(arm, CHANCE), ease, random)
        return [
            Result("finetune" if key == "after" else key, 2, {"epochs": curve}, {"outputs": _outputs(each)},
                   [Number(key, float(each.mean()), 0.0, 1.0, TEXTS, "accuracy"), *known],
                   models={BASE.id: BASE}, subject={"seed": str(seed)})
            for seed, each in zip(SEEDS, right, strict=True)
        ]  # fmt: skip

    trained = [runs(arm, "after") for arm in ("tuned", "random", "frozen", "frozen_random")]
    return scratch.compute(*trained, runs("untuned", "untuned"), task(), config=ScratchConfig(SEEDS, patterns=False))
