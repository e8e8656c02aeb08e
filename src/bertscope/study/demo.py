"""The demo: the embedded model on the embedded language, every room once."""

from __future__ import annotations

from bertscope.core.catalogue import spec
from bertscope.core.step import Step
from bertscope.data.read import task_root
from bertscope.experiments import scratch
from bertscope.models.source import model_root


def plan(seed: int = 0) -> list[Step]:
    """What pretraining gives, and what the fine-tuned model needs of its heads and layers. Loads no torch."""
    base, task = model_root("pocket"), task_root("demo/sentiment", seed=seed)
    compared = scratch.plan(base, task, scratch.ScratchConfig(seeds=(seed,)))
    tuned = compared.inputs[f"tuned.{seed}"]
    return [compared, spec("ablate").step({"model": tuned, "task": task})]
