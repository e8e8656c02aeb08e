"""What a config.json may say: the few fields that we and the library read, each with what it has to be.

What the library checks itself when it builds a model isn't repeated here. Here is what it would take, or fail over
later: counts that are none, labels that contradict each other, a decoder, our own notes. Loads no torch.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from bertscope.core.errors import UserError, in_a_line
from bertscope.core.files import canonical_json, kind_of
from bertscope.models.config_notes import PARSER, notes_in, origin_in
from bertscope.models.families import Family, family_of

_LONGEST_JSON = 10_000_000
"""Bytes of a config or an index; of the largest models they have one."""

# From the least to the most that a count can be. No model has as many as the most: it only keeps one slipped digit
# from asking for all of the memory.
_COUNTS = {
    "num_hidden_layers": (0, 500), "n_layers": (0, 500),
    "num_attention_heads": (1, 1000), "n_heads": (1, 1000), "num_key_value_heads": (1, 1000),
    "hidden_size": (1, 100_000), "dim": (1, 100_000), "embedding_size": (1, 100_000), "head_dim": (1, 100_000),
    "intermediate_size": (0, 1_000_000), "hidden_dim": (0, 1_000_000),
    "vocab_size": (1, 100_000_000), "max_position_embeddings": (1, 10_000_000), "type_vocab_size": (0, 1_000_000),
    "num_hidden_groups": (1, 1000), "inner_group_num": (1, 1000), "num_labels": (1, 100_000),
    "pad_token_id": (0, 100_000_000),
}  # fmt: skip
_MAY_BE_NULL = ("pad_token_id", "num_key_value_heads", "head_dim", "embedding_size", "num_labels")
_WIDTHS = (("hidden_size", "num_attention_heads"), ("dim", "n_heads"), ("num_attention_heads", "num_key_value_heads"))
"""What has to be a multiple of what."""
_WIDEST = 100
"""How many times as wide as the model its MLPs can be; real ones are 4 times."""
_READ_BY_NAME = (
    "config.json", "generation_config.json", "adapter_config.json", "adapter_model.safetensors", "README.md",
    "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json",
    "model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json",
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja",
    "tokenizer.model", "spm.model", "sentencepiece.bpe.model", "vocab.txt", "vocab.json", "merges.txt",
)  # fmt: skip
_DECODERS = ("is_decoder", "add_cross_attention", "is_encoder_decoder")
CONFIG_AGAIN = "copy the model's config.json again"
"""What to do about a config that can't be meant."""


def need_plain_files(folder: Path, patterns: tuple[str, ...]) -> None:
    """Refuse a folder in which something that is read is no file, or can't be read: a pipe would never end. A folder
    inside is nothing that is read, unless it has a file's own name: somebody may keep `tokenizer/` there."""
    for path in sorted({found for pattern in patterns for found in folder.glob(pattern)}):
        try:
            kind = kind_of(path.stat().st_mode)
            if kind == "folder" and path.name not in _READ_BY_NAME:
                continue
            if kind != "file":
                raise UserError(f"{path} is a {kind}, not a file; copy the model again")
            path.open("rb").close()
        except OSError as error:  # a link that leads nowhere, somebody else's file
            raise UserError(f"{path} can't be read ({error.strerror}); copy the model again") from error


def read_json(path: Path) -> Any:
    """What a JSON file of a model says."""
    try:
        if (size := path.stat().st_size) > _LONGEST_JSON:
            raise UserError(f"{path} has {size:,} bytes; at most {_LONGEST_JSON:,} are read; copy the model again")
        said = json.loads(path.read_text(encoding="utf-8"))
        canonical_json(said).encode()  # NaN, or half a character, can't be written down again
        return said
    except (ValueError, OSError, RecursionError) as error:
        raise UserError(f"{path} can't be read ({in_a_line(error)}); copy the model again") from error


def checked_config(path: Path, config: Any) -> dict[str, Any]:
    """The config as it was read, its labels as the library wants them; refused where it can't be meant."""
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise UserError(f"{path} names no model_type; it isn't the config of a transformers model")
    family = family_of(config["model_type"])
    architectures = config.get("architectures")
    if architectures is not None and not (_is_texts(architectures) and all(map(str.isidentifier, architectures))):
        raise _odd(path, "architectures", architectures, 'a list of names, such as ["BertModel"]')
    _check_counts(path, config)
    if family.shifted_positions and family.padding is None and config.get("pad_token_id", 0) is None:
        raise _odd(path, "pad_token_id", None, f"the padding's id: a {config['model_type']} counts positions from it")
    for name in _DECODERS:
        if config.get(name) not in (None, False):
            raise UserError(f"{path} says {name}: it is a decoder, whose tokens don't see those behind them; only "
                            "encoders can be studied")  # fmt: skip
    if config.get("quantization_config") is not None:
        raise UserError(f"{path} has a quantization_config: its weights are stored as small whole numbers; give the "
                        "model that it was made from")  # fmt: skip
    if config.get("per_layer_config") is not None:
        raise UserError(
            f"{path} has a per_layer_config: layers of different settings can't be studied; {CONFIG_AGAIN}"
        )
    _check_notes(path, config, family)
    return config | _labels(path, config)


def _check_counts(path: Path, config: Mapping[str, Any]) -> None:
    for name, (least, most) in _COUNTS.items():
        value = config.get(name, least)
        if not (value is None and name in _MAY_BE_NULL) and not _is_whole(value, least, most):
            raise _odd(path, name, value, f"a whole number from {least:,} to {most:,}")
    for whole, part in _WIDTHS:
        width, parts = config.get(whole), config.get(part)
        if width is not None and parts is not None and width % parts and config.get("head_dim") is None:
            raise UserError(f"{path}: {whole} ({width:,}) is no multiple of {part} ({parts:,}); {CONFIG_AGAIN}")
    for whole, part in (("hidden_size", "intermediate_size"), ("dim", "hidden_dim")):
        if config.get(part, 0) > _WIDEST * config.get(whole, 10**6):
            raise UserError(f"{path}: {part} ({config[part]:,}) is more than {_WIDEST} times {whole}; {CONFIG_AGAIN}")


def _labels(path: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Names of labels by their numbers, as the library keeps them. Some files have a list, some have numbers as
    names; both ways round they say the same, or `label2id` goes."""
    named = config.get("id2label")
    if named is None:
        return {"id2label": None, "label2id": None}
    named = dict(enumerate(named)) if isinstance(named, list) else named
    wanted = "one name for each of the outputs 0, 1, ..., or which one each names can't be told"
    if not isinstance(named, dict) or not named or not all(type(one) in (str, int, float) for one in named.values()):
        raise _odd(path, "id2label", config["id2label"], wanted)
    by_number = {str(number): str(name) for number, name in named.items()}
    if set(by_number) != {str(number) for number in range(len(by_number))}:
        raise _odd(path, "id2label", config["id2label"], wanted)
    counted = config.get("num_labels")
    if counted is not None and counted != len(by_number):
        raise UserError(f"{path} says that there are {counted:,} labels and names {len(by_number):,}; correct it")
    return {"id2label": by_number, "label2id": {name: int(number) for number, name in by_number.items()}}


def _check_notes(path: Path, config: Mapping[str, Any], family: Family) -> None:
    """Refuse notes of ours that we can't have written: somebody has edited them."""
    notes = config.get("bertscope")
    if not _notes_fit(notes, config, family):
        raise UserError(f"{path}: what bertscope noted there of the model was changed since; {CONFIG_AGAIN}")


def _notes_fit(notes: Any, config: Mapping[str, Any], family: Family) -> bool:
    if not isinstance(notes, dict | NoneType):
        return False
    notes = notes_in(dict(config))
    top, shape, parser, cuts = notes.get("top", {}), notes.get("shape"), notes.get(PARSER), notes.get("cut", [])
    try:
        origin = origin_in(dict(config))
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError):
        return False
    return (
        all(isinstance(notes.get(name), str | NoneType) for name in ("name", "tuned_on"))
        and isinstance(cuts, list)
        and all(map(_is_texts, cuts))
        and (origin is None or _is_as_declared(origin))
        and isinstance(top, dict)
        and set(top) <= {"classifier", "pooler"}
        and top.get("classifier", "linear") in ("linear", "relu")
        and isinstance(top.get("pooler", True), bool)
        and (shape is None or _shape_fits(shape, config, family))
        and (parser is None or _parser_fits(parser))
    )


def _shape_fits(shape: Any, config: Mapping[str, Any], family: Family) -> bool:
    """Whether each layer has a count of heads and of neurons that the config's sizes leave room for."""
    names = {"heads": ("num_attention_heads", "n_heads"), "neurons": (family.mlp_width,)}
    layers = next((config[name] for name in ("num_hidden_layers", "n_layers") if name in config), None)
    if not isinstance(shape, dict) or layers is None:
        return False
    for part, called in names.items():
        most = next((config[name] for name in called if name in config), 0)
        counts = shape.get(part)
        if not isinstance(counts, list) or len(counts) != layers:
            return False
        if not all(_is_whole(count, 0, most) for count in counts):
            return False
    places = next((config[name] for name in names["heads"] if name in config), 0)
    without = shape.get("without_mlp")
    if not isinstance(without, list) or not all(_is_whole(layer, 1, layers) for layer in without):
        return False
    which, heads = shape.get("which"), shape["heads"]
    return which is None or (
        isinstance(which, list)
        and [len(kept) for kept in which if isinstance(kept, list)] == heads
        and all(_is_whole(head, 1, places) for kept in which for head in kept)
        and all(kept == sorted(set(kept)) for kept in which)
    )


def _parser_fits(parser: Any) -> bool:
    return (
        isinstance(parser, dict)
        and bool(parser.get("relations"))
        and _is_texts(parser["relations"])
        and all(_is_whole(parser.get(name), 1, 10_000) for name in ("arc_size", "relation_size"))
    )


def _is_as_declared(record: Any) -> bool:
    """Whether each field of a dataclass, and of those inside it, holds what its annotation says."""
    hints = get_type_hints(type(record))
    return all(_is_of(getattr(record, field.name), hints[field.name]) for field in fields(record))


def _is_of(value: Any, hint: Any) -> bool:
    inside, origin = get_args(hint), get_origin(hint)
    if origin in (Union, UnionType):
        return any(_is_of(value, one) for one in inside)
    if origin is Literal:
        return isinstance(value, str) and value in inside
    if origin is tuple:
        return isinstance(value, tuple) and all(_is_of(one, inside[0]) for one in value)
    if is_dataclass(hint):
        return isinstance(value, hint) and _is_as_declared(value)  # type: ignore[arg-type]
    return isinstance(value, origin or hint) and (hint is bool or not isinstance(value, bool))


def _is_whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _odd(path: Path, name: str, value: Any, wanted: str) -> UserError:
    return UserError(f"{path} says that {name} is {_shown(value)}; it must be {wanted}; {CONFIG_AGAIN}")


def _shown(value: Any) -> str:
    """A value of JSON's, in a few words of its own."""
    named = {None: "null", True: "true", False: "false"}
    return named[value] if value is None or isinstance(value, bool) else reprlib.repr(value)
