"""bertscope opens up BERT-family encoders before and after fine-tuning.

Names are loaded when they are first used: importing the package does nothing and loads neither torch nor pandas.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_WHERE = {
    "Encoder": "bertscope.models.encoder",
    "Examples": "bertscope.core.examples",
    "FinetuneConfig": "bertscope.training.finetune",
    "Result": "bertscope.core.result",
    "Step": "bertscope.core.step",
    "Store": "bertscope.core.store",
    "Task": "bertscope.data.task",
    "UserError": "bertscope.core.errors",
    "ablate": "bertscope.analyses.ablate.question",
    "answer": "bertscope.core.asking",
    "bias": "bertscope.experiments.bias.question",
    "AblateConfig": "bertscope.analyses.ablate.question",
    "ChangeConfig": "bertscope.analyses.change.question",
    "contrast": "bertscope.experiments.contrast.question",
    "ContrastConfig": "bertscope.experiments.contrast.question",
    "contrastive": "bertscope.training.contrastive",
    "ContrastiveConfig": "bertscope.training.contrastive",
    "RedundancyConfig": "bertscope.analyses.redundancy.question",
    "ScratchConfig": "bertscope.experiments.scratch.question",
    "FeaturesConfig": "bertscope.analyses.features.question",
    "RelationsConfig": "bertscope.analyses.relations.question",
    "BiasConfig": "bertscope.experiments.bias.question",
    "build_report": "bertscope.report.build",
    "erase": "bertscope.analyses.erase.question",
    "EraseConfig": "bertscope.analyses.erase.question",
    "features": "bertscope.analyses.features.question",
    "change": "bertscope.analyses.change.question",
    "claims": "bertscope.study.claims.question",
    "freeze": "bertscope.experiments.freeze.question",
    "FreezeConfig": "bertscope.experiments.freeze.question",
    "finetune": "bertscope.training.finetune",
    "HiddenStore": "bertscope.models.hidden_store",
    "geometry": "bertscope.analyses.geometry.question",
    "GeometryConfig": "bertscope.analyses.geometry.question",
    "hidden": "bertscope.models.hidden",
    "lottery": "bertscope.experiments.lottery.question",
    "LotteryConfig": "bertscope.experiments.lottery.question",
    "PruneConfig": "bertscope.experiments.prune.question",
    "overlap": "bertscope.experiments.overlap",
    "prune": "bertscope.experiments.prune.question",
    "importance": "bertscope.analyses.importance.question",
    "ImportanceConfig": "bertscope.analyses.importance.question",
    "load": "bertscope.models.load",
    "observe": "bertscope.models.observe",
    "PatternsConfig": "bertscope.analyses.patterns.question",
    "patterns": "bertscope.analyses.patterns.question",
    "probe": "bertscope.analyses.probe.question",
    "ProbeConfig": "bertscope.analyses.probe.question",
    "project": "bertscope.analyses.project.question",
    "ProjectConfig": "bertscope.analyses.project.question",
    "question": "bertscope.core.catalogue",
    "read_examples": "bertscope.data.corpus",
    "read_study": "bertscope.study.file",
    "read_task": "bertscope.data.read",
    "relations": "bertscope.analyses.relations.question",
    "redundancy": "bertscope.analyses.redundancy.question",
    "run_study": "bertscope.study.run",
    "scratch": "bertscope.experiments.scratch.question",
    "sentences": "bertscope.analyses.sentences.question",
    "SentencesConfig": "bertscope.analyses.sentences.question",
    "similarity": "bertscope.analyses.similarity.question",
    "SimilarityConfig": "bertscope.analyses.similarity.question",
    "shrink": "bertscope.experiments.shrink.question",
    "ShrinkConfig": "bertscope.experiments.shrink.question",
    "states": "bertscope.analyses.states",
    "StatesConfig": "bertscope.analyses.states",
    "structure": "bertscope.analyses.structure.question",
    "StructureConfig": "bertscope.analyses.structure.question",
    "truncate": "bertscope.experiments.truncate.question",
    "TruncateConfig": "bertscope.experiments.truncate.question",
    "together": "bertscope.analyses.redundancy.interactions",
}
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'bertscope' has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return [*(name for name in globals() if name.startswith("__")), *_WHERE]
