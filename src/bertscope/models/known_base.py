"""What a checkpoint from elsewhere was fine-tuned from: as its user says, or as its own files do. Loads no torch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.model_record import ModelRecord
from bertscope.core.step import Root
from bertscope.models import source
from bertscope.models.config_notes import notes_in, origin_in

CARD = "README.md"
_FRONT_MATTER = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)


def model_root(name: Any, base: str | None = None) -> Root:
    """The model as the root of a plan. What somebody says that it was fine-tuned from is part of how it is read,
    where it isn't recorded; one in memory was told when it was opened."""
    root = source.model_root(name)
    if root.held is not None:
        return root
    told = told_base(base, root.source) if base else None
    if told is None or origin_in(source.config_of(source.locate(name))) or told.id == root.digest:
        return root
    return replace(root, options={"base": told.source})


def told_base(base: str | Path, of: str) -> ModelRecord | None:
    """The model that somebody names as the base of another: by content where it lies here, a hub id by its name. None
    where it is the model itself."""
    if not isinstance(base, str | Path):
        raise UserError(f"base is a {type(base).__name__}; name the model's folder, a hub id, or 'pocket'")
    base = str(base)
    folder = source.POCKET if base == "pocket" else source.own_folder(base)
    if folder is None and not source.is_hub_id(base):
        raise UserError(
            f"no model folder {base!r}, which is said to be the base; give a folder, a hub id such as "
            "bert-base-uncased, or 'pocket'"
        )
    found = ModelRecord("", base, source=base)
    if folder is not None:
        config = source.config_of(folder)
        named = base if base == "pocket" else str(folder)
        found = ModelRecord(
            source.model_digest(folder), source.display_name(named, config), origin_in(config), source=named
        )
    return None if found.source == of else found


def adapted_base(parts: source.FolderParts) -> ModelRecord | None:
    """What an adapter was trained on: it can't be opened without, so that its content is known."""
    if parts.adapter is None or parts.base is None:
        return None
    name, config = parts.adapter.base, source.config_of(parts.base)
    where = str(source.own_folder(name) or name)
    return ModelRecord(
        source.model_digest(parts.base), source.display_name(name, config), origin_in(config), source=where
    )


def noted_base(name: str, folder: Path, config: Mapping[str, Any]) -> ModelRecord | None:
    """What a checkpoint's own files say that it was fine-tuned from: transformers' note in config.json, or the model
    card. What lies there now may not be what it was made from: it is known by where it is, not by what it holds."""
    if notes_in(config):  # ours: where it came from is recorded there, or isn't known
        return None
    itself = {name, str(folder), str(source.own_folder(name) or name)}
    for said in (config.get("_name_or_path"), *_on_the_card(folder / CARD)):
        if isinstance(said, str) and said:
            here = source.own_folder(said)
            where = str(here or said)
            if (here or source.is_hub_id(said)) and not {said, where} & itself:
                return ModelRecord("", here.name if here else said, source=where)
    return None


def found_base(model: ModelRecord) -> str | None:
    """Where the base is found that a model's files name, if its weights are what the training began with. Our own
    files don't say where it lay, only which it was: its name leads to it, if what is found there is the same."""
    origin = model.origin
    if not (origin and origin.base) or origin.init == "random":
        return None
    if origin.base.source:
        return origin.base.source
    try:
        return origin.base.name if source.model_root(origin.base.name).digest == origin.base.id else None
    except UserError:  # it isn't here
        return None


def _on_the_card(card: Path) -> Iterator[Any]:
    """The `base_model` of a model card's front matter; one that was merged of several has no single base."""
    import yaml

    try:
        found = _FRONT_MATTER.search(card.read_text(encoding="utf-8"))
        facts = yaml.safe_load(found[1]) if found else None
    except (OSError, ValueError, yaml.YAMLError):
        return
    said = facts.get("base_model") if isinstance(facts, dict) else None
    several = said if isinstance(said, list) else [said]
    yield from several if len(several) == 1 else ()
