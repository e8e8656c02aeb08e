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
from bertscope.models.known_base import adapted_base, noted_base, told_base
from bertscope.models.library_failures import library_failures, reason
from bertscope.models.library_model import library_config, refuse_larger, refuse_mute
from bertscope.models.merge_adapter import merge
from bertscope.models.open_tokenizer import fitted, tokenizer_in, usable_tokenizer
from bertscope.models.parser import add_parser, parser_of
from bertscope.models.quiet import quiet_library
from bertscope.models.sentence_layout import activation_notes
from bertscope.models.sentence_modules import NAME as SENTENCE_MODULES
from bertscope.models.sentence_modules import read_modules
from bertscope.models.sound_weights import Fit, refuse_unsound
from bertscope.models.source import (
    FolderParts,
    display_name,
    locate,
    not_a_model,
    own_folder,
    parts_of,
    written,
)
from bertscope.models.states_store import StatesStore
from bertscope.models.stored_weights import is_encoder_only, refuse_other_positions, refuse_stored
from bertscope.models.surgery import reshape
from bertscope.models.weight_files import stored_tensors

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
_PRETRAINING = ("masked-lm", "discriminator")
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
        parts = parts_of(folder, allow_pickle=allow_pickle)
        encoder = _from_folder(name, parts, task_head, device, allow_pickle, tokenizer)
        told = told_base(base, str(own_folder(name) or name)) if base else None
        is_base = told is not None and told.id == encoder.id  # a copy of it
        encoder.base = None if is_base else told or adapted_base(parts) or noted_base(name, folder, parts.config())
        return encoder
    if isinstance(name_or_module, transformers.PreTrainedModel):
        encoder = _from_memory(name_or_module, task_head, device, tokenizer)
        encoder.base = told_base(base, "") if base else None
        return encoder
    raise not_a_model(name_or_module)


def described(name: str, parts: FolderParts, tokenizer: Any = None) -> Encoder:
    """The folder's model without its weights, for whoever has other weights of it, as an ONNX file: what is on top,
    what it reads, what its outputs are called."""
    config = parts.config()
    known, family = library_config(parts.encoder, config), family_of(config["model_type"])
    architectures = config.get("architectures") or _guess(list(parts.encoder.glob("*.safetensors")))
    opener, has = _opener(parts.encoder, architectures, family)
    if parts.layout:
        opener, has = transformers.AutoModel, "none"
    with quiet_library(), torch.device("meta"):
        model = opener.from_config(known, dtype=torch.float32)
    has = "parser" if has == "none" and parser_of(config) else has
    own = tokenizer_in(parts.tokenizer, known, parts.sentence) if tokenizer is None else usable_tokenizer(tokenizer)
    encoder = Encoder(model, fitted(own, model, f"the tokenizer in {parts.folder}"), name, family, has)
    encoder.tokenizer.model_max_length = encoder.max_length
    return encoder


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


def _from_folder(
    name: str, parts: FolderParts, task_head: str, device: str, allow_pickle: bool, tokenizer: Any
) -> Encoder:
    folder, config = parts.folder, parts.config()
    family = family_of(config["model_type"])
    refuse_other_positions(config, family, str(folder))
    weights = parts.weights(allow_pickle=allow_pickle)
    parts.refuse_changed()
    opener, has, notes = _what_it_is(display_name(name, config), parts, config, weights)
    parser = parser_of(config) if has == "none" and task_head != "none" else None
    has = "parser" if parser else has
    if task_head == "none":
        has = "none"
        if not _shape(config) and not parts.adapter:
            opener = transformers.AutoModel
    elif task_head not in ("auto", has):
        raise UserError(
            f"{name} has no {task_head} on top (it is: {has}); fine-tune it first, or load it with task_head='auto'"
        )
    known = library_config(parts.encoder, config)
    with quiet_library():
        refuse_larger(parts.encoder, opener, known, family, _shape(config), weights)
        with _reading(parts.encoder):
            refuse_stored(weights)
        model, fit = _open(opener, parts.encoder, known, family, weights)
        if parser:
            with _reading(folder):
                fit = fit.without_parser(add_parser(model, parser, weights))
    no_pooler = opener is transformers.AutoModel and any("pooler" in key for key in fit.missing)
    if no_pooler:
        fit.missing = {key for key in fit.missing if "pooler" not in key}
    if parts.adapter:
        with _reading(folder):
            fit = merge(model, fit, parts.adapter)
    left_off = task_head == "none" or parts.adapter is not None or parts.layout is not None
    fit.refuse(model, family, folder, left_off=left_off)
    if no_pooler:
        model.pooler = None  # the checkpoint was made without one; a random one would pass for pretrained
    if parts.layout and has == "none":
        modules = read_modules(parts.layout, model.config.hidden_size, allow_pickle=allow_pickle)
        setattr(model.base_model, SENTENCE_MODULES, modules)
    refuse_unsound(model, str(folder))
    if has == "none":
        model = model.base_model  # one that was cut or adapted is opened with its task head, which is left off here
        if noted := encoder_notes_in(model.config):
            model.config.bertscope = noted
    model.eval().to(_device(device))
    own = tokenizer is None
    tokenizer = tokenizer_in(parts.tokenizer, known, parts.sentence) if own else tokenizer
    which = f"the tokenizer in {folder}" if own else "the tokenizer that was given"
    tokenizer = fitted(tokenizer, model, which)
    encoder = Encoder(model, tokenizer, display_name(name, config), family, has, opening_notes=notes)
    refuse_mute(encoder, f"the model in {folder}", "copy it again")
    encoder.tokenizer.model_max_length = encoder.max_length
    if own:  # with another tokenizer it isn't what its folder holds
        where = str(own_folder(name) or name)
        newest = [*weights, parts.adapter.weights] if parts.adapter else weights
        encoder.opened = Opened(parts.digest(), where, written(newest), encoder.content_digest)
    return encoder


def _what_it_is(
    name: str, parts: FolderParts, config: dict[str, Any], weights: list[Path]
) -> tuple[Any, TaskHead, tuple[str, ...]]:
    """What opens the folder's model, what is on top of it, and what is to be said of that."""
    family = family_of(config["model_type"])
    notes = parts.sentence.notes if parts.sentence else ()
    opener, has = _opener(parts.encoder, config.get("architectures") or _guess(weights), family)
    if parts.layout:  # what makes vectors of texts reads an encoder's states, whatever was on top once
        return transformers.AutoModel, "none", notes
    if has in _PRETRAINING and not _shape(config) and _holds_encoder_only(parts.encoder, weights, family):
        named = (config.get("architectures") or ["no architecture"])[0]
        alone = f"its config.json names {named}, its weights are the encoder's alone"
        notes += (f"{name} is opened as an encoder with nothing on top: {alone}",)
        return transformers.AutoModel, "none", notes
    return opener, has, (*notes, *(activation_notes(parts.folder, config) if has == "classifier" else ()))


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
        reshape(model, family, shape)
    with _reading(folder):
        state = {name: tensor for path in weights for name, tensor in load_file(path).items()}
        return model, Fit.of_state(model, state)


def _holds_encoder_only(folder: Path, weights: list[Path], family: Family) -> bool:
    with _reading(folder):
        return is_encoder_only(weights, family)


def _reading(folder: Path) -> AbstractContextManager[None]:
    return library_failures(f"the weights in {folder} can't be read", "copy the model again")


def _shape(config: Any) -> dict[str, Any] | None:
    """The shape that was written down when the model was cut; None for a model as its family makes it."""
    return notes_in(config).get("shape")


def _from_memory(model: Any, task_head: str, device: str, tokenizer: Any) -> Encoder:
    family = family_of(model.config.model_type)
    _, has = _opener(Path(type(model).__name__), [type(model).__name__], family)
    has, which = "parser" if has == "none" and hasattr(model, PARSER) else has, f"this {type(model).__name__}"
    if task_head not in ("auto", has):
        raise UserError(f"{which} has no {task_head} on top (it is: {has}); load it with task_head='auto'")
    if {weights.dtype for weights in model.parameters()} & {torch.float16, torch.bfloat16}:
        raise UserError(f"{which} is in half precision; load it as float32, or give model.float()")
    refuse_other_positions(vars(model.config), family, which)
    refuse_unsound(model, which)
    if tokenizer is None:
        where = model.config._name_or_path
        if not where:
            raise UserError(f"{which} doesn't say where its tokenizer is; give tokenizer=...")
        tokenizer = tokenizer_in(locate(where, weights=False))
    tokenizer = fitted(tokenizer, model, "its tokenizer")
    if device != "auto":
        model.to(_device(device))
    encoder = Encoder(model, tokenizer, type(model).__name__, family, has)
    refuse_mute(encoder, which, "open it with load(FOLDER), or set its config to what it was made with")
    return encoder


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
