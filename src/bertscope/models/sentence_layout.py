"""What a sentence-transformers folder says of itself: where its encoder is, and what makes a text's vector of the
encoder's last states. Loads no torch."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.models.config_check import need_plain_files, read_json

MODULES, ABOUT = "modules.json", "config_sentence_transformers.json"
ENCODER_SETTINGS = tuple(
    f"sentence_{family}_config.json"
    for family in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
"""Under these names the length that texts are cut to has been kept."""
SETFIT_HEAD, SETFIT = "model_head.pkl", "config_setfit.json"
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
"""In the order in which their vectors are joined where an older file asks for several."""
_OLDER = dict(zip(("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens",
                   "lasttoken"), POOLINGS, strict=True))  # fmt: skip
_ACTIVATIONS = "torch.nn.modules.activation."
ACTIVATIONS = ("Tanh", "Identity", "ReLU", "GELU", "Sigmoid", "SiLU", "ELU", "LeakyReLU", "Mish", "Softplus")
_VECTOR = "sentence_embedding"
_WIDEST = 100_000


@dataclass(frozen=True)
class DenseLayout:
    """A linear layer and what follows it."""

    folder: Path
    inputs: int
    outputs: int
    bias: bool
    activation: str


@dataclass(frozen=True)
class SentenceLayout:
    """What follows the encoder."""

    pooling: tuple[str, ...]
    """How states become a vector; the vectors of several are joined."""
    dense: tuple[DenseLayout | None, ...]
    """What the vector then goes through, in order; None: it is brought to length 1."""


@dataclass(frozen=True)
class SentenceFolder:
    """A folder as sentence-transformers writes it."""

    encoder: Path
    """Where the encoder's own files are."""
    files: tuple[Path, ...]
    """All that is read beside them."""
    layout: SentenceLayout | None
    """None: an encoder alone, or with a task head of its own (a cross-encoder)."""
    longest: int | None
    """Texts are cut to so many tokens."""
    lower: bool
    """Whether texts are lower-cased before anything else."""
    notes: tuple[str, ...]


def sentence_folder(folder: Path) -> SentenceFolder | None:
    """What sentence-transformers, or SetFit, wrote there; None where neither did."""
    need_plain_files(folder, (MODULES, ABOUT, *ENCODER_SETTINGS, SETFIT))
    if not os.path.lexists(folder / MODULES):  # a link that leads nowhere is a damaged model, not another
        notes = (*_without_modules(folder), *_setfit(folder))
        return SentenceFolder(folder, (), None, None, False, notes) if notes else None
    (kind, encoder), *rest = _modules(folder)
    if kind != "Transformer":
        raise _foreign(folder, kind)
    files, pooling, dense = [folder / MODULES], None, list[DenseLayout | None]()
    for kind, path in rest:
        need_plain_files(path, ("config.json", "*.safetensors", "*.bin"))
        if kind in ("Pooling", "Dense"):
            files.append(path / "config.json")
        if kind == "Pooling" and pooling is None and not dense:
            pooling = _pooling(path / "config.json")
        elif kind == "Normalize" and pooling:
            dense.append(None)
        elif kind == "Dense" and pooling:
            dense.append(_dense(path))
            files += [*path.glob("*.safetensors"), *path.glob("*.bin")]
        elif kind != "Dropout":  # which does nothing outside of training
            raise _foreign(folder, kind)
    longest, lower, settings = _encoder_settings(encoder)
    files += settings
    layout = SentenceLayout(pooling, tuple(dense)) if pooling else None
    return SentenceFolder(encoder, tuple(files), layout, longest, lower, (*_prompt(folder), *_setfit(folder)))


def _modules(folder: Path) -> list[tuple[str, Path]]:
    """The class of each module, without where it is defined, and its folder."""
    path, listed = folder / MODULES, read_json(folder / MODULES)
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        raise UserError(f"{path} isn't a list of modules; copy the model again")
    found = []
    for one in listed:
        kind, inside = one.get("type"), one.get("path")
        if not isinstance(kind, str) or not isinstance(inside, str):
            raise UserError(f"{path} has a module without a type or a path; copy the model again")
        if inside and (Path(inside).name != inside or inside == ".."):
            raise UserError(f"{path} names {inside!r}: only folders inside this one are read; put it there")
        found.append((kind.rpartition(".")[2], folder / inside))
    return found


def _foreign(folder: Path, kind: str) -> UserError:
    return UserError(
        f"{folder / MODULES} has a {kind!r} where it isn't computed (known: a Transformer, Pooling, then Dense and "
        f"Normalize); take {MODULES} away to open the encoder alone, without its own vectors of texts"
    )


def _config(path: Path) -> dict[str, Any]:
    if not os.path.lexists(path):
        raise UserError(f"{path.parent} has no config.json, and {MODULES} names it; copy the model again")
    said = read_json(path)
    if not isinstance(said, dict):
        raise UserError(f"{path} isn't a module's config; copy the model again")
    return said


def _pooling(path: Path) -> tuple[str, ...]:
    said = _config(path)
    modes = said.get("pooling_mode")
    if modes is None:
        modes = [mode for key, mode in _OLDER.items() if said.get(f"pooling_mode_{key}")] or ["mean"]
    modes = [modes] if isinstance(modes, str) else modes
    if not isinstance(modes, list) or not modes or not all(isinstance(one, str) and one in POOLINGS for one in modes):
        raise UserError(f"{path} pools by {reprlib.repr(modes)}; known: {', '.join(POOLINGS)}; copy the model again")
    return tuple(modes)


def _dense(folder: Path) -> DenseLayout:
    path = folder / "config.json"
    said = _config(path)
    sizes: list[Any] = [said.get("in_features"), said.get("out_features")]
    if not all(type(size) is int and 0 < size <= _WIDEST for size in sizes):
        raise UserError(f"{path} goes from {sizes[0]!r} to {sizes[1]!r} numbers; copy the model again")
    activation = said.get("activation_function", f"{_ACTIVATIONS}Tanh")
    known = isinstance(activation, str) and activation.startswith("torch.nn.") and activation.rpartition(".")[2]
    if known not in ACTIVATIONS:
        raise UserError(f"{path} has the activation {activation!r}; known: {', '.join(ACTIVATIONS)} of torch.nn")
    others = {said.get(name) for name in ("module_input_name", "module_output_name")} - {None, _VECTOR}
    if others or said.get("use_residual"):
        what = f"the module reads or gives {sorted(map(str, others))[0]}" if others else "use_residual"
        raise UserError(f"{path}: {what} isn't computed here; take {MODULES} away to open the encoder alone")
    return DenseLayout(folder, sizes[0], sizes[1], bool(said.get("bias", True)), str(known))


def _encoder_settings(encoder: Path) -> tuple[int | None, bool, list[Path]]:
    """To how many tokens texts are cut, whether they are lower-cased, and the file that says so."""
    need_plain_files(encoder, ENCODER_SETTINGS)
    path = next((encoder / name for name in ENCODER_SETTINGS if os.path.lexists(encoder / name)), None)
    said = read_json(path) if path else {}
    if path is None or not isinstance(said, Mapping):
        return None, False, []
    longest = said.get("max_seq_length")
    if longest is not None and not (type(longest) is int and longest > 0):
        raise UserError(f"{path} says that max_seq_length is {longest!r}; it must be a whole number above 0, or null")
    return longest, bool(said.get("do_lower_case")), [path]


def _prompt(folder: Path) -> list[str]:
    """Where sentence-transformers would put words before each text, that they aren't there."""
    said = read_json(folder / ABOUT) if (folder / ABOUT).exists() else {}
    name, prompts = (
        (said.get(key) for key in ("default_prompt_name", "prompts")) if isinstance(said, dict) else (0, 0)
    )
    prompt = prompts.get(name) if isinstance(prompts, dict) and isinstance(name, str) else None
    return [f"texts are read without the model's default prompt, {prompt!r}"] if prompt else []


def activation_notes(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """Of a cross-encoder with one output, what sentence-transformers would put behind it, that it isn't there."""
    about = read_json(folder / ABOUT) if (folder / ABOUT).exists() else {}
    places = [about, config.get("sentence_transformers")]  # of version 6, and of 4 and 5; before, under another name
    said = [one["activation_fn"] for one in places if isinstance(one, dict) and one.get("activation_fn")]
    named = str((said or [config.get("sbert_ce_default_activation_function") or ""])[0]).rpartition(".")[2]
    outputs = len(config.get("id2label") or ()) or config.get("num_labels")
    if outputs != 1 or named in ("", "Identity"):
        return []
    return [f"the output is read as it is: the scores that {folder.name}'s maker gives are the {named} of it"]


def _without_modules(folder: Path) -> list[str]:
    """Of a folder that has lost its list of modules, or from which somebody took it, how texts are read then."""
    if not (folder / "1_Pooling").is_dir():
        return []
    return [
        f"{folder.name} has a 1_Pooling and no {MODULES}: texts' vectors are the mean of their tokens, special ones "
        "excepted; if its own are wanted, copy the model again"
    ]


def _setfit(folder: Path) -> list[str]:
    """Of a SetFit folder, that its classifier isn't read: it is a pickle, whoever wrote it."""
    if not any(os.path.lexists(folder / name) for name in (SETFIT_HEAD, SETFIT)):
        return []
    return [
        f"{folder.name} is a SetFit model, of which only the encoder is opened: its classifier ({SETFIT_HEAD}) is a "
        "pickle, which can run any code when opened, so it isn't read; to have a classifier, fine-tune the "
        f"encoder: bertscope finetune {folder.name} --on TASK --out FOLDER"
    ]
