"""Whether weights are what their model needs: all of them used, of the right shape, and numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bertscope.core.errors import UserError
from bertscope.models.config_notes import PARSER
from bertscope.models.families import TASK_HEADS, Family
from bertscope.models.stored_weights import COUNTERS, FLOATING


@dataclass
class Fit:
    """How the weights of a folder fit the model that they were read into."""

    missing: set[str]
    """What the model has and the folder lacks."""
    unused: set[str]
    """What the folder holds and the model has no place for."""
    misshapen: set[tuple[str, torch.Size, torch.Size]] = field(default_factory=set)
    """What has another shape in the folder than in the model: its name, the one and the other."""

    @classmethod
    def of_state(cls, model: Any, state: Mapping[str, Tensor]) -> Fit:
        """Read a state into the model."""
        own = {name: tensor.shape for name, tensor in model.state_dict().items()}
        misshapen = {
            (name, tensor.shape, own[name])
            for name, tensor in state.items()
            if name in own and own[name] != tensor.shape
        }
        others = {name for name, *_ in misshapen}
        fitting = {name: tensor for name, tensor in state.items() if name not in others}
        missing, unused = model.load_state_dict(fitting, strict=False)
        model.tie_weights()
        return cls(set(missing) - others - set(model.all_tied_weights_keys), set(unused), misshapen)

    def without_parser(self, lacking: Iterable[str]) -> Fit:
        """The same, when the folder's parser has found its place, but for what it lacks."""
        others = {name for name in self.unused if not name.startswith(f"{PARSER}.")}
        return Fit(self.missing | set(lacking), others, self.misshapen)

    def refuse(self, model: Any, family: Family, folder: Path, *, left_off: bool) -> None:
        """Refuse weights that don't make the model whole, or that it isn't the whole of; `left_off`: without its task
        head, as somebody wishes."""
        if self.misshapen:
            name, held, wanted = min(self.misshapen, key=lambda each: each[0])
            raise UserError(
                f"{len(self.misshapen)} of the weights in {folder} have another shape than its config.json says, "
                f"{name!r} first, {list(held)} instead of {list(wanted)}; copy the model again, with its own config"
            )
        if lacking := sorted(self.missing):
            raise UserError(
                f"{folder} lacks {len(lacking)} of the model's weights, {lacking[0]!r} first; copy it again"
            )
        if foreign := sorted(self.unused - _expendable(self.unused, model, family, left_off)):
            raise UserError(
                f"{folder} has {len(foreign)} weights for which a {type(model).__name__} has no use, {foreign[0]!r} "
                "first: it would be measured without them; correct its config.json (layers, architectures), or, if "
                "they are of no use, open it with transformers and save it to another folder"
            )


def _expendable(unused: set[str], model: Any, family: Family, left_off: bool) -> set[str]:
    """Of weights without a place in the model, those of parts that it is rightly opened without. A part that it has,
    under other names, is none of them."""
    has = {name for each in (model, model.base_model) for name, _ in each.named_modules()}
    paths = {"pooler", *family.pretraining_heads, *(TASK_HEADS if left_off else ())} - has
    starts, prefix = tuple(f"{path}." for path in paths), f"{model.base_model_prefix}."
    return {name for name in unused if COUNTERS.search(name) or name.removeprefix(prefix).startswith(starts)}


def refuse_unsound(model: Any, which: str) -> None:
    """Refuse a model with weights that are no floating-point numbers, NaN or infinite: findings would come of them.

    A sum is finite only if all of its terms are, and costs one reading of the memory; where a sum of numbers is too
    large for one, they are looked at one by one.
    """
    for name, weights in model.named_parameters():
        if (held := str(weights.dtype).removeprefix("torch.")) not in FLOATING:
            raise UserError(
                f"{name!r} of {which} holds {held}: weights that were quantised can't be measured; take the model in "
                "float32"
            )
    everything = (*model.named_parameters(), *model.named_buffers())
    floating = {name: tensor.detach() for name, tensor in everything if tensor.is_floating_point()}
    first = next(iter(floating.values())).device
    sums = torch.stack([tensor.sum(dtype=torch.float32).to(first) for tensor in floating.values()])
    doubtful = [name for name, finite in zip(floating, sums.isfinite().tolist(), strict=True) if not finite]
    lost = {name: int((~floating[name].isfinite()).sum()) for name in doubtful}
    if bad := [name for name in doubtful if lost[name]]:
        count, size = lost[bad[0]], floating[bad[0]].numel()
        others = f" (and others in {len(bad) - 1} more weights)" if len(bad) > 1 else ""
        raise UserError(
            f"{count:,} of {size:,} values of {bad[0]!r} in {which} are NaN or infinite{others}; copy the model "
            "again, or train it again with a lower learning rate"
        )
