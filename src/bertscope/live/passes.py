"""Forward passes that are run once: a checkpoint's of a reading in full, and with a change the layers from the first
one that changes on. The last few are kept, within a bound of bytes, whoever asked for them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bertscope.live import packing
from bertscope.live.answers import Answer, answer
from bertscope.live.changes import Parts, all_of, changed, lowest
from bertscope.live.checkpoints import Side
from bertscope.live.messages import Limits, Maps, Reading
from bertscope.live.recent import Recent
from bertscope.live.typed import Typed, typed
from bertscope.models.batches import pad
from bertscope.models.finite_pass import measuring
from bertscope.models.outputs.base import RowBatch
from bertscope.models.replay import recorded, replayed
from bertscope.models.taps import Kept, Tap, tapped

ROOM = 256 * 2**20
"""Bytes of passes that are kept."""
_LITTLE = 2**14
"""What else there is of a pass: its tokens, what it says in words."""


@dataclass(eq=False)
class Pass:
    """One that was run."""

    typed: Typed
    batch: RowBatch
    answer: Answer | None
    first: int
    """The first layer of which it has maps, 0-based."""
    maps: list[np.ndarray] | None
    """[head, query, key] of each layer from that on; None where nobody wanted any."""
    kept: list[Kept]
    """What each layer did, where nothing was changed."""
    packed: Maps | None = None
    """Its maps as they were told."""

    @cached_property
    def shapes(self) -> list[list[str]]:
        """Of the layers that it has maps of."""
        assert self.maps is not None
        return packing.shapes(self.typed, self.maps)

    @property
    def size(self) -> int:
        """In bytes."""
        kept = sum(_bytes(each.context, each.value, each.output) for each in self.kept)
        said = self.answer.shares if self.answer is not None else ()
        maps = sum(each.nbytes for each in self.maps or ())
        return kept + maps + maps // 2 + sum(each.nbytes for each in said) + _LITTLE  # half: once they are packed


def _bytes(*tensors: Tensor | None) -> int:
    return sum(each.element_size() * each.numel() for each in tensors if each is not None)


@dataclass(frozen=True, eq=False)
class Shown:
    """What a checkpoint shows of a reading with a change, or without."""

    before: Pass
    after: Pass

    @property
    def maps(self) -> list[np.ndarray]:
        """Of all layers."""
        assert self.before.maps is not None and self.after.maps is not None
        return [*self.before.maps[: self.after.first], *self.after.maps]

    @property
    def packed(self) -> Maps | None:
        """From the first layer that changes on; None where there are no maps. Where a head is switched off, its own
        layer's maps are as they were: they are told again, so that there is always a layer to tell of."""
        after = self.after
        if after.maps is None:
            return None
        if after.packed is None:
            layers, begun = self.maps, self.before is not after
            first = max(0, after.first - begun)
            patterns = [*(self.before.shapes[: after.first] if begun else ()), *after.shapes]
            after.packed = packing.packed(first + 1, layers[first:], patterns[first:])
        return after.packed


class Passes:
    """All that were run lately."""

    def __init__(self, sides: Sequence[Side], limits: Limits, room: int = ROOM) -> None:
        self._sides, self._limits = sides, limits
        self.kept = Recent[Pass](room, lambda one: one.size)
        self.runs = 0
        """How many forward passes there were so far."""

    def typed(self, side: Side, reading: Reading) -> Typed:
        return typed(side, reading, self._limits)

    def shown(self, place: int, reading: Reading, parts: Parts, *, maps: bool) -> Shown:
        """A checkpoint's reading with these parts changed; maps only if they are wanted, and there aren't too many
        tokens."""
        before = self._plain(place, reading, maps=maps)
        if parts.is_none:
            return Shown(before, before)
        key = (place, key_of(reading), parts)
        maps = maps and before.maps is not None
        found = self.kept.get(key)
        if found is None or (maps and found.maps is None):
            found = self._changed(place, before, parts, maps=maps)
            self.kept.put(key, found)
        return Shown(before, found)

    def _plain(self, place: int, reading: Reading, *, maps: bool) -> Pass:
        key = (place, key_of(reading))
        found = self.kept.get(key)
        if found is not None and (found.maps is not None or not maps or _too_many(found.typed)):
            return found
        side = self._sides[place]
        read = typed(side, reading, self._limits) if found is None else found.typed
        batch = _batch(read)
        since = 0 if maps and not _too_many(read) else side.encoder.n_layers
        with ExitStack() as opened:
            tap = self._open(opened, side, read, since)
            kept = opened.enter_context(recorded(side.encoder))
            said = self._run(read, batch)
        made = Pass(read, batch, said, 0, tap.taken(read) if since == 0 else None, kept)
        self.kept.put(key, made)
        return made

    def _changed(self, place: int, before: Pass, parts: Parts, *, maps: bool) -> Pass:
        side, read, batch = self._sides[place], before.typed, before.batch
        other = self._sides[1 - place] if len(self._sides) > 1 else None
        layers = side.encoder.n_layers
        with changed(side, other, parts) as changes, ExitStack() as opened:
            first, keeps = lowest(changes)
            since = first + keeps if maps else layers
            opened.enter_context(all_of(changes))
            tap = self._open(opened, side, read, since)
            opened.enter_context(replayed(side.encoder, before.kept, first, keeps))
            said = self._run(read, batch)
        return Pass(read, batch, said, since, tap.taken(read) if maps else None, [])

    def _open(self, opened: ExitStack, side: Side, read: Typed, since: int) -> _Maps:
        """What every pass runs in; a tap that takes the maps from a layer on."""
        tap = _Maps(since)
        opened.enter_context(measuring([side.encoder]))
        opened.enter_context(torch.inference_mode())
        opened.enter_context(tapped(side.encoder, tap))
        if read.asked is not None:
            opened.enter_context(read.asked.sparing())
        return tap

    def _run(self, read: Typed, batch: RowBatch) -> Answer | None:
        self.runs += 1
        if read.asked is None:
            read.encoder.model.base_model(**batch.inputs)
            return None
        return answer(read, read.asked.run(batch), batch)


def key_of(reading: Reading) -> Hashable:
    """What readings share that are the same."""
    return reading.text, reading.pair, tuple(reading.choices)


def _too_many(read: Typed) -> bool:
    return len(read.shown) > packing.MOST


def _batch(read: Typed) -> RowBatch:
    """The reading as one batch."""
    if read.asked is not None:
        (batch,) = read.asked.batches(read.examples, tokens=2**20)
        return batch
    plain = pad(read.rows, np.arange(len(read.rows)), pad_id=read.encoder.tokenizer.pad_token_id or 0,
                device=read.encoder.device)  # fmt: skip
    owner = torch.zeros(len(read.rows), dtype=torch.long, device=read.encoder.device)
    return RowBatch(**vars(plain), examples=np.zeros(1, np.int64), owner=owner)


class _Maps(Tap):
    """Takes the maps of layers from one on. Below it, and in the layer whose heads put out what they did, nobody
    wants any: attention is left as it was found."""

    def __init__(self, since: int) -> None:
        self._since, self._found, self.wants_maps = since, dict[int, Tensor](), False

    def on_input(self, layer: int, inputs: Tensor) -> Tensor:
        self.wants_maps = layer >= self._since
        return inputs

    def on_maps(self, layer: int, maps: Tensor) -> None:
        self._found[layer] = maps

    def taken(self, read: Typed) -> list[np.ndarray]:
        """The maps [head, query, key] of each layer; rows that are read by themselves stand beside each other."""
        return [_side_by_side(self._found[layer], read.rows.lengths) for layer in sorted(self._found)]


def _side_by_side(maps: Tensor, lengths: np.ndarray) -> np.ndarray:
    whole = maps.float().cpu().numpy()
    if len(whole) == 1:
        return whole[0]
    ends = np.cumsum(lengths)
    found = np.zeros((whole.shape[1], ends[-1], ends[-1]), np.float32)
    for row, end in enumerate(ends):
        here = slice(end - lengths[row], end)
        found[:, here, here] = whole[row, :, : lengths[row], : lengths[row]]
    return found
