"""What a training needs to go on after its last finished epoch: weights, optimiser, history. No pickle.

No generator state is kept, because none is carried over: the order of the examples and the dropout of an epoch
depend on the seed and the number of the epoch alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from bertscope.core.errors import UserError
from bertscope.core.folders import recover, refuse_foreign, remove, whole_folder
from bertscope.core.seal import FILE as SEAL
from bertscope.core.seal import refuse_damaged

if TYPE_CHECKING:
    from bertscope.training.history import History

_MARKER = "history.json"
_KIND = "checkpoint"


class Checkpoint:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        recover(folder)
        if (folder / SEAL).is_file():
            refuse_damaged(folder, _KIND, cure="delete it and run again")
        refuse_foreign(folder, _KIND)

    @classmethod
    def of(cls, out: Path) -> Checkpoint:
        """The checkpoint of the training that will write `out`: it lies beside it."""
        return cls(out.with_name(out.name + ".checkpoint"))

    def exists(self) -> bool:
        return (self.folder / _MARKER).exists()

    def remove(self) -> None:
        refuse_foreign(self.folder, _KIND)
        remove(self.folder)

    def save(
        self,
        model: Any,
        optimizer: torch.optim.Optimizer,
        history: History,
        recipe: str,
        best: dict[str, torch.Tensor] | None = None,
    ) -> None:
        """Put this epoch in the place of the one before, in one step."""
        with whole_folder(self.folder, _KIND) as scratch:
            save_file(_unshared(model.state_dict()), scratch / "weights.safetensors")
            save_file(_moments(model, optimizer), scratch / "optimizer.safetensors")
            if best is not None:
                save_file(_unshared(best), scratch / "best.safetensors")
            (scratch / _MARKER).write_text(json.dumps(asdict(history) | {"recipe": recipe}), encoding="utf-8")

    def restore(
        self, model: Any, optimizer: torch.optim.Optimizer, history: History, recipe: str
    ) -> dict[str, torch.Tensor] | None:
        """Fill model, optimiser and history with what was saved, and give the best weights back if there are any.

        A checkpoint of another training is refused.
        """
        device = next(model.parameters()).device
        best = self.folder / "best.safetensors"
        try:
            record = json.loads((self.folder / _MARKER).read_text(encoding="utf-8"))
            weights = load_file(self.folder / "weights.safetensors")
            moments = load_file(self.folder / "optimizer.safetensors", device=str(device))
            best_weights = load_file(best, device=str(device)) if best.exists() else None
        except (OSError, ValueError, SafetensorError) as error:
            raise UserError(f"the checkpoint {self.folder} is damaged ({error}); delete it and run again") from error
        if record.pop("recipe") != recipe:
            raise UserError(f"{self.folder} is the checkpoint of another training; delete it, or write elsewhere")
        if unknown := model.load_state_dict(weights, strict=False).unexpected_keys:
            raise UserError(f"the checkpoint {self.folder} has other weights ({unknown[0]}); delete it and run again")
        for name, parameter in model.named_parameters():
            prefix = f"{name}/"
            kept = {key.removeprefix(prefix): value for key, value in moments.items() if key.startswith(prefix)}
            if kept:  # what is frozen has none
                optimizer.state[parameter] = kept
        for name, value in record.items():
            setattr(history, name, value)
        return best_weights


def _unshared(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tied weights once: safetensors refuses tensors that share memory."""
    seen: set[int] = set()
    kept = {}
    for name, tensor in state.items():
        if tensor.data_ptr() not in seen:
            kept[name] = tensor.contiguous()
            seen.add(tensor.data_ptr())
    return kept


def _moments(model: Any, optimizer: torch.optim.Optimizer) -> dict[str, torch.Tensor]:
    return {
        f"{name}/{key}": value.contiguous()
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state.get(parameter, {}).items()
    }
