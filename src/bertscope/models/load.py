"""Opening a model: from the package, a folder, the hub or memory, as what it is and never as something else."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, get_args

import torch
import transformers
from safetensors.torch import load_file

from bertscope.core.config import check_known
from bertscope.core.errors import UserError
from bertscope.models.classifier_form import ClassifierForm
from bertscope.models.config_notes import PARSER, encoder_notes_in, notes_in
from bertscope.models.encoder import Encoder, Opened, TaskHead
from bertscope.models.evaluating import best_device
from bertscope.models.families import Family, family_of
from bertscope.models.known_base import noted_base, told_base
from bertscope.models.library_failures import library_failures, reason
from bertscope.models.library_model import library_config, refuse_larger, refuse_mute
from bertscope.models.open_tokenizer import fitted, tokenizer_in, usable_tokenizer
from bertscope.models.parser import add_parser, parser_of
from bertscope.models.quiet import quiet_library
from bertscope.models.sound_weights import Fit, refuse_unsound
from bertscope.models.source import (
    config_of,
    display_name,
    locate,
    model_digest,
    not_a_model,
    own_folder,
    refuse_changed_model,
    written,
)
from bertscope.models.states_store import StatesStore
from bertscope.models.stored_weights import refuse_adapter, refuse_other_positions, refuse_stored
from bertscope.models.surgery import reshape
from bertscope.models.weight_files import stored_tensors, weight_files

# Which class opens a checkpoint, by how its architecture's name ends, and what then sits on top.
_OPENED_BY: dict[str, tuple[type, TaskHead]] = {
    "ForSequenceClassification": (transformers.AutoModelForSequenceClassification, "classifier"),
    "ForPreTraining": (transformers.AutoModelForPreTraining, "masked-lm"),
    "ForMaskedLM": (transformers.AutoModelForMaskedLM, "masked-lm"),
    "ForTokenClassification": (transformers.AutoModelForTokenClassification, "token-classifier"),
    "ForQuestionAnswering": (transformers.AutoModelForQuestionAnswering, "span-qa"),
    "ForMultipleChoice": (transformers.AutoModelForMultipleChoice, "multiple-choice"),
    "Model": (transformers.AutoModel, "none"),
}
_MASKED_LM = ("cls.predictions", "lm_head", "lm_predictions", "vocab_", "predictions", "generator_")
_TASK_HEADS = ("auto", *get_args(TaskHead))


def load(
    name_or_module: Any,
    *,
    task_head: TaskHead | Literal["auto"] = "auto",
    device: str = "auto",
    allow_pickle: bool = False,
    tokenizer: Any = None,
    base: str | Path | None = None,
) -> Encoder:
    """Open an encoder: `pocket`, a folder, a hub id, or a transformers module in memory.

    task_head     `auto` is what the checkpoint has; `none` leaves it off; any other is a demand: a checkpoint
                  without it is refused, since a task head with random weights answers nothing
    device        `auto` is the GPU where there is one; a module in memory stays where it is
    tokenizer     another than the model's folder has; for a module in memory whose config doesn't say where its
                  tokenizer is: the tokenizer itself, its folder, or a hub id
    base          what it was fine-tuned from (a folder, a hub id), where neither its maker recorded it nor its files
                  say it

    Weights come as float32: transformers would keep a file's half precision silently.
    """
    check_known("task_head", task_head, _TASK_HEADS)
    tokenizer = None if tokenizer is None else usable_tokenizer(tokenizer)
    if isinstance(name_or_module, str | Path):
        name = str(name_or_module)
        folder = locate(name, allow_pickle=allow_pickle)
        encoder = _from_folder(name, folder, task_head, device, allow_pickle, tokenizer)
        told = told_base(base, str(own_folder(name) or name)) if base else None
        is_base = told is not None and told.id == encoder.id  # a copy of it
        encoder.base = None if is_base else told or noted_base(name, folder, config_of(folder))
        return encoder
    if isinstance(name_or_module, transformers.PreTrainedModel):
        encoder = _from_memory(name_or_module, task_head, device, tokenizer)
        encoder.base = told_base(base, "") if base else None
        return encoder
    raise not_a_model(name_or_module)


def open_model(given: Any, *, tokenizer: Any = None, base: str | None = None) -> Encoder:
    """A model as questions take it: an encoder, which has its tokenizer, or what `load` opens."""
    if isinstance(given, Encoder) and base is not None:
        raise UserError(f"{given.name} is an Encoder; say its base where it is opened: load(..., base=...)")
    return given if isinstance(given, Encoder) else load(given, tokenizer=tokenizer, base=base)


def accept_states(given: Any, *, tokenizer: Any = None, base: str | None = None) -> Any:
    """What hidden states come from: a store of them, an encoder, or a model's name, which is opened in its turn."""
    if isinstance(given, StatesStore) or (isinstance(given, str) and tokenizer is None and base is None):
        return given
    return open_model(given, tokenizer=tokenizer, base=base)


def _from_folder(name: str, folder: Path, task_head: str, device: str, allow_pickle: bool, tokenizer: Any) -> Encoder:
    refuse_adapter(folder)
    config = config_of(folder)
    family = family_of(config["model_type"])
    refuse_other_positions(config, family, str(folder))
    weights = weight_files(folder, allow_pickle=allow_pickle)
    refuse_changed_model(folder)
    opener, has = _opener(folder, config.get("architectures") or _guess(weights), family)
    parser = parser_of(config) if has == "none" and task_head != "none" else None
    has = "parser" if parser else has
    if task_head == "none":
        has = "none"
        if not _shape(config):
            opener = transformers.AutoModel
    elif task_head not in ("auto", has):
        raise UserError(
            f"{name} has no {task_head} on top (it is: {has}); fine-tune it first, or load it with task_head='auto'"
        )
    known = library_config(folder, config)
    with quiet_library():
        refuse_larger(folder, opener, known, family, _shape(config), weights)
        with _reading(folder):
            refuse_stored(weights)
        model, fit = _open(opener, folder, known, family, weights)
        if parser:
            with _reading(folder):
                fit = fit.without_parser(add_parser(model, parser, weights))
    no_pooler = has in ("none", "parser") and any("pooler" in key for key in fit.missing)
    if no_pooler:
        fit.missing = {key for key in fit.missing if "pooler" not in key}
    fit.refuse(model, family, folder, left_off=task_head == "none")
    if no_pooler:
        model.pooler = None  # the checkpoint was made without one; a random one would pass for pretrained
    refuse_unsound(model, str(folder))
    if has == "none":
        model = model.base_model  # a cut model is opened with its task head, which is left off here
        if noted := encoder_notes_in(model.config):
            model.config.bertscope = noted
    model.eval().to(_device(device))
    own = tokenizer is None
    tokenizer = tokenizer_in(folder, known) if own else tokenizer
    which = f"the tokenizer in {folder}" if own else "the tokenizer that was given"
    encoder = Encoder(model, fitted(tokenizer, model, which), display_name(name, config), family, has)
    refuse_mute(encoder, folder)
    encoder.tokenizer.model_max_length = encoder.max_length
    if own:  # with another tokenizer it isn't what its folder holds
        where = str(own_folder(name) or name)
        encoder.opened = Opened(model_digest(folder), where, written(weights), encoder.content_digest)
    return encoder


def _open(opener: Any, folder: Path, config: Any, family: Family, weights: list[Path]) -> tuple[Any, Fit]:
    """The model, and how the folder's weights fit it."""
    shape, form = _shape(config), ClassifierForm.of(config)
    if shape is None and (form == ClassifierForm() or opener is transformers.AutoModel):
        with _reading(folder):
            model, loading = opener.from_pretrained(
                folder, config=config, dtype=torch.float32, use_safetensors=weights[0].suffix == ".safetensors",
                local_files_only=True, trust_remote_code=False, output_loading_info=True,
                ignore_mismatched_sizes=True,
            )  # fmt: skip
        return model, Fit(loading["missing_keys"], loading["unexpected_keys"], loading["mismatched_keys"])
    model = opener.from_config(config, dtype=torch.float32)
    form.put_on(model, family)
    if shape is not None:
        reshape(model, family, model.config.hidden_size // model.config.num_attention_heads, shape)
    with _reading(folder):
        state = {name: tensor for path in weights for name, tensor in load_file(path).items()}
        return model, Fit.of_state(model, state)


def _reading(folder: Path) -> AbstractContextManager[None]:
    return library_failures(f"the weights in {folder} can't be read", "copy the model again")


def _shape(config: Any) -> dict[str, list[int]] | None:
    """The shape that was written down when the model was cut; None for a model as its family makes it."""
    return notes_in(config).get("shape")


def _from_memory(model: Any, task_head: str, device: str, tokenizer: Any) -> Encoder:
    family = family_of(model.config.model_type)
    _, has = _opener(Path(type(model).__name__), [type(model).__name__], family)
    has = "parser" if has == "none" and hasattr(model, PARSER) else has
    if task_head not in ("auto", has):
        raise UserError(
            f"this {type(model).__name__} has no {task_head} on top (it is: {has}); load it with task_head='auto'"
        )
    if model.dtype in (torch.float16, torch.bfloat16):
        raise UserError(
            f"this {type(model).__name__} is in half precision; load it as float32, or give model.float()"
        )
    refuse_other_positions(vars(model.config), family, f"this {type(model).__name__}")
    refuse_unsound(model, f"this {type(model).__name__}")
    if tokenizer is None:
        where = model.config._name_or_path
        if not where:
            raise UserError(f"this {type(model).__name__} doesn't say where its tokenizer is; give tokenizer=...")
        tokenizer = tokenizer_in(locate(where, weights=False))
    tokenizer = fitted(tokenizer, model, "its tokenizer")
    if device != "auto":
        model.to(_device(device))
    return Encoder(model, tokenizer, type(model).__name__, family, has)


def _opener(folder: Path, architectures: list[str], family: Family) -> tuple[Any, TaskHead]:
    if not architectures:
        raise UserError(
            f"{folder / 'config.json'} doesn't say the model's architecture, and its weights don't either; "
            'add "architectures": ["BertForSequenceClassification"] or what it is'
        )
    for ending, (opener, has) in _OPENED_BY.items():
        if architectures[0].endswith(ending) and not architectures[0].endswith("LMHeadModel"):
            return opener, family.pretraining if ending == "ForPreTraining" else has
    raise UserError(f"{folder} is a {architectures[0]}; supported: names that end in {', '.join(_OPENED_BY)}")


def _guess(weights: list[Path]) -> list[str]:
    """What a checkpoint without architectures is, by its weights' names; nothing where they leave a doubt."""
    names: list[str] = []
    for path in weights:
        if path.suffix == ".safetensors":
            names += stored_tensors(path)
    if not names or any(name.startswith(("classifier", "qa_outputs", "score")) for name in names):
        return []
    return ["ForMaskedLM"] if any(name.startswith(_MASKED_LM) for name in names) else ["Model"]


def _device(wanted: str) -> torch.device:
    if wanted == "auto":
        return best_device()
    try:
        device = torch.device(wanted)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"no device {wanted!r} here ({reason(error)}); use auto or cpu") from error
    return device
