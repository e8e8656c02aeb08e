"""The demo: the embedded model on the embedded language, every room once."""

from __future__ import annotations

from bertscope.analyses.importance import ImportanceConfig
from bertscope.core.catalogue import spec
from bertscope.core.step import Step
from bertscope.data.corpus import examples_root
from bertscope.data.read import task_root
from bertscope.experiments import lottery, scratch
from bertscope.models.source import model_root


def plan(seed: int = 0) -> list[Step]:
    """What pretraining gives, what its heads attend to before and after fine-tuning, and which of its parts the
    fine-tuned model needs, and how few of them train again. Loads no torch."""
    base, task = model_root("pocket"), task_root("demo/sentiment", seed=seed)
    compared = scratch.plan(base, task, scratch.ScratchConfig(seeds=(seed,)))
    tuned = compared.inputs[f"tuned.{seed}"]
    both = {"models.0": base, "models.1": tuned}
    reviews, corpus = examples_root("demo/sentiment", seed=seed), examples_root("demo/corpus", seed=seed)
    return [
        compared,
        spec("patterns").step(both | {"examples": reviews}),
        spec("change").step({"before": base, "after": tuned, "examples": reviews}),
        spec("features").step(both | {"examples": reviews}),
        spec("relations").step({"models.0": base, "examples": corpus}),
        spec("redundancy").step({"models.0": tuned, "data": task}),
        spec("ablate").step({"model": tuned, "task": task}),
        spec("importance").step({"model": tuned, "task": task}, ImportanceConfig(steps=5, random=2)),
        lottery.plan(base, task, lottery.LotteryConfig(seeds=(seed,), patterns=False)),
    ]
