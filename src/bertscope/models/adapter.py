"""A folder that PEFT wrote: a LoRA adapter, whose base lies elsewhere. What it says of itself, and what of that can
be merged here. Loads no torch."""

from __future__ import annotations

import os
import re
import reprlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.models.config_check import checked_config, need_plain_files, read_json
from bertscope.models.config_notes import notes_in
from bertscope.models.families import Family, family_of
from bertscope.models.weight_files import refuse_damaged, stored_tensors

CONFIG, WEIGHTS, PICKLED = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
PREFIX = "base_model.model."
"""What PEFT puts before the names of the model's own modules."""
_WHOLE = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_MERGE = "merge it with peft (merge_and_unload) and save the whole model"
_ARCHITECTURES = {
    "SEQ_CLS": "ForSequenceClassification", "TOKEN_CLS": "ForTokenClassification",
    "QUESTION_ANS": "ForQuestionAnswering", "FEATURE_EXTRACTION": "Model",
}  # fmt: skip
_READ = ("peft_type", "task_type", "auto_mapping", "base_model_name_or_path", "revision", "lora_alpha",
         "alpha_pattern", "use_rslora", "bias", "init_lora_weights", "use_dora")  # fmt: skip
_OF_TRAINING = (
    "r", "rank_pattern", "target_modules", "exclude_modules", "modules_to_save", "layers_to_transform",
    "layers_pattern", "lora_dropout", "inference_mode", "peft_version", "megatron_core", "qalora_group_size",
    "eva_config", "runtime_config", "ensure_weight_tying",
    "fan_in_fan_out",  # of Conv1D layers, which no family here has; PEFT itself takes it back of linear ones
)  # fmt: skip
"""What says how it was trained, or what its weights say as well: they are there, or not."""
_FIRST_WEIGHTS = (True, False, "gaussian", "eva", "orthogonal")
"""Ways in which an adapter may have begun that left the base as it was."""


@dataclass(frozen=True)
class Adapter:
    """What a LoRA adapter says of itself."""

    folder: Path
    base: str
    """The model that it was trained on, as it was named then."""
    architecture: str | None
    """What was trained, by how its class ends; None: what the base is."""
    alpha: float
    alpha_pattern: Mapping[str, float] = field(default_factory=dict)
    """Other alphas, by how the names of modules end."""
    root: bool = False
    """Whether it is scaled by the root of its rank (rank-stabilised LoRA)."""

    @property
    def weights(self) -> Path:
        return self.folder / WEIGHTS

    def scale(self, module: str, rank: int) -> float:
        """What the product of its two matrices is multiplied by."""
        # Of several patterns the first that fits: so PEFT reads them.
        found = (alpha for pattern, alpha in self.alpha_pattern.items() if re.match(rf"(.*\.)?({pattern})$", module))
        alpha = next(found, self.alpha)
        return alpha / rank**0.5 if self.root else alpha / rank

    def outputs(self, family: Family) -> int | None:
        """How many outputs the task head has that was trained with it; None where it brings none."""
        held = stored_tensors(self.weights)
        for path in (family.last_linear, "classifier", "score", "qa_outputs"):
            if (shape := held.get(f"{PREFIX}{path}.weight", {}).get("shape")) and len(shape) == 2:
                return shape[0]
        return None


def adapter_in(folder: Path) -> Adapter | None:
    """The adapter that a folder is; None where it holds none. One beside a whole model is refused: which of them is
    meant can't be told."""
    found = next((name for name in (CONFIG, WEIGHTS, PICKLED) if os.path.lexists(folder / name)), None)
    if found is None:
        return None
    if any((folder / name).exists() for name in _WHOLE):
        raise UserError(
            f"{folder} has an adapter beside its weights ({found}), which would be left out; merge it first "
            "(peft's merge_and_unload) and save the whole model, or take its adapter_* files away"
        )
    need_plain_files(folder, (CONFIG, WEIGHTS))
    if not os.path.lexists(folder / CONFIG):
        raise UserError(f"{folder} has an adapter's weights but no {CONFIG}; copy the adapter again")
    said = read_json(folder / CONFIG)
    if not isinstance(said, dict):
        raise UserError(f"{folder / CONFIG} isn't an adapter's config; copy the adapter again")
    _refuse_other_kinds(folder / CONFIG, said)
    if not (folder / WEIGHTS).exists():
        cure = "copy the adapter again"
        if (folder / PICKLED).exists():
            cure = f"its {PICKLED} is a pickle: bertscope convert {shlex.quote(str(folder))} --allow-pickle"
        raise UserError(f"{folder} has no {WEIGHTS}; {cure}")
    refuse_damaged(folder / WEIGHTS)
    return _read(folder, said)


def adapted_config(base: Mapping[str, Any], adapter: Adapter) -> dict[str, Any]:
    """What the base's config becomes with the adapter: its architecture, and as many labels as it has outputs, by the
    names in the adapter's own config.json, where somebody put one. What is noted of the base isn't of this model."""
    if set(notes_in(dict(base))) - {"name", "origin", "tuned_on"}:
        raise UserError(
            f"the base of {adapter.folder}, {adapter.base}, was cut or has another top; only plain models can be "
            "adapted; name a plain one in base_model_name_or_path"
        )
    config = {name: value for name, value in base.items() if name != "bertscope"}
    if adapter.architecture:
        config["architectures"] = [adapter.architecture]
    outputs = adapter.outputs(family_of(config["model_type"]))
    if outputs is None:
        return config
    own = adapter.folder / "config.json"
    if own.exists():
        beside = checked_config(own, read_json(own))
        config |= {name: beside[name] for name in ("id2label", "label2id", "problem_type") if name in beside}
    if len(config.get("id2label") or ()) != outputs:
        config |= {"id2label": None, "label2id": None}
    return config | {"num_labels": outputs}


def _refuse_other_kinds(path: Path, said: Mapping[str, Any]) -> None:
    """Refuse what would be merged wrongly, or in part."""
    if (kind := said.get("peft_type")) != "LORA":
        raise UserError(f"{path} is of the kind {kind!r}; only LORA adapters are merged here; {_MERGE}")
    if said.get("use_dora"):
        raise UserError(
            f"{path} says use_dora: DoRA also rescales the base's weights, which isn't done here; {_MERGE}"
        )
    if (bias := said.get("bias", "none")) != "none":
        raise UserError(f"{path} says bias {bias!r}: biases were trained too, which aren't merged here; {_MERGE}")
    if (first := said.get("init_lora_weights", True)) not in _FIRST_WEIGHTS:
        raise UserError(f"{path} says init_lora_weights {first!r}: its base was changed when it began; {_MERGE}")
    if (revision := said.get("revision")) not in (None, "main"):
        raise UserError(
            f"{path} names the revision {revision!r} of its base; download that, and put its folder into "
            "base_model_name_or_path and null into revision"
        )
    for name, value in said.items():
        if name not in (*_READ, *_OF_TRAINING) and value:  # null, false and empty ask for nothing
            raise UserError(f"{path} says {name} {reprlib.repr(value)}, which isn't merged here; {_MERGE}")


def _read(folder: Path, said: Mapping[str, Any]) -> Adapter:
    path, base, task = folder / CONFIG, said.get("base_model_name_or_path"), said.get("task_type")
    if not isinstance(base, str) or not base:
        raise UserError(f"{path} doesn't say what its base is; put its folder or hub id into base_model_name_or_path")
    mapped = said.get("auto_mapping")
    named = mapped.get("base_model_class") if isinstance(mapped, dict) else None
    if task is not None and task not in _ARCHITECTURES:
        raise UserError(f"{path} says task_type {task!r}; encoders have {', '.join(_ARCHITECTURES)}; correct it")
    alpha, pattern = said.get("lora_alpha", 8), said.get("alpha_pattern") or {}
    alphas = [alpha, *pattern.values()] if isinstance(pattern, dict) else [None]
    if not all(type(one) in (int, float) for one in alphas) or not all(map(_is_pattern, pattern)):
        raise UserError(f"{path}: lora_alpha or alpha_pattern aren't numbers; copy the adapter again")
    architecture = (
        _ARCHITECTURES[task] if task else named if isinstance(named, str) and named.isidentifier() else None
    )
    return Adapter(folder, base, architecture, alpha, pattern, bool(said.get("use_rslora")))


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, RecursionError):
        return False
    return len(text) <= 1000
