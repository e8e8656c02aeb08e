"""Constants fitted by descent, those of many sets of parts side by side.

A step takes some rows, runs them once for all sets, and for each set the layers from its lowest part up; the
gradient comes back as far. Sets with the same lowest layer share a pass, one beside the other in the batch, as far as
the device has room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import cos, pi
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bertscope.core.examples import Examples
from bertscope.core.output import Output
from bertscope.core.progress import progress
from bertscope.core.units import Unit
from bertscope.models.batches import Batch
from bertscope.models.encoder import Encoder
from bertscope.models.evaluating import frozen
from bertscope.models.finite_pass import measuring
from bertscope.models.gates import Gates
from bertscope.models.means import Means
from bertscope.models.observe import Seen, default_budget
from bertscope.models.outputs.base import ModelOutput, RowBatch, Rows
from bertscope.models.part_outputs import as_read, by_layer, show_parts
from bertscope.models.repeated_batch import kept_for, repeated
from bertscope.models.replay import lowest_layer, recorded, replayed
from bertscope.models.taps import Kept

_EXAMPLES, _TOKENS = 32, 1024  # in a step, at most: the same on every device
_RATE = 0.2


@dataclass
class _Group:
    """Sets of parts with one lowest layer, whose constants are fitted side by side."""

    places: list[int]
    first: int
    heads: Tensor
    """[layer, set, head, d]: how far from the start, in units of the spread; a parameter."""
    mlps: Tensor
    """[layer, set, hidden]"""
    start: Means
    """With a set axis behind the layer's."""
    spread: Means
    """With one of length 1."""
    off: _Off
    optimiser: torch.optim.Optimizer

    def __len__(self) -> int:
        return len(self.places)

    @property
    def moved(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """Heads' and MLPs' units, and how many of them."""
        return (self.spread.heads, self.heads), (self.spread.mlps, self.mlps)

    def spread_to(self, gates: Gates, rows: int) -> None:
        """Set gates and what is left behind for as many rows of each set, one set after the other."""
        begun = (self.start.heads, self.start.mlps)
        now = [first + size * moved for first, (size, moved) in zip(begun, self.moved, strict=True)]
        gates.reference = Means(*(each.repeat_interleave(rows, 1)[:, :, None] for each in now))
        self.off.spread_to(gates, rows)


@dataclass(frozen=True)
class _Off:
    """The gates of several sets, each [set, ...]."""

    heads: Tensor
    mlps: Tensor
    layers: Tensor
    neurons: dict[int, Tensor]

    @classmethod
    def of(cls, gates: Gates, sets: Sequence[Sequence[Unit]]) -> _Off:
        each: list[dict[str, Any]] = []
        for units in sets:
            for unit in units:
                gates.switch_off(unit)
            kept = {name: getattr(gates, name).clone() for name in ("heads", "mlps", "layers")}
            each.append(kept | {"neurons": dict(gates.neurons)})
            gates.all_on()
        cut = {layer: gate for one in each for layer, gate in one["neurons"].items()}
        neurons = {
            layer: torch.stack([one["neurons"].get(layer, torch.ones_like(like)) for one in each])
            for layer, like in cut.items()
        }
        heads, mlps, layers = (torch.stack([one[name] for one in each]) for name in ("heads", "mlps", "layers"))
        return cls(heads, mlps, layers, neurons)

    def spread_to(self, gates: Gates, rows: int) -> None:
        gates.heads, gates.mlps, gates.layers = (
            gate.repeat_interleave(rows, 0) for gate in (self.heads, self.mlps, self.layers)
        )
        gates.neurons = {layer: gate.repeat_interleave(rows, 0)[:, None] for layer, gate in self.neurons.items()}


def descend(
    asked: ModelOutput,
    sample: Examples,
    sets: Sequence[Sequence[Unit]],
    start: Sequence[Means],
    steps: int,
    seed: int,
) -> list[Means]:
    encoder = asked.encoder
    spread = _spread(encoder, sample, asked.output)
    with (
        measuring([encoder]),
        frozen(encoder),
        encoder.gates(mode="optimal", reference=start[0]) as gates,
        asked.sparing(),
        progress(f"what {len(sets)} sets of parts of {encoder.name} leave best", steps * len(sets)) as bar,
    ):
        groups = _groups(encoder, gates, sets, start, spread)
        whole = gates.heads, gates.mlps, gates.layers
        for step, batch in enumerate(_batches(asked, sample, steps, seed)):
            gates.heads, gates.mlps, gates.layers, gates.neurons = *whole, {}
            with torch.no_grad(), recorded(encoder) as kept:
                asked.run(batch)
            said: dict[int, Any] = {}
            for group in groups:
                many, shown = repeated(batch, len(group)), kept_for(kept, group.first, len(group))
                if len(group) not in said:
                    gates.heads, gates.mlps, gates.layers, gates.neurons = *whole, {}
                    top = kept_for(kept, encoder.n_layers, len(group))
                    with torch.no_grad(), replayed(encoder, top, encoder.n_layers):
                        said[len(group)] = asked.double(asked.run(many))
                _step(asked, group, gates, many, shown, said[len(group)], 0.5 * (1 + cos(pi * step / steps)))
                bar.advance(len(group))
    found: dict[int, Means] = {}
    for group in groups:
        heads, mlps = ((size * moved.detach()).double() for size, moved in group.moved)
        for own, at in enumerate(group.places):  # what wasn't off has its digits still
            found[at] = Means(start[at].heads + heads[:, own], start[at].mlps + mlps[:, own])
    return [found[at] for at in range(len(sets))]


def _step(
    asked: ModelOutput, group: _Group, gates: Gates, batch: RowBatch, kept: Sequence[Kept], whole: Any, rate: float
) -> None:
    rows = len(batch.owner) // len(group)
    with torch.enable_grad():
        group.spread_to(gates, rows)
        with replayed(asked.encoder, kept, group.first):
            raw = asked.double(asked.run(batch))
        apart = asked.divergence(whole, raw, batch).reshape(len(group), -1).mean(1)
        group.optimiser.zero_grad()
        apart.sum().backward()
    for each in group.optimiser.param_groups:
        each["lr"] = _RATE * rate
    group.optimiser.step()


def _groups(
    encoder: Encoder, gates: Gates, sets: Sequence[Sequence[Unit]], start: Sequence[Means], spread: Means
) -> list[_Group]:
    at_once = max(1, default_budget(encoder) // 2 // _TOKENS)
    like, by_first = next(encoder.model.parameters()), dict[int, list[int]]()
    for at, units in enumerate(sets):
        by_first.setdefault(lowest_layer(encoder, units), []).append(at)
    groups = []
    for first, places in by_first.items():
        for begin in range(0, len(places), at_once):
            here = places[begin : begin + at_once]
            begun = Means(
                torch.stack([start[at].heads for at in here], 1).to(like),
                torch.stack([start[at].mlps for at in here], 1).to(like),
            )
            heads, mlps = (torch.zeros_like(each, requires_grad=True) for each in (begun.heads, begun.mlps))
            off = _Off.of(gates, [sets[at] for at in here])
            optimiser = torch.optim.Adam([heads, mlps], lr=_RATE)
            groups.append(_Group(here, first, heads, mlps, begun, spread, off, optimiser))
    return groups


def _batches(asked: ModelOutput, sample: Examples, steps: int, seed: int) -> Iterator[RowBatch]:
    """A few examples at random for each step, all once before any comes again."""
    read = asked.rows(sample)
    read = replace(read, tokens=replace(read.tokens, encodings=()))
    starts = np.searchsorted(read.example, np.arange(len(sample) + 1))
    generator, waiting = np.random.default_rng(seed), list[np.ndarray]()
    for _ in range(steps):
        waiting = waiting or list(_shared_out(read, starts, generator.permutation(len(sample))))
        yield asked.batch(read, starts, waiting.pop(0))


def _shared_out(read: Rows, starts: np.ndarray, order: np.ndarray) -> Iterator[np.ndarray]:
    """The examples in this order, in groups that are small enough."""
    longest, rows = np.maximum.reduceat(read.tokens.lengths, starts[:-1]), np.diff(starts)
    group: list[int] = []
    for one in order:
        grown = [*group, int(one)]
        if group and (len(grown) > _EXAMPLES or rows[grown].sum() * longest[grown].max() > _TOKENS):
            yield np.array(group)
            grown = [int(one)]
        group = grown
    yield np.array(group)


def _spread(encoder: Encoder, sample: Examples, output: Output | None) -> Means:
    """The standard deviation of each number that heads and MLPs put out, over real tokens; with a set axis."""
    sums: list[list[Tensor]] = []

    def update(batch: Batch, seen: Seen) -> None:
        real = batch.inputs["attention_mask"].bool()
        found = [[each[real].double() for each in shown] for shown in (seen.contexts, seen.mlps)]
        new = [
            torch.stack([torch.ones_like(values[0]) * len(values), values.sum(0), values.square().sum(0)])
            for shown in found for values in shown
        ]  # fmt: skip
        sums.append(new)

    show_parts(encoder, as_read(encoder, sample, output), update, total=len(sample), label="reading")
    total = [torch.stack(each).sum(0) for each in zip(*sums, strict=True)]
    deviation = [(squares / n - (all_ / n).square()).clamp_min(0).sqrt() for n, all_, squares in total]
    half = len(deviation) // 2
    like = next(encoder.model.parameters())
    return Means(
        by_layer(encoder, deviation[:half])[:, None].to(like), torch.stack(deviation[half:])[:, None].to(like)
    )
