"""Many checkpoints of one architecture in the memory of a few: who isn't needed rests in its files.

A model that rests has modules and no weights. To be run it comes on the stage: a set of tensors that whoever is on
uses, filled with its weights from its own files. So a pass over a dozen checkpoints takes the memory of those that
are on it at a time. What is kept of those whose turn it isn't, such as sums over texts, lies in files as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from bertscope.core.errors import UserError
from bertscope.core.freed_memory import give_back_memory
from bertscope.core.memory_mapped import FilePages
from bertscope.models.encoder import Encoder
from bertscope.models.source import locate, parts_of

_NONE = torch.empty(0)
Place = tuple[str, tuple[int, ...], torch.dtype, torch.device]
"""Where a weight goes on the stage: what it is called, without the prefix of the encoder, and its form. Weights of
different models that have all in common use the same memory."""


@dataclass(frozen=True)
class _Resting:
    """A model whose weights are in its files."""

    encoder: Encoder
    weights: Mapping[str, nn.Parameter]
    places: Mapping[str, Place]
    files: Mapping[str, tuple[Path, str]]
    """By weight, the file that it is in and what it is called there."""


@dataclass
class _Slot:
    """Room for one model."""

    tensors: dict[Place, Tensor] = field(default_factory=dict)
    held: int | None = None
    """Whose weights are here, by its identity."""


class Stage:
    """Where models that rest are run. One that can't rest (it is in memory alone, or isn't as its files are: an
    adapter, weights that were pickled) is left as it is.

    folder   on whose disk lies what is kept of those whose turn it isn't
    rests    whether anybody rests here: where models are few, none does
    """

    def __init__(self, folder: Path, *, rests: bool = True) -> None:
        self._rests = rests
        self._resting: dict[int, _Resting] = {}
        self._slots: list[_Slot] = []
        self._kept = FilePages(folder)

    def rest(self, encoders: Sequence[Encoder]) -> None:
        """Let go of the weights of those that can be read again, and make room."""
        for encoder in encoders if self._rests else ():
            if id(encoder) not in self._resting and (found := _resting(encoder)) is not None:
                self._resting[id(encoder)] = found
        for one in self._resting.values():
            _take_off(one)
        self._slots.clear()

    @contextmanager
    def on(self, encoders: Sequence[Encoder]) -> Iterator[None]:
        """Have these models run in this block, each with its own weights. Who was on the stage before needn't be read
        again. Where nobody rests, all is as it would be without a stage."""
        if self._rests:
            give_back_memory()  # what the last turn left lies between what stays
        resting = [self._resting[id(one)] for one in encoders if id(one) in self._resting]
        free = [slot for slot in self._slots if slot.held not in {id(one.encoder) for one in resting}]
        for one in resting:
            slot = next((each for each in self._slots if each.held == id(one.encoder)), None)
            if slot is None:
                slot = free.pop(0) if free else self._added()
                _fill(slot, one)
            for name, weight in one.weights.items():
                weight.data = slot.tensors[one.places[name]]
        try:
            with self._kept.in_use() if self._rests else nullcontext():
                yield
        finally:
            for one in resting:
                _take_off(one)

    def _added(self) -> _Slot:
        self._slots.append(_Slot())
        return self._slots[-1]


def _take_off(one: _Resting) -> None:
    for weight in one.weights.values():
        weight.data = _NONE.to(weight.dtype).to(weight.device)


def _fill(slot: _Slot, one: _Resting) -> None:
    """Read a model's weights into a slot. A file that was written to meanwhile is refused."""
    _refuse_changed(one.encoder)
    slot.held = None
    with torch.no_grad():
        for name, tensor in _stored(one.files):
            place = one.places[name]
            if place not in slot.tensors:
                slot.tensors[place] = torch.empty(place[1], dtype=place[2], device=place[3])
            slot.tensors[place].copy_(tensor)
    slot.held = id(one.encoder)


def _refuse_changed(encoder: Encoder) -> None:
    opened = encoder.opened
    assert opened is not None
    if parts_of(locate(opened.source)).digest() != opened.digest:
        raise UserError(f"{opened.source} has changed since this run was planned; run the command again")


def _resting(encoder: Encoder) -> _Resting | None:
    """How a model rests; None where its files don't hold all of its weights as they are in memory."""
    opened = encoder.opened
    if opened is None:
        return None
    parts = parts_of(locate(opened.source))
    weights = dict(encoder.model.named_parameters())  # a weight that is used twice is there once
    files = {} if parts.adapter else _found(weights, encoder, parts.weights())
    if len(files) < len(weights) or not _as_stored(weights, files):
        return None
    prefix = f"{encoder.model.base_model_prefix}."
    places = {
        name: (name.removeprefix(prefix), tuple(weight.shape), weight.dtype, weight.device)
        for name, weight in weights.items()
    }
    return _Resting(encoder, weights, places, files)


def _found(weights: Mapping[str, Any], encoder: Encoder, paths: Sequence[Path]) -> dict[str, tuple[Path, str]]:
    """Where the weights are stored, by name: with the encoder's prefix or without."""
    prefix, stored = f"{encoder.model.base_model_prefix}.", dict[str, Path]()
    for path in paths:
        if path.suffix == ".safetensors":
            with safe_open(path, "pt") as opened:
                stored |= dict.fromkeys(opened.keys(), path)
    names = {name: (name, prefix + name, name.removeprefix(prefix)) for name in weights}
    known = {name: next((one for one in among if one in stored), None) for name, among in names.items()}
    return {name: (stored[one], one) for name, one in known.items() if one is not None}


def _as_stored(weights: Mapping[str, nn.Parameter], files: Mapping[str, tuple[Path, str]]) -> bool:
    return all(
        tensor.shape == weights[name].shape and torch.equal(tensor.to(weights[name]), weights[name])
        for name, tensor in _stored(files)
    )


def _stored(files: Mapping[str, tuple[Path, str]]) -> Iterator[tuple[str, Tensor]]:
    """Each weight as its file has it, which is mapped into memory until the next file's turn."""
    for path in dict.fromkeys(path for path, _ in files.values()):
        with safe_open(path, "pt") as opened:
            for name, (where, stored) in files.items():
                if where == path:
                    yield name, opened.get_tensor(stored)
