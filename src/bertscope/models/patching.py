"""Activation patching: one text's run with one activation from another's, exactly, many activations at a time.

A patch in layer k leaves the layers below as they were. So each batch of pairs is run once on either side, and for
the patches of a layer the layers below return what they returned, a head's or an MLP's layer begins at its output
projection, and several patches are rows of one batch, as far as the budget of tokens goes. Memory depends on the
batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from bertscope.core.progress import progress
from bertscope.core.units import Unit
from bertscope.models.contrasts import Contrasts
from bertscope.models.encoder import Encoder
from bertscope.models.finite_pass import measuring
from bertscope.models.observe import default_budget
from bertscope.models.outputs.base import RowBatch, group_sized
from bertscope.models.paired_rows import ROLE, ROLES, SIDES, Role, Side
from bertscope.models.recorded_activations import Activations, recording
from bertscope.models.replay import recorded, replayed
from bertscope.models.taps import Kept, Tap, tapped

ALL = "all"
_AT_ONCE = 2
"""How many patches at least are rows of one batch: a batch of pairs has that part of the budget of tokens."""
_SMALLER = 4
"""What a batch does must stay in a CPU's cache: there it has this part of the usual budget."""


@dataclass(frozen=True, order=True)
class Patch:
    """An activation that is put in another's place: what a unit puts out, at some tokens."""

    unit: Unit
    """A layer (layer:0 are the embeddings), all heads of a layer (`heads`), a head, or an MLP."""
    at: Role | int | str = ALL
    """The tokens of a role, the token at a place of every text, or all."""

    @property
    def first(self) -> int:
        """The first layer that computes something else, 0-based."""
        return self.unit.layer if self.unit.kind == "layer" else self.unit.layer_index


def patched(
    found: Contrasts,
    patches: Sequence[Patch],
    *,
    into: Side = "corrupted",
    source: Side | None = None,
    pairs: np.ndarray | None = None,
    donors: np.ndarray | None = None,
    replay: bool = True,
    tokens: int | None = None,
) -> np.ndarray:
    """[patch, pair]: the logit of the clean text's answer minus that of the corrupted one's, in the run of the one
    text with each activation from a run of another.

    into      which of a pair's texts is run: the corrupted one (denoise), or the clean one (noise)
    source    whose activation it gets; by default the other's of the same pair
    pairs     which pairs, all by default; donors   for each the pair that gives the activation instead of itself
    replay    False runs all of the model every time: the plain way, to compare with
    """
    source = source or ("clean" if into == "corrupted" else "corrupted")
    pairs = np.arange(len(found)) if pairs is None else pairs
    donors = pairs if donors is None else donors
    paired, asked = found.paired, found.paired.asked
    encoder = asked.encoder
    for patch in patches:
        if patch.unit.layer:
            patch.unit.check(encoder.head_counts)
    budget = tokens or default_budget(encoder) // (_SMALLER if encoder.device.type == "cpu" else 1)
    out = np.zeros((len(patches), len(pairs)))
    tap = _Patched()
    with (
        measuring([encoder]),
        torch.inference_mode(),
        tapped(encoder, tap),
        asked.sparing(),
        progress(f"patching {len(patches)} activations of {encoder.name}", len(patches) * len(pairs)) as bar,
    ):
        for group in group_sized(paired.longest[pairs], np.diff(paired.starts)[pairs], max(1, budget // _AT_ONCE)):
            work = _Group(found, into, pairs[group], budget, replay=replay)
            giving = paired.batch(source, donors[group])
            with recording(encoder) as recorder:
                asked.run(giving)
            work.run(patches, recorder.activations, tap, out, group)
            bar.advance(len(patches) * len(group))
    return out


class _Group:
    """Some pairs of which one text is run again and again."""

    def __init__(self, found: Contrasts, into: Side, pairs: np.ndarray, budget: int, *, replay: bool) -> None:
        self._found, self._into, self._pairs, self._replay = found, into, pairs, replay
        self._asked, self._encoder = found.paired.asked, found.paired.asked.encoder
        self._batches: dict[int, tuple[RowBatch, list[Tensor]]] = {}
        batch, _ = self._several(1)
        self._most = max(1, budget // batch.special.numel())
        self._roles = batch.marks[ROLE]
        self._real = batch.inputs["attention_mask"].bool()
        with recorded(self._encoder) as self._kept:
            self._asked.run(batch)

    def run(
        self, patches: Sequence[Patch], source: Activations, tap: _Patched, out: np.ndarray, at: np.ndarray
    ) -> None:
        """Write what comes of each patch to `out` [patch, pair], `at` these pairs."""
        places, lines = list[int](), list[Tensor]()
        for (first, begun), which in _together(patches).items():
            for start in range(0, len(which), self._most):
                some = which[start : start + self._most]
                lines.append(self._patched([patches[one] for one in some], first, begun, source, tap))
                places += some
        if lines:
            out[np.array(places)[:, None], at] = torch.cat(lines).double().cpu().numpy()

    def _patched(
        self, patches: Sequence[Patch], first: int, begun: bool, source: Activations, tap: _Patched
    ) -> Tensor:
        """[patch, pair], of patches with which the same layer is the first that changes."""
        many = len(patches)
        batch, (one, other) = self._several(many)
        with tap.putting(self._encoder, patches, self._tokens(patches), first, source):
            if not self._replay:
                raw = self._asked.run(batch)
            else:
                with replayed(self._encoder, self._expanded(first, many, tap), first, begun):
                    raw = self._asked.run(batch)
        return self._asked.contrast(raw, batch, one, other).reshape(many, -1)

    def _tokens(self, patches: Sequence[Patch]) -> Tensor:
        """[patch, row, token]: at which each is made."""
        return torch.stack([self._at(patch.at) for patch in patches])

    def _at(self, at: Role | int | str) -> Tensor:
        if at == ALL:
            return self._real
        if isinstance(at, str):
            return self._roles == 1 + ROLES.index(at)
        return self._real & (torch.arange(self._real.shape[1], device=self._real.device) == at)

    def _expanded(self, first: int, many: int, tap: _Patched) -> list[Kept]:
        """What was kept, once for each patch. Layers below the last that is settled return what it does: nobody
        reads theirs."""
        found, spread = list[Kept](), (many, 1, 1)
        if first:
            last = self._kept[first - 1]
            assert last.output is not None
            output = last.output.repeat(spread) if many > 1 else last.output
            if first == len(self._kept):
                output = tap.in_place(output)
            found = [replace(last, output=output)] * first
        if first < len(self._kept):
            own = self._kept[first]
            found.append(replace(own, context=own.context.repeat(spread) if many > 1 else own.context))
        return found

    def _several(self, many: int) -> tuple[RowBatch, list[Tensor]]:
        """The batch with its pairs so many times, one after the other, and their answers."""
        if many not in self._batches:
            pairs = np.tile(self._pairs, many)
            batch = self._found.paired.batch(self._into, pairs)
            answers = [self._found.answers[side][pairs] for side in SIDES]
            self._batches[many] = batch, [torch.from_numpy(each).to(self._encoder.device) for each in answers]
        return self._batches[many]


class _Patched(Tap):
    """Puts activations of one run in the place of another's, row by row."""

    def __init__(self) -> None:
        self._first: int | None = None

    @contextmanager
    def putting(
        self, encoder: Encoder, patches: Sequence[Patch], tokens: Tensor, first: int, source: Activations
    ) -> Iterator[None]:
        """Patches that change the same layer first, at tokens [patch, row, token]."""
        self._first, self._source, self._tokens = first, source, tokens
        kinds = [patch.unit.kind for patch in patches]
        self._states, self._mlps = (
            torch.tensor([each == kind for each in kinds], device=tokens.device) if kind in kinds else None
            for kind in ("layer", "mlp")
        )
        self._heads: Tensor | None = None
        if {"head", "heads"} & set(kinds):
            shape = len(patches), encoder.head_counts[first]
            self._heads = torch.zeros(shape, dtype=torch.bool, device=tokens.device)
            for row, patch in zip(self._heads, patches, strict=True):
                if patch.unit.kind == "heads":
                    row.fill_(True)
                elif patch.unit.kind == "head":
                    row[patch.unit.index] = True
        try:
            yield
        finally:
            self._first = None

    def in_place(self, output: Tensor) -> Tensor:
        """What the last layer puts out, patched."""
        return self._put(output, self._source.states(len(self._source.inputs)), self._states)

    def on_input(self, layer: int, inputs: Tensor) -> Tensor:
        return self._put(inputs, self._source.inputs[layer], self._states) if layer == self._first else inputs

    def on_layer(self, layer: int, before: Tensor, after: Tensor) -> Tensor:
        last = layer == len(self._source.inputs) - 1 if self._first is not None else False
        return self.in_place(after) if last and self._first == layer + 1 else after

    def on_context(self, layer: int, context: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        if layer != self._first or self._heads is None:
            return context
        at = self._tokens[..., None] & self._heads[:, None, None, :]  # [patch, row, token, head]
        own = context.unflatten(0, at.shape[:2])
        return torch.where(at[..., None], self._source.contexts[layer], own).flatten(0, 1)

    def on_mlp(self, layer: int, output: Tensor) -> Tensor:
        return self._put(output, self._source.mlps[layer], self._mlps) if layer == self._first else output

    def _put(self, own: Tensor, others: Tensor, which: Tensor | None) -> Tensor:
        """What is put out [patch x row, token, hidden], with another's [row, token, hidden] where a patch says so."""
        if which is None:
            return own
        at = (self._tokens & which[:, None, None])[..., : own.shape[1]]
        return torch.where(at[..., None], others, own.unflatten(0, at.shape[:2])).flatten(0, 1)


def _together(patches: Sequence[Patch]) -> dict[tuple[int, bool], list[int]]:
    """Patches that can share a batch, by the first layer that changes and whether it begins at its projection."""
    found: dict[tuple[int, bool], list[int]] = {}
    for place, patch in enumerate(patches):
        found.setdefault((patch.first, patch.unit.kind != "layer"), []).append(place)
    return found
