"""Merging a LoRA adapter into its base: each adapted weight W becomes W + s B A (Hu et al. 2021), each module that
was trained whole takes the place of the base's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from bertscope.core.errors import UserError
from bertscope.models.adapter import PREFIX, WEIGHTS, Adapter
from bertscope.models.sound_weights import Fit

_PAIRS = {
    "lora_A.weight": ("lora_B.weight", nn.Linear),
    "lora_embedding_A": ("lora_embedding_B", nn.Embedding),
}
_SECONDS = tuple(second for second, _ in _PAIRS.values())
_AGAIN = "copy the adapter again, or correct its base_model_name_or_path"


@dataclass(frozen=True)
class _Product:
    """Two matrices that are added to a module's weight, one after the other."""

    module: str
    first: Tensor
    second: Tensor
    kind: type[nn.Module]


def merge(model: Any, fit: Fit, adapter: Adapter) -> Fit:
    """Merge an adapter into the model that its base was opened as, and tell what the model then lacks. Nothing of the
    adapter is left aside."""
    held = {_own_name(name, adapter): tensor.float() for name, tensor in load_file(adapter.weights).items()}
    products, whole = _sorted(held, adapter)
    if not products and not whole:
        raise UserError(f"{adapter.weights} is empty; copy the adapter again")
    with torch.no_grad():
        for name, tensor in whole.items():
            _put(model, name, tensor, adapter)
        for one in products:
            _add(model, one, adapter)
    model.tie_weights()
    # What the base lacked, the adapter may have brought; what it had in another shape was another task's.
    misshapen = {one for one in fit.misshapen if one[0] not in whole}
    _refuse_untrained(fit.missing - whole.keys() | {name for name, *_ in misshapen}, adapter)
    return Fit(fit.missing - whole.keys(), fit.unused, misshapen)


def _own_name(name: str, adapter: Adapter) -> str:
    if not name.startswith(PREFIX):
        raise UserError(f"{adapter.weights} has {name!r}, which no LoRA adapter of PEFT's has; {_AGAIN}")
    return name.removeprefix(PREFIX)


def _sorted(held: dict[str, Tensor], adapter: Adapter) -> tuple[list[_Product], dict[str, Tensor]]:
    """The pairs of matrices, and what was trained whole."""
    products, whole = [], {}
    for name, tensor in held.items():
        ending = next((one for one in _PAIRS if name.endswith(f".{one}")), None)
        if ending:
            second, kind = _PAIRS[ending]
            module = name.removesuffix(f".{ending}")
            other = held.get(f"{module}.{second}")
            if other is None or tensor.ndim != 2 or other.ndim != 2 or len(tensor) != other.shape[1]:
                raise UserError(f"{adapter.weights}: {name!r} has no second matrix that fits it; {_AGAIN}")
            products.append(_Product(module, tensor, other, kind))
        elif name.endswith(tuple(f".{one}" for one in _SECONDS)):
            module = next(name.removesuffix(f".{one}") for one in _SECONDS if name.endswith(f".{one}"))
            if not any(f"{module}.{first}" in held for first in _PAIRS):
                raise UserError(f"{adapter.weights}: {name!r} has no first matrix; {_AGAIN}")
        elif "lora_" in name:
            raise UserError(
                f"{adapter.weights} has {name!r}, which isn't merged here; merge it with peft (merge_and_unload) and "
                "save the whole model"
            )
        else:
            # Of an adapted embedding PEFT keeps the base's too; its first versions said what was trained whole.
            whole[name.replace(".base_layer.", ".").replace(".modules_to_save.", ".")] = tensor
    return products, whole


def _put(model: Any, name: str, tensor: Tensor, adapter: Adapter) -> None:
    place = dict(model.named_parameters()).get(name)
    if place is None or place.shape != tensor.shape:
        why = "has no such weight" if place is None else f"has {list(place.shape)} there, not {list(tensor.shape)}"
        raise UserError(f"{adapter.weights} has {name!r}, and its base {adapter.base} {why}; {_AGAIN}")
    place.copy_(tensor)


def _add(model: Any, one: _Product, adapter: Adapter) -> None:
    try:
        module = model.get_submodule(one.module)
    except AttributeError:
        module = None
    if not isinstance(module, one.kind):
        raise UserError(f"{adapter.weights} adapts {one.module!r}, which its base {adapter.base} hasn't; {_AGAIN}")
    product = one.second @ one.first  # [out, in]; of an embedding [d, token]
    product = product.T if one.kind is nn.Embedding else product
    weight: Any = module.weight
    if weight.shape != product.shape:
        raise UserError(
            f"{adapter.weights}: {one.module!r} is {list(product.shape)} there, and {list(weight.shape)} in its base "
            f"{adapter.base}; {_AGAIN}"
        )
    weight += product * adapter.scale(one.module, len(one.first))


def _refuse_untrained(lacking: set[str], adapter: Adapter) -> None:
    """Refuse an adapter whose task head didn't come back: in its place would be random numbers."""
    if names := sorted({name.rpartition(".")[0] for name in lacking}):
        raise UserError(
            f"neither {adapter.folder / WEIGHTS} nor its base {adapter.base} holds {names[0]!r}, which the model "
            f"has: what it was isn't known; train again with modules_to_save={names}, or save the "
            "whole model after merge_and_unload"
        )
