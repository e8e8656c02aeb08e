"""The demo: the embedded model on the embedded language, every room once."""

from __future__ import annotations

from bertscope.analyses import similarity, structure
from bertscope.analyses.geometry import GeometryConfig
from bertscope.analyses.importance import ImportanceConfig
from bertscope.analyses.probe import ProbeConfig
from bertscope.core.catalogue import spec
from bertscope.core.step import Root, Step
from bertscope.data.corpus import examples_root
from bertscope.data.read import task_root
from bertscope.experiments import lottery, scratch
from bertscope.models.source import model_root


def plan(seed: int = 0) -> list[Step]:
    """What pretraining gives, what the heads attend to before and after fine-tuning, which of its parts the
    fine-tuned model needs and how few of them train again, and what its layers know. Loads no torch."""
    base, task = model_root("pocket"), task_root("demo/sentiment", seed=seed)
    compared = scratch.plan(base, task, scratch.ScratchConfig(seeds=(seed,), patterns=False))
    tuned = compared.inputs[f"tuned.{seed}"]
    reviews, corpus = examples_root("demo/sentiment", seed=seed), examples_root("demo/corpus", seed=seed)
    return [
        compared,
        *_attention(base, tuned, task, reviews, corpus),
        spec("ablate").step({"model": tuned, "task": task}),
        spec("importance").step({"model": tuned, "task": task}, ImportanceConfig(steps=5, random=2)),
        lottery.plan(base, task, lottery.LotteryConfig(seeds=(seed,), patterns=False)),
        *_layers(base, tuned, reviews, corpus),
    ]


def _attention(base: Root, tuned: Step | Root, task: Root, reviews: Root, corpus: Root) -> list[Step]:
    both = {"models.0": base, "models.1": tuned}
    return [
        spec("patterns").step(both | {"examples": reviews}),
        spec("change").step({"before": base, "after": tuned, "examples": reviews}),
        spec("features").step(both | {"examples": reviews}),
        spec("relations").step({"models.0": base, "examples": corpus}),
        spec("redundancy").step({"models.0": tuned, "data": task}),
    ]


def _layers(base: Root, tuned: Step | Root, reviews: Root, corpus: Root) -> list[Step]:
    """Fewer probes than by default: a demo is for a first look."""
    probes = ProbeConfig(targets=("pos", "relation"), probes=("linear",), words=2000)
    geometry = spec("geometry").plan
    probe = spec("probe").plan
    assert geometry is not None and probe is not None
    return [
        similarity.plan(base, tuned, reviews, similarity.SimilarityConfig(), against=corpus),
        structure.plan(base, tuned, corpus, structure.StructureConfig()),
        probe(base, tuned, corpus, probes),
        spec("project").step({"models.0": base, "models.1": tuned, "examples": reviews}),
        geometry(base, tuned, corpus, GeometryConfig()),
    ]
