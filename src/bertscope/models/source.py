"""From the name a user types to a folder with a model in it. Loads no torch, so that planning can use it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError, did_you_mean
from bertscope.core.files import digest_files, digest_text
from bertscope.core.seal import refuse_changed
from bertscope.core.step import Root
from bertscope.models.adapter import CONFIG as ADAPTER_CONFIG
from bertscope.models.adapter import Adapter, adapted_config, adapter_in
from bertscope.models.config_check import checked_config, need_plain_files, read_json
from bertscope.models.config_notes import notes_in
from bertscope.models.families import family_of
from bertscope.models.sentence_layout import (
    ABOUT,
    ENCODER_SETTINGS,
    MODULES,
    SentenceFolder,
    SentenceLayout,
    sentence_folder,
)
from bertscope.models.stored_weights import refuse_other_positions, refuse_stored
from bertscope.models.weight_files import PICKLES, weight_files

POCKET = Path(__file__).with_name("pocket")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_WEIGHTS = "*.safetensors"
_WANTED = ["*.json", _WEIGHTS, "*.txt", "*.model"]
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "spm.model", "sentencepiece.bpe.model")

_OF_SENTENCES = (MODULES, ABOUT, *ENCODER_SETTINGS, "*/config.json")
"""What else is read of a sentence-transformers folder."""
_CHECKPOINT = "checkpoint-"
_MODEL_MARKS = ("config.json", ADAPTER_CONFIG)

KIND, EXPORT = "model", "export"
"""What the seals say of folders that hold a model, and of those that `shrink` wrote, with a card and ONNX files."""
_READ = (
    "config.json", "*.safetensors", "*.safetensors.index.json", "tokenizer*", "vocab*", "merges.txt",
    "special_tokens_map.json", "added_tokens.json", "spm.model", "sentencepiece*",
)  # fmt: skip
"""Of what a folder holds, what opening it reads: somebody's results.json beside it changes no model."""
_READ_BESIDE = ("generation_config.json", ADAPTER_CONFIG, "chat_template*", "*.index.json", "README.md")
"""What the library looks into as well, though it changes no model here."""


def locate(name: str, *, allow_pickle: bool = False, weights: bool = True) -> Path:
    """The folder of a model: `pocket`, a folder, or a hub id (downloaded to the hub's own cache; without `weights`
    what its tokenizer needs)."""
    if name == "pocket":
        return POCKET
    folder = _as_path(name)
    kind = _kind(folder)
    if stat.S_ISDIR(kind):
        return folder
    if kind:
        alone = "; an ONNX file is taken by versus alone" if str(name).endswith(".onnx") else ""
        raise UserError(f"model {name!r} is a file; name the folder that holds config.json and the weights{alone}")
    if not is_hub_id(name):
        raise UserError(f"no model folder {name!r}; give a folder, a hub id such as bert-base-uncased, or 'pocket'")
    wanted = [one for one in _WANTED if weights or one != _WEIGHTS]
    return _download(name, [*wanted, *(PICKLES if allow_pickle else ())])


def _as_path(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # there is no such user
        return Path(name)


def _kind(path: Path) -> int:
    """What lies there, as the system tells it; 0 for nothing, also where no file could have that name."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return 0


def is_hub_id(name: str) -> bool:
    """Whether it could be one, rather than a path."""
    return not name.startswith((".", "/", "~")) and _HUB_ID.fullmatch(name) is not None


def display_name(name: str, config: Mapping[str, Any]) -> str:
    """What the model's maker called it, or else the hub id, or the folder's own name."""
    folder = own_folder(name)
    return notes_in(config).get("name") or (folder.name if folder else name)


def model_root(name: Any) -> Root:
    """The model as the root of a plan, identified by what its folder holds, or by what it is in memory. What couldn't
    be opened is refused."""
    name = str(name) if isinstance(name, Path) else name
    if not isinstance(name, str):
        if not hasattr(name, "record"):  # an Encoder's: its class would load torch
            raise not_a_model(name)
        return Root("model", name.name, name.id, held=name)
    folder = locate(name)
    parts = parts_of(folder)
    config = parts.config()
    refuse_other_positions(config, family_of(config["model_type"]), str(folder))
    refuse_stored(parts.weights())
    need_vocabulary(parts.tokenizer)
    parts.refuse_changed()
    return Root("model", str(own_folder(name) or name), parts.digest())


@dataclass(frozen=True)
class FolderParts:
    """What a model's folder is made of: plain ones are all of it themselves."""

    folder: Path
    """As it was named."""
    encoder: Path
    """Where config.json and the weights are: here, in a folder inside, or where an adapter's base is."""
    tokenizer: Path
    sentence: SentenceFolder | None = None
    adapter: Adapter | None = None
    base: Path | None = None
    """An adapter's."""

    def weights(self, *, allow_pickle: bool = False) -> list[Path]:
        """The files that the encoder's weights are read from. What is read beside them is looked at too."""
        for layer in filter(None, self.layout.dense if self.layout else ()):
            weight_files(layer.folder, allow_pickle=allow_pickle, of=self.folder)
        return weight_files(self.encoder, allow_pickle=allow_pickle, of=self.base or self.folder)

    @property
    def layout(self) -> SentenceLayout | None:
        """What makes a text's vector, where its maker says so."""
        return self.sentence.layout if self.sentence else None

    def config(self) -> dict[str, Any]:
        """The config.json, of an adapter what its base's becomes with it; refused is what can't be meant, and a
        folder in which what is read is no file."""
        for place in {self.encoder, self.tokenizer}:
            need_plain_files(place, (*_READ, *PICKLES, *_READ_BESIDE))
        path = self.encoder / "config.json"
        config = checked_config(path, read_json(path))
        return adapted_config(config, self.adapter) if self.adapter else config

    def digest(self) -> str:
        """What the model is: what its folder holds. The tokenizer is part of it: the same weights read other pieces
        of the text through another one. Of an adapter, what its base holds is part of it too."""
        inside = self.adapter.folder if self.adapter else self.encoder
        files = {path for pattern in (*_READ, *PICKLES) for path in inside.glob(pattern) if not path.is_dir()}
        files |= {inside / ADAPTER_CONFIG} if self.adapter else set()
        files |= set(self.sentence.files) if self.sentence else set()
        own = _digest(tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(files)))
        return digest_text(f"{own} {model_digest(self.base)}") if self.base else own

    def refuse_changed(self) -> None:
        """Refuse what we wrote and isn't the same any more: what it says of itself needn't be true of it."""
        for folder in filter(None, (self.folder, self.base)):
            refuse_changed(folder, (*_READ, *_OF_SENTENCES))


def parts_of(folder: Path, *, allow_pickle: bool = False) -> FolderParts:
    """What the folder is made of; refused is one of which that can't be told. `allow_pickle` is for an adapter's base
    that has to be downloaded."""
    sentence = sentence_folder(folder)
    inside = sentence.encoder if sentence else folder
    adapter = adapter_in(inside)
    if adapter is None:
        if not os.path.lexists(inside / "config.json"):
            found = checkpoints_in(folder)
            which = f"give {found[max(found)]}, its newest checkpoint" if found else "name the one that has it"
            raise UserError(f"{inside} is not a model folder: there is no config.json in it; {which}")
        return FolderParts(folder, inside, inside, sentence)
    try:
        base = locate(adapter.base, allow_pickle=allow_pickle)
    except UserError as error:
        raise UserError(
            f"the base of the adapter in {folder} isn't found: {error}; or put its folder into "
            f"base_model_name_or_path of {inside / ADAPTER_CONFIG}"
        ) from error
    below = parts_of(base, allow_pickle=allow_pickle)
    if below.adapter:
        raise UserError(f"the base of the adapter in {folder}, {base}, is an adapter itself; merge that one first")
    return FolderParts(
        folder, below.encoder, inside if _has_vocabulary(inside) else below.tokenizer, sentence, adapter, base
    )


def model_digest(folder: Path) -> str:
    """What a model is: see `FolderParts.digest`."""
    return parts_of(folder).digest()


@lru_cache(maxsize=64)
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    """A folder is asked for its digest when a run is planned, when it is opened and by whoever records it; files of
    the same size and time are the same."""
    return digest_files(path for path, _, _ in files)


def written(weights: Sequence[Path]) -> str:
    """When the weights were written, in UTC."""
    newest = max(path.stat().st_mtime for path in weights)
    return datetime.fromtimestamp(newest, UTC).isoformat(timespec="seconds")


def not_a_model(given: Any) -> UserError:
    """What is said of what can't be opened as a model."""
    taken = "a name, a folder, a hub id, a transformers model (with tokenizer=), or an Encoder"
    return UserError(f"can't open {type(given).__name__} as a model; give {taken}")


def own_folder(name: str) -> Path | None:
    """The folder that the name is the path of, absolute, a link under its own name; None of `pocket` and hub ids."""
    folder = _as_path(name)
    if name == "pocket" or not stat.S_ISDIR(_kind(folder)):
        return None
    return folder.resolve() if ".." in folder.parts else folder.absolute()


def config_of(folder: Path) -> dict[str, Any]:
    """The config of the model there: see `FolderParts.config`."""
    return parts_of(folder).config()


def checkpoints_in(folder: Path) -> dict[int, Path]:
    """Of the folder that a training with transformers wrote its checkpoints into: those that hold a model, by their
    steps, in that order."""
    found = {step_of(path): path for path in folder.glob(f"{_CHECKPOINT}*") if has_model(path)}
    return {step: found[step] for step in sorted(one for one in found if one is not None)}


def step_of(folder: Path) -> int | None:
    """After how many steps of a training a checkpoint was kept, by the name that transformers gives its folder."""
    number = folder.name.removeprefix(_CHECKPOINT)
    named = folder.name.startswith(_CHECKPOINT) and number.isascii() and number.isdecimal()
    return int(number) if named else None


def has_model(folder: Path) -> bool:
    """Whether a model lies there, by the files that a model has."""
    return any((folder / name).exists() for name in (*_MODEL_MARKS, MODULES))


def config_of_root(root: Root) -> dict[str, Any]:
    """The config of a model that a plan begins with, wherever it is."""
    return config_of(locate(root.source)) if root.held is None else root.held.model.config.to_dict()


def layers_of(root: Root) -> int:
    """How many layers the model has, by its config."""
    config = config_of_root(root)
    for name in ("num_hidden_layers", "n_layers"):
        if name in config:
            return int(config[name])
    raise UserError(f"the config of {root.source} doesn't say how many layers it has; add num_hidden_layers")


def need_vocabulary(folder: Path) -> None:
    """Refuse a folder without a tokenizer: the library would make up an empty vocabulary and say nothing."""
    if not _has_vocabulary(folder):
        raise UserError(f"{folder} has no tokenizer (no tokenizer.json in it); copy the tokenizer's files there")


def _has_vocabulary(folder: Path) -> bool:
    return any((folder / name).exists() for name in _VOCABULARIES)


def _download(name: str, patterns: list[str]) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=[*patterns, "README.md"]))  # the model card
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = "the hub can't be reached" if isinstance(error, LocalEntryNotFoundError) else type(error).__name__
        hint = did_you_mean(name, ["pocket"])
        raise UserError(
            f"no model {name!r}: no folder of that name here, and no download ({reason}); "
            + (hint if hint.startswith("did") else "give a folder, a hub id such as bert-base-uncased, or 'pocket'")
        ) from error
