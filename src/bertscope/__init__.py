"""bertscope opens up BERT-family encoders before and after fine-tuning.

Names are loaded when they are first used: importing the package does nothing and loads neither torch nor pandas.
"""

from __future__ import annotations

import importlib
from typing import Any

from bertscope import catalogue as catalogue  # makes the questions known; loads nothing heavy

__version__ = "0.1.0"

_PUBLIC = {
    "bertscope.core.attention_maps": "AttentionMaps",
    "bertscope.core.question": "Question",
    "bertscope.core.errors": "BugError UserError",
    "bertscope.core.examples": "Examples",
    "bertscope.core.result": "Result",
    "bertscope.core.series": "Series",
    "bertscope.core.step": "Step",
    "bertscope.core.store": "Store",
    "bertscope.data.corpus": "read_examples",
    "bertscope.data.minimal": "MinimalPairs read_pairs",
    "bertscope.data.read": "read_task",
    "bertscope.data.task": "Task",
    "bertscope.models.encoder": "Encoder",
    "bertscope.models.states": "hidden_states",
    "bertscope.models.states_store": "StatesStore",
    "bertscope.models.load": "load",
    "bertscope.models.observe": "observe",
    "bertscope.models.series": "series",
    "bertscope.training.contrastive.question": "contrastive ContrastiveConfig",
    "bertscope.training.finetune.question": "finetune FinetuneConfig",
    "bertscope.training.pretrain.question": "pretrain PretrainConfig",
    "bertscope.training.watching": "Watch",
    "bertscope.analyses.ablate.question": "ablate AblateConfig",
    "bertscope.analyses.attention.of_text": "attention",
    "bertscope.analyses.change.question": "change ChangeConfig",
    "bertscope.analyses.check.question": "check CheckConfig",
    "bertscope.analyses.circuit.question": "circuit CircuitConfig",
    "bertscope.analyses.erase.question": "erase EraseConfig",
    "bertscope.analyses.course.question": "course CourseConfig",
    "bertscope.analyses.courses.question": "courses CoursesConfig",
    "bertscope.analyses.errors.question": "errors ErrorsConfig",
    "bertscope.analyses.explain.question": "explain ExplainConfig",
    "bertscope.analyses.features.question": "features FeaturesConfig",
    "bertscope.analyses.forgetting.question": "forgetting ForgettingConfig",
    "bertscope.analyses.geometry.question": "geometry GeometryConfig",
    "bertscope.analyses.graft.question": "graft GraftConfig",
    "bertscope.analyses.importance.question": "importance ImportanceConfig",
    "bertscope.analyses.masked_words.question": "masked_words MaskedWordsConfig",
    "bertscope.analyses.minimal_pairs.question": "minimal_pairs MinimalPairsConfig",
    "bertscope.analyses.patch.question": "patch PatchConfig",
    "bertscope.analyses.patterns.question": "patterns PatternsConfig",
    "bertscope.analyses.probe.question": "probe ProbeConfig",
    "bertscope.analyses.project.question": "project ProjectConfig",
    "bertscope.analyses.readout.question": "readout ReadoutConfig",
    "bertscope.analyses.redundancy.interactions": "together",
    "bertscope.analyses.redundancy.question": "redundancy RedundancyConfig",
    "bertscope.analyses.relations.question": "relations RelationsConfig",
    "bertscope.analyses.sentences.question": "sentences SentencesConfig",
    "bertscope.analyses.shapes.one_map": "ClassifiedMap classify_map",
    "bertscope.analyses.similarity.question": "similarity SimilarityConfig",
    "bertscope.analyses.states.question": "states StatesConfig",
    "bertscope.analyses.structure.question": "structure StructureConfig",
    "bertscope.analyses.versus.question": "versus VersusConfig",
    "bertscope.experiments.bias.question": "bias BiasConfig",
    "bertscope.experiments.contrast.question": "contrast ContrastConfig",
    "bertscope.experiments.freeze.question": "freeze FreezeConfig",
    "bertscope.experiments.lottery.question": "lottery LotteryConfig",
    "bertscope.experiments.mislabelled.question": "mislabelled MislabelledConfig",
    "bertscope.experiments.overlap.question": "overlap",
    "bertscope.experiments.prune.question": "prune PruneConfig",
    "bertscope.experiments.scratch.question": "scratch ScratchConfig",
    "bertscope.experiments.shrink.question": "shrink ShrinkConfig",
    "bertscope.experiments.truncate.question": "truncate TruncateConfig",
    "bertscope.study.claims.question": "claims",
    "bertscope.study.file": "read_study",
    "bertscope.study.inspection": "Inspection inspect",
    "bertscope.study.run": "run_study",
    "bertscope.study.runner": "run_steps",
    "bertscope.report.build": "build_report",
    "bertscope.live.notebook": "Exploration explore",
}
"""Where the public names are, room by room."""
_WHERE = {name: module for module, names in _PUBLIC.items() for name in names.split()}
__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'bertscope' has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return [*(name for name in globals() if name.startswith("__")), *_WHERE]
