"""What a training needs to go on after its last finished epoch: weights, optimiser, history. No pickle.

No generator state is kept, because none is carried over: the order of the examples and the dropout of an epoch
depend on the seed and the number of the epoch alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from bertscope.core.errors import UserError
from bertscope.core.folders import linked_folder, recover, refuse_foreign, remove, whole_folder
from bertscope.core.seal import FILE as SEAL
from bertscope.core.seal import flaw, has, refuse_damaged
from bertscope.models.config_notes import origin_in
from bertscope.models.source import KIND

if TYPE_CHECKING:
    from bertscope.core.model_record import Origin
    from bertscope.training.history import History

_MARKER = "history.json"
_KIND = "checkpoint"


def kept_name(step: int) -> str:
    """What a model that was kept along a training is called in the folder of the model at its end."""
    return f"checkpoint-{step}"


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

    def kept(self, step: int) -> Path:
        """Where the model after so many steps lies until the training ends: beside it."""
        return self.folder.with_name(f"{self.folder.name}-{step}")

    def put_back(self, step: int, origin: Origin | None) -> None:
        """The model after so many steps, from where the end of the training has put it, if it is whole there, and of
        this training: it says the same of how it was made."""
        made, kept = self.folder.with_suffix("") / kept_name(step), self.kept(step)
        if origin is None or flaw(made, KIND):
            return
        noted = origin_in(json.loads((made / "config.json").read_text(encoding="utf-8")))
        if noted == replace(origin, step=step):
            if has(kept):
                remove(kept)  # what a kill has left of it
            with whole_folder(kept, KIND) as scratch:
                linked_folder(made, scratch)
                (scratch / SEAL).unlink()  # it gets its own

    def remove(self) -> None:
        """Remove it, and what was kept along the training."""
        refuse_foreign(self.folder, _KIND)
        for kept in self.folder.parent.glob(f"{escape(self.folder.name)}-*"):
            if kept.name.removeprefix(f"{self.folder.name}-").isdecimal():
                refuse_foreign(kept, KIND)
                remove(kept)
        remove(self.folder)

    def save(
        self,
        model: Any,
        optimizer: torch.optim.Optimizer,
        history: History,
        recipe: str,
        beside: Mapping[str, Mapping[str, torch.Tensor] | None],
    ) -> None:
        """Put this epoch in the place of the one before, in one step; `beside` are further files, by their names."""
        with whole_folder(self.folder, _KIND) as scratch:
            save_file(_unshared(model.state_dict()), scratch / "weights.safetensors")
            save_file(_moments(model, optimizer), scratch / "optimizer.safetensors")
            for name, tensors in beside.items():
                if tensors is not None:
                    save_file(_unshared(tensors), scratch / f"{name}.safetensors")
            (scratch / _MARKER).write_text(json.dumps(asdict(history) | {"recipe": recipe}), encoding="utf-8")

    def restore(
        self, model: Any, optimizer: torch.optim.Optimizer, history: History, recipe: str
    ) -> dict[str, dict[str, torch.Tensor]]:
        """Fill model, optimiser and history with what was saved, and give the files back that lay beside.

        A checkpoint of another training is refused.
        """
        device = next(model.parameters()).device
        try:
            record = json.loads((self.folder / _MARKER).read_text(encoding="utf-8"))
            weights = load_file(self.folder / "weights.safetensors")
            moments = load_file(self.folder / "optimizer.safetensors", device=str(device))
            further = {path.stem: path for path in self.folder.glob("*.safetensors")}
            beside = {
                name: load_file(path, device=str(device))
                for name, path in further.items()
                if name not in ("weights", "optimizer")
            }
        except (OSError, ValueError, SafetensorError) as error:
            raise UserError(f"the checkpoint {self.folder} is damaged ({error}); delete it and run again") from error
        if record.pop("recipe") != recipe:
            raise UserError(f"{self.folder} is the checkpoint of another training; delete it, or write elsewhere")
        if "best" in beside and not record["best"]:
            raise UserError(
                f"the checkpoint {self.folder} is of a version that took the model before any training for the best "
                "epoch, and kept no other; delete it and run again"
            )
        if unknown := model.load_state_dict(weights, strict=False).unexpected_keys:
            raise UserError(f"the checkpoint {self.folder} has other weights ({unknown[0]}); delete it and run again")
        for name, parameter in model.named_parameters():
            prefix = f"{name}/"
            kept = {key.removeprefix(prefix): value for key, value in moments.items() if key.startswith(prefix)}
            if kept:  # what is frozen has none
                optimizer.state[parameter] = kept
        for name, value in record.items():
            setattr(history, name, value)
        return beside


def _unshared(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
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
