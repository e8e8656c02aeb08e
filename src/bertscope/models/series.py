"""From what a user names to a series of checkpoints: a pattern, a list, the folder of a training. Loads no torch."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.core.files import canonical_json, digest_text
from bertscope.core.series import Series
from bertscope.core.step import Root
from bertscope.models.config_notes import notes_in
from bertscope.models.source import checkpoints_in, config_of_root, has_model, locate, own_folder, parts_of, step_of

_STATE = "trainer_state.json"
_SHAPE = (
    "model_type", "vocab_size", "hidden_size", "dim", "num_hidden_layers", "n_layers", "num_attention_heads",
    "n_heads", "intermediate_size", "hidden_dim", "max_position_embeddings", "embedding_size", "type_vocab_size",
    "hidden_act", "activation", "position_embedding_type", "num_hidden_groups", "local_attention",
)  # fmt: skip
"""Of a config: what the checkpoints of one training have in common. What is on top may differ: a base has no task
head yet."""
_FEWEST = 2


def series(checkpoints: Any) -> Series:
    """Checkpoints of one training as an axis, to be given wherever a model is.

    checkpoints   a pattern (`"runs/0/checkpoint-*"`), the folder that a Trainer keeps them in, a list of such names
                  and of models, or a mapping from steps to models. Steps are read off folders' names (`checkpoint-N`)
                  or their `trainer_state.json`; the first of a list may have none: it is what the training began with
    """
    if isinstance(checkpoints, Series):
        return checkpoints
    if isinstance(checkpoints, Mapping):
        return _in_order([(_whole(step), one) for step, one in checkpoints.items()], "these checkpoints")
    if isinstance(checkpoints, str | Path):
        name = str(checkpoints)
        return as_series(name) or _of_list(_in_folder(name) or [name], name)
    if not isinstance(checkpoints, Sequence):
        raise UserError(
            f"can't make a series of {type(checkpoints).__name__}; give a pattern such as 'runs/0/checkpoint-*', a "
            "folder, a list, or a mapping from steps to models"
        )
    return _of_list([each for one in checkpoints for each in _expanded(one)], "these checkpoints")


def as_series(given: Any) -> Series | None:
    """The series that somebody names in a model's place; None of what names a model."""
    if isinstance(given, Series):
        return given
    if not isinstance(given, str | Path):
        return None
    name = str(given)
    if own_folder(name) is not None:
        return (
            None if has_model(Path(name).expanduser()) or not _in_folder(name) else _of_list(_in_folder(name), name)
        )
    if "," in name:
        listed = [one.strip() for one in name.split(",") if one.strip()]
        return _of_list([each for one in listed for each in _expanded(one)], name)
    return _of_list(_expanded(name), name) if _is_pattern(name) else None


def refuse_unlike(roots: Series) -> None:
    """Refuse checkpoints that can't be of one training: of another shape, or with other words."""
    configs = [config_of_root(root) for root in roots]
    for name in _SHAPE:  # files of older versions of the library leave some out
        said = [(root, config[name]) for root, config in zip(roots, configs, strict=True) if name in config]
        for (one, here), (other, there) in pairwise(said):
            if here != there:
                raise _unlike(one, other, f"{name} is {here} here and {there} there")
    for (one, other), (first, cut) in zip(pairwise(roots), pairwise([_cut(each) for each in configs]), strict=True):
        if first != cut:
            raise _unlike(one, other, "they weren't cut alike")
    words = [(root, _words(root)) for root in roots if root.held is None]
    for (one, known), (other, second) in pairwise([each for each in words if each[1] is not None]):
        if known != second:
            raise _unlike(one, other, "they have different tokenizers")


def _unlike(one: Root, other: Root, why: str) -> UserError:
    return UserError(
        f"{one.source} and {other.source} can't be checkpoints of one training: {why}; name those of one"
    )


def _cut(config: Mapping[str, Any]) -> Any:
    return notes_in(config).get("shape")


def _words(root: Root) -> str | None:
    """The digest of what the tokenizer knows and does to a text first; None where there is no one file of it."""
    path = parts_of(locate(root.source)).tokenizer / "tokenizer.json"
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        return digest_text(canonical_json([whole["model"]["vocab"], whole.get("normalizer")]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _is_pattern(name: str) -> bool:
    return any(character in name for character in "*?[")


def _in_folder(name: str) -> list[str]:
    """The checkpoints in the folder of a training."""
    folder = own_folder(name)
    return [str(path) for path in checkpoints_in(folder).values()] if folder else []


def _expanded(one: Any) -> list[Any]:
    """What one entry of a list stands for: itself, the folders of a pattern, the checkpoints of a training."""
    if not isinstance(one, str | Path):
        return [one]
    name = str(one)
    folder = own_folder(name)
    if folder is not None:
        return [name] if has_model(folder) else _in_folder(name) or [name]
    if not _is_pattern(name):
        return [name]
    # Not Path.glob: it takes no pattern that begins at the root.
    found = [path for path in sorted(glob.glob(str(Path(name).expanduser()))) if has_model(Path(path))]  # noqa: PTH207
    if not found:
        raise UserError(
            f"no checkpoint matches {name!r}; a pattern is of model folders, such as 'runs/0/checkpoint-*'"
        )
    return found


def _of_list(checkpoints: Iterable[Any], name: str) -> Series:
    found: list[tuple[int, Any]] = []
    for place, one in enumerate(checkpoints):
        step = _step(one)
        if step is None and place:
            raise UserError(
                f"{_called(one)} doesn't say at which step of the training it was kept (no {_STATE} in it, and its "
                "name is no checkpoint-N); rename the folder, or give a mapping from steps to models in Python"
            )
        found.append((step or 0, one))
    start = found[: bool(found) and _step(found[0][1]) is None]  # what all trainings began with
    if trainings := _trainings(found[len(start) :]):
        return _side_by_side({folder: [*start, *some] for folder, some in trainings.items()}, name)
    return _in_order(found, name)


def _trainings(found: Sequence[tuple[int, Any]]) -> dict[str, list[tuple[int, Any]]] | None:
    """The checkpoints of several trainings by the folders that these lie in; None where all are of one."""
    by: dict[str, list[tuple[int, Any]]] = {}
    for step, one in found:
        folder = own_folder(str(one)) if isinstance(one, str | Path) else None
        if folder is None:
            return None
        by.setdefault(str(folder.absolute().parent), []).append((step, one))
    meet = len({step for step, _ in found}) < len(found) or sum(len(some) > 1 for some in by.values()) > 1
    return by if len(by) > 1 and meet and max(map(len, by.values())) > 1 else None


def _side_by_side(trainings: Mapping[str, Sequence[tuple[int, Any]]], name: str) -> Series:
    """Several trainings of one recipe: they have the same steps."""
    each = {parent: _in_order(some, name) for parent, some in trainings.items()}
    (first, one), *others = each.items()
    for parent, other in others:
        if other.steps != one.steps:
            lacks = sorted({*one.steps} ^ {*other.steps})
            raise UserError(
                f"{first} and {parent} aren't trainings with the same steps (step {lacks[0]} is in one of them "
                "alone); name one of them, or those whose checkpoints were kept at the same steps"
            )
    common = os.path.commonpath(each)
    named = tuple(Path(parent).relative_to(common).as_posix() for parent in each)
    return Series(one.steps, tuple(model for some in each.values() for model in some), name, named)


def _in_order(found: Sequence[tuple[int, Any]], name: str) -> Series:
    if len(found) < _FEWEST:
        which = f"only {_called(found[0][1])}" if found else "none"
        raise UserError(f"{name} names {which}: a series has two checkpoints or more; keep more while it trains")
    found = sorted(found, key=lambda one: one[0])
    for (step, one), (next_step, other) in pairwise(found):
        if step == next_step:
            raise UserError(
                f"{_called(one)} and {_called(other)} are both of step {step}: a series is one training; name the "
                "checkpoints of one"
            )
    steps, checkpoints = zip(*found, strict=True)
    return Series(steps, checkpoints, name)


def _step(one: Any) -> int | None:
    """After how many steps a checkpoint was kept: by its folder's name, or by what the Trainer wrote into it."""
    folder = own_folder(str(one)) if isinstance(one, str | Path) else None
    if folder is None:
        return None
    named = step_of(folder)
    return _noted_step(folder) if named is None else named


def _noted_step(folder: Path) -> int | None:
    try:
        noted = json.loads((folder / _STATE).read_text(encoding="utf-8"))["global_step"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return noted if isinstance(noted, int) and noted >= 0 else None


def _whole(step: Any) -> int:
    if isinstance(step, bool) or not isinstance(step, int) or step < 0:
        raise UserError(f"step {step!r} is no step of a training; give whole numbers from 0 on")
    return step


def _called(one: Any) -> str:
    return str(one) if isinstance(one, str | Path) else getattr(one, "name", type(one).__name__)
