"""The vector of a whole text as the model's maker defined it: pooling, linear layers and normalisation, as
sentence-transformers computes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.functional import normalize

from bertscope.core.errors import UserError
from bertscope.models.library_failures import library_failures
from bertscope.models.sentence_layout import MODULES, DenseLayout, SentenceLayout
from bertscope.models.weight_files import weight_files

NAME = "sentence_modules"
"""Where it hangs on the encoder, so that it goes where the encoder goes."""
_TYPES = "sentence_transformers.models"


class SentenceModules(nn.Module):
    """From the last states [row, token, d] to the vectors of texts [row, e]."""

    def __init__(self, layout: SentenceLayout, hidden_size: int) -> None:
        super().__init__()
        self.layout = layout
        self.dense = nn.ModuleList(
            nn.Linear(one.inputs, one.outputs, bias=one.bias) for one in layout.dense if one is not None
        )
        self.size = len(layout.pooling) * hidden_size
        for one in filter(None, layout.dense):
            if one.inputs != self.size:
                raise UserError(
                    f"{one.folder / 'config.json'} reads {one.inputs:,} numbers where there are {self.size:,}; copy "
                    "the model again"
                )
            self.size = one.outputs

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """`mask` is 1 where a token is real, special ones included, and 0 at the padding on its right."""
        real = mask.unsqueeze(-1).to(states.dtype)
        vectors = torch.cat([_pooled(states, real, how) for how in self.layout.pooling], -1)
        layers = iter(self.dense)
        for one in self.layout.dense:
            if one is None:
                vectors = normalize(vectors, dim=-1)
            else:
                vectors = getattr(nn, one.activation)()(next(layers)(vectors))
        return vectors

    @property
    def settings(self) -> list[Any]:
        """What its weights don't say: how it pools, and what follows in which order."""
        steps = [one and [one.inputs, one.outputs, one.bias, one.activation] for one in self.layout.dense]
        return [list(self.layout.pooling), steps]

    def in_words(self) -> str:
        """`mean, normalised`, as captions say it."""
        steps = ["normalised" if one is None else f"dense to {one.outputs}" for one in self.layout.dense]
        return ", ".join([" and ".join(self.layout.pooling), *steps])

    def write(self, folder: Path, hidden_size: int) -> None:
        """Write what sentence-transformers reads beside the encoder's own files."""
        listed, layers = [_module(0, "Transformer", "")], iter(self.dense)
        poolings = list(self.layout.pooling)
        listed.append(_module(1, "Pooling", "1_Pooling"))
        pooling: Any = poolings[0] if len(poolings) == 1 else poolings
        _write_config(folder / "1_Pooling", {"embedding_dimension": hidden_size, "pooling_mode": pooling})
        for at, one in enumerate(self.layout.dense, 2):
            kind = "Normalize" if one is None else "Dense"
            listed.append(_module(at, kind, f"{at}_{kind}"))
            if one is None:
                _write_config(folder / f"{at}_{kind}", {})
                continue
            _write_config(folder / f"{at}_{kind}", {
                "in_features": one.inputs, "out_features": one.outputs, "bias": one.bias,
                "activation_function": _activation(one),
            })  # fmt: skip
            held = {f"linear.{name}": tensor.detach().cpu().contiguous() for name, tensor in
                    next(layers).named_parameters()}  # fmt: skip
            save_file(held, folder / f"{at}_{kind}" / "model.safetensors")
        (folder / MODULES).write_text(json.dumps(listed, indent=2), encoding="utf-8")


def read_modules(layout: SentenceLayout, hidden_size: int, *, allow_pickle: bool) -> SentenceModules:
    """What a folder says of them, with its weights; weights that lack, are over or have another shape are refused."""
    modules = SentenceModules(layout, hidden_size)
    for one, linear in zip(filter(None, layout.dense), modules.dense, strict=True):
        held: dict[str, Tensor] = {}
        for path in weight_files(one.folder, allow_pickle=allow_pickle):
            with library_failures(f"the weights in {one.folder} can't be read", "copy the model again"):
                pickled = path.suffix != ".safetensors"
                held |= torch.load(path, map_location="cpu", weights_only=True) if pickled else load_file(path)
        wanted = {f"linear.{name}": tensor.shape for name, tensor in linear.named_parameters()}
        if {name: tensor.shape for name, tensor in held.items()} != wanted:
            raise UserError(f"the weights in {one.folder} aren't those of its config.json; copy the model again")
        linear.load_state_dict({name.removeprefix("linear."): tensor.float() for name, tensor in held.items()})
    return modules


def modules_of(model: Any) -> SentenceModules | None:
    """Those that a model has."""
    return getattr(model.base_model, NAME, None)


def _pooled(states: Tensor, real: Tensor, how: str) -> Tensor:
    if how == "cls":
        return states[:, 0]
    if how == "lasttoken":
        last = real.sum(1).long() - 1  # [row, 1]
        return states.gather(1, last.unsqueeze(-1).expand(-1, 1, states.shape[-1])).squeeze(1)
    if how == "max":
        return states.masked_fill(real == 0, -torch.inf).amax(1)
    places = torch.arange(1, states.shape[1] + 1, device=states.device, dtype=states.dtype).view(1, -1, 1)
    weights = real * places if how == "weightedmean" else real
    total = weights.sum(1)
    return (states * weights).sum(1) / (total.sqrt() if how == "mean_sqrt_len_tokens" else total)


def _module(at: int, kind: str, path: str) -> dict[str, Any]:
    return {"idx": at, "name": str(at), "path": path, "type": f"{_TYPES}.{kind}"}


def _activation(one: DenseLayout) -> str:
    where = "linear" if one.activation == "Identity" else "activation"
    return f"torch.nn.modules.{where}.{one.activation}"


def _write_config(folder: Path, settings: dict[str, Any]) -> None:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
