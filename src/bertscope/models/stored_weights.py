"""What the files of a model's folder tell before it is opened: weights that the model isn't all of, or can't be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bertscope.core.errors import UserError
from bertscope.models.families import Family
from bertscope.models.weight_files import stored_tensors

_STORED = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}  # safetensors' names and torch's
FLOATING = tuple(_STORED.values())
"""How weights may be held. Floating-point numbers of 8 bits are none without a scale, as whole numbers are none."""
_ABSOLUTE = "absolute"
COUNTERS = re.compile(r"(^|\.)(position_ids|token_type_ids|rotary_emb\.inv_freq)$")
"""What older files hold beside weights, and newer models count out themselves."""


def refuse_other_positions(config: Mapping[str, Any], family: Family, which: str) -> None:
    """Refuse a model that was trained with positions which the library computes no more: it would be given absolute
    ones, without a word."""
    asked = config.get("position_embedding_type", _ABSOLUTE)
    if family.relative_positions_dropped and asked != _ABSOLUTE:
        raise UserError(
            f"{which} has position_embedding_type {asked!r}, which transformers no longer computes: it would be "
            f"measured with absolute positions; take a model with {_ABSOLUTE} ones"
        )


def refuse_stored(weights: Sequence[Path]) -> None:
    """Refuse files of weights that were quantised, whose scale nobody knows, and a weight in two files."""
    found: dict[str, Path] = {}
    for path in weights:
        for name, held in _types(path).items():
            if held not in FLOATING and not COUNTERS.search(name):
                raise UserError(
                    f"{name!r} in {path} holds {held}: weights that were quantised can't be measured; take the model "
                    "in float32 or in half precision"
                )
            if name in found:
                raise UserError(
                    f"{name!r} is in {found[name]} and in {path.name}: which is the model's can't be told; "
                    "take the file away that isn't"
                )
            found[name] = path


def weight_names(weights: Sequence[Path]) -> list[str]:
    """What the weights in these files are called."""
    return [name for path in weights for name in _types(path)]


def is_encoder_only(weights: Sequence[Path], family: Family) -> bool:
    """Whether the files hold nothing of what pre-training puts on top, whatever their config says. What lacks only a
    part of that is damaged."""
    heads = tuple({f"{path.split('.')[0]}." for path in family.pretraining_heads})
    return not any(name.startswith(heads) for name in weight_names(weights))


def _types(path: Path) -> dict[str, str]:
    """What each tensor of a file holds, by torch's name where it is one of `FLOATING`; no weight is read."""
    if path.suffix == ".safetensors":
        return {name: _STORED.get(tensor["dtype"], tensor["dtype"]) for name, tensor in stored_tensors(path).items()}
    if not path.name.startswith("pytorch_model"):  # an optimizer's, or a training's settings
        return {}
    import torch

    state = torch.load(path, map_location="meta", weights_only=True)
    return {name: str(tensor.dtype).removeprefix("torch.") for name, tensor in state.items()}
